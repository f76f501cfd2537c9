import type { Clock } from '../../clock.ts'
import type { Shard } from '../../core/network.ts'
import { type Need, shardOf } from '../../core/routing/operation.ts'
import type { UnixMs } from '../../core/time.ts'
import { type Board, shownState } from '../../state/board.ts'
import { PREFERRED_COST, PreferredUpstreams } from './preferred-upstreams.ts'
import { type CandidateList, candidateListOf, type EndpointOverview, overviewOf } from './routing-order.ts'
import type { RankedUpstream, Upstream } from './upstream.ts'
import {
  BEHIND,
  createUpstreamHeights,
  type HeightStanding,
  type KnownHeights,
  REACHED,
  type UpstreamHeights,
} from './upstream-heights.ts'

/** Chooses the endpoint for a request, and the next one after a failure. A changed verdict rebuilds the ranking. */
export function createUpstreamSelector({ network, board, clock, upstreamOf }: UpstreamSelectorDeps) {
  const heights = createUpstreamHeights({ network, board, clock })
  const preferred = new PreferredUpstreams()
  let list: CandidateList | null = null
  let turn = 0

  function current(): CandidateList {
    if (list === null) {
      list = candidateListOf(board.network(network), upstreamOf, clock.now())
      preferred.retain(list.healthy)
    }
    return list
  }

  function best(from: readonly RankedUpstream[], query: Query): RankedUpstream | null {
    return bestOf(from, query, heights, preferred)
  }

  /** With more than `COMPARE_ALL` endpoints, compares only the preferred one and two others of the first group. */
  function bestOfSample(healthy: readonly RankedUpstream[], query: Query): RankedUpstream | null {
    const { criteria, shard, now } = query
    const first = healthy.findIndex(({ group }) => group > 0)
    const size = first === -1 ? healthy.length : first
    const sample: RankedUpstream[] = []
    const usual = preferred.of(shard)
    if (usual !== null && usual.group === 0) sample.push(usual)
    // 7919 is prime, so every endpoint gets its turn.
    turn = (turn + 7919) % (size * 7919)
    for (const at of [turn % size, (turn + (size >> 1)) % size]) {
      const ranked = healthy[at]
      if (ranked !== undefined && !sample.includes(ranked)) sample.push(ranked)
    }
    const found = best(sample, query)
    if (found === null || found.upstream.isUnresponsive(now)) return null
    if (criteria.method !== null && found.upstream.unsupportedMethods.has(criteria.method, now)) return null
    return query.standing(found.upstream.heights) === BEHIND ? null : found
  }

  /** No worse than an unhealthy endpoint that has answered, and on this chain; `null` if a healthy one has answered. */
  function anotherUnhealthy(query: Query): RankedUpstream | null {
    const { unhealthy, unresponsive, onThisChain } = current()
    const wasTried = ({ upstream }: RankedUpstream) => query.criteria.tried.includes(upstream)
    const list = [unresponsive, unhealthy].find((ranked) => ranked.some(wasTried))
    return list?.find((ranked) => onThisChain.includes(ranked.upstream) && best([ranked], query) !== null) ?? null
  }

  return {
    /** `null` if no endpoint is left to try. */
    select(criteria: SelectionCriteria): RankedUpstream | null {
      const { healthy, unhealthy, unresponsive, all } = current()
      const { need } = criteria
      const now = clock.monotonic()
      if (need.kind === 'endpoint') return all.find((ranked) => isPinned(ranked, need.endpoint, criteria, now)) ?? null
      const shard = shardOf(need)
      const wanted = wantedHeight(criteria)
      const standing = wanted === null ? isAnyHeight : heights.comparedTo(shard, wanted)
      const query = { criteria, shard, now, standing }
      const found = (healthy.length > COMPARE_ALL ? bestOfSample(healthy, query) : null) ?? best(healthy, query)
      // Writes are never sent to an unhealthy endpoint.
      if (found !== null || !criteria.isRead) return found
      if (criteria.needsImprovement) return anotherUnhealthy(query)
      const usable = ({ upstream }: RankedUpstream) => isUsable(upstream, query)
      return unhealthy.find(usable) ?? unresponsive.find(usable) ?? lastResort(all, query)
    },

    /** Whether another endpoint, which is likely to answer or as bad as this one, is left to try if this one fails by then. */
    hasAnother(upstream: Upstream, criteria: SelectionCriteria, inMs: number): boolean {
      const { healthy, unhealthy, unresponsive } = current()
      const { need, isRead } = criteria
      if (!isRead || need.kind === 'endpoint') return false
      // By then an endpoint that is behind may have caught up, and a pause may have ended.
      const query = { criteria, shard: shardOf(need), now: clock.monotonic() + inMs, standing: isAnyHeight }
      const isOther = (ranked: RankedUpstream) => ranked.upstream !== upstream && isUsable(ranked.upstream, query)
      if (healthy.some(isOther) || unhealthy.some(isOther)) return true
      return unresponsive.some((ranked) => ranked.upstream === upstream) && unresponsive.some(isOther)
    },

    /** Time until the first rate-limited endpoint that can serve this is usable; `null` without rate limits. */
    rateLimitedForMs(criteria: Pick<SelectionCriteria, 'need' | 'isRead' | 'proxiesOnly'>): number | null {
      const { healthy, all } = current()
      const { need, isRead } = criteria
      const shard = shardOf(need)
      const now = clock.monotonic()
      let soonest = Number.POSITIVE_INFINITY
      for (const { upstream } of isRead ? all : healthy) {
        if (need.kind === 'endpoint' && need.endpoint !== upstream.name) continue
        const ms = upstream.rateLimit.remainingMs(now)
        if (ms > 0 && ms < soonest && canServe(upstream, criteria, shard)) soonest = ms
      }
      return soonest === Number.POSITIVE_INFINITY ? null : soonest
    },

    /** The highest block of all endpoints on this chain, including unusable ones; `null` if unknown. */
    highestKnown(shard: Shard): number | null {
      const ceiling = heights.ceiling(shard)
      let highest = -1
      for (const upstream of current().onThisChain) {
        const height = upstream.heights.of(shard)
        if (height > highest && height <= ceiling) highest = height
      }
      return highest === -1 ? null : highest
    },

    /** The highest plausible height by now. A higher claim is false or belongs to another chain. */
    ceiling: heights.ceiling,

    /** In the current routing order, followed by the excluded endpoints. */
    overview(): readonly EndpointOverview[] {
      const { healthy, candidates, ranking } = current()
      const costOf = ({ upstream }: RankedUpstream) =>
        upstream.cost() * (preferred.includes(upstream) ? PREFERRED_COST : 1)
      return overviewOf({ healthy, candidates, ranking, upstreamOf, costOf, now: clock.monotonic() })
    },

    /** Must be called when a verdict or the set of endpoints changes. */
    invalidate(): void {
      list = null
    },

    referenceMoved: heights.referenceMoved,

    /** Must be called regularly, because no event reports that a result expires or maintenance begins. */
    tick(now: UnixMs): void {
      const standing = board.network(network)
      if (list === null || standing === undefined) return
      if (standing.endpoints.some((entry, at) => shownState(entry, now) !== list?.candidates[at]?.state)) list = null
    },
  }
}

