import type { FastifyReply } from 'fastify'
import * as z from 'zod'
import { clientAddress } from '../access.ts'
import type { Connections } from '../connections.ts'
import { sendProblem } from '../problem.ts'
import { type App, operation, problem, type RouteDeps } from '../route.ts'
import { IncidentSummaryView } from '../wire/incidents.ts'
import { StatusEventView } from '../wire/status.ts'
import type { EventStream } from './event-stream.ts'

const PATH = '/api/v1/events'
const CONTENT_TYPE = 'text/event-stream; charset=utf-8'

const DESCRIPTION =
  'Server-sent events. The first `status` (`StatusEvent`) is complete. Later ones hold only the networks and endpoints that ' +
  'changed, each replacing the one of the same name, and the maintenance if it changed. One is sent at least every five ' +
  'seconds, even if nothing changed. An `incident` (`IncidentSummary`) is sent after each change of an incident, also of one ' +
  'that is part of another incident. A complete `status` is followed by all open incidents.'

interface EventsRouteDeps extends Pick<RouteDeps, 'metrics'> {
  readonly events: EventStream
  readonly connections: Connections
  readonly hasToken: boolean
}

/** `GET /api/v1/events`: the status and the incidents, live. */
export function registerEvents(app: App, { events, metrics, connections, hasToken }: EventsRouteDeps): void {
  const route = operation({
    visibility: 'public',
    summary: 'The status and the incidents, live',
    headers: z.looseObject({
      'last-event-id': z
        .string()
        .optional()
        .describe('Id of the last event received; events missed since then are sent first'),
    }),
    answers: {
      200: {
        description: DESCRIPTION,
        content: { 'text/event-stream': { schema: z.union([StatusEventView, IncidentSummaryView]) } },
      },
      503: problem('The maximum number of streams is open'),
    },
  })
  // Declared explicitly, because the HEAD route that Fastify derives from GET would wait for the stream to end.
  app.head(PATH, { config: route.config }, (_request, reply) => reply.type(CONTENT_TYPE).send())

  app.get(PATH, { ...route, exposeHeadRoute: false }, (request, reply) => {
    const { raw } = reply
    let isOpen = false
    connections.makeRoom(0)
    const subscription = events.join(
      {
        audience: request.audience,
        address: hasToken && request.audience === 'private' ? null : clientAddress(request),
        write(bytes) {
          if (!isOpen) openStream(reply)
          isOpen = true
          return raw.write(bytes)
        },
        // Destroyed, because `end` would keep the buffers of a client that does not read.
        end: () => raw.destroy(),
      },
      request.headers['last-event-id'] ?? null,
    )
    if (subscription === null) {
      reply.header('retry-after', '5')
      return sendProblem(reply, { status: 503, detail: 'The maximum number of event streams is open.' })
    }
    connections.markStream(raw.req.socket)
    metrics.httpRequest(PATH, 200, reply.elapsedTime)
    raw.on('drain', () => subscription.drained())
    raw.on('close', () => subscription.leave())
    return reply
  })
}

function openStream(reply: FastifyReply): void {
  reply.hijack()
  const headers = reply.getHeaders() as Record<string, string>
  reply.raw.writeHead(200, {
    ...headers,
    'content-type': CONTENT_TYPE,
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
}
