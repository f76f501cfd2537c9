import { closeSync, openSync, readSync } from 'node:fs'
import type Database from 'better-sqlite3'
import type { Migration } from '../migrations.ts'
import { StoreError } from '../store.ts'

/** Brings the schema up to date: each migration is one transaction, so that a crash leaves the old or the new one. */
export function migrate(db: Database.Database, migrations: readonly Migration[]): void {
  for (const { version, sql } of migrations) {
    const run = db.transaction(() => {
      // Read inside the transaction, in case another process has just migrated the file.
      if (schemaVersion(db) >= version) return
      db.exec(sql)
      db.pragma(`user_version = ${version}`)
    })
    run.immediate()
  }
}

/** Throws for a file that a newer Heartline has written; only reads. */
export function refuseNewerSchema(db: Database.Database, migrations: readonly Migration[]): void {
  const newest = migrations.at(-1)?.version ?? 0
  const found = schemaVersion(db)
  if (found > newest) {
    throw new StoreError(
      'newer-schema',
      `the store has schema ${found}, but this version supports only ${newest}: use a newer Heartline`,
    )
  }
}

/** Whether a file has a history, of any version. */
export function isHistory(db: Database.Database): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'polls'").get() !== undefined
}

/** Throws for a file that has other tables; only reads. */
export function refuseForeignFile(db: Database.Database): void {
  if (isHistory(db) || db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined) return
  throw foreignFile()
}

/** Throws for a text file, such as a configuration: it was never a database, so it is not a damaged one. */
export function refuseText(path: string): void {
  // A database has NUL bytes there, and what a disk leaves of one is hardly text.
  if (/^(?:[\t\n\r]|\P{Cc})+$/u.test(startOf(path))) throw foreignFile()
}

/** The first characters; none if it is not UTF-8, or cannot be read, for which SQLite has its own error. */
function startOf(path: string): string {
  const start = Buffer.alloc(1024)
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    const read = start.subarray(0, readSync(file, start))
    return new TextDecoder('utf-8', { fatal: true }).decode(read, { stream: true })
  } catch {
    return ''
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

function foreignFile(): StoreError {
  return new StoreError('foreign-database', 'the file is not a history of Heartline: choose another one')
}

function schemaVersion(db: Database.Database): number {
  return db.pragma('user_version', { simple: true }) as number
}
