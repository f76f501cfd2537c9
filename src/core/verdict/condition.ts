import type { UnixMs } from '../time.ts'

/** What an endpoint is called. `maintenance` and `unknown` are no judgement of the node. */
export type State = 'up' | 'degraded' | 'down' | 'maintenance' | 'unknown'
export const STATES = ['up', 'degraded', 'down', 'maintenance', 'unknown'] as const satisfies readonly State[]

/** The states that a poll can give, from good to bad. */
export const VERDICTS = ['up', 'degraded', 'down'] as const
export type Verdict = (typeof VERDICTS)[number]

/** How bad a verdict is: 0 for `up`. */
export function severity(verdict: Verdict): number {
  return VERDICTS.indexOf(verdict)
}

export function worst(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce<Verdict>((a, b) => (severity(b) > severity(a) ? b : a), 'up')
}

export function best(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce<Verdict>((a, b) => (severity(b) < severity(a) ? b : a), 'down')
}

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
  /** What the endpoint is called if this is confirmed; `up` where it is shown without changing the state. */
  readonly verdict: Verdict
  /** A sentence for people; holds no secret. */
  readonly message: string
}

/** A finding that is confirmed, with the time of its first poll. */
export interface Condition extends Finding {
  readonly since: UnixMs
}

/** Conditions under which a node's data is not current, whatever else it does well. */
const NOT_FRESH: ReadonlySet<ConditionCode> = new Set(['lagging', 'stalled', 'forked'])

/** Up and at the head of the chain: what `availability.fresh` counts. */
export function isFresh(verdict: Verdict | null, conditions: readonly Condition[]): boolean {
  return verdict !== null && verdict !== 'down' && !conditions.some((condition) => NOT_FRESH.has(condition.code))
}
