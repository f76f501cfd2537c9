import type { CheckName, Endpoint } from './endpoint.ts'
import type { Failure } from './failure.ts'
import type { Shard } from './network.ts'
import type { UnixMs } from './time.ts'

/** One poll of one endpoint: every check that the endpoint has. */
export interface PollResult {
  readonly endpoint: Endpoint
  readonly startedAt: UnixMs
  readonly finishedAt: UnixMs
  /** `null` where the endpoint has no such check. */
  readonly liveness: Outcome<Liveness> | null
  /** One for each polled shard; empty where the endpoint has no head check. */
  readonly heads: readonly ShardHead[]
  /** Further blocks that were asked for and answered. If a node does not have such a block, that is no failure. */
  readonly compared: readonly ComparedBlock[]
  /** The node's clock minus ours, from the answer's Date header; `null` when it sent none. */
  readonly clockSkewMs: number | null
  /** When the endpoint's certificate ends; `null` without TLS. */
  readonly tlsNotAfter: UnixMs | null
}

/** The result of one check: a value or a failure, and its duration. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T; readonly durationMs: number }
  | { readonly ok: false; readonly failure: Failure; readonly durationMs: number }

export interface ShardHead {
  readonly shard: Shard
  readonly outcome: Outcome<Head>
}

/** The block that an endpoint has at a height where others have one too: it shows which branch it is on. */
export interface ComparedBlock {
  readonly shard: Shard
  readonly height: number
  readonly hash: string
}

/** A block to ask for, where the head alone cannot be compared. */
export interface Comparison {
  readonly shard: Shard
  readonly height: number
}

/** The outcome of a whole check: the head check fails with its first failing shard. */
export function checkOutcome(result: PollResult, check: CheckName): Outcome<unknown> | null {
  if (check === 'liveness') return result.liveness
  const first = result.heads[0]
  if (first === undefined) return null
  if (result.heads.length === 1) return first.outcome
  const failed = result.heads.find((head) => !head.outcome.ok)
  const durationMs = Math.max(...result.heads.map((head) => head.outcome.durationMs))
  return { ...(failed ?? first).outcome, durationMs }
}

/** A check was not sent because our own machine is out of resources: that says nothing about the node. */
export function isOwnFault({ liveness, heads }: PollResult): boolean {
  const outcomes = [...(liveness === null ? [] : [liveness]), ...heads.map(({ outcome }) => outcome)]
  return outcomes.some((outcome) => !outcome.ok && outcome.failure.kind === 'local-resources')
}

/** The newest block that an endpoint reports. */
export interface Head {
  /** Block number or nonce: a safe integer, checked at the edge. */
  readonly height: number
  /** Lower-case hexadecimal, as the family writes it (with `0x` on EVM chains). */
  readonly hash: string
  readonly parentHash: string
  readonly timestamp: UnixMs
}

/** One check that the node runs on itself. */
export interface NodeCheck {
  /** Printable, at most 256 characters: it comes from the node. */
  readonly name: string
  readonly healthy: boolean
  /** The node's own text, printable, at most 256 characters; private. */
  readonly error: string | null
  readonly contiguousFailures: number
  readonly failingSince: UnixMs | null
  readonly checkedAt: UnixMs | null
  readonly durationMs: number | null
}

/** What the node reports about itself. */
export interface Liveness {
  readonly healthy: boolean
  /** Empty when the node gives no evidence. */
  readonly checks: readonly NodeCheck[]
  /** When the node last handled a network message, on our clock; `null` if not reported. In the future if its clock is wrong. */
  readonly heartbeatAt: UnixMs | null
}

/** Why a poll did not happen in its turn. */
export const SKIP_REASONS = ['overlap', 'concurrency', 'late', 'rate-limited'] as const
export type SkipReason = (typeof SKIP_REASONS)[number]
