import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Board } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { isKnown } from './etag.ts'
import { sendProblem } from './problem.ts'
import { readOneOf, readQuery } from './query.ts'
import type { StatusWriter } from './status-document.ts'
import { endpointView, networkView } from './status-views.ts'
import type { Audience } from './wire-status.ts'

export interface StatusRoutesDeps {
  readonly board: Board
  readonly incidents: Pick<IncidentLog, 'of'>
  readonly clock: Pick<Clock, 'now'>
  readonly writers: Readonly<Record<Audience, StatusWriter>>
}

interface EndpointPath {
  readonly network: string
  readonly endpoint: string
}

/** What is known now: everything, one network, or one endpoint. */
export function registerStatus(app: FastifyInstance, { board, incidents, clock, writers }: StatusRoutesDeps): void {
  const config = { visibility: 'public' } as const

  app.get('/api/v1/status', { config }, async (request, reply) => {
    const read = readQuery<{ fail_on: 'down' | 'degraded' }>(request.query, { fail_on: readOneOf('down', 'degraded') })
    if (!read.ok) return sendBadQuery(reply, read.errors)
    await writers[request.audience].prepare()
    const { body, etag, state } = writers[request.audience].whole()
    const failOn = read.values.fail_on
    const failed = state === 'down' ? failOn !== undefined : state === 'degraded' && failOn === 'degraded'
    reply.header('etag', etag)
    if (!failed && isKnown(request, etag)) return reply.code(304).send()
    return reply
      .code(failed ? 503 : 200)
      .type('application/json; charset=utf-8')
      .send(body)
  })

  app.get<{ Params: { network: string } }>('/api/v1/networks/:network', { config }, (request, reply) => {
    const read = readQuery<object>(request.query, {})
    if (!read.ok) return sendBadQuery(reply, read.errors)
    const network = board.network(request.params.network)
    if (network === undefined) return sendUnknown(reply, 'network')
    return networkView(network, incidents, clock.now(), request.audience)
  })

  app.get<{ Params: EndpointPath }>('/api/v1/endpoints/:network/:endpoint', { config }, (request, reply) => {
    const read = readQuery<object>(request.query, {})
    if (!read.ok) return sendBadQuery(reply, read.errors)
    const entry = board.entry(request.params.network, request.params.endpoint)
    if (entry === undefined) return sendUnknown(reply, 'endpoint')
    return endpointView(entry, incidents.of(entry.health.endpoint), clock.now(), request.audience)
  })
}

export function sendUnknown(reply: FastifyReply, what: 'network' | 'endpoint'): FastifyReply {
  return sendProblem(reply, { status: 404, detail: `There is no such ${what} in the configuration.` })
}

export function sendBadQuery(
  reply: FastifyReply,
  errors: readonly { readonly parameter: string; readonly detail: string }[],
): FastifyReply {
  const detail = errors.map((error) => `${error.parameter} ${error.detail}`).join('; ')
  return sendProblem(reply, { status: 400, detail, errors: [...errors] })
}