export type UpstreamSelector = ReturnType<typeof createUpstreamSelector>

export interface SelectionCriteria {
  readonly need: Need
  readonly isRead: boolean
  /** The highest block that the caller has seen. Endpoints that have reached it are preferred. */
  readonly minHeight: number | null
  /** JSON-RPC only. Endpoints known not to support the method are used last. */
  readonly method: string | null
  readonly tried: readonly Upstream[]
  /** The path exists on proxies only. */
  readonly proxiesOnly: boolean
  /** An answer exists already: select only endpoints that are likely to have a better one. */
  readonly needsImprovement: boolean
  /** Include endpoints last seen behind: they may have caught up in the meantime. */
  readonly includeBehind: boolean
  /** Select only endpoints known to have reached `minHeight`. */
  readonly requiresHeight: boolean
}

interface UpstreamSelectorDeps {
  readonly network: string
  readonly board: Board
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly upstreamOf: (endpoint: string) => Upstream | undefined
}

interface Query {
  readonly criteria: SelectionCriteria
  readonly shard: Shard
  readonly now: number
  readonly standing: (heights: KnownHeights) => HeightStanding
}

/** Orders by group, height and known problems first, then by latency and load. */
function bestOf(
  from: readonly RankedUpstream[],
  query: Query,
  heights: UpstreamHeights,
  preferred: PreferredUpstreams,
): RankedUpstream | null {
  const { criteria, shard, now, standing } = query
  const { need, tried, needsImprovement, includeBehind, method } = criteria
  // An endpoint that did not find a hash may lag, so the others are tried in descending order of height.
  const byHeight = need.kind === 'hash' && needsImprovement
  const usual = preferred.of(shard)
  let best: RankedUpstream | null = null
  let bestOrder = Number.POSITIVE_INFINITY
  let bestCost = Number.POSITIVE_INFINITY
  let usualOrder = Number.POSITIVE_INFINITY
  let isMethodMissing = false
  for (const ranked of from) {
    const { upstream } = ranked
    if (!isUsable(upstream, query)) continue
    if (!criteria.isRead && upstream.breaker.state(now) !== 'closed') continue
    const height = standing(upstream.heights)
    const unresponsive = upstream.isUnresponsive(now)
    const unsupported = method !== null && upstream.unsupportedMethods.has(method, now)
    isMethodMissing ||= unsupported
    if (needsImprovement && (unresponsive || unsupported)) continue
    const isTooLow = !includeBehind || upstream.heights.of(shard) > heights.ceiling(shard)
    if (needsImprovement && height === BEHIND && isTooLow) continue
    const order =
      (unsupported ? 20_000 : 0) +
      (unresponsive ? 10_000 : 0) +
      (height === BEHIND ? 1000 + ranked.group * 3 : ranked.group * 3 + height)
    const isUsual = usual !== null && upstream === usual.upstream
    if (isUsual) usualOrder = order
    if (order > bestOrder) continue
    const cost = byHeight ? -upstream.heights.of(shard) : upstream.cost() * (isUsual ? PREFERRED_COST : 1)
    if (order === bestOrder && cost >= bestCost) continue
    best = ranked
    bestOrder = order
    bestCost = cost
  }
  // An endpoint chosen because others lack the method must not become the preferred one for all requests.
  if (best !== null && !isMethodMissing && !needsImprovement && tried.length === 0 && best !== usual) {
    preferred.consider(best, { shard, now, bestOrder, usualOrder })
  }
  return best
}

