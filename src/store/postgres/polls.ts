import type { UnixMs } from '../../core/time.ts'
import type { StateRow } from '../history-tables.ts'
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

export type VantagePoll = StateRow & { readonly endpointId: number; readonly vantageId: number }

/** The polls of these endpoints in [from, to), and what their places found together, in the order of time. */
export async function selectPolls(
  query: Query,
  endpointIds: readonly number[],
  from: number,
  to: number,
): Promise<VantagePoll[]> {
  const rows = await query<(number | null)[]>(SELECT_POLLS, [bigints(endpointIds), from, to], { asArrays: true })
  return rows.map((row) => pollOf(row as unknown as PollCells, row[IDS_FROM] as number, row[IDS_FROM + 1] as number))
}

/** The first polls of one endpoint in [from, to), in the order of time. */
export async function selectFirstPolls(
  query: Query,
  endpointId: number,
  from: number,
  to: number,
  limit: number,
): Promise<(PollRow & { readonly vantage: string | undefined })[]> {
  const values = [bigints([endpointId]), from, to, limit]
  const rows = await query<(number | string | null)[]>(SELECT_FIRST_POLLS, values, { asArrays: true })
  return rows.map((row) => {
    const vantage = (row[IDS_FROM] ?? undefined) as string | undefined
    return { ...rowOf(row as unknown as PollCells), vantage }
  })
}

/**
 * Only the states that time is counted from. Successive polls with the same state make one row, if each came within
 * `holdMs` of the one before.
 */
export async function selectStates(
  query: Query,
  endpointIds: readonly number[],
  from: number,
  to: number,
  holdMs: number,
): Promise<VantagePoll[]> {
  const values = [bigints(endpointIds), from, to, holdMs]
  const rows = await query<[number, number, number, number]>(SELECT_STATES, values, { asArrays: true })
  return rows.map(([at, lastAt, outcome, endpointId]) => ({
    ...pollOf([0, at, outcome, ...NOT_MEASURED], endpointId, MERGED),
    lastAt,
  }))
}

/** Its cells begin with those of a poll, whose slot is part of its time here. */
function pollOf(cells: PollCells, endpointId: number, vantageId: number): VantagePoll {
  const poll = rowOf(cells) as { -readonly [K in keyof VantagePoll]: VantagePoll[K] }
  poll.endpointId = endpointId
  poll.vantageId = vantageId
  return poll
}

/** Named, so that the index, which begins with endpoint and vantage, leads to each stretch of time at once. */
const PLACES = `(SELECT array_agg(vantage_id) || ARRAY[${ALONE}]::smallint[] FROM vantages)`
const VANTAGES = `array_append(${PLACES}, (${MERGED})::smallint)`

const IDS_FROM = 3 + MEASURED_COLUMNS.length
const NOT_MEASURED = MEASURED_COLUMNS.map(() => null)

const wanted = (vantages: string) => `endpoint_id = ANY ($1::bigint[]) AND vantage_id = ANY (${vantages}::smallint[])
  AND at_ms >= $2 AND at_ms < $3`
const CELLS = `0::bigint, at_ms, outcome, ${MEASURED_COLUMNS.join(', ')}`
const SELECT_POLLS = `
  SELECT ${CELLS}, endpoint_id, vantage_id FROM polls WHERE ${wanted(VANTAGES)} ORDER BY at_ms`
const SELECT_FIRST_POLLS = `
  SELECT ${CELLS}, vantages.name FROM polls LEFT JOIN vantages USING (vantage_id)
  WHERE ${wanted(PLACES)} ORDER BY at_ms LIMIT $4`
const SELECT_STATES = `
  SELECT min(at_ms), max(at_ms), state, endpoint_id
  FROM (
    SELECT endpoint_id, at_ms, state, sum(begins) OVER (PARTITION BY endpoint_id ORDER BY at_ms) AS run
    FROM (
      SELECT endpoint_id, at_ms, outcome & ${VERDICT_BITS} AS state,
        CASE WHEN outcome & ${VERDICT_BITS} = lag(outcome & ${VERDICT_BITS}) OVER earlier
          AND at_ms - lag(at_ms) OVER earlier <= $4 THEN 0 ELSE 1 END AS begins
      FROM polls WHERE ${wanted(`ARRAY[${MERGED}, ${ALONE}]`)}
      WINDOW earlier AS (PARTITION BY endpoint_id ORDER BY at_ms)
    ) AS each
  ) AS runs GROUP BY endpoint_id, run, state ORDER BY 1`

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
