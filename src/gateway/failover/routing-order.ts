import type { Tier } from '../../core/endpoint.ts'
import type { Candidate, LeftOutReason, Ranking } from '../../core/routing/rank.ts'
import type { Chosen, Upstream } from './upstream.ts'

/** One endpoint as the gateway would use it now, for people and metrics. */
export interface EndpointOverview {
  readonly endpoint: string
  readonly tier: Tier
  /** `null`: it is asked. */
  readonly leftOut: LeftOutReason | TrafficReason | null
  readonly breaker: 'closed' | 'open' | 'half-open'
  readonly latencyMs: number | null
  readonly inFlight: number
}

/** Why it gets no traffic just now, beyond what the monitor says of it. */
export type TrafficReason = 'breaker-open' | 'resting'

export interface OverviewDeps {
  readonly well: readonly Chosen[]
  readonly candidates: readonly Candidate[]
  readonly ranking: Ranking
  readonly upstreamOf: (endpoint: string) => Upstream | undefined
  readonly costOf: (chosen: Chosen) => number
  /** On the monotonic clock. */
  readonly now: number
}

/** In the order in which they would be asked, then those left out in the order of the configuration. */
export function overviewOf({ well, candidates, ranking, upstreamOf, costOf, now }: OverviewDeps): EndpointOverview[] {
  const asked = well
    .filter(({ upstream }) => trafficReason(upstream, now) === null)
    .sort((a, b) => a.group - b.group || costOf(a) - costOf(b))
  const places = new Map(asked.map(({ upstream }, place) => [upstream.name, place]))
  const because = new Map(ranking.leftOut.map((leftOut) => [leftOut.endpoint, leftOut.because]))
  const placeOf = ({ endpoint }: Candidate) => places.get(endpoint) ?? asked.length
  return [...candidates]
    .sort((a, b) => placeOf(a) - placeOf(b))
    .flatMap(({ endpoint, tier }) => {
      const upstream = upstreamOf(endpoint)
      if (upstream === undefined) return []
      const { breaker, latencyMs, inFlight } = upstream
      const leftOut = because.get(endpoint) ?? trafficReason(upstream, now)
      return [{ endpoint, tier, leftOut, breaker: breaker.state(now), latencyMs, inFlight }]
    })
}

function trafficReason(upstream: Upstream, now: number): TrafficReason | null {
  if (upstream.breaker.state(now) === 'open') return 'breaker-open'
  return upstream.restsFor(now) > 0 ? 'resting' : null
}
