import type { Endpoint } from '../endpoint.ts'
import type { Shard } from '../network.ts'
import type { Head, Liveness } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import type { Condition, State, Verdict } from './condition.ts'
import { type ConfirmationState, unconfirmed } from './confirm.ts'

/** The newest head seen on one shard of an endpoint, beside the reference head. */
export interface HeadStanding extends Head {
  readonly shard: Shard
  /** Reference height minus this height, never negative; `null` before the first comparison. */
  readonly lagBlocks: number | null
  /** The lag in block time; `null` likewise. */
  readonly lagMs: number | null
  /** When this endpoint's height was last seen to grow. */
  readonly advancedAt: UnixMs
  /** Start of the poll that last read it: a shard whose check fails keeps its last head. */
  readonly readAt: UnixMs
}

/** What is known of one endpoint after its latest poll. Immutable: the next poll makes a new one. */
export interface Health {
  readonly endpoint: Endpoint
  /** The confirmed verdict; `null` until one is confirmed. */
  readonly verdict: Verdict | null
  /** Since when the verdict holds: the first poll that said so. */
  readonly since: UnixMs
  /** Confirmed, the worst first. */
  readonly conditions: readonly Condition[]
  /** Start of the latest poll; `null` before the first. */
  readonly lastPolledAt: UnixMs | null
  /** The latest result holds until then; later the state is unknown. */
  readonly validUntil: UnixMs
  readonly heads: readonly HeadStanding[]
  /** `null` where there is no such check, or it failed in the latest poll. */
  readonly liveness: Liveness | null
  /** How long the slowest check of the latest poll took; `null` when none succeeded. */
  readonly latencyMs: number | null
  readonly clockSkewMs: number | null
  readonly tlsNotAfter: UnixMs | null
  /** How the verdict came about: what the next poll goes on from. */
  readonly confirmation: ConfirmationState
  /** The shards on which the latest answer lags, by the enter and leave thresholds, confirmed or not. */
  readonly laggingShards: readonly Shard[]
}

/** An endpoint that was never polled. */
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
    latencyMs: null,
    clockSkewMs: null,
    tlsNotAfter: null,
    confirmation: unconfirmed(at),
    laggingShards: [],
  }
}

/** A result holds until the next one or until two intervals have passed; the time after that is unknown. */
export function stateAt(health: Health, now: UnixMs): State {
  return health.verdict === null || now > health.validUntil ? 'unknown' : health.verdict
}

/** Whether what the latest poll said still holds: until the next one, or for two intervals. */
export function resultHolds(health: Health, now: UnixMs): boolean {
  return health.lastPolledAt !== null && now <= health.validUntil
}

/** Whether a head may be told as where the endpoint is now: once it was not read for two intervals it is where it was. */
export function headHolds(head: HeadStanding, health: Health, now: UnixMs): boolean {
  return resultHolds(health, now) && now <= head.readAt + 2 * health.endpoint.intervalMs
}

/** Since when the state that `stateAt` gives holds: an outdated result is unknown from the moment it ran out. */
export function stateSince(health: Health, now: UnixMs): UnixMs {
  return health.verdict !== null && stateAt(health, now) === 'unknown' ? health.validUntil : health.since
}
