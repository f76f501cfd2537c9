import type { SavedHead } from '../chain/chain-view.ts'
import type { Endpoint } from '../endpoint.ts'
import type { Network, Shard } from '../network.ts'
import type { ComparedBlock, Comparison, PollResult, ShardHead } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { assess, isSuspect, withoutResult } from './assess.ts'
import { type ConfirmationState, conditionsOf, confirmedOnly } from './confirm.ts'
import type { ShardStanding } from './findings.ts'
import { createFirstRound } from './first-round.ts'
import { type Health, resultHolds, unpolled } from './health.ts'
import { type FailingQuestion, failingQuestions, livenessOf } from './liveness.ts'
import { createNetworkChains, type KeptChains, type NetworkChains } from './network-chains.ts'

/** One network: its chains and the health of its endpoints. Without clock or I/O: same calls, same results. */
export interface NetworkView extends Pick<NetworkChains, 'references' | 'halts' | 'isForked' | 'fork' | 'restoreHalt'> {
  readonly network: Network
  readonly chains: NetworkChains
  /** The further blocks that a poll with these heads must request. */
  compare(endpoint: string, heads: readonly ShardHead[]): readonly Comparison[]
  /** Whether what a poll has read can be of this network; otherwise the endpoint's chain id must be verified. */
  fits(endpoint: string, heads: readonly ShardHead[], compared: readonly ComparedBlock[], now: UnixMs): boolean
  /** Judges a poll; `null` if the endpoint is unknown. `timed`: the poll's duration is the node's. */
  judge(result: PollResult, now: UnixMs, timed?: boolean): Judgement | null
  /** Handles a poll that failed by our own fault: the state is unknown from then on. `null`: unknown endpoint. */
  discardPoll(endpoint: string, startedAt: UnixMs): Health | null
  /** The latest result, if it still holds, holds for this time longer than usual; `null` if it does not, or does already. */
  holdResult(endpoint: string, forMs: number, now: UnixMs): Health | null
  health(endpoint: string): Health | undefined
  /** The data to be saved for a restart; `null` if the endpoint is unknown. */
  snapshot(endpoint: string): SavedEndpoint | null
  /** Continues from an earlier run, or from another URL. The state is unknown until the next poll. */
  restore(endpoint: string, saved: SavedEndpoint, now: UnixMs): void
  /** Continues without a gap from the view that this one replaces, whose chains this one has. Its rules may differ. */
  takeOver(endpoint: string, from: NetworkView, now: UnixMs): void
  /** Adapts to a step of the wall clock to `now`: no time has passed, but states are unknown until the next poll. */
  shift(ms: number, now: UnixMs): void
}

