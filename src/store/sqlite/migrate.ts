import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { packageRoot } from '../../version.ts'
import { StoreError } from '../store.ts'

export interface Migration {
  readonly version: number
  readonly sql: string
}

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

/** The files `migrations/0001-….sql`, in order. Throws if a number is missing. */
export function readMigrations(directory = join(packageRoot, 'migrations')): readonly Migration[] {
  const names = readdirSync(directory)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .sort()
  return names.map((name, at) => {
    const version = Number(name.slice(0, 4))
    if (version !== at + 1) throw new Error(`migrations: expected number ${at + 1}, found ${name}`)
    return { version, sql: readFileSync(join(directory, name), 'utf8') }
  })
}

function schemaVersion(db: Database.Database): number {
  return db.pragma('user_version', { simple: true }) as number
}
