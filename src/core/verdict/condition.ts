import type { UnixMs } from '../time.ts'

/** The state of an endpoint. `maintenance` and `unknown` say nothing about the node. */
export type State = 'up' | 'degraded' | 'down' | 'maintenance' | 'unknown'
export const STATES = ['up', 'degraded', 'down', 'maintenance', 'unknown'] as const satisfies readonly State[]

/** The states that a poll can give, from good to bad. */
export const VERDICTS = ['up', 'degraded', 'down'] as const
export type Verdict = (typeof VERDICTS)[number]

/** 0 for `up`, higher for worse verdicts. */
export function severity(verdict: Verdict): number {
  return VERDICTS.indexOf(verdict)
}

export function worst(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce<Verdict>((a, b) => (severity(b) > severity(a) ? b : a), 'up')
}

export function best(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce<Verdict>((a, b) => (severity(b) < severity(a) ? b : a), 'down')
}

/** All reasons why an endpoint is not simply up. */
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
  'syncing',
  'few-peers',
  'consensus-syncing',
  'consensus-down',
  'slow',
  'rate-limited',
  'partial',
  'clock-skewed',
  'no-evidence',
] as const
export type ConditionCode = (typeof CONDITION_CODES)[number]

/** A problem found by one poll, before it is confirmed. */
export interface Finding {
  readonly code: ConditionCode
  /** The endpoint's state once this is confirmed; `up` if it is shown without changing the state. */
  readonly verdict: Verdict
  /** A sentence for people, without secrets. */
  readonly message: string
  /** Set where no other endpoint tells whether the endpoint or the chain is at fault. */
  readonly isAlone?: true | undefined
  /** The shards that it was found on; absent if it is not about shards. */
  readonly shards?: readonly number[] | undefined
}

/** All shards of these findings; absent if one of them is not about shards. */
export function shardsOf(findings: readonly Pick<Finding, 'shards'>[]): Finding['shards'] {
  if (findings.some(({ shards }) => shards === undefined)) return undefined
  return [...new Set(findings.flatMap(({ shards }) => shards ?? []))]
}

/** For messages: `a, b and 3 more`, at most `most` names. */
export function named(names: readonly string[], most: number): string {
  const rest = names.length - most
  return `${names.slice(0, most).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** A confirmed finding, with the time of its first poll. */
export interface Condition extends Finding {
  readonly since: UnixMs
}

/**
 * Whether a condition compares the endpoint with the others: its data is not current. While the whole network is halted
 * or forked, that is not the endpoint's fault.
 */
export function isRelative(code: ConditionCode | 'halted'): boolean {
  return code === 'lagging' || code === 'stalled' || code === 'forked'
}

/** Whether the node's newest head is not known, or is that of another chain: its last one is shown. */
export function hidesHead(code: ConditionCode): boolean {
  return code === 'unreachable' || code === 'bad-answer' || code === 'wrong-network'
}

/** Whether an endpoint is usable and at the head of the chain; counted by `availability.fresh`. */
export function isFresh(verdict: Verdict | null, conditions: readonly Condition[]): boolean {
  return verdict !== null && verdict !== 'down' && !conditions.some(({ code }) => isRelative(code))
}
