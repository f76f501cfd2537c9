import type { RouteOptions } from 'fastify'
import type { OpenAPIV3_1 } from 'openapi-types'
import * as z from 'zod'
import { type App, json, operation } from './route.ts'
import { componentSchemas } from './wire/common.ts'

/** `GET /openapi.json`, the OpenAPI 3.1 description of all routes registered after this call. */
export function describeRoutes(app: App, version: string): void {
  const routes: RouteOptions[] = []
  const route = operation({
    visibility: 'public',
    summary: 'This description',
    answers: { 200: json(z.looseObject({}), 'OpenAPI 3.1') },
  })
  let body: Promise<string> | null = null
  app.addHook('onRoute', (added) => void routes.push(added))
  app.get('/openapi.json', route, async (_request, reply) => {
    body ??= describe(routes, version)
    return reply.type('application/json; charset=utf-8').send(await body)
  })
}

const DESCRIPTION =
  'Times are RFC 3339 UTC, durations are in seconds, ratios from 0 to 1. Unknown values are null. Where a token is ' +
  'configured, readers without it see names, states, times, availability and condition codes only: heads, observer reasons and ' +
  'incident samples are empty, liveness and latency are null, and messages are the general meaning of the code.'

/** Few users request it: the modules that write it are loaded with the first request. */
async function describe(routes: readonly RouteOptions[], version: string): Promise<string> {
  const [{ default: fastify }, { default: swagger }, { jsonSchemaTransform }] = await Promise.all([
    import('fastify'),
    import('@fastify/swagger'),
    import('fastify-type-provider-zod'),
  ])
  // Routes must be added to an instance that has the plugin; this one never listens.
  const described = fastify({ exposeHeadRoutes: false })
  described.setValidatorCompiler(() => () => true)
  described.setSerializerCompiler(() => JSON.stringify)
  await described.register(swagger, {
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
  for (const { method, url, schema } of routes) {
    if (method !== 'HEAD' && schema !== undefined) described.route({ method, url, schema, handler: () => null })
  }
  await described.ready()
  const { components, ...description } = described.swagger() as OpenAPIV3_1.Document
  return JSON.stringify({ ...description, components: { ...components, schemas: componentSchemas() } })
}