function isUsable(upstream: Upstream, query: Query): boolean {
  return (
    mayServe(upstream, query) && upstream.breaker.allows(query.now) && upstream.rateLimit.remainingMs(query.now) === 0
  )
}

function mayServe(upstream: Upstream, { criteria, shard, standing }: Query): boolean {
  if (!canServe(upstream, criteria, shard) || criteria.tried.includes(upstream)) return false
  return !criteria.requiresHeight || standing(upstream.heights) === REACHED
}

/** If no other endpoint is left, some requests pass an open breaker, and one at a time tests a guessed rate limit. */
function lastResort(from: readonly RankedUpstream[], query: Query): RankedUpstream | null {
  const found = from.find(
    ({ upstream }) =>
      mayServe(upstream, query) &&
      upstream.rateLimit.mayTest(query.now, upstream.inFlight) &&
      upstream.inFlight < LAST_RESORT_IN_FLIGHT,
  )
  return found === undefined || found.degraded ? (found ?? null) : { ...found, degraded: true }
}

/** Only networks without shards have aliases. */
function isPinned({ upstream }: RankedUpstream, name: string, criteria: SelectionCriteria, now: number): boolean {
  if (upstream.name !== name || criteria.tried.includes(upstream) || upstream.rateLimit.isTold(now)) return false
  return !criteria.requiresHeight || upstream.heights.of(null) >= (criteria.minHeight ?? -1)
}

const isAnyHeight = (): HeightStanding => REACHED

/** `null` for any height. For the newest block, -1 still ranks endpoints above the ceiling as behind. */
function wantedHeight({ need, minHeight }: SelectionCriteria): number | null {
  if (need.kind === 'height') return need.height
  return need.kind === 'latest' ? (minHeight ?? -1) : null
}

function canServe(upstream: Upstream, { proxiesOnly }: Pick<SelectionCriteria, 'proxiesOnly'>, shard: Shard): boolean {
  return upstream.serves(shard) && !(proxiesOnly && upstream.servesOneShard)
}

/** With more endpoints than this, only a sample is compared. */
const COMPARE_ALL = 16
const LAST_RESORT_IN_FLIGHT = 16
