import type { Endpoint } from '../endpoint.ts'
import type { Failure } from '../failure.ts'
import type { Network, Shard } from '../network.ts'
import { type Head, isOwnFault, type PollResult } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { assess } from './assess.ts'
import { type Condition, severity, worst } from './condition.ts'
import { unconfirmed } from './confirm.ts'
import type { ShardStanding } from './findings.ts'
import type { Health } from './health.ts'
import { isLagging, lagBehind, msPerBlock } from './lag.ts'
import type { NetworkReference } from './network-chains.ts'
import { createNetworkView } from './network-view.ts'

/**
 * Judges one poll without confirming it by a second poll and without changing what is known. Its heads are compared
 * with the schedule's reference heads; a known `forked` condition is kept.
 */
export function judgeSinglePoll(result: PollResult, known: Health, context: NetworkContext, now: UnixMs): Health {
  const { network } = context
  const standings = result.heads.flatMap(({ shard, outcome }) =>
    outcome.ok ? [standingOf(shard, outcome.value, known, context, now)] : [],
  )
  const thresholds = withoutConfirmation(network).thresholds
  const judged = assess(result, { ...known, confirmation: unconfirmed(now) }, standings, thresholds, now)
  // Heads of earlier polls are not results of this one.
  const heads = judged.heads.filter((head) => standings.some(({ shard }) => shard === head.shard))
  const health = { ...judged, heads, verdict: isOwnFault(result) ? null : judged.verdict }
  const forked = known.conditions.find(({ code }) => code === 'forked')
  return forked === undefined || health.heads.length === 0 ? health : withCondition(health, forked)
}

/** What the scheduled polls know about the network. */
export interface NetworkContext {
  readonly network: Network
  readonly heads: readonly Pick<NetworkReference, 'shard' | 'height' | 'confirmedHeight' | 'blockTimeMs'>[]
  /** Shards that no other endpoint of the network has. */
  readonly alone: ReadonlySet<Shard>
}

/** Judges one round of polls, each compared with all others, in any order of answers. */
export function judgeRound(network: Network, results: readonly PollResult[], now: UnixMs): readonly Health[] {
  const endpoints = results.map((result) => result.endpoint)
  const view = createNetworkView(withoutConfirmation(network), endpoints, now)
  // Only polls after the first round are compared.
  for (const { name } of endpoints) view.discardPoll(name, now)
  const valid = results.filter((result) => !isOwnFault(result))
  for (const { endpoint, heads } of valid) {
    for (const { shard, outcome } of heads)
      if (outcome.ok) view.chains.at(shard)?.add(endpoint.name, outcome.value, now)
  }
  for (const result of valid) view.judge(result, now)
  return endpoints.map((endpoint) => view.health(endpoint.name)).filter((health) => health !== undefined)
}

function withoutConfirmation(network: Network): Network {
  return { ...network, thresholds: { ...network.thresholds, failAfter: 1, recoverAfter: 1 } }
}

function standingOf(
  shard: Shard,
  head: Head,
  known: Health,
  { network, heads, alone }: NetworkContext,
  now: UnixMs,
): ShardStanding {
  const { thresholds } = network
  const before = known.heads.find((one) => one.shard === shard)
  const reference = heads.find((one) => one.shard === shard)
  const advancedAt = before === undefined || head.height > before.height ? now : before.advancedAt
  const lag = lagBehind(head.height, reference)
  const blockTimeMs = msPerBlock(network, reference?.blockTimeMs ?? null)
  const isStalled = lag.lagBlocks > 0 && now - advancedAt >= thresholds.stallMs
  return {
    shard,
    head,
    advancedAt,
    ...lag,
    lagging: isLagging(lag, known.laggingShards.includes(shard), thresholds),
    lagMs: lag.lagBlocks * blockTimeMs,
    blockTimeMs,
    stalledForMs: isStalled ? now - advancedAt : null,
    ageMs: alone.has(shard) ? Math.max(0, now - head.timestamp) : null,
    isBehindHalf: false,
    branch: null,
  }
}

function withCondition(health: Health, condition: Condition): Health {
  const conditions = [...health.conditions, condition].toSorted((a, b) => severity(b.verdict) - severity(a.verdict))
  return { ...health, conditions, verdict: worst([health.verdict ?? 'up', condition.verdict]) }
}

/** One poll outside the schedule, and the health that follows from it alone. */
export interface Inspection {
  readonly result: PollResult
  /** Unconfirmed: this one poll decides. */
  readonly health: Health
  readonly steps: readonly PollStep[]
  readonly startedAt: UnixMs
  /** From the request to the end of the poll; `waitedMs` of it was waiting for a free slot. */
  readonly tookMs: number
  readonly waitedMs: number
}

/** The result of a request for a poll outside the schedule. */
export type Inspected =
  | { readonly kind: 'polled'; readonly inspection: Inspection }
  /** The maximum number of polls is running, and none of them ended in time. */
  | { readonly kind: 'no-place' }
  /** The node is rate-limiting us. */
  | { readonly kind: 'asked-to-wait'; readonly forMs: number }
  | { readonly kind: 'unknown-endpoint' }

/** Polls an endpoint now. Never rejects. Simultaneous requests share one poll. */
export type Inspect = (endpoint: Endpoint, withinMs: number) => Promise<Inspected>

/** One request of a poll, shown as a step. Configured secrets are removed from its texts. */
export interface PollStep {
  /** Since the start of the poll. */
  readonly afterMs: number
  readonly tookMs: number
  /** How long it waited for a free connection. */
  readonly waitedMs: number
  readonly method: 'GET' | 'POST'
  /** Appended to the endpoint's URL. */
  readonly path: string
  readonly body: string | null
  readonly answer:
    | { readonly ok: true; readonly status: number; readonly bytes: number; readonly text: string }
    | { readonly ok: false; readonly failure: Failure }
}
