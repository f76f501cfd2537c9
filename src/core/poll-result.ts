import type { CheckName, Endpoint } from './endpoint.ts'
import { FAILURES, type Failure } from './failure.ts'
import type { Shard } from './network.ts'
import type { UnixMs } from './time.ts'

/** One poll of one endpoint, with all its checks. */
export interface PollResult {
  readonly endpoint: Endpoint
  readonly startedAt: UnixMs
  readonly finishedAt: UnixMs
  /** `null` if the endpoint has no such check, or the node offers nothing that was due, so that no request was sent. */
  readonly liveness: LivenessOutcome | null
  /** One per polled shard; empty if the endpoint has no head check. */
  readonly heads: readonly ShardHead[]
  /** The further blocks that were requested and received. A node that does not have such a block has not failed. */
  readonly compared: readonly ComparedBlock[]
  /** The node's clock minus ours, from the Date header; `null` if there is none. */
  readonly clockSkewMs: number | null
  /** Requests sent to the node for each check. */
  readonly requests: Readonly<Record<CheckName, number>>
  /** When the endpoint's certificate expires; `null` without TLS. */
  readonly tlsNotAfter: UnixMs | null
}

export type Outcome<T> =
  | { readonly ok: true; readonly value: T; readonly durationMs: number }
  | { readonly ok: false; readonly failure: Failure; readonly durationMs: number }

/** A node that fails leaves what its consensus node `told`. */
export type LivenessOutcome =
  | Extract<Outcome<Liveness>, { ok: true }>
  | (Extract<Outcome<Liveness>, { ok: false }> & { readonly told?: Liveness })

export interface ShardHead {
  readonly shard: Shard
  readonly outcome: Outcome<Head>
}

/** An endpoint's block at a height where other endpoints have one too: it shows the endpoint's branch. */
export interface ComparedBlock {
  readonly shard: Shard
  readonly height: number
  readonly hash: string
}

/** A further block to request, because the head alone cannot be compared. */
export interface Comparison {
  readonly shard: Shard
  readonly height: number
}

/** The outcome of a whole check: a head check fails with its first failing shard and lasts as long as its slowest. */
export function checkOutcome(result: PollResult, check: CheckName): Outcome<unknown> | null {
  if (check === 'liveness') return result.liveness
  const first = result.heads[0]
  if (first === undefined) return null
  if (result.heads.length === 1) return first.outcome
  const failed = result.heads.find((head) => !head.outcome.ok)
  const durationMs = Math.max(...result.heads.map((head) => head.outcome.durationMs))
  return { ...(failed ?? first).outcome, durationMs }
}

/** Whether any byte arrived from the host; `dns`: its name was not resolved. An error is an answer, too. */
export function reachOf(outcome: Outcome<unknown>): 'yes' | 'no' | 'dns' {
  return outcome.ok ? 'yes' : FAILURES[outcome.failure.kind].reached
}

/** How the node refused the check to limit our rate; `null` if it did not. */
export function rateLimitOf(outcome: Outcome<unknown>): Extract<Failure, { kind: 'rate-limited' }> | null {
  return !outcome.ok && outcome.failure.kind === 'rate-limited' ? outcome.failure : null
}

/** What the node gave no usable answer to: its liveness, and the heads of single shards. */
export function unansweredQuestions({ liveness, heads }: PollResult): readonly string[] {
  if (liveness?.ok !== false && heads.every(({ outcome }) => outcome.ok)) return NOTHING
  const failed = heads.filter(({ outcome }) => isUnanswered(outcome)).map(({ shard }) => `head ${shard ?? ''}`.trim())
  return liveness !== null && isUnanswered(liveness) ? ['liveness', ...failed] : failed
}

function isUnanswered(outcome: Outcome<unknown>): boolean {
  const condition = outcome.ok ? null : FAILURES[outcome.failure.kind].condition
  return condition === 'unreachable' || condition === 'bad-answer'
}

const NOTHING: readonly never[] = Object.freeze([])

/** Whether the host was reached by at least one check. */
export function isAnswered(result: PollResult): boolean {
  return outcomesOf(result).some((outcome) => reachOf(outcome) === 'yes')
}

