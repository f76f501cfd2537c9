import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import { isKnown } from './etag.ts'
import { renderFeed } from './feed.ts'
import type { IncidentSource } from './incident-source.ts'

export interface FeedRouteDeps {
  readonly source: IncidentSource
  readonly clock: Pick<Clock, 'now'>
}

const ENTRIES = 50

/** `GET /feed.xml`: the newest incidents, for feed readers. */
export function registerFeed(app: FastifyInstance, { source, clock }: FeedRouteDeps): void {
  const startedAt = clock.now()

  app.get('/feed.xml', { config: { visibility: 'public' } }, async (request, reply) => {
    const { incidents } = await source.list({ limit: ENTRIES })
    const body = renderFeed(incidents, request.audience, startedAt)
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    reply.header('etag', etag)
    if (isKnown(request, etag)) return reply.code(304).send()
    return reply.type('application/atom+xml; charset=utf-8').send(body)
  })
}
