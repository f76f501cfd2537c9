import { expect, test } from 'vitest'
import { Secret } from '../../src/secret.ts'
import { Unreadable } from '../../src/store/reads.ts'
import { incident } from '../support/incident.ts'
import { setUp } from './setting.ts'

interface Operation {
  responses: Record<string, { content?: Record<string, unknown> }>
  requestBody?: { content: Record<string, { schema: { properties: Record<string, unknown>; required: string[] } }> }
}

interface Description {
  openapi: string
  paths: Record<string, Partial<Record<'get' | 'post' | 'delete', Operation>>>
  components: { schemas: Record<string, unknown> }
}

test('/openapi.json describes every route, those of the page too, and every reference resolves', async () => {
  const answer = await setUp().server.inject('/openapi.json')

  const description: Description = answer.json()
  expect(description.openapi).toBe('3.1.0')
  expect(Object.keys(description.paths).sort()).toEqual(
    [
      '/api/v1/status',
      '/api/v1/networks/{network}',
      '/api/v1/networks/{network}/blocks',
      '/api/v1/networks/{network}/routing',
      '/api/v1/days',
      '/api/v1/endpoints/{network}/{endpoint}',
      '/api/v1/endpoints/{network}/{endpoint}/history',
      '/api/v1/endpoints/{network}/{endpoint}/polls',
      '/api/v1/endpoints/{network}/{endpoint}/rules',
      '/api/v1/strips',
      '/api/v1/incidents',
      '/api/v1/incidents/{id}',
      '/api/v1/incidents/{id}.txt',
      '/api/v1/incidents/{id}/notes',
      '/',
      '/networks/{network}',
      '/endpoints/{network}/{endpoint}',
      '/incidents',
      '/incidents/{id}',
      '/observer',
      '/gateway',
      '/notifications',
      '/runbooks/{name}',
      '/sign-in',
      '/embed/{network}',
      '/logo.svg',
      '/badge.svg',
      '/badge/{network}.svg',
      '/badge/{network}/{endpoint}.svg',
      '/feed.xml',
      '/api/v1/gateway',
      '/api/v1/observer',
      '/api/v1/cluster',
      '/api/v1/events',
      '/api/v1/runbooks',
      '/api/v1/runbooks/{name}',
      '/api/v1/notifications',
      '/api/v1/silences',
      '/api/v1/silences/{id}',
      '/metrics',
      '/probe',
      '/sd',
      '/openapi.json',
      '/-/healthy',
      '/-/ready',
    ].sort(),
  )
  const references = [...answer.body.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name)
  expect(references.length).toBeGreaterThan(15)
  for (const name of references) expect(Object.keys(description.components.schemas)).toContain(name)
})

test('every described path answers on the server', async () => {
  const { server, incidents } = setUp()
  incidents.put(incident())
  const { paths }: Description = (await server.inject('/openapi.json')).json()

  for (const [path, { get }] of Object.entries(paths)) {
    if (get === undefined) continue
    const url = path
      .replace('{network}', 'avalanche')
      .replace('{endpoint}', 'own-1')
      .replace('{id}', incident().id)
      .replace('{name}', 'lagging')
    const { statusCode } = await server.inject({ method: 'HEAD', url })
    // Its parameter is required; no logo is configured; the form of signing in is the page of 401.
    const refusals: Record<string, number> = { '/probe': 400, '/logo.svg': 404, '/sign-in': 401 }
    expect(statusCode, path).toBe(refusals[path] ?? 200)
  }
})

test('every route describes its refusal of a wrong token, which public ones have too', async () => {
  const { server } = setUp({ options: { token: new Secret('right') } })
  const authorization = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const { paths }: Description = (await server.inject({ url: '/openapi.json', ...authorization('right') })).json()

  for (const [path, { get }] of Object.entries(paths)) {
    if (get === undefined) continue
    const { statusCode } = await server.inject({ url: path.replaceAll(/[{}]/g, ''), ...authorization('wrong') })
    expect(Object.keys(get.responses).includes('401'), path).toBe(statusCode === 401)
  }
})

test('a view that cannot be read now is described as the page that it is', async () => {
  const incident = () => Promise.reject(new Unreadable('the incident', 'gone'))
  const { server } = setUp({ store: { incident } })
  const { paths }: Description = (await server.inject('/openapi.json')).json()

  const { statusCode, headers } = await server.inject('/incidents/other')

  expect(statusCode).toBe(503)
  const [type = ''] = String(headers['content-type']).split(';')
  const { content = {} } = paths['/incidents/{id}']?.get?.responses['503'] ?? {}
  expect(Object.keys(content)).toEqual([type, 'application/problem+json'])
})

test('every route that changes something is described with its body, and with all refusals', async () => {
  const { paths }: Description = (await setUp().server.inject('/openapi.json')).json()
  const changing = Object.entries(paths).flatMap(([path, { post, delete: end }]) =>
    [post, end].flatMap((operation) => (operation === undefined ? [] : [{ path, operation }])),
  )

  expect(changing.map(({ path }) => path)).toEqual([
    '/api/v1/incidents/{id}/notes',
    '/api/v1/silences',
    '/api/v1/silences/{id}',
  ])
  for (const { path, operation } of changing) {
    expect(Object.keys(operation.responses), path).toEqual(expect.arrayContaining(['400', '401', '403', '404']))
  }
  const body = paths['/api/v1/silences']?.post?.requestBody?.content['application/json']?.schema
  expect(Object.keys(body?.properties ?? {})).toEqual(['network', 'endpoint', 'duration_seconds', 'reason'])
  expect(body?.required).toEqual(['network', 'duration_seconds', 'reason'])
})
