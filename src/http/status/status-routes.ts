import * as z from 'zod'
import { sendKnown } from '../negotiation.ts'
import { oneOf } from '../parameters.ts'
import { sendUnknown } from '../problem.ts'
import {
  type App,
  EndpointPath,
  json,
  NetworkPath,
  NOT_MODIFIED,
  NoQuery,
  operation,
  type RouteDeps,
} from '../route.ts'
import type { Scopes } from '../scopes.ts'
import { endpointView, networkView } from '../status-views.ts'
import { type Audience, EndpointView, NetworkView, StatusView } from '../wire/status.ts'
import type { StatusWriter } from './status-document.ts'

interface StatusRoutesDeps extends Pick<RouteDeps, 'clock'> {
  readonly scopes: Scopes
  readonly writers: Readonly<Record<Audience, StatusWriter>>
}

/** Routes for the current status: of everything, one network or one endpoint. */
export function registerStatus(app: App, { clock, scopes, writers }: StatusRoutesDeps): void {
  const statusRoute = operation({
    visibility: 'public',
    summary: 'The present state of everything',
    query: z.strictObject({
      fail_on: oneOf('down', 'degraded').optional().describe('Answer 503 when the overall state is this bad, or worse'),
    }),
    answers: {
      200: json(StatusView, 'The status, with an `ETag`'),
      304: NOT_MODIFIED,
      503: json(StatusView, 'The status, which is as bad as `fail_on` says'),
    },
  })
  app.get('/api/v1/status', statusRoute, async (request, reply) => {
    await writers[request.audience].prepare()
    const { body, etag, state } = writers[request.audience].whole()
    const failOn = request.query.fail_on
    const failed = state === 'down' ? failOn !== undefined : state === 'degraded' && failOn === 'degraded'
    const known = failed ? null : sendKnown(request, reply, etag)
    return (
      known ??
      reply
        .code(failed ? 503 : 200)
        .headers({ etag, 'content-type': 'application/json; charset=utf-8' })
        .send(body)
    )
  })

  const networkRoute = operation({
    visibility: 'public',
    summary: 'One network',
    params: NetworkPath,
    query: NoQuery,
    answers: { 200: json(NetworkView, 'The network') },
  })
  app.get('/api/v1/networks/:network', networkRoute, (request, reply) => {
    const { board, incidents } = scopes[request.audience]
    const network = board.network(request.params.network)
    if (network === undefined) return sendUnknown(reply, 'network')
    return networkView(network, incidents, clock.now(), request.audience)
  })

  const endpointRoute = operation({
    visibility: 'public',
    summary: 'One endpoint',
    params: EndpointPath,
    query: NoQuery,
    answers: { 200: json(EndpointView, 'The endpoint') },
  })
  app.get('/api/v1/endpoints/:network/:endpoint', endpointRoute, (request, reply) => {
    const { board, incidents } = scopes[request.audience]
    const entry = board.entry(request.params.network, request.params.endpoint)
    if (entry === undefined) return sendUnknown(reply, 'endpoint')
    return endpointView(entry, incidents.of(entry.health.endpoint), clock.now(), request.audience)
  })
}
