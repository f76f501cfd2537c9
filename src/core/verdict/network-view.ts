import type { Fork } from '../chain/branches.ts'
import { type ChainView, createChainView } from '../chain/chain-view.ts'
import type { SeenHead } from '../chain/known-heads.ts'
import type { ChainReference } from '../chain/reference-head.ts'
import type { Endpoint } from '../endpoint.ts'
import type { Network, Shard } from '../network.ts'
import type { Comparison, PollResult, ShardHead } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { assess, isSuspect, withoutResult } from './assess.ts'
import { conditionsOf, confirmedOnly } from './confirm.ts'
import type { ShardStanding } from './findings.ts'
import { type Health, unpolled } from './health.ts'

/** Where a network stands: what its endpoints agree on, per shard. */
export interface NetworkReference {
  readonly shard: Shard
  readonly height: number
  readonly hash: string | null
  readonly timestamp: UnixMs | null
  /** How many different blocks its endpoints have at the newest height that most have reached. */
  readonly branches: number
  /** As measured; `null` until enough blocks were seen. */
  readonly blockTimeMs: number | null
}

/** The endpoints of a shard disagree on its blocks, and no branch has a majority. */
export interface NetworkFork extends Fork {
  readonly shard: Shard
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
  /** Something worse than the verdict was found, and waits to be confirmed. */
  readonly suspect: boolean
}

/** What must survive a restart, of one endpoint. Plain data. */
export interface SavedEndpoint {
  readonly streaks: Health['confirmation']
  readonly lastPolledAt: UnixMs | null
  readonly seen: readonly { readonly shard: Shard; readonly seen: SeenHead }[]
}

/** One network: its chains, and the health of its endpoints. Pure: what it says follows from what it was given. */
export interface NetworkView {
  readonly network: Network
  /** Which blocks a poll that has read these heads must ask for besides. */
  compare(endpoint: string, heads: readonly ShardHead[]): readonly Comparison[]
  /** Judges one endpoint by a poll; `null` when it is no endpoint of this network. `timed`: what it took is the node's doing. */
  judge(result: PollResult, now: UnixMs, timed?: boolean): Judgement | null
  /** A poll says nothing of the node, by our own fault: its time is unknown. */
  discardPoll(endpoint: string, startedAt: UnixMs): Health | null
  health(endpoint: string): Health | undefined
  /** The same array as before while none of them has changed. */
  references(now: UnixMs): readonly NetworkReference[]
  /** The shards on which nobody advances, though endpoints answer, and since when. */
  halts(now: UnixMs): readonly { readonly shard: Shard; readonly since: UnixMs }[]
  /** Whether the endpoints of a shard disagree without a majority. */
  isForked(): boolean
  /** The first shard where they do. Large networks make it dear. */
  fork(): NetworkFork | null
  snapshot(endpoint: string): SavedEndpoint | null
  /** Goes on from an earlier run: the state is unknown until the next poll. */
  restore(endpoint: string, memory: SavedEndpoint, now: UnixMs): void
  /** Goes on from the view that this one replaces, as if nothing had happened. */
  takeOver(endpoint: string, from: NetworkView): void
  /** The wall clock was stepped by so much, to `now`: chains do not notice, and what was known is unknown until the next polls. */
  shift(ms: number, now: UnixMs): void
}

