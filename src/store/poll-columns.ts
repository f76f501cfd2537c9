import { FAILURE_KINDS, FAILURES, type FailureKind } from '../core/failure.ts'
import { SLOT_MS, slotOf } from './resolution.ts'
import type { PollRecord } from './store.ts'

/**
 * The measured values that are stored: property of a PollRow, column, and value in a PollRecord. A new one needs a line
 * here, a migration that adds the column, and a property of PollRecord.
 */
const MEASURED = [
  ['latencyUs', 'latency_us', ({ latencyMs }) => (latencyMs === null ? null : latencyMs * 1000)],
  ['height', 'height', ({ height }) => height],
  ['lagBlocks', 'lag_blocks', ({ lagBlocks }) => lagBlocks],
  ['heartbeatLagMs', 'heartbeat_lag_ms', ({ heartbeatLagMs }) => heartbeatLagMs],
  ['contiguousFailures', 'contiguous_failures', ({ contiguousFailures }) => contiguousFailures],
] as const satisfies readonly (readonly [string, string, (record: PollRecord) => number | null])[]

const NAMES = MEASURED.map(([name]) => name)
const VALUES: readonly ((record: PollRecord) => number | null)[] = MEASURED.map(([, , value]) => value)

export type PollRow = Pick<PollRecord, 'at' | 'state' | 'fresh' | 'failure'> & {
  readonly [measured in (typeof MEASURED)[number][0]]: number | null
}

export const MEASURED_COLUMNS = MEASURED.map(([, column]) => column)

/** The columns in the order of PollCells. */
export const POLL_COLUMNS = ['slot', 'offset_ms', 'outcome', ...MEASURED_COLUMNS] as const
export type PollCells = readonly [slot: number, offsetMs: number, outcome: number, ...measured: (number | null)[]]

export function rowOf(cells: PollCells): PollRow {
  const [slot, offsetMs, outcome] = cells
  const row: Record<string, unknown> = {
    at: slot * SLOT_MS + offsetMs,
    state: POLL_STATES[outcome & 3] ?? 'unknown',
    fresh: (outcome & NOT_FRESH) === 0,
    failure: FAILURES_BY_NUMBER.get(Math.floor(outcome / FAILURE_SHIFT)) ?? null,
  }
  for (let at = 0; at < NAMES.length; at++) row[NAMES[at] as string] = cells[at + 3]
  return row as unknown as PollRow
}

/** Count of numbers per poll in a batch: endpoint index, time, outcome, then the measured values, NaN for null. */
export const POLL_NUMBERS = 3 + MEASURED.length

export function encodePoll(polls: Float64Array, from: number, index: number, record: PollRecord): void {
  polls[from] = index
  polls[from + 1] = Math.floor(record.at)
  polls[from + 2] = outcomeOf(record.state, record.fresh, record.failure)
  for (let at = 0; at < VALUES.length; at++) {
    polls[from + 3 + at] = integerOrNaN((VALUES[at] as (typeof VALUES)[number])(record))
  }
}

/** The columns are integers: any other number would fail the whole batch. */
function integerOrNaN(value: number | null): number {
  return value === null || !Number.isSafeInteger(Math.round(value)) ? Number.NaN : Math.round(value)
}

export function timeOf(polls: Float64Array, from: number): number {
  return polls[from + 1] ?? 0
}

/** The values of POLL_COLUMNS for the poll whose numbers begin at `from`. */
export function columnValues(polls: Float64Array, from: number): (number | null)[] {
  const at = timeOf(polls, from)
  const slot = slotOf(at)
  const cells: (number | null)[] = [slot, at - slot * SLOT_MS]
  for (let next = from + 2; next < from + POLL_NUMBERS; next++) {
    const value = polls[next] as number
    cells.push(Number.isNaN(value) ? null : value)
  }
  return cells
}

/** Stored in two bits: never change the order. `maintenance` is planned time, not the result of a poll. */
const POLL_STATES = ['up', 'degraded', 'down', 'unknown'] as const satisfies readonly PollRecord['state'][]
const NOT_FRESH = 4
const FAILURE_SHIFT = 8
/** The bits that an amendment replaces; the failure stays. */
export const VERDICT_BITS = 7

export function outcomeOf(state: PollRecord['state'], fresh: boolean, failure: FailureKind | null): number {
  const verdict = POLL_STATES.indexOf(state) + (fresh ? 0 : NOT_FRESH)
  return verdict + (failure === null ? 0 : FAILURES[failure].storedAs * FAILURE_SHIFT)
}

const FAILURES_BY_NUMBER = new Map(FAILURE_KINDS.map((kind) => [FAILURES[kind].storedAs, kind]))
