import type Sqlite from 'better-sqlite3'
import type { Clock } from '../clock.ts'
import type { Secret } from '../secret.ts'
import { COPIED_TABLES, type CopiedColumn, type CopiedTable } from './copied-tables.ts'
import { readMigrations, SQLITE_MIGRATIONS } from './migrations.ts'
import { bigints } from './postgres/arrays.ts'
import type { Database } from './postgres/database.ts'
import { openDatabase } from './postgres/migrate.ts'
import { createPartitions } from './postgres/partitions.ts'
import type { Query } from './postgres/sessions.ts'
import { openReadOnly } from './sqlite/database.ts'
import { codeOf, followLinks, takeLock } from './sqlite/disk.ts'
import { isHistory } from './sqlite/migrate.ts'
import { StoreError } from './store.ts'

/** What was copied of a table, by this run and earlier ones. */
export interface Copied {
  readonly table: string
  readonly rows: number
}

export interface CopyOptions {
  readonly file: string
  readonly url: Secret
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called for each table that is complete. */
  readonly onTable: (copied: Copied) => void
}

/** Rows per transaction. */
const CHUNK = 5000
/** All rows of a large table are read to compare them. */
const WITHIN_MS = 30 * 60_000

/**
 * Copies the history of a stopped daemon from SQLite to an empty database, and compares counts and sums. Stopped at any
 * moment, it goes on where it was. Rejects with a StoreError if a person has to decide; returns whether it is complete.
 */
export async function copyStore({ file, url, clock, signal, onTable }: CopyOptions): Promise<boolean> {
  const lock = takeLock(followLinks(file))
  try {
    const from = openHistory(file)
    try {
      const to = await openDatabase({ url, clock, isAlone: true })
      try {
        if (!(await to.join(() => undefined))) throw new StoreError('store-in-use', 'a daemon uses the database')
        await begin(to)
        for (const table of COPIED_TABLES) {
          if (!(await copyTable(from, to, table, signal))) return false
          onTable({ table: table.name, rows: await verify(from, to, table) })
        }
        await end(to)
        return true
      } finally {
        await to.close()
      }
    } finally {
      from.close()
    }
  } finally {
    lock.release()
  }
}

function openHistory(file: string): Sqlite.Database {
  const [db, found] = openedWithSchema(file)
  const newest = readMigrations(SQLITE_MIGRATIONS).length
  if (found === newest) return db
  const isOther = !isHistory(db)
  db.close()
  if (isOther) {
    const advice = 'if it is the spool of a daemon with `store.url`, that daemon writes it to its database'
    throw new StoreError('foreign-database', `${file} has no history: ${advice}`)
  }
  const advice = found > newest ? 'use the version that wrote it' : "let this version's daemon open it once"
  throw new StoreError(
    'newer-schema',
    `${file} has schema ${found}, and this version copies schema ${newest}: ${advice}`,
  )
}

function openedWithSchema(file: string): [db: Sqlite.Database, schema: number] {
  let db: Sqlite.Database | null = null
  try {
    db = openReadOnly(file)
    return [db, db.pragma('user_version', { simple: true }) as number]
  } catch (error) {
    db?.close()
    throw new StoreError('foreign-database', `${file} cannot be read as a history (${codeOf(error)})`)
  }
}

/** Notes how far the copy is. A database that has a history already, and no such note, is refused. */
async function begin(to: Database): Promise<void> {
  await to.transaction(async (query) => {
    const [row] = await query<{ begun: boolean; used: boolean }>(
      "SELECT to_regclass('copied') IS NOT NULL AS begun, EXISTS (SELECT 1 FROM endpoints) AS used",
    )
    if (row?.begun === true) return
    if (row?.used === true) {
      throw new StoreError('foreign-database', 'the database has a history already: copy to an empty database')
    }
    await query('CREATE TABLE copied (name TEXT PRIMARY KEY, last_key TEXT NOT NULL)')
  })
}

async function end(to: Database): Promise<void> {
  await to.query("SELECT setval(pg_get_serial_sequence('endpoints', 'endpoint_id'), max(endpoint_id)) FROM endpoints")
  await to.query('DROP TABLE copied')
}

