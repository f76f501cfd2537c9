import type { FastifyInstance } from 'fastify'
import { sendCompressed } from './compressed.ts'
import { isKnown } from './etag.ts'
import { sendProblem } from './problem.ts'
import { readCount, readQuery } from './query.ts'
import { sendBadQuery } from './status-routes.ts'
import { STRIP_HOURS, type StripSource } from './strip-source.ts'

/** `GET /api/v1/strips`: the last hours of every endpoint, in one answer small enough for an overview. */
export function registerStrips(app: FastifyInstance, { strips }: { readonly strips: StripSource }): void {
  app.get('/api/v1/strips', { config: { visibility: 'public' } }, async (request, reply) => {
    const read = readQuery<{ hours: number }>(request.query, { hours: readCount(1, STRIP_HOURS) })
    if (!read.ok) return sendBadQuery(reply, read.errors)
    try {
      const { body, etag } = await strips.read(request.audience, read.values.hours ?? STRIP_HOURS)
      reply.header('etag', etag)
      if (isKnown(request, etag)) return reply.code(304).send()
      return sendCompressed(request, reply.type('application/json; charset=utf-8'), body)
    } catch {
      return sendProblem(reply, { status: 503, detail: 'The history cannot be read now.' })
    }
  })
}
