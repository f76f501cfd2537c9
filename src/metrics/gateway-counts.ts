import type { RequestOutcome } from '../core/routing/request-outcome.ts'
import type { Histogram } from './histogram.ts'

/** The counters of one network, in nested maps instead of joined keys, so that counting allocates nothing. */
export interface NetworkCounts {
  readonly operations: Tree<OperationCounts>
  /** By endpoint, operation, outcome. */
  readonly attempts: Tree<Tree<Tree<number>>>
  readonly rejections: Tree<number>
  readonly retries: Tree<number>
  readonly cache: { hit: number; miss: number }
  degraded: number
  coalesced: number
  inFlight: number
}

export interface OperationCounts {
  readonly durations: Histogram
  readonly overheads: Histogram
  timed: boolean
  /** By caller, then by outcome. */
  readonly requests: Tree<Tree<number>>
}

export type Tree<T> = Map<string, T>

export type OutcomeKind = 'answered' | 'node-error' | 'failed' | 'refused' | 'cancelled'

/** A failure is caused by us or the nodes, a refusal by the caller. */
export const OUTCOME_KINDS: Readonly<Record<RequestOutcome, OutcomeKind>> = {
  answered: 'answered',
  'node-error': 'node-error',
  cancelled: 'cancelled',
  unparsable: 'refused',
  'no-request': 'refused',
  'unknown-method': 'refused',
  'bad-params': 'refused',
  'content-type': 'refused',
  'http-method': 'refused',
  'unknown-route': 'refused',
  'too-large': 'refused',
  'answer-too-large': 'refused',
  unauthorized: 'refused',
  forbidden: 'refused',
  'rate-limited': 'refused',
  'no-endpoint': 'failed',
  'all-failed': 'failed',
  deadline: 'failed',
  'outcome-unknown': 'failed',
  overloaded: 'failed',
}
