import { expect, test } from 'vitest'
import type { GatewayReport } from '../../src/gateway/service.ts'
import { GatewayView } from '../../src/http/views.ts'
import { Secret } from '../../src/secret.ts'
import { setUp } from './setting.ts'

const AT = Date.UTC(2026, 10, 1)
const REPORT: GatewayReport = {
  requestsAtWork: 2,
  callers: [
    {
      name: 'wallet',
      networks: ['avalanche'],
      admin: true,
      methods: ['eth_call'],
      rateLimit: { requests: 100, perMs: 500 },
      requests: 7,
      refused: 1,
    },
  ],
  networks: [
    {
      name: 'avalanche',
      endpoints: [
        { endpoint: 'own-2', tier: 'primary', leftOut: null, breaker: 'closed', latencyMs: 12.5, inFlight: 2 },
        { endpoint: 'own-1', tier: 'primary', leftOut: 'lagging', breaker: 'open', latencyMs: null, inFlight: 0 },
      ],
    },
  ],
  aliases: [
    {
      network: 'avalanche',
      alias: 'mine',
      target: 'bc/C',
      endpoint: 'own-1',
      nodeId: 'NodeID-x',
      caller: 'wallet',
      at: AT,
      stale: { at: AT + 1000, reason: 'lost' },
    },
  ],
}

test('/api/v1/gateway tells the callers by name, the order of the endpoints, and the aliases', async () => {
  const { server } = setUp({ gateway: () => REPORT })

  const answer = await server.inject('/api/v1/gateway')

  const view = answer.json()
  expect(GatewayView.parse(view)).toEqual(view)
  expect(view).toEqual({
    enabled: true,
    requests_in_flight: 2,
    callers: [
      {
        name: 'wallet',
        networks: ['avalanche'],
        admin: true,
        methods: ['eth_call'],
        rate_limit: { requests: 100, per_seconds: 0.5 },
        requests: 7,
        refused: 1,
      },
    ],
    networks: [
      {
        name: 'avalanche',
        endpoints: [
          { name: 'own-2', tier: 'primary', left_out: null, breaker: 'closed', latency_seconds: 0.0125, in_flight: 2 },
          { name: 'own-1', tier: 'primary', left_out: 'lagging', breaker: 'open', latency_seconds: null, in_flight: 0 },
        ],
      },
    ],
    aliases: [
      {
        network: 'avalanche',
        alias: 'mine',
        target: 'bc/C',
        endpoint: 'own-1',
        node_id: 'NodeID-x',
        caller: 'wallet',
        created_at: '2026-11-01T00:00:00.000Z',
        stale: { since: '2026-11-01T00:00:01.000Z', reason: 'lost' },
      },
    ],
  })
})

test('without a gateway it says so', async () => {
  const answer = await setUp().server.inject('/api/v1/gateway')

  expect(answer.statusCode).toBe(200)
  expect(answer.json()).toEqual({ enabled: false, requests_in_flight: 0, callers: [], networks: [], aliases: [] })
})

test('with a token it is for its holder alone, though the page is public', async () => {
  const { server } = setUp({ gateway: () => REPORT, options: { token: new Secret('a-token-of-some-length') } })

  expect((await server.inject('/api/v1/gateway')).statusCode).toBe(401)
  const headers = { authorization: 'Bearer a-token-of-some-length' }
  expect((await server.inject({ url: '/api/v1/gateway', headers })).statusCode).toBe(200)
})

test('a parameter is refused', async () => {
  expect((await setUp().server.inject('/api/v1/gateway?x=1')).statusCode).toBe(400)
})
