import type { Clock } from '../../clock.ts'
import type { Shard } from '../../core/network.ts'
import type { Need } from '../../core/routing/operation.ts'
import type { UnixMs } from '../../core/time.ts'
import { type Board, shownState } from '../../state/board.ts'
import { type CandidateList, candidateListOf } from './candidates.ts'
import { type EndpointOverview, overviewOf } from './routing-order.ts'
import type { RankedUpstream, Upstream } from './upstream.ts'
import { BEHIND, createUpstreamHeights, THERE } from './upstream-heights.ts'

/** Whom to ask on one network. Rebuilt when a verdict changes or time alone changes one; every request reads it as it stands. */
export interface UpstreamSelector {
  /** `null`: nobody who was not tried yet may be asked. */
  select(wish: SelectionCriteria): RankedUpstream | null
  /** How long until the first of those who could be asked wants to be left alone no more; `null` where none rests. */
  rateLimitedForMs(wish: Pick<SelectionCriteria, 'need' | 'isRead' | 'proxiesOnly'>): number | null
  /** The highest block of which anybody of this network is known to have it; `null` where nothing is known. */
  highestKnown(shard: Shard): number | null
  /** No endpoint can be as high as that: it is a lie, or another chain. */
  ceiling(shard: Shard): number
  /** Somebody is known to stand there who is only away, so that the others will soon. */
  isReachedByAny(shard: Shard, height: number): boolean
  /** Somebody who is well is known to stand there. */
  isReachedByHealthy(shard: Shard, height: number): boolean
  /** In the order in which they would be asked now, then those left out. */
  overview(): readonly EndpointOverview[]
  /** A verdict changed, or the set of endpoints did. */
  invalidate(): void
  /** The reference head did. */
  referenceMoved(): void
  /** Time went on. Whether somebody's state became another by that alone. */
  tick(now: UnixMs): boolean
}

export interface SelectionCriteria {
  readonly need: Need
  readonly isRead: boolean
  /** The caller's mark: asked are those at or above it, if there are any. */
  readonly minHeight: number | null
  /** Of JSON-RPC: those that are known not to have it are asked last. */
  readonly method: string | null
  readonly tried: readonly Upstream[]
  /** Observers have no such path. */
  readonly proxiesOnly: boolean
  /** Only those who are well and likely to have it: there is an answer already. */
  readonly needsImprovement: boolean
  /** Also those that were behind when last heard of: they may have got there since. */
  readonly includeBehind: boolean
}

export interface UpstreamSelectorDeps {
  readonly network: string
  readonly board: Board
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly upstreamOf: (endpoint: string) => Upstream | undefined
}

/** Of more endpoints than this, three are compared: with fewer, all. */
const COMPARE_ALL = 16

/** Another must be so much better than the present one … */
const STICKY = 0.7
/** … and the present one have been it for so long. */
const STAY_MS = 30_000

/** Requests that an open breaker lets through all the same when there is nobody else at all. */
const LAST_RESORT_IN_FLIGHT = 16

interface Present {
  pick: RankedUpstream
  since: number
}

