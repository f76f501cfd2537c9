import type { Network, Shard } from '../network.ts'
import type { Head } from '../poll-result.ts'
import { isOwnFault, type PollResult } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { assess } from './assess.ts'
import { type Condition, severity, worst } from './condition.ts'
import { unconfirmed } from './confirm.ts'
import type { ShardStanding } from './findings.ts'
import type { Health } from './health.ts'
import { createNetworkView } from './network-view.ts'

/** Where the network stands, as the polls of the schedule have it. */
export interface NetworkContext {
  readonly network: Network
  readonly heads: readonly { readonly shard: Shard; readonly height: number }[]
  /** Shards that no other endpoint of the network has. */
  readonly alone: ReadonlySet<Shard>
}

/**
 * What a single poll says of an endpoint, without waiting for a second one to confirm it and without changing what is known:
 * the head is held to what the others have said, and whether it is on another branch stays as the schedule's polls found it.
 */
export function judgeSinglePoll(result: PollResult, known: Health, beside: NetworkContext, now: UnixMs): Health {
  const { network } = beside
  const standings = result.heads.flatMap(({ shard, outcome }) =>
    outcome.ok ? [standingOf(shard, outcome.value, known, beside, now)] : [],
  )
  const impatient = { ...network.thresholds, failAfter: 1, recoverAfter: 1 }
  const judged = assess(result, { ...known, confirmation: unconfirmed(now) }, standings, impatient, now)
  // What an earlier poll has read is no answer to this one.
  const heads = judged.heads.filter((head) => standings.some(({ shard }) => shard === head.shard))
  const health = { ...judged, heads, verdict: isOwnFault(result) ? null : judged.verdict }
  const forked = known.conditions.find(({ code }) => code === 'forked')
  return forked === undefined || health.heads.length === 0 ? health : withCondition(health, forked)
}

function standingOf(shard: Shard, head: Head, known: Health, { network, heads, alone }: NetworkContext, now: UnixMs) {
  const { thresholds, blockTimeMs } = network
  const before = known.heads.find((one) => one.shard === shard)
  const reference = heads.find((one) => one.shard === shard)
  const advancedAt = before === undefined || head.height > before.height ? now : before.advancedAt
  const lagBlocks = Math.max(0, (reference?.height ?? head.height) - head.height)
  const lagging = lagBlocks > thresholds.lagRecoverBlocks && known.laggingShards.includes(shard)
  const stands = lagBlocks > 0 && now - advancedAt >= thresholds.stallMs
  return {
    shard,
    head,
    advancedAt,
    lagBlocks,
    lagWitnessed: lagBlocks,
    lagging: lagging || lagBlocks >= thresholds.lagBlocks,
    lagMs: lagBlocks * blockTimeMs,
    blockTimeMs,
    stalledForMs: stands ? now - advancedAt : null,
    ageMs: alone.has(shard) ? Math.max(0, now - head.timestamp) : null,
    branch: null,
  } satisfies ShardStanding
}

function withCondition(health: Health, condition: Condition): Health {
  const conditions = [...health.conditions, condition].toSorted((a, b) => severity(b.verdict) - severity(a.verdict))
  return { ...health, conditions, verdict: worst([health.verdict ?? 'up', condition.verdict]) }
}

/**
 * The healths that a single round of polls gives, without waiting for a second one to confirm. Every endpoint is held to
 * what all of them said, whoever was heard first.
 */
export function judgeRound(network: Network, results: readonly PollResult[], now: UnixMs): readonly Health[] {
  const impatient = { ...network, thresholds: { ...network.thresholds, failAfter: 1, recoverAfter: 1 } }
  const endpoints = results.map((result) => result.endpoint)
  const view = createNetworkView(impatient, endpoints, now)
  const fair = results.filter((result) => !isOwnFault(result))
  for (const result of fair) view.judge(result, now)
  for (const result of fair) view.judge(result, now)
  return endpoints.map((endpoint) => view.health(endpoint.name)).filter((health) => health !== undefined)
}
