import type { Query } from './sessions.ts'

/**
 * What a reader has seen, and at which server, as one text: a row is new to it if the row's transaction had not ended then.
 */
export type Seen = string

/** Before the first transaction. */
export const NOTHING_SEEN: Seen = '1:1:'

/** What this statement sees. The standby that takes over from a server was started at another time. */
export const SEEN_NOW = `pg_current_snapshot()::text || ' ' || extract(epoch FROM pg_postmaster_start_time())::text`

/** Transactions of different servers cannot be compared. */
export const areOfOneServer = (one: Seen, other: Seen): boolean => one.split(' ')[1] === other.split(' ')[1]

const SEEN = `split_part($1, ' ', 1)::pg_snapshot`

/** Selects rows that are new to the reader; the first parameter has what it has seen at this server. */
export const IS_NEW = `version >= pg_snapshot_xmin(${SEEN})::text::bigint AND NOT pg_visible_in_snapshot(version::text::xid8, ${SEEN})`

const READ_TABLES = ['incidents', 'silences', 'aliases', 'votes']

const IS_HIGH = 'version >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint'

/** Versions from another server may be above every transaction of this one: such rows would always be new. */
export async function hasHighVersions(query: Query): Promise<boolean> {
  const isAny = READ_TABLES.map((table) => `EXISTS (SELECT 1 FROM ${table} WHERE ${IS_HIGH})`).join(' OR ')
  const [row] = await query<{ isAny: boolean }>(`SELECT ${isAny} AS "isAny"`)
  return row?.isAny === true
}

export async function lowerVersions(query: Query, withinMs: number): Promise<void> {
  const lower = (table: string) => `UPDATE ${table} SET version = heartline_version() WHERE ${IS_HIGH}`
  await query(READ_TABLES.map(lower).join('; '), [], { withinMs })
}
