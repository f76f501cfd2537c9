import type { FastifyInstance } from 'fastify'
import type { Board } from '../state/board.ts'
import { sendUnknown } from './status-routes.ts'
import { rulesView } from './status-views.ts'

/** `GET …/rules`: how an endpoint is polled, and from when on it is called what. */
export function registerRules(app: FastifyInstance, { board }: { readonly board: Board }): void {
  app.get<{ Params: { network: string; endpoint: string } }>(
    '/api/v1/endpoints/:network/:endpoint/rules',
    { config: { visibility: 'private' } },
    async (request, reply) => {
      const of = board.network(request.params.network)
      const entry = board.entry(request.params.network, request.params.endpoint)
      if (of === undefined || entry === undefined) return sendUnknown(reply, 'endpoint')
      return rulesView(of.standing.network, entry.health.endpoint)
    },
  )
}
