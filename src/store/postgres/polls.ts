import type { UnixMs } from '../../core/time.ts'
import { MEASURED_COLUMNS, POLL_NUMBERS, type PollCells, type PollRow, rowOf, VERDICT_BITS } from '../poll-columns.ts'
import { bigintArray, bigints } from './arrays.ts'
import type { Query } from './sessions.ts'

/** What a row says of which vantage: see `polls` in migrations/postgres/0001-history.sql. */
export const MERGED = -1
export const ALONE = 0

const COLUMNS = ['endpoint_id', 'at_ms', 'outcome', ...MEASURED_COLUMNS]
const VALUES = COLUMNS.map((_, at) => `$${at + 2}::bigint[]`).join(', ')
const UPDATES = COLUMNS.slice(2).map((column) => `${column} = excluded.${column}`)
const INSERT = `INSERT INTO polls (vantage_id, ${COLUMNS.join(', ')})
  SELECT $1::smallint, * FROM unnest(${VALUES})
  ON CONFLICT (endpoint_id, vantage_id, at_ms) DO UPDATE SET ${UPDATES.join(', ')}`

/** Writes polls, given like those of a batch but with endpoint ids instead of indexes; no two may have the same key. */
export async function insertPolls(query: Query, vantageId: number, polls: Float64Array): Promise<void> {
  const rows = polls.length / POLL_NUMBERS
  if (rows === 0) return
  const columns = COLUMNS.map((_, column) => bigintArray(rows, (row) => polls[row * POLL_NUMBERS + column] as number))
  await query(INSERT, [vantageId, ...columns])
}

/** Changes the state of the polls in [from, to). */
export async function amendPolls(query: Query, vantageId: number, { endpointId, from, to, verdict }: Amendment) {
  await query(
    `UPDATE polls SET outcome = ((outcome & ~${VERDICT_BITS}) | $4)::smallint
     WHERE endpoint_id = $1 AND vantage_id = $5 AND at_ms >= $2 AND at_ms < $3`,
    [endpointId, from, to, verdict, vantageId],
  )
}

export interface Amendment {
  readonly endpointId: number
  readonly from: UnixMs
  readonly to: UnixMs
  /** The lower bits of an outcome. */
  readonly verdict: number
}

export type VantagePoll = PollRow & { readonly endpointId: number; readonly vantageId: number }

/** The polls of these endpoints in [from, to), in the order of time. */
export function selectPolls(
  query: Query,
  endpointIds: readonly number[],
  from: number,
  to: number,
  limit = Number.MAX_SAFE_INTEGER,
): Promise<VantagePoll[]> {
  return select(query, SELECT_POLLS, [bigints(endpointIds), from, to, limit])
}

/** Only the states that time is counted from, without what was measured. */
export function selectStates(query: Query, endpointIds: readonly number[], from: number, to: number) {
  return select(query, SELECT_STATES, [bigints(endpointIds), from, to, Number.MAX_SAFE_INTEGER])
}

/** Rows that begin with the cells of a poll, whose slot is part of its time here. */
async function select(query: Query, text: string, values: readonly unknown[]): Promise<VantagePoll[]> {
  const rows = await query<(number | null)[]>(text, values, { asArrays: true })
  return rows.map((row) => {
    const poll = rowOf(row as unknown as PollCells) as { -readonly [K in keyof VantagePoll]: VantagePoll[K] }
    poll.endpointId = row[IDS_FROM] as number
    poll.vantageId = row[IDS_FROM + 1] as number
    return poll
  })
}

/** Named, so that the index, which begins with endpoint and vantage, leads to each stretch of time at once. */
const VANTAGES = `(SELECT array_agg(vantage_id) || ARRAY[${MERGED}, ${ALONE}]::smallint[] FROM vantages)`

const IDS_FROM = 3 + MEASURED_COLUMNS.length

const selectText = (measured: readonly string[], vantages: string) =>
  `SELECT 0::bigint, at_ms, outcome, ${measured.join(', ')}, endpoint_id, vantage_id FROM polls
   WHERE endpoint_id = ANY ($1::bigint[]) AND vantage_id = ANY (${vantages}::smallint[]) AND at_ms >= $2 AND at_ms < $3
   ORDER BY at_ms LIMIT $4`
const SELECT_POLLS = selectText(MEASURED_COLUMNS, VANTAGES)
const SELECT_STATES = selectText(
  MEASURED_COLUMNS.map(() => 'NULL'),
  `ARRAY[${MERGED}, ${ALONE}]`,
)

/** The first time in [from, to) at which anything was polled; `null` if nothing was. */
export async function firstPollAt(query: Query, from: number, to: number): Promise<number | null> {
  const first = 'SELECT min(at_ms) AS at FROM polls WHERE at_ms >= $1 AND at_ms < $2'
  // Usually the next few minutes have polls: the index by time finds those without reading the day.
  for (let [start, width] = [from, FIRST_LOOK_MS]; start < to; [start, width] = [start + width, width * 8]) {
    const [row] = await query<{ at: number | null }>(first, [start, Math.min(to, start + width)])
    if (row !== undefined && row.at !== null) return row.at
  }
  return null
}

const FIRST_LOOK_MS = 600_000
