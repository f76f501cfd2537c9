import { type Candidate, type Ranking, rank } from '../../core/routing/rank.ts'
import type { UnixMs } from '../../core/time.ts'
import { type BoardNetwork, shownState } from '../../state/board.ts'
import type { Chosen, Upstream } from './upstream.ts'

/** The endpoints of one network by how they are ranked, as requests read them. */
export interface CandidateList {
  readonly ranking: Ranking
  readonly well: readonly Chosen[]
  readonly leastBad: readonly Chosen[]
  readonly silent: readonly Chosen[]
  /** All of them, and who of them is of this chain for certain. */
  readonly candidates: readonly Candidate[]
  readonly ours: readonly Upstream[]
}

export function candidateListOf(
  network: BoardNetwork | undefined,
  upstreamOf: (endpoint: string) => Upstream | undefined,
  now: UnixMs,
): CandidateList {
  const candidates = network === undefined ? [] : candidatesOf(network, now)
  const ranking = rank(candidates)
  const pickOf = (degraded: boolean, group: number) => (candidate: Candidate) => {
    const upstream = upstreamOf(candidate.endpoint)
    return upstream === undefined ? [] : [{ upstream, group, degraded }]
  }
  const well = ranking.groups.flatMap((group, index) => group.flatMap(pickOf(false, index)))
  const leastBad = ranking.leastBad.flatMap(pickOf(true, 0))
  const silent = ranking.silent.flatMap(pickOf(true, 0))
  const forked = new Set(ranking.leftOut.filter(({ because }) => because === 'forked').map(({ endpoint }) => endpoint))
  const ours = [...well, ...leastBad, ...silent].map(({ upstream }) => upstream).filter(({ name }) => !forked.has(name))
  return { ranking, well, leastBad, silent, candidates, ours }
}

/** As the monitor sees them now, in the order of the configuration. */
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
