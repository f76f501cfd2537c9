import type { FastifyInstance } from 'fastify'
import type { GatewayReport } from '../gateway/service.ts'
import { readQuery } from './query.ts'
import { sendBadQuery } from './status-routes.ts'
import type { GatewayView } from './views.ts'

export interface GatewayRouteDeps {
  /** `null` where the gateway is not enabled. */
  readonly gateway: () => GatewayReport | null
}

/** `GET /api/v1/gateway`: who uses it, whom it would ask now and why not the others, and the aliases it knows. */
export function registerGateway(app: FastifyInstance, { gateway }: GatewayRouteDeps): void {
  app.get('/api/v1/gateway', { config: { visibility: 'private' } }, (request, reply) => {
    const read = readQuery<object>(request.query, {})
    if (!read.ok) return sendBadQuery(reply, read.errors)
    return gatewayView(gateway())
  })
}

export function gatewayView(report: GatewayReport | null): GatewayView {
  if (report === null) return { enabled: false, requests_in_flight: 0, callers: [], networks: [], aliases: [] }
  return {
    enabled: true,
    requests_in_flight: report.requestsAtWork,
    callers: report.callers.map(({ name, networks, admin, methods, rateLimit, requests, refused }) => ({
      name,
      networks: [...networks],
      admin,
      methods: [...methods],
      rate_limit: rateLimit && { requests: rateLimit.requests, per_seconds: rateLimit.perMs / 1000 },
      requests,
      refused,
    })),
    networks: report.networks.map(({ name, endpoints }) => ({
      name,
      endpoints: endpoints.map(({ endpoint, tier, leftOut, breaker, latencyMs, inFlight }) => ({
        name: endpoint,
        tier,
        left_out: leftOut,
        breaker,
        latency_seconds: latencyMs === null ? null : latencyMs / 1000,
        in_flight: inFlight,
      })),
    })),
    aliases: report.aliases.map(({ network, alias, target, endpoint, nodeId, caller, at, stale }) => ({
      network,
      alias,
      target,
      endpoint,
      node_id: nodeId,
      caller,
      created_at: new Date(at).toISOString(),
      stale: stale && { since: new Date(stale.at).toISOString(), reason: stale.reason },
    })),
  }
}
