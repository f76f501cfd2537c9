import type { Tier } from '../../core/endpoint.ts'
import { type Candidate, type ExclusionReason, type Ranking, rank } from '../../core/routing/rank.ts'
import type { UnixMs } from '../../core/time.ts'
import type { BoardNetwork } from '../../state/board.ts'
import { candidatesOf } from './candidates.ts'
import type { RankedUpstream, Upstream } from './upstream.ts'

/** The order in which the gateway uses a network's endpoints now, then the excluded ones as configured: for the API and the page. */
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
  /** `null`: requests are sent to it. */
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

/** The order a gateway would start with where none is enabled: by verdicts and latencies of polls alone. */
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

/** Why requests avoid an endpoint whatever the monitor says of it. */
function trafficReason(upstream: Upstream, now: number): ExclusionReason | null {
  if (upstream.breaker.state(now) === 'open') return 'breaker-open'
  return upstream.rateLimitedForMs(now) > 0 ? 'resting' : null
}
