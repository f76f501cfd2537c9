import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../version.ts'

/** A step of a store's schema: its SQL runs once, in one transaction. */
export interface Migration {
  readonly version: number
  readonly sql: string
}

/** The files `0001-….sql` of a folder, in order. Throws if a number is missing. */
export function readMigrations(directory: string): readonly Migration[] {
  const names = readdirSync(directory)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .sort()
  return names.map((name, at) => {
    const version = Number(name.slice(0, 4))
    if (version !== at + 1) throw new Error(`migrations: expected number ${at + 1}, found ${name}`)
    return { version, sql: readFileSync(join(directory, name), 'utf8') }
  })
}

export const SQLITE_MIGRATIONS = join(packageRoot, 'migrations')
export const POSTGRES_MIGRATIONS = join(packageRoot, 'migrations/postgres')
