import type { UnixMs } from './time.ts'

/** What an endpoint is called. `maintenance` and `unknown` are no judgement of the node. */
export type State = 'up' | 'degraded' | 'down' | 'maintenance' | 'unknown'
export const STATES = ['up', 'degraded', 'down', 'maintenance', 'unknown'] as const satisfies readonly State[]

/** The states that a poll can give. */
export type Verdict = 'up' | 'degraded' | 'down'

/** Why an endpoint is not simply up: the closed list. */
export const CONDITION_CODES = [
  'unreachable',
  'bad-answer',
  'wrong-network',
  'unhealthy',
  'lagging',
  'stalled',
  'forked',
  'check-failing',
  'heartbeat-stale',
  'slow',
  'rate-limited',
  'clock-skewed',
  'no-evidence',
] as const
export type ConditionCode = (typeof CONDITION_CODES)[number]

/** What one poll says, before it is confirmed. */
export interface Finding {
  readonly code: ConditionCode
  readonly verdict: Verdict
  /** A sentence for people; holds no secret and no text of the node's. */
  readonly message: string
}

/** A finding that is confirmed, with the time of its first poll. */
export interface Condition extends Finding {
  readonly since: UnixMs
}
