import { assess } from './assess.ts'
import { type ChainReference, type ChainView, createChainView, type SeenHead } from './chain-view.ts'
import { conditionsOf, settled } from './confirm.ts'
import type { Endpoint } from './endpoint.ts'
import type { ShardStanding } from './findings.ts'
import { type Health, unpolled } from './health.ts'
import type { Network, Shard } from './network.ts'
import type { PollResult } from './poll-result.ts'
import type { UnixMs } from './time.ts'

/** Where a network stands: what its endpoints agree on, per shard. */
export interface NetworkReference {
  readonly shard: Shard
  readonly height: number
  readonly hash: string | null
  readonly timestamp: UnixMs | null
}

export type ChainEvent =
  | { readonly kind: 'regressed'; readonly shard: Shard; readonly blocks: number }
  | {
      readonly kind: 'reorged'
      readonly shard: Shard
      readonly height: number
      readonly hash: string
      readonly previousHash: string
    }

/** What one poll has changed. */
export interface Judgement {
  readonly health: Health
  readonly events: readonly ChainEvent[]
}

/** What must survive a restart, of one endpoint. Plain data. */
export interface EndpointMemory {
  readonly streaks: Health['streaks']
  readonly lastPolledAt: UnixMs | null
  readonly seen: readonly { readonly shard: Shard; readonly seen: SeenHead }[]
}

/** One network: its chains, and the health of its endpoints. Pure: what it says follows from what it was given. */
export interface NetworkView {
  readonly network: Network
  /** Judges one endpoint by a poll; `null` when the poll says nothing of the node (it was our own fault). */
  judge(result: PollResult, now: UnixMs): Judgement | null
  health(endpoint: string): Health | undefined
  /** The same array as before while none of them has changed. */
  references(now: UnixMs): readonly NetworkReference[]
  /** Every shard's endpoints answer, and none of them advances. */
  halted(now: UnixMs): boolean
  remember(endpoint: string): EndpointMemory | null
  /** Goes on from an earlier run: the state is unknown until the next poll. */
  recall(endpoint: string, memory: EndpointMemory, now: UnixMs): void
  /** Goes on from the view that this one replaces, as if nothing had happened. */
  adopt(endpoint: string, from: NetworkView): void
  /** The wall clock was stepped by so much: chains do not notice. */
  shift(ms: number): void
}

export function createNetworkView(network: Network, endpoints: readonly Endpoint[], now: UnixMs): NetworkView {
  const { thresholds, blockTimeMs } = network
  const healths = new Map<string, Health>(endpoints.map((endpoint) => [endpoint.name, unpolled(endpoint, now)]))
  const longestIntervalMs = Math.max(0, ...endpoints.map((endpoint) => endpoint.intervalMs))
  const chains = new Map<Shard, ChainView>()
  for (const shard of new Set(endpoints.flatMap((endpoint) => endpoint.shards))) {
    chains.set(shard, createChainView({ ...thresholds, blockTimeMs, recentMs: 2 * longestIntervalMs }))
  }

  /** What `references` last told, and of which. */
  let references: readonly NetworkReference[] = []
  let told: readonly { readonly shard: Shard; readonly reference: ChainReference }[] = []

  function standingOn(shard: Shard, previous: Health, at: UnixMs): ShardStanding | null {
    const standing = chains.get(shard)?.standing(previous.endpoint.name, at)
    if (standing === null || standing === undefined) return null
    const { lagBlocks } = standing
    const lagging = previous.laggingShards.includes(shard)
      ? lagBlocks > thresholds.lagRecoverBlocks
      : lagBlocks >= thresholds.lagBlocks
    return { ...standing, shard, lagging, lagMs: lagBlocks * blockTimeMs }
  }

  function restoreSeen(name: string, memory: EndpointMemory, heads: Health['heads']): void {
    for (const { shard, seen } of memory.seen) {
      chains.get(shard)?.restore(name, seen, heads.find((head) => head.shard === shard)?.readAt)
    }
  }

  return {
    network,

    judge(result, at) {
      const { name } = result.endpoint
      const previous = healths.get(name)
      if (previous === undefined || isOurFault(result)) return null
      const events: ChainEvent[] = []
      const standings: ShardStanding[] = []
      for (const { shard, outcome } of result.heads) {
        const chain = chains.get(shard)
        if (!outcome.ok) {
          if (outcome.failure.kind === 'wrong-network') chain?.forget(name)
          continue
        }
        const move = chain?.take(name, outcome.value, at)
        if (move?.kind === 'regressed' || move?.kind === 'reorged') events.push({ ...move, shard })
        const standing = standingOn(shard, previous, at)
        if (standing !== null) standings.push(standing)
      }
      const health = assess(result, previous, standings, thresholds, at)
      healths.set(name, health)
      return { health, events }
    },

    health: (name) => healths.get(name),

    references(at) {
      const now = [...chains].flatMap(([shard, chain]) => {
        const reference = chain.reference(at)
        return reference === null ? [] : [{ shard, reference }]
      })
      const same =
        now.length === told.length && now.every(({ reference }, index) => reference === told[index]?.reference)
      if (!same) {
        told = now
        references = now.map(({ shard, reference: { height, hash, timestamp } }) => ({
          shard,
          height,
          hash,
          timestamp,
        }))
      }
      return references
    },

    halted(at) {
      return chains.size > 0 && [...chains.values()].every((chain) => chain.halted(at))
    },

    remember(name) {
      const health = healths.get(name)
      if (health === undefined) return null
      const seen = health.endpoint.shards.flatMap((shard) => {
        const head = chains.get(shard)?.seen(name)
        return head === null || head === undefined ? [] : [{ shard, seen: head }]
      })
      return { streaks: health.streaks, lastPolledAt: health.lastPolledAt, seen }
    },

    recall(name, memory, at) {
      const health = healths.get(name)
      if (health === undefined) return
      restoreSeen(name, memory, [])
      const streaks = isRecent(memory, health.endpoint, at) ? memory.streaks : settled(memory.streaks)
      const lagging = health.endpoint.shards.filter((shard) => {
        const standing = chains.get(shard)?.standing(name, at)
        return standing !== null && standing !== undefined && standing.lagBlocks > thresholds.lagRecoverBlocks
      })
      const wasLagging = memory.streaks.traces.some((trace) => trace.finding.code === 'lagging')
      healths.set(name, {
        ...health,
        verdict: streaks.verdict,
        since: streaks.since,
        conditions: conditionsOf(streaks),
        streaks,
        lastPolledAt: memory.lastPolledAt,
        // What was true before the restart is history: the state is unknown until the next poll.
        validUntil: memory.lastPolledAt ?? at,
        laggingShards: wasLagging ? lagging : [],
      })
    },

    adopt(name, from) {
      const fresh = healths.get(name)
      const earlier = from.health(name)
      const memory = from.remember(name)
      if (fresh === undefined || earlier === undefined || memory === null) return
      restoreSeen(name, memory, earlier.heads)
      healths.set(name, { ...earlier, endpoint: fresh.endpoint })
    },

    shift(ms) {
      for (const chain of chains.values()) chain.shift(ms)
    },
  }
}

/** Polls before and after a longer pause are not in a row. */
function isRecent({ lastPolledAt }: EndpointMemory, { intervalMs }: Endpoint, now: UnixMs): boolean {
  return lastPolledAt !== null && now - lastPolledAt <= 2 * intervalMs
}

function isOurFault(result: PollResult): boolean {
  const outcomes = [result.liveness, ...result.heads.map((head) => head.outcome)]
  return outcomes.some((outcome) => outcome?.ok === false && outcome.failure.kind === 'local-resources')
}
