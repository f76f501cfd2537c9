import { type Migration, POSTGRES_MIGRATIONS, readMigrations } from '../migrations.ts'
import { StoreError } from '../store.ts'
import { createDatabase, type Database, type DatabaseDeps } from './database.ts'
import { DatabaseError, refusalOf } from './database-error.ts'
import type { Query } from './sessions.ts'
import { hasHighVersions, lowerVersions } from './versions.ts'

/** Connects and brings the schema up to date. Rejects with a StoreError if a person has to decide. */
export async function openDatabase(deps: DatabaseDeps, migrations = postgresMigrations()): Promise<Database> {
  const database = await createDatabase(deps)
  try {
    await migrate(database, migrations)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

export const postgresMigrations = (): readonly Migration[] => readMigrations(POSTGRES_MIGRATIONS)

/** Any number, the same for every Heartline: one daemon at a time changes the schema. */
export const SCHEMA_LOCK = 7_241_991
const OLDEST_SERVER = 15
/** A large history may take minutes. */
const WITHIN_MS = 30 * 60_000
/** Each waits for as long as any statement waits for a lock, 5 s; together, as long as a migration may take. */
const MOST_TRIES = 360
const LOCK_TIMEOUT = '55P03'

/** Rejects with a StoreError if the server, the database or its schema cannot be used; then nothing was changed. */
export async function migrate(database: Database, migrations: readonly Migration[]): Promise<void> {
  await inTurn(database, async (query) => {
    await refuseOldServer(query)
    const found = await schemaVersion(query)
    const newest = migrations.at(-1)?.version ?? 0
    // Members of a cluster are upgraded one after the other: the others still work on the step after theirs.
    if (found > newest + 1) throw newerSchema(found, newest)
    const missing = migrations.filter(({ version }) => version > found)
    if (missing.length === 0 && !(await hasHighVersions(query))) return
    await query(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${WITHIN_MS}`)
    for (const { version, sql } of missing) {
      await query(sql, [], { withinMs: WITHIN_MS })
      await query('INSERT INTO heartline_schema (version) VALUES ($1)', [version])
    }
    await lowerVersions(query, WITHIN_MS)
  }).catch((error: unknown) => {
    throw refusalOf(error) ?? error
  })
}

/** Waits in short tries: over a connection that has died without a word, the answer to a long one would never come. */
async function inTurn(database: Database, work: (query: Query) => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    let hasTurn = false
    try {
      return await database.transaction(async (query) => {
        await query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK])
        hasTurn = true
        await work(query)
      })
    } catch (error) {
      const isBusy = error instanceof DatabaseError && error.code === LOCK_TIMEOUT
      if (hasTurn || !isBusy || tries === MOST_TRIES) throw error
    }
  }
}

/** Rejects with a StoreError if a history was copied to the database in part: rows of a daemon would spoil the copy. */
export async function refuseHalfCopy(query: Query): Promise<void> {
  const [row] = await query<{ begun: boolean }>("SELECT to_regclass('copied') IS NOT NULL AS begun")
  if (row?.begun !== true) return
  const message = 'the copy of a history to the database is not complete: run heartline migrate-store again'
  throw new StoreError('foreign-database', message)
}

async function refuseOldServer(query: Query): Promise<void> {
  const [row] = await query<{ server_version: string }>('SHOW server_version')
  const major = Number.parseInt(row?.server_version ?? '', 10)
  if (major >= OLDEST_SERVER) return
  const message = `PostgreSQL ${row?.server_version} is too old, at least ${OLDEST_SERVER} is needed`
  throw new StoreError('postgres-too-old', message)
}

/** 0 for a database without any table. */
async function schemaVersion(query: Query): Promise<number> {
  const tables = await query<{ name: string }>(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
  )
  if (tables.length === 0) {
    await query(`CREATE TABLE heartline_schema (
      version INTEGER PRIMARY KEY,
      applied_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )`)
    return 0
  }
  if (!tables.some(({ name }) => name === 'heartline_schema')) {
    throw new StoreError(
      'foreign-database',
      'the database has tables of another program: use an empty one, for Heartline alone',
    )
  }
  const [row] = await query<{ version: number | null }>('SELECT max(version) AS version FROM heartline_schema')
  return row?.version ?? 0
}

function newerSchema(found: number, newest: number): StoreError {
  const message = `the database has schema ${found}, but this version supports only ${newest + 1}: use a newer Heartline`
  return new StoreError('newer-schema', message)
}
