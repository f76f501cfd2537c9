import { type Candidate, type Ranking, rank } from '../../core/routing/rank.ts'
import type { UnixMs } from '../../core/time.ts'
import { type BoardNetwork, shownState } from '../../state/board.ts'
import type { RankedUpstream, Upstream } from './upstream.ts'

/** Ranks one network's endpoints for the selector, from what the board says of them now. */
export function candidateListOf(
  network: BoardNetwork | undefined,
  upstreamOf: (endpoint: string) => Upstream | undefined,
  now: UnixMs,
): CandidateList {
  const candidates = network === undefined ? [] : candidatesOf(network, now)
  const ranking = rank(candidates)
  const ranked = (degraded: boolean, group: number) => (candidate: Candidate) => {
    const upstream = upstreamOf(candidate.endpoint)
    return upstream === undefined ? [] : [{ upstream, group, degraded }]
  }
  const healthy = ranking.groups.flatMap((group, index) => group.flatMap(ranked(false, index)))
  const unhealthy = ranking.unhealthy.flatMap(ranked(true, 0))
  const unresponsive = ranking.unresponsive.flatMap(ranked(true, 0))
  const all = [...healthy, ...unhealthy, ...unresponsive]
  const forked = new Set(ranking.excluded.filter(({ reason }) => reason === 'forked').map(({ endpoint }) => endpoint))
  const onThisChain = all.map(({ upstream }) => upstream).filter(({ name }) => !forked.has(name))
  return { ranking, healthy, unhealthy, unresponsive, all, candidates, onThisChain }
}

export interface CandidateList {
  readonly ranking: Ranking
  readonly healthy: readonly RankedUpstream[]
  readonly unhealthy: readonly RankedUpstream[]
  readonly unresponsive: readonly RankedUpstream[]
  /** The three above, in this order. */
  readonly all: readonly RankedUpstream[]
  /** Every endpoint of the network, in the order of the configuration. */
  readonly candidates: readonly Candidate[]
  /** Those whose heights are heights of this chain: all but the forked ones. */
  readonly onThisChain: readonly Upstream[]
}

/** Every endpoint with its health and state, in the order of the configuration. */
export function candidatesOf({ standing, endpoints }: BoardNetwork, now: UnixMs): Candidate[] {
  return endpoints.map((entry) => {
    const { endpoint, heads } = entry.health
    return {
      key: entry.key,
      endpoint: endpoint.name,
      tier: endpoint.tier,
      state: shownState(entry, now),
      health: entry.health,
      unverified: standing.network.chainId !== null && endpoint.checks.includes('head') && heads.length === 0,
    }
  })
}
