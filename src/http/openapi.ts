import swagger from '@fastify/swagger'
import { jsonSchemaTransform } from 'fastify-type-provider-zod'
import type { OpenAPIV3_1 } from 'openapi-types'
import { z } from 'zod'
import { type App, json, operation } from './route.ts'
import { componentSchemas } from './wire-common.ts'

const DESCRIPTION =
  'Times are RFC 3339 UTC, durations are in seconds, ratios from 0 to 1. Unknown values are null. Where a token is ' +
  'configured, readers without it see names, states, times, availability and condition codes only: heads, observer reasons and ' +
  'incident samples are empty, liveness and latency are null, and messages are the general meaning of the code.'

/** Collects the OpenAPI 3.1 descriptions of all routes that are registered after this call. */
export function describeRoutes(app: App, version: string): void {
  void app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Heartline', version, description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
      security: [{}, { token: [] }],
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer', description: '`server.token` of the configuration' },
        },
      },
    },
    transform: jsonSchemaTransform,
  })
}

/** `GET /openapi.json`, written on the first request. */
export function registerOpenApi(app: App): void {
  const route = operation({
    visibility: 'public',
    summary: 'This description',
    answers: { 200: json(z.looseObject({}), 'OpenAPI 3.1') },
  })
  const describe = () => {
    const { components, ...description } = app.swagger() as OpenAPIV3_1.Document
    return JSON.stringify({ ...description, components: { ...components, schemas: componentSchemas() } })
  }
  let body: string | null = null
  app.get('/openapi.json', route, (_request, reply) => {
    body ??= describe()
    return reply.type('application/json; charset=utf-8').send(body)
  })
}