async function copyTable(from: Sqlite.Database, to: Database, table: CopiedTable, signal: AbortSignal) {
  const partitions = createPartitions(to)
  const insert = insertText(table)
  const [noted] = await to.query<{ key: string }>('SELECT last_key AS key FROM copied WHERE name = $1', [table.name])
  let key = noted === undefined ? null : (JSON.parse(noted.key) as unknown[])
  for (;;) {
    if (signal.aborted) return false
    const rows = rowsAfter(from, table, key)
    const last = rows.at(-1)
    if (last === undefined) return true
    if (table.name === 'polls') await partitions.ensure(rows.map((row) => row.at_ms as number))
    key = table.key.map((_, at) => last[`key_${at}`])
    const values = table.columns.map((column) => parameterOf(column, rows))
    const note = [table.name, JSON.stringify(key)]
    await to.transaction(async (query) => {
      await query(insert, values)
      await query(
        'INSERT INTO copied VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET last_key = excluded.last_key',
        note,
      )
    })
  }
}

type Row = Readonly<Record<string, unknown>>

const sourceOf = ({ name, from = name }: CopiedColumn) => from
/** A mark of SQLite's alone. */
const conditionOf = ({ name }: CopiedTable) => (name === 'marks' ? "name <> 'clean'" : 'true')

function rowsAfter(from: Sqlite.Database, table: CopiedTable, key: readonly unknown[] | null): Row[] {
  const columns = table.columns.map((column) => `${sourceOf(column)} AS "${column.name}"`)
  const keys = table.key.map((column, at) => `${column} AS key_${at}`)
  const places = table.key.map(() => '?').join(', ')
  const after = key === null ? 'true' : `(${table.key.join(', ')}) > (${places})`
  const text = `SELECT ${[...columns, ...keys].join(', ')} FROM ${table.name}
    WHERE ${conditionOf(table)} AND ${after} ORDER BY ${table.key.join(', ')} LIMIT ${CHUNK}`
  return from.prepare(text).all(...(key ?? [])) as Row[]
}

function insertText({ name, columns, constants = {} }: CopiedTable): string {
  const names = [...columns.map((column) => column.name), ...Object.keys(constants)]
  const given = columns.map(({ type }, at) => `$${at + 1}::${type}[]`)
  const named = columns.map((_, at) => `v${at}`)
  // Endpoints keep the ids by which all other rows refer to them.
  const overriding = name === 'endpoints' ? 'OVERRIDING SYSTEM VALUE' : ''
  return `INSERT INTO ${name} (${names.join(', ')}) ${overriding}
    SELECT ${[...named, ...Object.values(constants)].join(', ')} FROM unnest(${given.join(', ')}) AS rows (${named.join(', ')})
    ON CONFLICT DO NOTHING`
}

function parameterOf({ name, type }: CopiedColumn, rows: readonly Row[]): unknown {
  const values = rows.map((row) => row[name])
  switch (type) {
    case 'bigint':
      return bigints(values as (number | null)[])
    case 'boolean':
      return values.map((value) => value === 1)
    case 'text':
      return values.map((value) => (typeof value === 'string' ? value.replaceAll('\0', '') : null))
    case 'bytea':
      return values.map((value) => (value === null ? null : Buffer.from(value as Uint8Array)))
  }
}

/** Sums of times overflow: each number counts modulo a prime. */
const MODULUS = 1_000_003

/** Compares counts and sums; returns the number of rows. */
async function verify(from: Sqlite.Database, to: Database, table: CopiedTable): Promise<number> {
  const original = from
    .prepare(`SELECT ${sums(table, 'sqlite')} FROM ${table.name} WHERE ${conditionOf(table)}`)
    .get() as Row
  const [copy] = await to.transaction((query) => readSums(query, table))
  const differs = Object.keys(original).filter((name) => original[name] !== copy?.[name])
  if (differs.length > 0) throw new Error(`${table.name} differs in ${differs.join(', ')}: the copy is not usable`)
  return original.rows as number
}

async function readSums(query: Query, table: CopiedTable): Promise<readonly Row[]> {
  const own = table.constants?.vantage_id === undefined ? 'true' : 'vantage_id = 0'
  await query('SET LOCAL statement_timeout = 0')
  return query<Row>(`SELECT ${sums(table, 'postgres')} FROM ${table.name} WHERE ${own}`, [], { withinMs: WITHIN_MS })
}

function sums({ columns }: CopiedTable, engine: 'sqlite' | 'postgres'): string {
  const all = columns.map((column) => {
    const value = engine === 'sqlite' ? sourceOf(column) : `"${column.name}"`
    const number = { bigint: `abs(${value}) % ${MODULUS}`, boolean: engine === 'sqlite' ? value : `${value}::int` }
    const counted = column.type === 'text' || column.type === 'bytea' ? `length(${value})` : number[column.type]
    return `coalesce(sum(${counted}), 0)${engine === 'sqlite' ? '' : '::bigint'} AS "${column.name}"`
  })
  return ['count(*) AS rows', ...all].join(', ')
}
