import type { FastifyInstance } from 'fastify'
import type { Board } from '../state/board.ts'

/** `GET /sd`: every endpoint as a target of `/probe`, as Prometheus's HTTP service discovery wants it: the whole list each time. */
export function registerDiscovery(app: FastifyInstance, board: Pick<Board, 'networks'>): void {
  app.get('/sd', { config: { visibility: 'private' } }, (_request, reply) => {
    const groups = board
      .networks()
      .flatMap(({ endpoints }) => endpoints)
      .map(({ key, health: { endpoint } }) => ({
        targets: [key],
        labels: { network: endpoint.network, endpoint: endpoint.name, family: endpoint.family },
      }))
    // Prometheus takes no other type, and no parameter in it is needed: JSON is UTF-8.
    return reply.type('application/json').serializer(JSON.stringify).send(groups)
  })
}
