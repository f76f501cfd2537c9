import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import { previewOf } from '../gateway/failover/routing-order.ts'
import type { GatewayReport } from '../gateway/service.ts'
import type { Board, BoardNetwork } from '../state/board.ts'
import type { Sightings } from '../state/sightings.ts'
import { blocksView } from './blocks-view.ts'
import { sendCompressed } from './compressed.ts'
import { readQuery } from './query.ts'
import { seconds } from './rfc3339.ts'
import { sendBadQuery, sendUnknown } from './status-routes.ts'
import type { RoutingView } from './wire-gateway.ts'

export interface NetworkRoutesDeps {
  readonly board: Board
  readonly sightings: Sightings
  /** `null` where the gateway is not enabled. */
  readonly gateway: () => GatewayReport | null
  readonly clock: Pick<Clock, 'now'>
}

/** `GET …/networks/:network/blocks`, who saw which block when; and `…/routing`, whom the gateway would ask now. */
export function registerNetwork(app: FastifyInstance, { board, sightings, gateway, clock }: NetworkRoutesDeps): void {
  const config = { visibility: 'private' } as const

  app.get<{ Params: { network: string } }>('/api/v1/networks/:network/blocks', { config }, async (request, reply) => {
    const read = readQuery<object>(request.query, {})
    if (!read.ok) return sendBadQuery(reply, read.errors)
    const network = board.network(request.params.network)
    if (network === undefined) return sendUnknown(reply, 'network')
    const body = JSON.stringify(blocksView(network, sightings, clock.now()))
    return sendCompressed(request, reply.type('application/json; charset=utf-8'), body)
  })

  app.get<{ Params: { network: string } }>('/api/v1/networks/:network/routing', { config }, async (request, reply) => {
    const read = readQuery<object>(request.query, {})
    if (!read.ok) return sendBadQuery(reply, read.errors)
    const network = board.network(request.params.network)
    if (network === undefined) return sendUnknown(reply, 'network')
    return routingView(network, gateway(), clock.now())
  })
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
