import type { Query } from './sessions.ts'

/** What a reader has seen, as one text: a row is new to it if the row's transaction had not ended then. */
export type Seen = string

/** Before the first transaction. */
export const NOTHING_SEEN: Seen = '1:1:'

/** What this statement sees. */
export const SEEN_NOW = 'pg_current_snapshot()::text'

/** Selects rows that are new to the reader; the parameter has what it has seen. */
export const isNew = (parameter: string): string =>
  `version >= pg_snapshot_xmin(${parameter}::pg_snapshot)::text::bigint
   AND NOT pg_visible_in_snapshot(version::text::xid8, ${parameter}::pg_snapshot)`

const READ_TABLES = ['incidents', 'silences', 'aliases', 'votes']

/** Versions from another server may be above every transaction of this one: such rows would always be new. */
export async function lowerVersions(query: Query, withinMs: number): Promise<void> {
  const lower = (table: string) =>
    `UPDATE ${table} SET version = heartline_version()
     WHERE version >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint`
  await query(READ_TABLES.map(lower).join('; '), [], { withinMs })
}