export function createNetworkView(network: Network, endpoints: readonly Endpoint[], now: UnixMs): NetworkView {
  const { thresholds, blockTimeMs, blockTimeGiven } = network
  const healths = new Map<string, Health>(endpoints.map((endpoint) => [endpoint.name, unpolled(endpoint, now)]))
  const longestIntervalMs = Math.max(0, ...endpoints.map((endpoint) => endpoint.intervalMs))
  const chains = new Map<Shard, ChainView>()
  for (const shard of new Set(endpoints.flatMap((endpoint) => endpoint.shards))) {
    const isAlone = endpoints.filter((endpoint) => endpoint.shards.includes(shard)).length === 1
    chains.set(shard, createChainView({ ...thresholds, blockTimeMs, recentMs: 2 * longestIntervalMs, isAlone }))
  }

  /** What `references` last told, and of which. */
  let references: readonly NetworkReference[] = []
  let told: readonly ReportedReference[] = []

  function standingOn(shard: Shard, previous: Health, at: UnixMs): ShardStanding | null {
    const chain = chains.get(shard)
    const standing = chain?.standing(previous.endpoint.name, at)
    if (chain === undefined || standing === null || standing === undefined) return null
    const { head, advancedAt, lagBlocks, lagWitnessed, stalledForMs, ageMs, branch } = standing
    const pace = blockTimeGiven ? blockTimeMs : (chain.blockTimeMs() ?? blockTimeMs)
    // It enters by what more than one endpoint vouches for, and leaves by the reference head: one alone makes nobody late.
    const lagging = previous.laggingShards.includes(shard)
      ? lagBlocks > thresholds.lagRecoverBlocks
      : lagWitnessed >= thresholds.lagBlocks
    const lagMs = lagBlocks * pace
    // Member by member: to spread an object costs more than all else here, in every poll.
    return {
      head,
      advancedAt,
      lagBlocks,
      lagWitnessed,
      stalledForMs,
      ageMs,
      branch,
      shard,
      lagging,
      lagMs,
      blockTimeMs: pace,
    }
  }

  function restoreSeen(name: string, memory: SavedEndpoint, heads: Health['heads']): void {
    for (const { shard, seen } of memory.seen) {
      chains.get(shard)?.restore(name, seen, heads.find((head) => head.shard === shard)?.readAt)
    }
  }

  return {
    network,

    compare(name, heads) {
      let wanted: Comparison[] | null = null
      for (const { shard, outcome } of heads) {
        const height = outcome.ok ? (chains.get(shard)?.heightToCompare(name, outcome.value) ?? null) : null
        if (height === null) continue
        wanted ??= []
        wanted.push({ shard, height })
      }
      return wanted ?? NOTHING
    },

    discardPoll(name, startedAt) {
      const previous = healths.get(name)
      if (previous === undefined) return null
      const health = withoutResult(previous, startedAt)
      healths.set(name, health)
      return health
    },

    judge(result, at, timed = true) {
      const { name } = result.endpoint
      const previous = healths.get(name)
      if (previous === undefined) return null
      let events: ChainEvent[] | null = null
      const standings: ShardStanding[] = []
      for (const { shard, outcome } of result.heads) {
        const chain = chains.get(shard)
        if (!outcome.ok) {
          if (outcome.failure.kind === 'wrong-network') chain?.forget(name)
          continue
        }
        const compared =
          result.compared.length === 0 ? NOTHING : result.compared.filter((block) => block.shard === shard)
        const move = chain?.take(name, outcome.value, at, compared)
        if (move?.kind === 'regressed' || move?.kind === 'reorged') {
          events ??= []
          events.push({ ...move, shard })
        }
        const standing = standingOn(shard, previous, at)
        if (standing !== null) standings.push(standing)
      }
      const health = assess(result, previous, standings, thresholds, at, timed)
      healths.set(name, health)
      const wentBack = events?.some(({ kind }) => kind === 'regressed') === true
      return { health, events: events ?? NOTHING, suspect: isSuspect(health, wentBack) }
    },

    health: (name) => healths.get(name),

    references(at) {
      let known = 0
      let changed: ReportedReference[] | null = null
      for (const [shard, chain] of chains) {
        const reference = chain.reference(at)
        if (reference === null) continue
        const branches = Math.max(1, chain.branches())
        const before = told[known]
        if (reference !== before?.reference || branches !== before.branches) changed ??= told.slice(0, known)
        changed?.push({ shard, reference, branches })
        known++
      }
      if (known < told.length) changed ??= told.slice(0, known)
      if (changed !== null) {
        told = changed
        references = told.map(({ shard, reference: { height, hash, timestamp }, branches }) => ({
          shard,
          height,
          hash,
          timestamp,
          branches,
          blockTimeMs: chains.get(shard)?.blockTimeMs() ?? null,
        }))
      }
      return references
    },

    halts(at) {
      let halts: { readonly shard: Shard; readonly since: UnixMs }[] | null = null
      for (const [shard, chain] of chains) {
        const since = chain.haltedSince(at)
        if (since === null) continue
        halts ??= []
        halts.push({ shard, since })
      }
      return halts ?? NOTHING
    },

    isForked() {
      for (const chain of chains.values()) if (chain.isForked()) return true
      return false
    },

    fork() {
      for (const [shard, chain] of chains) {
        const split = chain.fork()
        if (split !== null) return { ...split, shard }
      }
      return null
    },

    snapshot(name) {
      const health = healths.get(name)
      if (health === undefined) return null
      const seen = health.endpoint.shards.flatMap((shard) => {
        const head = chains.get(shard)?.seen(name)
        return head === null || head === undefined ? [] : [{ shard, seen: head }]
      })
      return { streaks: health.confirmation, lastPolledAt: health.lastPolledAt, seen }
    },

    restore(name, memory, at) {
      const health = healths.get(name)
      if (health === undefined) return
      restoreSeen(name, memory, [])
      const streaks = isRecent(memory, health.endpoint, at) ? memory.streaks : confirmedOnly(memory.streaks)
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
        confirmation: streaks,
        lastPolledAt: memory.lastPolledAt,
        // What was true before the restart is history: the state is unknown until the next poll.
        validUntil: memory.lastPolledAt ?? at,
        laggingShards: wasLagging ? lagging : [],
      })
    },

    takeOver(name, from) {
      const fresh = healths.get(name)
      const earlier = from.health(name)
      const memory = from.snapshot(name)
      if (fresh === undefined || earlier === undefined || memory === null) return
      restoreSeen(name, memory, earlier.heads)
      healths.set(name, { ...earlier, endpoint: fresh.endpoint })
    },

    shift(ms, at) {
      for (const chain of chains.values()) chain.shift(ms)
      for (const [name, health] of healths) {
        if (health.lastPolledAt === null) continue
        const since = Math.min(health.since, at)
        healths.set(name, {
          ...withoutResult(health, Math.min(health.lastPolledAt, at)),
          since,
          validUntil: Math.min(health.validUntil, at - 1),
          confirmation: { ...confirmedOnly(health.confirmation), since },
        })
      }
    },
  }
}

const NOTHING: readonly never[] = Object.freeze([])

type ReportedReference = Pick<NetworkReference, 'shard' | 'branches'> & { readonly reference: ChainReference }

/** Polls before and after a longer pause are not in a row. */
function isRecent({ lastPolledAt }: SavedEndpoint, { intervalMs }: Endpoint, now: UnixMs): boolean {
  return lastPolledAt !== null && now - lastPolledAt <= 2 * intervalMs
}
