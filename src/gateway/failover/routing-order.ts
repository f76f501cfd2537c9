import type { Tier } from '../../core/endpoint.ts'
import { type Candidate, type ExclusionReason, type Ranking, rank } from '../../core/routing/rank.ts'
import type { UnixMs } from '../../core/time.ts'
import { isChainIdVerified } from '../../core/verdict/health.ts'
import { type BoardNetwork, shownState } from '../../state/board.ts'
import type { RankedUpstream, Upstream } from './upstream.ts'

/** Ranks a network's endpoints for the selector by their current state on the board. */
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
  /** `healthy`, `unhealthy` and `unresponsive`, in this order. */
  readonly all: readonly RankedUpstream[]
  /** Every endpoint of the network, in the order of the configuration. */
  readonly candidates: readonly Candidate[]
  /** `all` without forked endpoints, whose heights belong to another chain. */
  readonly onThisChain: readonly Upstream[]
}

/** In the order of the configuration. */
function candidatesOf({ standing, endpoints }: BoardNetwork, now: UnixMs): Candidate[] {
  return endpoints.map((entry) => {
    const { endpoint } = entry.health
    return {
      endpoint: endpoint.name,
      tier: endpoint.tier,
      state: shownState(entry, now),
      health: entry.health,
      unverified: standing.network.chainId !== null && !isChainIdVerified(entry.health),
    }
  })
}

/** A network's current routing order, then the excluded endpoints as configured, for the API and the page. */
export function overviewOf({
  healthy,
  candidates,
  ranking,
  upstreamOf,
  costOf,
  now,
}: OverviewInput): EndpointOverview[] {
  const used = healthy
    .filter(({ upstream }) => trafficReason(upstream, now) === null)
    .sort((a, b) => a.group - b.group || costOf(a) - costOf(b))
  const positions = new Map(used.map(({ upstream }, position) => [upstream.name, position]))
  const reasons = reasonsByEndpoint(ranking)
  const positionOf = ({ endpoint }: Candidate) => positions.get(endpoint) ?? used.length
  return [...candidates]
    .sort((a, b) => positionOf(a) - positionOf(b))
    .flatMap(({ endpoint, tier }) => {
      const upstream = upstreamOf(endpoint)
      if (upstream === undefined) return []
      const { breaker, latencyMs, inFlight } = upstream
      const excluded = reasons.get(endpoint) ?? trafficReason(upstream, now)
      return [{ endpoint, tier, excluded, breaker: breaker.state(now), latencyMs, inFlight }]
    })
}

export interface EndpointOverview {
  readonly endpoint: string
  readonly tier: Tier
  /** `null` if requests are sent to the endpoint. */
  readonly excluded: ExclusionReason | null
  readonly breaker: 'closed' | 'open' | 'half-open'
  readonly latencyMs: number | null
  readonly inFlight: number
}

interface OverviewInput {
  readonly healthy: readonly RankedUpstream[]
  readonly candidates: readonly Candidate[]
  readonly ranking: Ranking
  readonly upstreamOf: (endpoint: string) => Upstream | undefined
  readonly costOf: (ranked: RankedUpstream) => number
  /** On the monotonic clock. */
  readonly now: number
}

/** The initial routing order if the gateway were enabled, from the verdicts and latencies of polls alone. */
export function previewOf(network: BoardNetwork, now: UnixMs): readonly PreviewedEndpoint[] {
  const candidates = candidatesOf(network, now)
  const ranking = rank(candidates)
  const reasons = reasonsByEndpoint(ranking)
  const used = ranking.groups.flatMap((group) =>
    [...group].sort((a, b) => (a.health.latencyMs ?? 0) - (b.health.latencyMs ?? 0)),
  )
  return [...used, ...candidates.filter(({ endpoint }) => reasons.has(endpoint))].map(({ endpoint, tier, health }) => ({
    endpoint,
    tier,
    excluded: reasons.get(endpoint) ?? null,
    latencyMs: health.latencyMs,
  }))
}

export type PreviewedEndpoint = Pick<EndpointOverview, 'endpoint' | 'tier' | 'excluded' | 'latencyMs'>

function reasonsByEndpoint({ excluded }: Ranking): Map<string, ExclusionReason> {
  return new Map(excluded.map(({ endpoint, reason }) => [endpoint, reason]))
}

/** Why requests avoid an endpoint regardless of its verdict. */
function trafficReason(upstream: Upstream, now: number): ExclusionReason | null {
  if (upstream.breaker.state(now) === 'open') return 'breaker-open'
  return upstream.rateLimit.remainingMs(now) > 0 ? 'resting' : null
}
