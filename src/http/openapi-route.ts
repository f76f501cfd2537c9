import type { FastifyInstance } from 'fastify'
import { openApi } from './openapi.ts'

/** `GET /openapi.json`: the description of this interface; it holds nothing of anybody's configuration. */
export function registerOpenApi(app: FastifyInstance, version: string): void {
  const text = JSON.stringify(openApi(version))
  app.get('/openapi.json', { config: { visibility: 'public' } }, (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(text),
  )
}
