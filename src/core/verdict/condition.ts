import type { UnixMs } from '../time.ts'

/** The state of an endpoint. `maintenance` and `unknown` say nothing about the node. */
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

/** The closed list of conditions: why an endpoint is not simply up. */
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

/** What one poll found, before it is confirmed. */
export interface Finding {
  readonly code: ConditionCode
  /** The state of the endpoint once this is confirmed; `up` where it is shown without changing the state. */
  readonly verdict: Verdict
  /** A sentence for people, without secrets. */
  readonly message: string
}

/** A confirmed finding, with the time of its first poll. */
export interface Condition extends Finding {
  readonly since: UnixMs
}

/** Conditions under which a node's data is not current. */
const NOT_FRESH: ReadonlySet<ConditionCode> = new Set(['lagging', 'stalled', 'forked'])

/** Whether an endpoint is usable and at the head of the chain: what `availability.fresh` counts. */
export function isFresh(verdict: Verdict | null, conditions: readonly Condition[]): boolean {
  return verdict !== null && verdict !== 'down' && !conditions.some((condition) => NOT_FRESH.has(condition.code))
}
