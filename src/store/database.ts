import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import type { UnixMs } from '../core/time.ts'
import { markOf, setMark } from './cursors.ts'
import { type Migration, migrate, refuseNewerSchema } from './migrate.ts'
import { StoreError } from './store.ts'

export interface OpenedDatabase {
  readonly db: Database.Database
  /** `null` for a store in memory. */
  readonly inode: number | null
  /** The last daemon did not close the store, and the file is too large to be checked before starting. */
  readonly wantsCheck: boolean
}

/** SQLite before this one can corrupt a database in WAL mode that two connections have open. */
const OLDEST_SQLITE = [3, 51, 3] as const
/** A quick check reads the whole file: some 400 MB a second from memory, and starting may take a second at most. */
const CHECKED_AT_START_BYTES = 64 * 1024 * 1024

const MOST_PAGES = 2 ** 32 - 2

export const IN_MEMORY = ':memory:'

/** Opens the one writing connection. Throws what SQLite throws, or a StoreError where a person has to decide. */
export function openDatabase(path: string, migrations: readonly Migration[], maxSizeBytes: number): OpenedDatabase {
  if (path !== IN_MEMORY) mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const db = new Database(path, { timeout: 250 })
  try {
    refuseOldSqlite(db)
    refuseNewerSchema(db, migrations)
    db.pragma('cell_size_check = ON')
    // A damaged file is kept for a person to look at: nothing is written to it.
    if (path !== IN_MEMORY) refuseDamaged(db, path)
    // Before the first table, or never.
    db.pragma('auto_vacuum = INCREMENTAL')
    db.pragma('journal_mode = WAL')
    // Always said: the library's default is another one at the first open than at later ones.
    db.pragma('synchronous = NORMAL')
    db.pragma('foreign_keys = ON')
    db.pragma('busy_timeout = 250')
    db.pragma('journal_size_limit = 67108864')
    db.pragma('wal_autocheckpoint = 1000')
    db.pragma('mmap_size = 0')
    db.pragma('temp_store = MEMORY')
    db.pragma('trusted_schema = OFF')
    migrate(db, migrations)
    setQuota(db, maxSizeBytes)
    // Without a limit `optimize` takes seconds on a large file. It is a job of its own: at the start nobody waits for it.
    db.pragma('analysis_limit = 400')
    const unclean = markOf(db, 'clean') === 0
    setMark(db, 'clean', 0)
    if (path === IN_MEMORY) return { db, inode: null, wantsCheck: false }
    const file = statSync(path)
    return { db, inode: file.ino, wantsCheck: unclean && file.size > CHECKED_AT_START_BYTES }
  } catch (error) {
    db.close()
    throw error
  }
}

/** A connection that can only read; the file must exist. */
export function openReadOnly(path: string): Database.Database {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 250 })
  try {
    db.pragma('busy_timeout = 250')
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

/** As soft as it is, it comes before the disk is full: SQLite then still deletes, which it cannot on a full disk. */
export function setQuota(db: Database.Database, maxSizeBytes: number): void {
  const pageSize = db.pragma('page_size', { simple: true }) as number
  db.pragma(`max_page_count = ${Math.min(MOST_PAGES, Math.max(64, Math.floor(maxSizeBytes / pageSize)))}`)
}

export function isSound(db: Database.Database): boolean {
  return db.pragma('quick_check(1)', { simple: true }) === 'ok'
}

/** Puts a damaged store where a person can look at it; says what it is called now. */
export function moveAside(path: string, now: UnixMs): string {
  const suffix = `.corrupt-${new Date(now).toISOString().replaceAll(':', '-')}`
  for (const part of ['', '-wal', '-shm']) {
    if (existsSync(path + part)) renameSync(path + part, `${path}${suffix}${part}`)
  }
  return `${path}${suffix}`
}

/** As SQLite would say it, so that one place decides what becomes of it. */
class Damaged extends Error {
  readonly code = 'SQLITE_CORRUPT'
}

function refuseDamaged(db: Database.Database, path: string): void {
  const { size } = statSync(path)
  const walBytes = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0
  const pages = db.pragma('page_count', { simple: true }) as number
  const pageSize = db.pragma('page_size', { simple: true }) as number
  if (walBytes === 0 && size > 0 && pages * pageSize > size) throw new Damaged('the file ends too early')
  if (size <= CHECKED_AT_START_BYTES && !isSound(db)) throw new Damaged('quick_check found damage')
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
