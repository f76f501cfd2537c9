import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { DASHBOARDS } from '../../grafana/uids.ts'
import { templateText } from '../../src/http/template-text.ts'
import type { GatewayView } from '../../src/http/wire/gateway.ts'
import type { EndpointView } from '../../src/http/wire/status.ts'
import { view } from '../../web/views/gateway/gateway.ts'
import { DEFAULT_SETTINGS, type Model } from '../../web/views/view.ts'
import { textsOf } from './texts.ts'
import { aNetwork, anEndpoint, aStatus } from './views.ts'

const NOW = Date.parse('2026-01-01T00:10:00.000Z')
const TALLY = { requests: 10, answered: 8, node_errors: 1, failed: 1, refused: 1, cancelled: 0 }
const SPREAD = { count: 10, p50_seconds: 0.008, p99_seconds: 0.024 }
const OURS = { count: 10, p50_seconds: 0.00015, p99_seconds: 0.0009 }
const ROUTED = { tier: 'primary', left_out: null, breaker: 'closed', latency_seconds: 0.012, in_flight: 0 } as const

function aGateway(over: Partial<GatewayView> = {}): GatewayView {
  return {
    enabled: true,
    requests_in_flight: 2,
    callers: [
      {
        name: 'wallet',
        networks: ['one'],
        admin: true,
        methods: ['eth_call'],
        rate_limit: { requests: 100, per_seconds: 1 },
        requests: 10,
        refused: 1,
      },
    ],
    networks: [
      {
        name: 'one',
        endpoints: [
          { ...ROUTED, name: 'a', attempts: 7, answered: 6 },
          { ...ROUTED, name: 'b', tier: 'fallback', attempts: 2, answered: 2 },
          { ...ROUTED, name: 'c', left_out: 'lagging', attempts: 0, answered: 0 },
        ],
        traffic: {
          ...TALLY,
          duration: SPREAD,
          overhead: OURS,
          operations: [{ name: 'eth_blockNumber', ...TALLY, duration: SPREAD, overhead: OURS }],
          retries: { failed: 1, absent: 0, behind: 2 },
          cache: { hits: 3, misses: 1 },
          coalesced: 0,
          least_bad: 0,
          rejections: [{ reason: 'bad-params', count: 1 }],
        },
      },
    ],
    aliases: [],
    started_at: '2026-01-01T00:00:00.000Z',
    unplaced: 0,
    course: { from: '2026-01-01T00:08:00.000Z', step_seconds: 60, requests: [4, 6, 0], failed: [0, 1, 0] },
    ...over,
  }
}

function draw(data: GatewayView, a: Partial<EndpointView> = {}): HTMLElement {
  const model: Model = {
    route: { view: 'gateway', params: {}, query: {} },
    status: aStatus([aNetwork('one', [anEndpoint('a', { title: 'Node A', ...a }), anEndpoint('b')])]),
    incidents: [],
    contact: { kind: 'live', by: 'events' },
    brand: { title: 'Heartline', hasLogo: false },
    nowMs: NOW,
    access: 'open',
    settings: { ...DEFAULT_SETTINGS, zone: 'utc' },
    data,
  }
  const { document } = new Window()
  document.body.innerHTML = templateText(view.draw(model))
  return document.body as unknown as HTMLElement
}

