import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Metrics } from '../metrics/metrics.ts'
import type { EventStream } from './event-stream.ts'
import { sendProblem } from './problem.ts'

const ROUTE = '/api/v1/events'
const CONTENT_TYPE = 'text/event-stream; charset=utf-8'

export interface EventsRouteDeps {
  readonly events: EventStream
  readonly metrics: Pick<Metrics, 'httpRequest'>
}

/** `GET /api/v1/events`: the status, live. */
export function registerEvents(app: FastifyInstance, { events, metrics }: EventsRouteDeps): void {
  const config = { visibility: 'public' } as const
  // Fastify would make it of the GET route, and wait for its end.
  app.head(ROUTE, { config }, (_request, reply) => reply.type(CONTENT_TYPE).send())

  app.get(ROUTE, { config, exposeHeadRoute: false }, (request, reply) => {
    const { raw } = reply
    const lastEventId = request.headers['last-event-id']
    let opened = false
    const subscription = events.join(
      {
        audience: request.audience,
        write(text) {
          if (!opened) openStream(reply)
          opened = true
          return raw.write(text)
        },
        // What is still in its buffers is not waited for.
        end: () => raw.destroy(),
      },
      typeof lastEventId === 'string' ? lastEventId : null,
    )
    if (subscription === null) {
      reply.header('retry-after', '5')
      return sendProblem(reply, { status: 503, detail: 'Too many listen already.' })
    }
    metrics.httpRequest(ROUTE, 200, reply.elapsedTime)
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
