import { expect, test } from 'vitest'
import type { GatewayReport } from '../../src/gateway/service.ts'
import { GatewayView } from '../../src/http/wire/gateway.ts'
import { createMetrics, type Metrics } from '../../src/metrics/metrics.ts'
import { Secret } from '../../src/secret.ts'
import { createBoard } from '../../src/state/board.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { QUIET_STORE } from '../support/world.ts'
import { setUp } from './setting.ts'

const AT = Date.UTC(2026, 10, 1)
const REPORT: GatewayReport = {
  requestsInFlight: 2,
  callers: [
    {
      name: 'wallet',
      networks: ['avalanche'],
      admin: true,
      methods: ['eth_call'],
      rateLimit: { requests: 100, perMs: 500 },
      requests: 7,
      rejected: 1,
    },
  ],
  networks: [
    {
      name: 'avalanche',
      endpoints: [
        { endpoint: 'own-2', tier: 'primary', excluded: null, breaker: 'closed', latencyMs: 12.500_012_3, inFlight: 2 },
        { endpoint: 'own-1', tier: 'primary', excluded: 'lagging', breaker: 'open', latencyMs: null, inFlight: 0 },
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

test('/api/v1/gateway lists callers by name, the routing order, and the aliases', async () => {
  const { server } = setUp({ gateway: () => REPORT })

  const answer = await server.inject('/api/v1/gateway')

  const view = answer.json()
  expect(GatewayView.parse(view)).toEqual(view)
  expect(view).toMatchObject({
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

test('without a gateway, enabled is false', async () => {
  const answer = await setUp().server.inject('/api/v1/gateway')

  expect(answer.statusCode).toBe(200)
  expect(answer.json()).toMatchObject({ enabled: false, requests_in_flight: 0, callers: [], networks: [], aliases: [] })
})

test('traffic is counted by network, operation and endpoint, with the cause of failures', async () => {
  const metrics = metricsWith(REPORT)
  for (const outcome of ['answered', 'answered', 'node-error', 'all-failed', 'bad-params'] as const) {
    metrics.gateway.answered('avalanche', 'eth_blockNumber', 'wallet', outcome, 8, 0.15)
  }
  metrics.gateway.attempted('avalanche', 'own-2', 'eth_blockNumber', 'answered')
  metrics.gateway.attempted('avalanche', 'own-2', 'eth_blockNumber', 'timeout')
  metrics.gateway.retried('avalanche', 'failed')
  metrics.gateway.cacheLookup('avalanche', 'hit')
  metrics.gateway.rejected('avalanche', 'bad-params')
  metrics.gateway.rejected(null, 'unauthorized')

  const answer = await setUp({ gateway: () => REPORT, metrics }).server.inject('/api/v1/gateway')

  const view = GatewayView.parse(answer.json())
  const tally = { requests: 5, answered: 3, node_errors: 1, failed: 1, refused: 1, cancelled: 0 }
  expect(view.networks[0]?.traffic).toMatchObject({
    ...tally,
    overhead: { count: 5, p50_seconds: 0.00015 },
    operations: [{ name: 'eth_blockNumber', ...tally }],
    retries: { failed: 1, absent: 0, behind: 0 },
    cache: { hits: 1, misses: 0 },
    rejections: [{ reason: 'bad-params', count: 1 }],
  })
  expect(view.networks[0]?.endpoints).toMatchObject([
    { name: 'own-2', attempts: 2, answered: 1 },
    { name: 'own-1', attempts: 0, answered: 0 },
  ])
  expect(view.unplaced).toBe(1)
})

test('it needs the token, even where the page is public', async () => {
  const { server } = setUp({ gateway: () => REPORT, options: { token: new Secret('a-token-of-some-length') } })

  expect((await server.inject('/api/v1/gateway')).statusCode).toBe(401)
  const headers = { authorization: 'Bearer a-token-of-some-length' }
  expect((await server.inject({ url: '/api/v1/gateway', headers })).statusCode).toBe(200)
})

test('parameters are rejected', async () => {
  expect((await setUp().server.inject('/api/v1/gateway?x=1')).statusCode).toBe(400)
})

function metricsWith(report: GatewayReport): Metrics {
  return createMetrics({
    board: createBoard(),
    incidents: createIncidentLog(),
    clock: createFakeClock(),
    version: '1.2.3',
    storeStatus: () => QUIET_STORE,
    scheduler: () => ({ lastRoundAt: null }),
    observer: () => ({ impaired: false, judging: true }),
    gateway: () => report,
  })
}