export interface Judgement {
  readonly health: Health
  readonly events: readonly ChainEvent[]
  /** The poll found something worse than the verdict, which an early poll can confirm. */
  readonly suspect: boolean
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

/** One endpoint, as saved for a restart. Plain data: stored with these member names. */
export interface SavedEndpoint {
  readonly streaks: Health['confirmation']
  readonly lastPolledAt: UnixMs | null
  readonly seen: readonly ({ readonly shard: Shard } & SavedHead)[]
  /** The failures in a row that were counted here. */
  readonly failing?: readonly FailingQuestion[] | undefined
}

export function createNetworkView(
  network: Network,
  endpoints: readonly Endpoint[],
  now: UnixMs,
  earlier: KeptChains | null = null,
): NetworkView {
  const { thresholds } = network
  const healths = new Map<string, Health>(endpoints.map((endpoint) => [endpoint.name, unpolled(endpoint, now)]))
  const firstRound = createFirstRound(endpoints)
  const chains = createNetworkChains(network, endpoints, earlier, firstRound.unpolled)
  const { references, halts, isForked, fork, restoreHalt } = chains

  return {
    network,
    chains,
    references,
    halts,
    isForked,
    fork,
    restoreHalt,

    compare(name, heads) {
      let wanted: Comparison[] | null = null
      for (const { shard, outcome } of heads) {
        const height = outcome.ok ? (chains.at(shard)?.heightToCompare(name, outcome.value) ?? null) : null
        if (height === null) continue
        wanted ??= []
        wanted.push({ shard, height })
      }
      return wanted ?? NOTHING
    },

    fits(name, heads, compared, at) {
      return heads.every(({ shard, outcome }) => {
        if (!outcome.ok) return true
        return chains.at(shard)?.fits(name, outcome.value, at, blocksOf(compared, shard)) !== false
      })
    },

    judge(result, at, timed = true) {
      const { name } = result.endpoint
      const previous = healths.get(name)
      if (previous === undefined) return null
      firstRound.polled(name, at)
      let events: ChainEvent[] | null = null
      const standings: ShardStanding[] = []
      for (const { shard, outcome } of result.heads) {
        const chain = chains.at(shard)
        if (!outcome.ok) {
          if (outcome.failure.kind === 'wrong-network') chain?.forget(name)
          continue
        }
        const move = chain?.add(name, outcome.value, at, blocksOf(result.compared, shard))
        if (move?.kind === 'regressed' || move?.kind === 'reorged') {
          events ??= []
          events.push({ ...move, shard })
        }
        const standing = chains.standing(shard, name, previous.laggingShards.includes(shard), at)
        if (standing !== null) standings.push(standing)
      }
      const health = assess(result, previous, standings, thresholds, at, { timed, isComparable: firstRound.isOver })
      healths.set(name, health)
      if (health.verdict !== 'up') chains.noteSilence(result, at)
      const wentBack = events?.some(({ kind }) => kind === 'regressed') === true
      return { health, events: events ?? NOTHING, suspect: isSuspect(health, wentBack) }
    },

    discardPoll(name, startedAt) {
      const previous = healths.get(name)
      if (previous === undefined) return null
      firstRound.polled(name, startedAt)
      const health = withoutResult(previous, startedAt)
      healths.set(name, health)
      return health
    },

    holdResult(name, forMs, at) {
      const health = healths.get(name)
      if (health === undefined || health.lastPolledAt === null || !resultHolds(health, at)) return null
      const validUntil = health.lastPolledAt + forMs + 2 * health.endpoint.intervalMs
      if (validUntil <= health.validUntil) return null
      const held = { ...health, validUntil }
      healths.set(name, held)
      return held
    },

    health: (name) => healths.get(name),

    snapshot(name) {
      const health = healths.get(name)
      if (health === undefined) return null
      const seen = health.endpoint.shards.flatMap((shard) => {
        const head = chains.at(shard)?.saved(name) ?? null
        return head === null ? [] : [{ shard, ...head }]
      })
      return {
        streaks: health.confirmation,
        lastPolledAt: health.lastPolledAt,
        seen,
        failing: failingQuestions(health.liveness),
      }
    },

    restore(name, saved, at) {
      const health = healths.get(name)
      if (health === undefined) return
      for (const one of saved.seen) chains.at(one.shard)?.restore(name, one)
      const confirmation = isRecent(saved, health.endpoint, at) ? saved.streaks : confirmedOnly(saved.streaks)
      healths.set(name, {
        ...health,
        verdict: confirmation.verdict,
        since: confirmation.since,
        conditions: conditionsOf(confirmation),
        confirmation,
        lastPolledAt: saved.lastPolledAt,
        // Results from before the restart no longer hold.
        validUntil: saved.lastPolledAt ?? at,
        liveness: health.endpoint.checks.includes('liveness') ? livenessOf(saved.failing ?? []) : null,
        laggingShards: shardsLagging(health.endpoint, saved.streaks),
      })
    },

    takeOver(name, from, at) {
      const fresh = healths.get(name)
      const earlier = from.health(name)
      if (fresh === undefined || earlier === undefined) return
      if (earlier.lastPolledAt !== null) firstRound.known(name)
      // A raised threshold counts at once, instead of that for recovering.
      const laggingShards = from.network.thresholds.lagBlocks === thresholds.lagBlocks ? earlier.laggingShards : []
      healths.set(name, { ...held(earlier, fresh.endpoint, at), laggingShards })
    },

    shift(ms, at) {
      chains.shift(ms)
      firstRound.shift(ms)
      for (const [name, health] of healths) {
        if (health.lastPolledAt === null) continue
        const confirmation = atMost(confirmedOnly(health.confirmation), at)
        healths.set(name, {
          ...withoutResult(health, Math.min(health.lastPolledAt, at)),
          heads: health.heads.map((head) => ({ ...head, advancedAt: head.advancedAt + ms, readAt: head.readAt + ms })),
          since: confirmation.since,
          conditions: conditionsOf(confirmation),
          validUntil: Math.min(health.validUntil, at - 1),
          confirmation,
        })
      }
    },
  }
}

/** The next poll comes as late as the new interval of the endpoint says. */
function held(earlier: Health, endpoint: Endpoint, now: UnixMs): Health {
  const longerMs = Math.max(0, endpoint.intervalMs - earlier.endpoint.intervalMs)
  const validUntil = resultHolds(earlier, now) ? earlier.validUntil + 2 * longerMs : earlier.validUntil
  return { ...earlier, endpoint, validUntil }
}

/** The shards on which the latest poll was lagging. What the others have may not be restored yet. */
function shardsLagging({ shards }: Endpoint, { traces }: ConfirmationState): readonly Shard[] {
  const trace = traces.find(({ finding, missed }) => finding.code === 'lagging' && missed === 0)
  if (trace === undefined || trace.finding.isAlone) return NOTHING
  const { shards: found } = trace.finding
  return found === undefined ? shards : shards.filter((shard) => shard !== null && found.includes(shard))
}

const NOTHING: readonly never[] = Object.freeze([])

/** No time of it is later than `at`. */
function atMost(state: Health['confirmation'], at: UnixMs): Health['confirmation'] {
  const { badSince } = state
  const since = Math.min(state.since, at)
  const traces = state.traces.map((trace) => ({ ...trace, since: Math.min(trace.since, at) }))
  return { ...state, since, traces, ...(badSince !== undefined && { badSince: Math.min(badSince, at) }) }
}

function blocksOf(compared: readonly ComparedBlock[], shard: Shard): readonly ComparedBlock[] {
  return compared.length === 0 ? NOTHING : compared.filter((block) => block.shard === shard)
}

/** Polls before and after a longer pause are not consecutive. */
function isRecent({ lastPolledAt }: SavedEndpoint, { intervalMs }: Endpoint, now: UnixMs): boolean {
  return lastPolledAt !== null && now - lastPolledAt <= 2 * intervalMs
}