/** Whether a check failed because our own machine is out of resources: that says nothing about the node. */
export function isOwnFault(result: PollResult): boolean {
  return outcomesOf(result).some((outcome) => !outcome.ok && outcome.failure.kind === 'local-resources')
}

function outcomesOf({ liveness, heads }: PollResult): readonly Outcome<unknown>[] {
  return [...(liveness === null ? [] : [liveness]), ...heads.map(({ outcome }) => outcome)]
}

/** The newest block that an endpoint reports. */
export interface Head {
  /** Block number or nonce: a safe integer, validated when parsed. */
  readonly height: number
  /** Lower-case hexadecimal, as the family writes it (with `0x` on EVM chains). */
  readonly hash: string
  readonly parentHash: string
  readonly timestamp: UnixMs
}

/** A node has a few dozen checks. Thousands of names must not use up the poll's time or the page's memory. */
export const MAX_CHECKS = 1000

/** One check that the node runs on itself. */
export interface NodeCheck {
  /** From the node: printable, at most 256 characters. */
  readonly name: string
  readonly healthy: boolean
  /** From the node and private: printable, at most 256 characters. */
  readonly error: string | null
  readonly contiguousFailures: number
  readonly failingSince: UnixMs | null
  readonly checkedAt: UnixMs | null
  readonly durationMs: number | null
  /** `false` if the node or its provider does not offer what was asked; that is never held against it. */
  readonly offered?: false
}

/** What the node reports about itself. */
export interface Liveness {
  readonly healthy: boolean
  /** Empty if the node names no checks; at most `MAX_CHECKS`. */
  readonly checks: readonly NodeCheck[]
  /** When the node last handled a network message, on our clock; `null` if not reported. May be in the future. */
  readonly heartbeatAt: UnixMs | null
  /** Absent if the node runs and counts its checks itself (avalanche); else its checks are our questions. */
  readonly report?: NodeReport
  /** The node did not answer the latest of our questions. */
  readonly unanswered?: true
  /** The chain id was verified. Only for endpoints without a head check, because a head counts only with it. */
  readonly chainIdVerified?: true
}

/** Answers to our questions about a node's own state. `null`: not told. */
export interface NodeReport {
  readonly sync: SyncReport | null
  readonly peers: number | null
  readonly client: NodeClient | null
  /** The consensus node behind an execution node; `null` without one. */
  readonly consensus: ConsensusReport | null
  /** The node offers to tell it, and failed to: what it told before may not be over. */
  readonly syncFailed?: true
  readonly peersFailed?: true
}

export interface SyncReport {
  readonly isSyncing: boolean
  /** Blocks to go; `null` if not told. */
  readonly remainingBlocks: number | null
}

/** The software of a node: name and version, printable. */
export interface NodeClient {
  readonly name: string
  readonly version: string | null
}

/** What the names of a consensus node's checks begin with: they are paths of the Beacon API. */
export const CONSENSUS_CHECKS = '/eth/v1/node/'
/** Its first check. */
export const CONSENSUS_HEALTH = `${CONSENSUS_CHECKS}health`

export const CONSENSUS_STATES = ['synced', 'syncing', 'optimistic', 'without-execution', 'down', 'unreached'] as const

export interface ConsensusReport {
  /** `null`: neither health nor synchronization is offered or told. `unreached`: perhaps this machine is at fault. */
  readonly state: (typeof CONSENSUS_STATES)[number] | null
  /** Our own words for why it is down or unreached. */
  readonly reason: string | null
  readonly remainingSlots: number | null
  readonly peers: number | null
  /** It told nothing of its state because it limits our rate. */
  readonly isLimited?: true
  /** It offers to tell more of its state than its health, or its peers, and failed to. */
  readonly syncFailed?: true
  readonly peersFailed?: true
}

/** Why a scheduled poll was skipped. */
export const SKIP_REASONS = ['overlap', 'concurrency', 'late', 'rate-limited'] as const
export type SkipReason = (typeof SKIP_REASONS)[number]
