import { FAILURE_KINDS, FAILURES, type FailureKind } from '../core/failure.ts'
import type { PollRecord } from './store.ts'
import { SLOT_MS } from './tiers.ts'

type PollState = PollRecord['state']

/** A poll as it comes out of the table. */
export interface PollRow {
  readonly at: number
  readonly state: PollState
  readonly fresh: boolean
  readonly latencyUs: number | null
  readonly height: number | null
  readonly lagBlocks: number | null
  readonly heartbeatLagMs: number | null
  readonly contiguousFailures: number | null
  readonly failure: FailureKind | null
}

/** In the order in which `rowOf` wants them. */
export const POLL_COLUMNS =
  'slot, offset_ms, outcome, latency_us, height, lag_blocks, heartbeat_lag_ms, contiguous_failures'
type Cell = number | null
export type PollCells = [slot: number, offsetMs: number, outcome: number, Cell, Cell, Cell, Cell, Cell]

export function rowOf(cells: PollCells): PollRow {
  const outcome = cells[2]
  return {
    at: cells[0] * SLOT_MS + cells[1],
    state: POLL_STATES[outcome & 3] ?? 'unknown',
    fresh: (outcome & NOT_FRESH) === 0,
    latencyUs: cells[3],
    height: cells[4],
    lagBlocks: cells[5],
    heartbeatLagMs: cells[6],
    contiguousFailures: cells[7],
    failure: BY_NUMBER.get(Math.floor(outcome / FAILURE_SHIFT)) ?? null,
  }
}

/** On disk: the order is a promise. Two bits; maintenance is time, not the result of a poll. */
const POLL_STATES = ['up', 'degraded', 'down', 'unknown'] as const satisfies readonly PollState[]
const NOT_FRESH = 4
const FAILURE_SHIFT = 8
/** The bits that an amendment replaces; the failure stays. */
export const VERDICT_BITS = 7

export function outcomeOf(state: PollState, fresh: boolean, failure: FailureKind | null): number {
  const verdict = POLL_STATES.indexOf(state) + (fresh ? 0 : NOT_FRESH)
  return verdict + (failure === null ? 0 : FAILURES[failure].storedAs * FAILURE_SHIFT)
}

const BY_NUMBER = new Map(FAILURE_KINDS.map((kind) => [FAILURES[kind].storedAs, kind]))
