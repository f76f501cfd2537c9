import { MINUTE_MS, seconds, time } from '../core/time.ts'
import { previewOf } from '../gateway/failover/routing-order.ts'
import type { GatewayReport } from '../gateway/service.ts'
import type { BoardNetwork } from '../state/board.ts'
import { attemptsAt, trafficView } from './gateway-traffic.ts'
import { sendUnknown } from './problem.ts'
import { type App, type GrafanaLink, json, NetworkPath, NoQuery, operation, type RouteDeps } from './route.ts'
import { GatewayView, RoutingView } from './wire/gateway.ts'

type GatewayDeps = Pick<RouteDeps, 'gateway' | 'metrics' | 'recorder'> & GrafanaLink

/** `GET /api/v1/gateway` (callers, routing, traffic, aliases) and `GET …/networks/:network/routing`. */
export function registerGateway(app: App, deps: GatewayDeps & Pick<RouteDeps, 'board' | 'clock'>): void {
  const gatewayRoute = operation({
    visibility: 'private',
    summary:
      'Callers of the gateway, its routing order and excluded endpoints, its traffic since the start, and its aliases; names only, never an endpoint_id',
    query: NoQuery,
    answers: { 200: json(GatewayView, 'The gateway; `enabled` is false where there is none') },
  })
  app.get('/api/v1/gateway', gatewayRoute, () => gatewayView(deps))

  const routingRoute = operation({
    visibility: 'private',
    summary:
      'The routing order of the gateway now, and why endpoints are excluded; without a gateway, the order it would use',
    params: NetworkPath,
    query: NoQuery,
    answers: { 200: json(RoutingView, 'In routing order, then the excluded endpoints') },
  })
  app.get('/api/v1/networks/:network/routing', routingRoute, (request, reply) => {
    const network = deps.board.network(request.params.network)
    if (network === undefined) return sendUnknown(reply, 'network')
    return routingView(network, deps.gateway(), deps.clock.now())
  })
}

export function gatewayView({ gateway, metrics, recorder, grafanaUrl }: GatewayDeps): GatewayView {
  const report = gateway()
  const counts = metrics.gatewayCounts()
  const minutes = report === null ? [] : recorder.minutes()
  const since = {
    ...(grafanaUrl === null ? {} : { grafana_url: grafanaUrl }),
    started_at: time(metrics.daemonStatus().startedAt),
    unplaced: counts.unplaced,
    course: {
      from: time(recorder.since()),
      step_seconds: MINUTE_MS / 1000,
      requests: minutes.map((minute) => minute?.requests ?? null),
      failed: minutes.map((minute) => minute?.failed ?? null),
    },
  }
  if (report === null)
    return { enabled: false, requests_in_flight: 0, callers: [], networks: [], aliases: [], ...since }
  return {
    enabled: true,
    requests_in_flight: report.requestsInFlight,
    callers: report.callers.map(({ name, networks, admin, methods, rateLimit, requests, rejected }) => ({
      name,
      networks: [...networks],
      admin,
      methods: [...methods],
      rate_limit: rateLimit && { requests: rateLimit.requests, per_seconds: rateLimit.perMs / 1000 },
      requests,
      refused: rejected,
    })),
    networks: report.networks.map(({ name, endpoints }) => ({
      name,
      endpoints: endpoints.map(({ endpoint, tier, excluded, breaker, latencyMs, inFlight }) => ({
        name: endpoint,
        tier,
        left_out: excluded,
        breaker,
        latency_seconds: seconds(latencyMs),
        in_flight: inFlight,
        ...attemptsAt(endpoint, counts.of(name)),
      })),
      traffic: trafficView(counts.of(name)),
    })),
    aliases: report.aliases.map(({ network, alias, target, endpoint, nodeId, caller, at, stale }) => ({
      network,
      alias,
      target,
      endpoint,
      node_id: nodeId,
      caller,
      created_at: time(at),
      stale: stale && { since: time(stale.at), reason: stale.reason },
    })),
    ...since,
  }
}

export function routingView(network: BoardNetwork, report: GatewayReport | null, now: number): RoutingView {
  const { name } = network.standing.network
  const routed = report?.networks.find((of) => of.name === name)?.endpoints ?? previewOf(network, now)
  return {
    network: name,
    enabled: report !== null,
    endpoints: routed.map(({ endpoint, tier, excluded, latencyMs }) => ({
      name: endpoint,
      tier,
      left_out: excluded,
      latency_seconds: seconds(latencyMs),
    })),
  }
}
