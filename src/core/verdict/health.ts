import type { Endpoint } from '../endpoint.ts'
import type { Shard } from '../network.ts'
import type { Head, Liveness } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import type { Condition, ConditionCode, State, Verdict } from './condition.ts'
import { type ConfirmationState, unconfirmed } from './confirm.ts'

/** What is known about one endpoint after its latest poll. Immutable. */
export interface Health {
  readonly endpoint: Endpoint
  /** `null` until one is confirmed. */
  readonly verdict: Verdict | null
  /** Start of the first poll with this verdict. */
  readonly since: UnixMs
  /** Confirmed, worst first. */
  readonly conditions: readonly Condition[]
  /** Start of the latest poll; `null` before the first. */
  readonly lastPolledAt: UnixMs | null
  /** After this time the state is unknown. */
  readonly validUntil: UnixMs
  readonly heads: readonly HeadStanding[]
  /** The latest known. `null` without a liveness check, or if a node that runs its own checks failed to tell them. */
  readonly liveness: Liveness | null
  /** The node limited the rate of its latest liveness check: what it reported before may not be over. */
  readonly livenessLimited: boolean
  /** Duration of the slowest check of the latest poll; `null` if none succeeded. */
  readonly latencyMs: number | null
  readonly clockSkewMs: number | null
  readonly tlsNotAfter: UnixMs | null
  readonly confirmation: ConfirmationState
  /** Shards on which the latest poll lags by `isLagging`, confirmed or not. */
  readonly laggingShards: readonly Shard[]
}

/** The newest head of one shard, compared with the reference head. */
export interface HeadStanding extends Head {
  readonly shard: Shard
  /** Reference height minus this height, never negative; `null` before the first comparison. */
  readonly lagBlocks: number | null
  /** `lagBlocks` as block time; `null` before the first comparison. */
  readonly lagMs: number | null
  /** When this endpoint's height last grew. */
  readonly advancedAt: UnixMs
  /** Start of the poll that last read this head. A shard whose check fails keeps its last head. */
  readonly readAt: UnixMs
}

export function unpolled(endpoint: Endpoint, at: UnixMs): Health {
  return {
    endpoint,
    verdict: null,
    since: at,
    conditions: [],
    lastPolledAt: null,
    validUntil: at,
    heads: [],
    liveness: null,
    livenessLimited: false,
    latencyMs: null,
    clockSkewMs: null,
    tlsNotAfter: null,
    confirmation: unconfirmed(at),
    laggingShards: [],
  }
}

/** Whether a poll has verified the chain id, if the network has one. */
export function isChainIdVerified({ heads, liveness }: Pick<Health, 'heads' | 'liveness'>): boolean {
  return heads.length > 0 || liveness?.chainIdVerified === true
}

/** A result holds until the next one, but not longer than two intervals; then the state is unknown. */
export function stateAt(health: Health, now: UnixMs): State {
  return health.verdict === null || now > health.validUntil ? 'unknown' : health.verdict
}

/** Whether the latest result still holds, also if no verdict is confirmed yet. */
export function resultHolds(health: Health, now: UnixMs): boolean {
  return health.lastPolledAt !== null && now <= health.validUntil
}

/**
 * Whether a head is current. That of the latest poll holds as long as its result; one that was not read for two intervals
 * only shows where the endpoint was.
 */
export function headHolds(head: HeadStanding, health: Health, now: UnixMs): boolean {
  return resultHolds(health, now) && isCurrent(head, health, now)
}

/** The same, of a result that holds. */
export function isCurrent(
  { readAt }: HeadStanding,
  { lastPolledAt, endpoint }: Pick<Health, 'lastPolledAt' | 'endpoint'>,
  now: UnixMs,
): boolean {
  return readAt === lastPolledAt || now <= readAt + 2 * endpoint.intervalMs
}

/** When the state given by `stateAt` began: an unknown state began when the latest result expired. */
export function stateSince(health: Health, now: UnixMs): UnixMs {
  return health.verdict !== null && stateAt(health, now) === 'unknown' ? health.validUntil : health.since
}

/**
 * Whether polls find the endpoint on another network or fork, confirmed or not. Of polls of another member of a cluster
 * only confirmed conditions are known.
 */
export function isOnOtherChain({ conditions, confirmation }: Health): boolean {
  return (
    conditions.some(({ code }) => isOfOtherChain(code)) ||
    confirmation.traces.some(({ finding }) => isOfOtherChain(finding.code))
  )
}

function isOfOtherChain(code: ConditionCode): boolean {
  return code === 'wrong-network' || code === 'forked'
}

/** Whether the verdict or the set of conditions differs, not only heights and times. */
export function verdictDiffers(a: Health, b: Health): boolean {
  return (
    a.verdict !== b.verdict ||
    a.conditions.length !== b.conditions.length ||
    a.conditions.some((condition, at) => condition.code !== b.conditions[at]?.code)
  )
}
