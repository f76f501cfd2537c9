import { existsSync, renameSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { UnixMs } from '../../core/time.ts'
import { type Migration } from '../migrations.ts'
import { StoreError } from '../store.ts'
import { makeDirectoryOf, troubleOf } from './disk.ts'
import { CHECKED_AT_START_BYTES, type Integrity, isSound, refuseDamaged } from './integrity.ts'
import { createMarkReader, createMarkWriter } from './marks.ts'
import { migrate, refuseForeignFile, refuseNewerSchema, refuseText } from './migrate.ts'

export interface OpenedDatabase {
  readonly db: Database.Database
  /** `null` for a store in memory. */
  readonly inode: number | null
  /** Whether the last daemon did not close the store, and the file is too large to check at the start. */
  readonly wantsCheck: boolean
}

/** Older versions can corrupt a database in WAL mode that two connections have open. */
const OLDEST_SQLITE = [3, 51, 3] as const

const MOST_PAGES = 2 ** 32 - 2

export const IN_MEMORY = ':memory:'

/** Opens the only writing connection. Throws SQLite's errors, or a StoreError if a person has to decide. */
export function openDatabase(path: string, migrations: readonly Migration[], maxSizeBytes: number): OpenedDatabase {
  if (path !== IN_MEMORY) {
    makeDirectoryOf(path)
    refuseText(path)
  }
  const db = new Database(path, { timeout: 250 })
  try {
    refuseOldSqlite(db)
    refuseNewerSchema(db, migrations)
    db.pragma('cell_size_check = ON')
    // Checked before anything is written, so that a person can examine the damaged file unchanged.
    if (path !== IN_MEMORY) refuseDamaged(db, path)
    refuseForeignFile(db)
    // Takes effect only before the first table is created.
    db.pragma('auto_vacuum = INCREMENTAL')
    db.pragma('journal_mode = WAL')
    // Set explicitly: the library's default differs between the first open and later ones.
    db.pragma('synchronous = NORMAL')
    db.pragma('foreign_keys = ON')
    db.pragma('journal_size_limit = 67108864')
    db.pragma('wal_autocheckpoint = 1000')
    db.pragma('mmap_size = 0')
    db.pragma('temp_store = MEMORY')
    db.pragma('trusted_schema = OFF')
    migrate(db, migrations)
    setQuota(db, maxSizeBytes)
    // Without a limit, `optimize` takes seconds on a large file. It runs as a job, not at the start.
    db.pragma('analysis_limit = 400')
    const unclean = createMarkReader(db)().get('clean') === 0
    createMarkWriter(db)([['clean', 0]])
    if (path === IN_MEMORY) return { db, inode: null, wantsCheck: false }
    const file = statSync(path)
    return { db, inode: file.ino, wantsCheck: unclean && file.size > CHECKED_AT_START_BYTES }
  } catch (error) {
    db.close()
    throw error
  }
}

/** Opens a read-only connection; the file must exist. */
export function openReadOnly(path: string): Database.Database {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 250 })
  try {
    db.pragma('mmap_size = 0')
    db.pragma('temp_store = MEMORY')
    db.pragma('trusted_schema = OFF')
    db.pragma('cell_size_check = ON')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Whether quick_check finds nothing, over a connection of its own, which remembers no page as it was. */
export function isSoundFile(path: string): boolean {
  const db = openReadOnly(path)
  try {
    return isSound(db)
  } finally {
    db.close()
  }
}

export function integrityOf(path: string): Exclude<Integrity, 'ended'> {
  try {
    return isSoundFile(path) ? 'sound' : 'damaged'
  } catch (error) {
    return troubleOf(error) === 'corrupt' ? 'damaged' : 'unreadable'
  }
}

/** At this limit SQLite can still delete, which it cannot do on a full disk. */
export function setQuota(db: Database.Database, maxSizeBytes: number): void {
  const pageSize = db.pragma('page_size', { simple: true }) as number
  db.pragma(`max_page_count = ${Math.min(MOST_PAGES, Math.max(64, Math.floor(maxSizeBytes / pageSize)))}`)
}

/** Renames a damaged store, so that a person can examine it; returns its new name. */
export function moveAside(path: string, now: UnixMs): string {
  const suffix = `.corrupt-${new Date(now).toISOString().replaceAll(':', '-')}`
  for (const part of ['', '-wal', '-shm']) {
    if (existsSync(path + part)) renameSync(path + part, `${path}${suffix}${part}`)
  }
  return `${path}${suffix}`
}

function refuseOldSqlite(db: Database.Database): void {
  const found = String(db.prepare('SELECT sqlite_version()').pluck().get())
  const parts = found.split('.').map(Number)
  for (const [at, least] of OLDEST_SQLITE.entries()) {
    const part = parts[at] ?? 0
    if (part > least) return
    if (part < least) {
      throw new StoreError(
        'sqlite-too-old',
        `SQLite ${found} can lose data, at least ${OLDEST_SQLITE.join('.')} is needed`,
      )
    }
  }
}