describe('the gateway page', () => {
  test('links its charts to the same time in Grafana, where one is configured', () => {
    const link = draw(aGateway({ grafana_url: 'https://grafana.example.org' })).querySelector('.grafana')
    const from = Date.parse('2026-01-01T00:08:00.000Z')

    expect(link?.getAttribute('href')).toBe(
      `https://grafana.example.org/d/${DASHBOARDS.gateway}?from=${from}&to=${from + 180_000}`,
    )
    expect(draw(aGateway()).querySelector('.grafana')).toBeNull()
  })

  test('begins with totals: requests, failures, overhead, retries and cache hits', () => {
    expect(textsOf(draw(aGateway()), '.figures > div')).toEqual([
      'Requests 10',
      'Failed 1 10.00 %',
      'Rejected 1',
      'Overhead p50 150 µs p99 900 µs',
      'Retried 3',
      'Cache hits 75.00 % of 4 lookups',
    ])
  })

  test('lists endpoints in routing order with their share of answers, and why others are excluded', () => {
    const rows = textsOf(draw(aGateway()), '[aria-labelledby=gateway-one] > .scroll tbody tr')

    expect(rows).toEqual([
      'Node A 1st 75 % 12 ms 7 1 0',
      'b fallback 2nd 25 % 12 ms 2 0 0',
      'c lagging behind the other endpoints 0 % 12 ms 0 0 0',
    ])
  })

  test('says what the operations “none” and “other” stand for', () => {
    const page = aGateway()
    const [network] = page.networks
    if (network === undefined) throw new Error('no network')
    const named = ['eth_blockNumber', 'none', 'other'].map((name) => ({
      name,
      ...TALLY,
      duration: SPREAD,
      overhead: OURS,
    }))
    const networks = [{ ...network, traffic: { ...network.traffic, operations: named } }]
    const told = [
      ...draw({ ...page, networks }).querySelectorAll('[aria-labelledby=gateway-one] details th[scope=row]'),
    ].map((row) => [row.textContent?.trim(), row.querySelector('[title]')?.getAttribute('title')])

    expect(told).toEqual([
      ['eth_blockNumber', undefined],
      ['none', 'rejected before the operation was known'],
      ['other', 'methods and paths that are forwarded without a name of their own'],
    ])
  })

  test('an endpoint that is down now has no place in the order, though the order is older', () => {
    const rows = textsOf(draw(aGateway(), { state: 'down' }), '[aria-labelledby=gateway-one] > .scroll tbody tr')

    expect(rows.slice(0, 2)).toEqual(['Node A down down 75 % 12 ms 7 1 0', 'b fallback 1st 25 % 12 ms 2 0 0'])
  })

  test('the shares of answers add up to 100 %', () => {
    const [network] = aGateway().networks
    if (network === undefined) throw new Error('no network')
    const endpoints = [49, 50, 2].map((answered, at) => ({ ...ROUTED, name: `n${at}`, attempts: answered, answered }))

    const shares = textsOf(draw(aGateway({ networks: [{ ...network, endpoints }] })), 'td.share')

    expect(shares).toEqual(['49 %', '49 %', '2 %'])
  })

  test('says so when no endpoint is healthy', () => {
    const [network] = aGateway().networks
    if (network === undefined) throw new Error('no network')
    const endpoints = network.endpoints.map((one) => ({ ...one, left_out: 'down' }))

    expect(draw(aGateway({ networks: [{ ...network, endpoints }] })).textContent).toContain('No healthy endpoint')
  })

  test('lists callers by name, and retries and rejections only if there were any', () => {
    const of = draw(aGateway())

    expect(textsOf(of, '[aria-labelledby=callers] tbody tr')).toEqual([
      'wallet 10 1 100 in 1 s one admin.alias, eth_call',
    ])
    expect(textsOf(of, '.besides')).toEqual([
      'Retried: 1 after a failure, 2 because the first endpoint was behind.',
      'Not answered: 1 × bad-params.',
    ])
  })

  test('charts the requests of the last hour; the time before the start is unknown', () => {
    const rows = textsOf(draw(aGateway()), '#requests-chart-table tbody tr')

    expect(rows).toHaveLength(60)
    expect(rows.slice(-4)).toEqual(['00:07 – –', '00:08 4 0', '00:09 6 1', '00:10 0 0'])
  })

  test('explains how to enable the gateway if it is off', () => {
    const of = draw(aGateway({ enabled: false, networks: [], callers: [] }))

    expect(of.textContent).toContain('The gateway is not enabled.')
    expect(of.querySelector('pre')?.textContent).toContain('enabled: true')
  })
})