export function createUpstreamSelector({ network, board, clock, upstreamOf }: UpstreamSelectorDeps): UpstreamSelector {
  const heights = createUpstreamHeights({ network, board, clock })
  let roster: CandidateList | null = null
  const present = new Map<Shard, Present>()
  let turn = 0

  function current(): CandidateList {
    roster ??= build()
    return roster
  }

  function build(): CandidateList {
    const roster = candidateListOf(board.network(network), upstreamOf, clock.now())
    // Those that are there still stay present: a verdict of somebody else is no reason to move.
    for (const [shard, { pick, since }] of present) {
      const again = roster.healthy.find(({ upstream }) => upstream === pick.upstream)
      if (again === undefined) present.delete(shard)
      else present.set(shard, { pick: again, since })
    }
    return roster
  }

  function choose(wish: SelectionCriteria): RankedUpstream | null {
    const { healthy: well, unhealthy: leastBad, unresponsive: silent } = current()
    const { need } = wish
    if (need.kind === 'endpoint') return pinned(need.endpoint, wish.tried)
    const shard = need.kind === 'any' ? null : need.shard
    const now = clock.monotonic()
    const best =
      well.length > COMPARE_ALL
        ? (someOf(well, wish, shard, now) ?? bestOf(well, wish, shard, now))
        : bestOf(well, wish, shard, now)
    if (best !== null || wish.needsImprovement) return best
    // What writes goes to nobody in doubt.
    if (!wish.isRead) return null
    return (
      firstOf(leastBad, wish, shard, now) ??
      firstOf(silent, wish, shard, now) ??
      lastOf(well, wish, shard, now) ??
      lastOf(leastBad, wish, shard, now) ??
      lastOf(silent, wish, shard, now)
    )
  }

  function pinned(name: string, tried: readonly Upstream[]): RankedUpstream | null {
    const { healthy: well, unhealthy: leastBad, unresponsive: silent } = current()
    const isIt = ({ upstream }: RankedUpstream) => upstream.name === name && !tried.includes(upstream)
    return well.find(isIt) ?? leastBad.find(isIt) ?? silent.find(isIt) ?? null
  }

  function bestOf(
    picks: readonly RankedUpstream[],
    wish: SelectionCriteria,
    shard: Shard,
    now: number,
  ): RankedUpstream | null {
    const { need, tried, needsImprovement: forMore, includeBehind: evenBehind, method } = wish
    const wanted = wantedHeight(wish)
    const places = wanted === null ? null : heights.places(shard, wanted)
    // Whoever has not found it by its hash yet may be late: the others are asked in the order of their heights.
    const freshest = need.kind === 'hash' && forMore
    const here = present.get(shard)
    let best: RankedUpstream | null = null
    let bestClass = Number.POSITIVE_INFINITY
    let bestCost = Number.POSITIVE_INFINITY
    let hereClass = Number.POSITIVE_INFINITY
    let isPeculiar = false
    for (const pick of picks) {
      const { upstream } = pick
      if (!canServe(upstream, wish, shard) || !upstream.breaker.allows(now) || upstream.rateLimitedForMs(now) > 0)
        continue
      if (!wish.isRead && upstream.breaker.state(now) !== 'closed') continue
      if (tried.length > 0 && tried.includes(upstream)) continue
      const standing = places === null ? THERE : places.of(upstream)
      const silent = upstream.isUnresponsive(now)
      const unable = method !== null && upstream.isUnsupported(method, now)
      isPeculiar ||= unable
      if (forMore && (silent || unable)) continue
      if (forMore && standing === BEHIND && (!evenBehind || upstream.height(shard) > heights.ceiling(shard))) continue
      const order =
        (unable ? 20_000 : 0) +
        (silent ? 10_000 : 0) +
        (standing === BEHIND ? 1000 + pick.group * 3 : pick.group * 3 + standing)
      const isHere = here !== undefined && upstream === here.pick.upstream
      if (isHere) hereClass = order
      if (order > bestClass) continue
      const cost = freshest ? -upstream.height(shard) : isHere ? upstream.cost() * STICKY : upstream.cost()
      if (order === bestClass && cost >= bestCost) continue
      best = pick
      bestClass = order
      bestCost = cost
    }
    // Where one goes for what only some have is no place to stay for the rest.
    if (best !== null && !isPeculiar && !forMore && tried.length === 0 && best !== here?.pick) {
      const better = best.upstream
      // Load moves single requests; the present one changes when it is gone, or another is faster for good.
      const faster = (better.latencyMs ?? 0) + 1 < STICKY * ((here?.pick.upstream.latencyMs ?? 0) + 1)
      const isGone = hereClass === Number.POSITIVE_INFINITY
      const leave = here === undefined || isGone || (hereClass > bestClass && best.group !== here.pick.group)
      if (leave || (faster && now - here.since > STAY_MS)) present.set(shard, { pick: best, since: now })
    }
    return best
  }

  /** Among very many: the present one and two others of the first group, each next time others. */
  function someOf(
    well: readonly RankedUpstream[],
    wish: SelectionCriteria,
    shard: Shard,
    now: number,
  ): RankedUpstream | null {
    const first = well.findIndex(({ group }) => group > 0)
    const size = first === -1 ? well.length : first
    const few: RankedUpstream[] = []
    const here = present.get(shard)
    if (here !== undefined && here.pick.group === 0) few.push(here.pick)
    // 7919 is a prime: one after the other, all have their turn.
    turn = (turn + 7919) % (size * 7919)
    for (const at of [turn % size, (turn + (size >> 1)) % size]) {
      const pick = well[at]
      if (pick !== undefined && !few.includes(pick)) few.push(pick)
    }
    const best = bestOf(few, wish, shard, now)
    if (best === null || best.upstream.isUnresponsive(now)) return null
    if (wish.method !== null && best.upstream.isUnsupported(wish.method, now)) return null
    const wanted = wantedHeight(wish)
    return wanted !== null && heights.places(shard, wanted).of(best.upstream) === BEHIND ? null : best
  }

  function firstOf(
    picks: readonly RankedUpstream[],
    wish: SelectionCriteria,
    shard: Shard,
    now: number,
  ): RankedUpstream | null {
    for (const pick of picks) {
      const { upstream } = pick
      if (!canServe(upstream, wish, shard) || !upstream.breaker.allows(now) || upstream.rateLimitedForMs(now) > 0)
        continue
      if (!wish.tried.includes(upstream)) return pick
    }
    return null
  }

  function lastOf(
    picks: readonly RankedUpstream[],
    wish: SelectionCriteria,
    shard: Shard,
    now: number,
  ): RankedUpstream | null {
    for (const pick of picks) {
      const { upstream } = pick
      if (!canServe(upstream, wish, shard) || !upstream.mayTestRateLimit(now) || wish.tried.includes(upstream)) continue
      if (upstream.inFlight < LAST_RESORT_IN_FLIGHT) return pick.degraded ? pick : { ...pick, degraded: true }
    }
    return null
  }

  return {
    select: choose,
    ceiling: heights.ceiling,

    rateLimitedForMs(wish) {
      const { healthy: well, unhealthy: leastBad, unresponsive: silent } = current()
      const { need, isRead } = wish
      const shard = need.kind === 'any' || need.kind === 'endpoint' ? null : need.shard
      const now = clock.monotonic()
      let soonest = Number.POSITIVE_INFINITY
      for (const { upstream } of isRead ? [...well, ...leastBad, ...silent] : well) {
        if (need.kind === 'endpoint' && need.endpoint !== upstream.name) continue
        const ms = upstream.rateLimitedForMs(now)
        if (ms > 0 && ms < soonest && canServe(upstream, wish, shard)) soonest = ms
      }
      return soonest === Number.POSITIVE_INFINITY ? null : soonest
    },

    highestKnown(shard) {
      const highest = heights.ceiling(shard)
      let tip = -1
      for (const upstream of current().onThisChain) {
        const height = upstream.height(shard)
        if (height > tip && height <= highest) tip = height
      }
      return tip === -1 ? null : tip
    },

    isReachedByAny(shard, height) {
      const highest = heights.ceiling(shard)
      return current().onThisChain.some(
        (upstream) => upstream.height(shard) >= height && upstream.height(shard) <= highest,
      )
    },

    isReachedByHealthy(shard, height) {
      const places = heights.places(shard, height)
      return current().healthy.some(({ upstream }) => upstream.serves(shard) && places.of(upstream) === THERE)
    },

    overview() {
      const { healthy: well, candidates, ranking } = current()
      return overviewOf({ healthy: well, candidates, ranking, upstreamOf, costOf, now: clock.monotonic() })
    },

    invalidate() {
      roster = null
    },

    referenceMoved: heights.moved,

    tick(now) {
      const standing = board.network(network)
      if (roster === null || standing === undefined) return false
      const isOther = standing.endpoints.some((entry, at) => shownState(entry, now) !== roster?.candidates[at]?.state)
      if (isOther) roster = null
      return isOther
    },
  }

  function costOf({ upstream }: RankedUpstream): number {
    const isHere = [...present.values()].some(({ pick }) => pick.upstream === upstream)
    return upstream.cost() * (isHere ? STICKY : 1)
  }
}

/** `null`: any will do. Where the chain is now, nobody who is higher than it can be is asked, whatever the caller has seen. */
function wantedHeight({ need, minHeight: tip }: SelectionCriteria): number | null {
  if (need.kind === 'height') return need.height
  return need.kind === 'latest' ? (tip ?? -1) : null
}

function canServe(upstream: Upstream, { proxiesOnly }: Pick<SelectionCriteria, 'proxiesOnly'>, shard: Shard): boolean {
  return upstream.serves(shard) && !(proxiesOnly && upstream.servesOneShard)
}
