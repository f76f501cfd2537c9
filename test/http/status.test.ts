import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { ProblemView } from '../../src/http/wire/common.ts'
import { EndpointView, NetworkView, StatusView } from '../../src/http/wire/status.ts'
import { Secret } from '../../src/secret.ts'
import { incident } from '../support/incident.ts'
import { bad, endpoint, good, head, liveness, network, nodeCheck } from '../support/network.ts'
import { aPlace, DISAGREEING, PARTIAL, putPlaces } from '../support/places.ts'
import { NODE, OTHER, OWN, setUp } from './setting.ts'

describe('/api/v1/status', () => {
  test('is unknown throughout before the first poll', async () => {
    const { server } = setUp()

    const status = await read(server, '/api/v1/status', StatusView)

    expect(status.state).toBe('unknown')
    expect(status.networks.map(({ name, state }) => [name, state])).toEqual([
      ['avalanche', 'unknown'],
      ['ethereum', 'unknown'],
    ])
    expect(status.networks[0]?.endpoints[0]).toEqual({
      name: 'own-1',
      title: 'Own node 1',
      state: 'unknown',
      since: '2026-01-01T00:00:00.000Z',
      incident: null,
      flapping: false,
      last_polled_at: null,
      conditions: [],
      heads: [],
      liveness: null,
      latency_seconds: null,
      vantages: [
        {
          vantage: 'default',
          state: 'unknown',
          since: '2026-01-01T00:00:00.000Z',
          last_polled_at: null,
          latency_seconds: null,
          conditions: [],
          counted: false,
        },
      ],
      confirmed_by: 0,
      availability: Object.fromEntries(
        ['24h', '7d', '30d', '90d'].map((window) => [window, { ratio: null, coverage: 0, fresh: null }]),
      ),
    })
  })

  test('shows availability as computed, without rounding it down a second time', async () => {
    const { server, world } = setUp()
    // Times a million, both are a little less than a whole number.
    const computed = { ratio: 0.524287, coverage: 0.000249, fresh: 0.524287 }
    world.board.putAvailability(
      new Map([['avalanche/own-1', { '24h': computed, '7d': computed, '30d': computed, '90d': computed }]]),
    )

    const status = await read(server, '/api/v1/status', StatusView)

    expect(status.networks[0]?.endpoints[0]?.availability['24h']).toEqual(computed)
  })

  test('shows the lag of an endpoint, and the network and the whole as degraded', async () => {
    const { server, world, clock } = setUp()
    for (let poll = 0; poll < 2; poll++) {
      await clock.advance(10_000)
      await world.pollAll()
      await world.poll(OTHER, { heads: [{ shard: null, outcome: good(head(1012, clock.now() - 1000)) }] })
      await world.poll(OWN)
    }

    const status = await read(server, '/api/v1/status', StatusView)

    const [avalanche] = status.networks
    expect([status.state, avalanche?.state]).toEqual(['degraded', 'degraded'])
    expect(avalanche?.heads).toEqual([
      { shard: null, height: 1012, hash: '0x1012', timestamp: '2026-01-01T00:00:19.000Z' },
    ])
    const own = avalanche?.endpoints[0]
    expect(own?.heads[0]).toMatchObject({ height: 1000, lag_blocks: 12, lag_seconds: 144 })
    expect(own?.conditions).toEqual([
      { code: 'lagging', message: '12 blocks (2.4 min) behind', since: '2026-01-01T00:00:10.000Z' },
    ])
    expect(own?.liveness).toEqual({
      healthy: true,
      heartbeat_lag_seconds: 2,
      contiguous_failures: 0,
      checks: [{ name: 'network', healthy: true, contiguous_failures: 0, failing_since: null, checked_at: null }],
    })
    expect(own?.latency_seconds).toBe(0.012)
  })

  test('shows what a node tells about itself, what it does not offer, and its client, but not to the public', async () => {
    const token = 'a-token-of-the-operator'
    const asked = endpoint('asked', { checks: ['liveness', 'head'] })
    const networks = [{ network: network(), endpoints: [asked] }]
    const { server, world } = setUp({ options: { token: new Secret(token) }, networks })
    const report = {
      sync: { isSyncing: true, remainingBlocks: 12_000 },
      peers: null,
      client: { name: 'Geth', version: 'v1.16.4' },
      consensus: { state: 'down', reason: 'connection refused', remainingSlots: null, peers: null },
    } as const
    const checks = [
      nodeCheck('eth_syncing', { healthy: false }),
      { ...nodeCheck('net_peerCount'), offered: false } as const,
    ]
    for (let poll = 1; poll <= 3; poll++) {
      await world.poll(asked, { liveness: good({ healthy: false, checks, heartbeatAt: null, report }) })
    }

    const answer = await server.inject({ url: '/api/v1/status', headers: { authorization: `Bearer ${token}` } })
    const seen = await server.inject('/api/v1/status')

    const own = StatusView.parse(answer.json()).networks[0]?.endpoints[0]
    expect(own).toMatchObject({
      state: 'down',
      client: { name: 'Geth', version: 'v1.16.4' },
      liveness: {
        healthy: false,
        heartbeat_lag_seconds: null,
        contiguous_failures: 3,
        syncing: true,
        blocks_to_go: 12_000,
        peers: null,
        consensus: { state: 'down', slots_to_go: null, peers: null },
        checks: [
          { name: 'eth_syncing', healthy: false, contiguous_failures: 3 },
          { name: 'net_peerCount', healthy: true, contiguous_failures: 0, offered: false },
        ],
      },
    })
    expect(own?.conditions.map(({ code }) => code)).toEqual(['consensus-down', 'syncing'])
    expect(seen.body).toContain('its consensus node does not work')
    for (const hidden of ['Geth', '12000', 'connection refused', 'net_peerCount'])
      expect(seen.body).not.toContain(hidden)
  })

  test('shows the message of a failing check, but not to the public', async () => {
    const token = 'a-token-of-the-operator'
    const { server, world, clock } = setUp({ options: { token: new Secret(token) } })
    const check = nodeCheck('network', { healthy: false, error: 'no peers', contiguousFailures: 1 })
    await world.poll(OWN, { liveness: good(liveness(clock.now(), { checks: [check] })) })

    const answer = await server.inject({ url: '/api/v1/status', headers: { authorization: `Bearer ${token}` } })

    const own = StatusView.parse(answer.json()).networks[0]?.endpoints[0]
    expect(own?.liveness?.checks).toMatchObject([{ name: 'network', healthy: false, message: 'no peers' }])
    expect((await server.inject('/api/v1/status')).body).not.toContain('no peers')
  })

  test('tells the public, too, that a single endpoint which stands still cannot be distinguished from its chain', async () => {
    const { server, world, clock } = setUp({ options: { token: new Secret('a-token-of-the-operator') } })
    const block = good(head(1000, clock.now()))
    for (let polls = 0; polls < 12; polls++) {
      await world.poll(NODE, { heads: [{ shard: null, outcome: block }] })
      await clock.advance(NODE.intervalMs)
    }

    const status = await read(server, '/api/v1/status', StatusView)

    expect(status.networks[1]?.endpoints[0]?.conditions).toMatchObject([
      {
        code: 'stalled',
        message:
          'no new block; without another endpoint at this height it is unknown whether the endpoint or the chain has stopped',
      },
    ])
  })

  test('tells with the thresholds where Grafana is, if one is configured', async () => {
    const rules = async (grafanaUrl: string | null) =>
      (await setUp({ options: { grafanaUrl } }).server.inject('/api/v1/endpoints/ethereum/node/rules')).json()

    expect(await rules('https://grafana.example.org')).toMatchObject({ grafana_url: 'https://grafana.example.org' })
    expect(await rules(null)).not.toHaveProperty('grafana_url')
  })

  test('shows provider, labels and block explorer, but not to the public', async () => {
    const token = 'a-token-of-the-operator'
    const grouped = { ...NODE, provider: 'acme', labels: { region: 'fra' } }
    const explorerUrl = 'https://explorer.example.org'
    const networks = [{ network: network({ explorerUrl }), endpoints: [grouped, endpoint('own')] }]
    const { server } = setUp({ options: { token: new Secret(token) }, networks })

    const answer = await server.inject({ url: '/api/v1/status', headers: { authorization: `Bearer ${token}` } })

    const [shown] = StatusView.parse(answer.json()).networks
    const [one, other] = shown?.endpoints ?? []
    expect(shown?.explorer_url).toBe(explorerUrl)
    expect(one).toMatchObject({ provider: 'acme', labels: { region: 'fra' } })
    expect(other).not.toHaveProperty('labels')
    expect((await server.inject('/api/v1/status')).body).not.toMatch(/acme|fra|explorer/)
  })

  test('an expired result is unknown since it expired, without conditions', async () => {
    const { server, world, clock } = setUp()
    await world.pollAll()
    await clock.advance(2 * OWN.intervalMs + 5000)

    const status = await read(server, '/api/v1/status', StatusView)

    expect(status.state).toBe('unknown')
    expect(status.networks[0]?.endpoints[0]).toMatchObject({
      state: 'unknown',
      since: '2026-01-01T00:00:20.000Z',
      heads: [{ height: 1000, lag_blocks: null, lag_seconds: null }],
    })
  })

  test('has a strong ETag that stays as long as nothing changes', async () => {
    const { server, world, clock } = setUp()
    await world.pollAll()

    const first = await server.inject('/api/v1/status')
    await clock.advance(1000)
    const same = await server.inject({
      url: '/api/v1/status',
      headers: { 'if-none-match': String(first.headers.etag) },
    })
    await world.poll(OWN)
    const other = await server.inject({
      url: '/api/v1/status',
      headers: { 'if-none-match': String(first.headers.etag) },
    })

    expect(first.headers.etag).toMatch(/^"[\w-]+"$/)
    expect([same.statusCode, same.body]).toEqual([304, ''])
    expect(other.statusCode).toBe(200)
    expect(other.headers.etag).not.toBe(first.headers.etag)
  })

  test('a new availability is shown without a new poll', async () => {
    const { server, world } = setUp()
    await world.pollAll()
    await server.inject('/api/v1/status')
    const known = { ratio: 0.999999, coverage: 1, fresh: 0.5 }

    world.board.putAvailability(
      new Map([['avalanche/own-1', { '24h': known, '7d': known, '30d': known, '90d': known }]]),
    )
    const status = await read(server, '/api/v1/status', StatusView)

    expect(status.networks[0]?.endpoints[0]?.availability['24h']).toEqual(known)
  })

  test.each([
    ['', 200, 200, 200],
    ['?fail_on=down', 200, 200, 503],
    ['?fail_on=degraded', 200, 503, 503],
  ])(
    '%s answers %i when all is up, %i when degraded, %i when down, with the body all the same',
    async (query, ...codes) => {
      const refused = bad({ kind: 'refused' })
      const dead = { liveness: refused, heads: [{ shard: null, outcome: refused }] }
      const situations = [[], [NODE], [NODE, OWN, OTHER]]
      const seen: number[] = []
      for (const failing of situations) {
        const { server, world, clock } = setUp()
        for (let poll = 0; poll < 2; poll++) {
          await clock.advance(10_000)
          await world.pollAll()
          for (const endpoint of failing) {
            await world.poll(endpoint, endpoint === NODE ? { heads: dead.heads } : dead)
            await world.poll(endpoint, endpoint === NODE ? { heads: dead.heads } : dead)
          }
        }
        const answer = await server.inject(`/api/v1/status${query}`)
        StatusView.parse(answer.json())
        seen.push(answer.statusCode)
      }

      expect(seen).toEqual(codes)
    },
  )

  test.each(['?fail_on=up', '?fail_on=', '?fail_on=down&fail_on=degraded', '?fail_no=down', '?__proto__=1'])(
    '%s is refused by name',
    async (query) => {
      const { server } = setUp()

      const answer = await server.inject(`/api/v1/status${query}`)

      expect(answer.statusCode).toBe(400)
      expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
      expect(ProblemView.parse(answer.json()).errors).toEqual([
        { parameter: /\?(\w+)/.exec(query)?.[1], detail: expect.any(String) },
      ])
    },
  )

  test('has no heads, no halt and no fork of a network while no endpoint has a current head', async () => {
    const { server, world, clock } = setUp()
    const before = await read(server, '/api/v1/status', StatusView)
    await world.pollAll()
    for (const { standing } of world.board.networks())
      world.board.putStanding({ ...standing, forked: true, haltedShards: [null] }, true)
    const known = await read(server, '/api/v1/status', StatusView)

    await clock.advance(60_000)

    const after = await read(server, '/api/v1/status', StatusView)
    const shown = ({ networks }: typeof after) =>
      networks.map(({ heads, halted, forked }) => [heads.length > 0, halted, forked])
    const [unknown, all] = [
      [false, false, false],
      [true, true, true],
    ]
    expect([before, known, after].map((status) => shown(status)[0])).toEqual([unknown, all, unknown])
  })

  test('answers HEAD like GET, without the body', async () => {
    const { server } = setUp()

    const answer = await server.inject({ method: 'HEAD', url: '/api/v1/status' })

    expect([answer.statusCode, answer.body]).toEqual([200, ''])
    expect(answer.headers.etag).toBeDefined()
  })
})

describe('the places of an endpoint', () => {
  test('are one called `default` for a daemon alone, which stands behind the state', async () => {
    const { server, world } = setUp()
    const refused = { liveness: bad({ kind: 'refused' }), heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] }
    for (let poll = 0; poll < 2; poll++) await world.poll(OWN, refused)

    const status = await read(server, '/api/v1/status', StatusView)

    const own = status.networks[0]?.endpoints[0]
    expect(own?.confirmed_by).toBe(1)
    expect(own?.vantages).toEqual([
      {
        vantage: 'default',
        state: 'down',
        since: own?.since,
        last_polled_at: own?.last_polled_at,
        latency_seconds: null,
        conditions: own?.conditions,
        counted: true,
      },
    ])
    expect(own?.vantages[0]?.conditions).toMatchObject([{ code: 'unreachable', message: 'connection refused' }])
  })

  test('are shown side by side in a cluster, and again after a change of one without a new poll', async () => {
    const { server, world } = setUp()
    await world.pollAll()
    const heads = world.board.entry('avalanche', 'own-1')?.health.heads ?? []
    putPlaces(world.board, OWN, [...DISAGREEING.slice(0, 2), aPlace('sin1', { heads })], 2)
    const before = await read(server, '/api/v1/status', StatusView)

    putPlaces(
      world.board,
      OWN,
      [...DISAGREEING.slice(0, 2), aPlace('sin1', { state: 'unknown', heads, counted: false })],
      1,
    )
    const after = await read(server, '/api/v1/status', StatusView)

    const [own, ownAfter] = [before, after].map((status) => status.networks[0]?.endpoints[0])
    expect(own?.confirmed_by).toBe(2)
    expect(
      own?.vantages.map(({ vantage, state, latency_seconds: took, counted }) => [vantage, state, took, counted]),
    ).toEqual([
      ['fra1', 'down', null, true],
      ['nyc1', 'up', 0.012, true],
      ['sin1', 'up', 0.012, true],
    ])
    expect(own?.vantages[0]?.conditions).toMatchObject([{ code: 'unreachable', message: 'connection refused' }])
    expect(own?.vantages[2]?.heads).toMatchObject([{ height: 1000, lag_blocks: 0 }])
    expect(ownAfter?.confirmed_by).toBe(1)
    expect(ownAfter?.vantages[2]).toMatchObject({ state: 'unknown', counted: false, heads: [{ lag_blocks: null }] })
  })

  test('of an endpoint that no place of a cluster has polled yet name none', async () => {
    const { server, world } = setUp()
    putPlaces(world.board, OWN, [], 0)

    const status = await read(server, '/api/v1/status', StatusView)

    expect(status.networks[0]?.endpoints[0]).toMatchObject({ state: 'unknown', vantages: [], confirmed_by: 0 })
  })

  test('have no lag where a place keeps polling an endpoint that it reaches no more: its height is the last seen', async () => {
    const { server, world, clock } = setUp()
    await world.pollAll()
    const { heads = [], endpoint } = world.board.entry('avalanche', 'own-1')?.health ?? {}
    const later = clock.now() + 2 * (endpoint?.intervalMs ?? 0) + 1
    await clock.advance(later - clock.now())
    const polled = aPlace('sin1', { heads: heads.map((head) => ({ ...head, readAt: later })), lastPolledAt: later })
    const failed = { ...DISAGREEING[0], heads, lastPolledAt: later }
    putPlaces(world.board, OWN, [aPlace('fra1', failed), polled], 1)

    const status = await read(server, '/api/v1/status', StatusView)

    expect(status.networks[0]?.endpoints[0]?.vantages.map((place) => place.heads)).toMatchObject([
      [{ height: 1000, lag_blocks: null, lag_seconds: null }],
      [{ height: 1000, lag_blocks: 0 }],
    ])
  })

  test('show the public no heights, latencies or messages of nodes, only which places see it down', async () => {
    const { server, world } = setUp({ options: { token: new Secret('a-token-of-the-operator') } })
    await world.pollAll()
    const entry = world.board.entry('avalanche', 'own-1')
    if (entry === undefined) throw new Error('no entry')
    world.board.put({ ...entry.health, verdict: 'degraded', conditions: [PARTIAL] }, true)
    putPlaces(world.board, OWN, [...DISAGREEING.slice(0, 2), aPlace('sin1', { heads: entry.health.heads })], 2)

    const answer = await server.inject('/api/v1/status')

    const own = StatusView.parse(answer.json()).networks[0]?.endpoints[0]
    expect(own?.conditions).toMatchObject([{ code: 'partial', message: 'down from fra1 only' }])
    expect(own?.vantages[0]?.conditions).toMatchObject([{ code: 'unreachable', message: 'no answer' }])
    expect(own?.vantages.map(({ latency_seconds: took, heads }) => [took, heads])).toEqual([
      [null, []],
      [null, []],
      [null, []],
    ])
    expect(answer.body).not.toContain('refused')
  })
})

describe('planned maintenance', () => {
  const HOUR = 3_600_000
  const START = Date.UTC(2026, 0, 1)
  const period = { name: 'upgrade', network: 'avalanche', endpoints: ['own-1'] }

  test('is the state of an endpoint while it lasts, whatever polls find, and hides no other endpoint', async () => {
    const { server, world, clock } = setUp()
    const refused = bad({ kind: 'refused' })
    world.board.putMaintenance([{ ...period, from: START + 5000, until: START + HOUR }])
    for (let poll = 0; poll < 2; poll++) {
      await clock.advance(10_000)
      for (const endpoint of [OWN, OTHER, NODE]) {
        await world.poll(endpoint, {
          liveness: endpoint === NODE ? null : refused,
          heads: [{ shard: null, outcome: refused }],
        })
      }
    }

    const status = await read(server, '/api/v1/status', StatusView)

    expect(status.networks.map(({ state }) => state)).toEqual(['down', 'down'])
    expect(status.networks[0]?.endpoints.map(({ state, since }) => [state, since])).toEqual([
      ['maintenance', '2026-01-01T00:00:05.000Z'],
      ['down', '2026-01-01T00:00:10.000Z'],
    ])
    expect(status.networks[0]?.endpoints[0]?.conditions[0]?.code).toBe('unreachable')
  })

  test('begins and ends by the clock, and is announced ahead of time', async () => {
    const { server, world, clock } = setUp()
    await world.pollAll()
    world.board.putMaintenance([
      { ...period, from: START + 10_000, until: START + 15_000 },
      { ...period, name: 'all', endpoints: null, from: START + HOUR, until: START + 2 * HOUR },
    ])
    const seen: unknown[] = []

    for (let step = 0; step < 4; step++) {
      const status = await read(server, '/api/v1/status', StatusView)
      seen.push([status.networks[0]?.endpoints[0]?.state, status.maintenance.map(({ name }) => name)])
      await clock.advance(5000)
    }

    expect(seen).toEqual([
      ['up', ['upgrade', 'all']],
      ['up', ['upgrade', 'all']],
      ['maintenance', ['upgrade', 'all']],
      ['up', ['all']],
    ])
    expect((await read(server, '/api/v1/status', StatusView)).maintenance).toEqual([
      {
        name: 'all',
        network: 'avalanche',
        endpoints: null,
        from: '2026-01-01T01:00:00.000Z',
        until: '2026-01-01T02:00:00.000Z',
      },
    ])
  })

  test('in overlapping periods began with the first of them', async () => {
    const { server, world, clock } = setUp()
    world.board.putMaintenance([
      { ...period, from: START + 1000, until: START + HOUR },
      { ...period, from: START + 3000, until: START + 2 * HOUR },
    ])

    await clock.advance(5000)

    const { since } = await read(server, '/api/v1/endpoints/avalanche/own-1', EndpointView)
    expect(since).toBe('2026-01-01T00:00:01.000Z')
  })

  test('does not move the start of an outage that outlasts it: the state begins with its incident', async () => {
    const { server, world, incidents, clock } = setUp()
    const refused = bad({ kind: 'refused' })
    world.board.putMaintenance([{ ...period, from: START, until: START + 15_000 }])
    for (let poll = 0; poll < 2; poll++) {
      await clock.advance(10_000)
      await world.poll(OWN, { liveness: refused, heads: [{ shard: null, outcome: refused }] })
    }
    incidents.put(incident({ openedAt: START + 15_000 }))

    for (const path of ['/api/v1/status', '/api/v1/endpoints/avalanche/own-1']) {
      const { payload } = await server.inject({ url: path })
      expect(payload).toContain('"state":"down","since":"2026-01-01T00:00:15.000Z"')
    }
  })

  test('shows no conditions of an expired result', async () => {
    const { server, world, clock } = setUp()
    world.board.putMaintenance([{ ...period, from: START, until: START + HOUR }])
    const refused = bad({ kind: 'refused' })
    for (let poll = 0; poll < 2; poll++) {
      await world.poll(OWN, { liveness: refused, heads: [{ shard: null, outcome: refused }] })
    }
    const ask = async () => {
      const { state, conditions } =
        (await read(server, '/api/v1/status', StatusView)).networks[0]?.endpoints[0] ?? expect.fail()
      return [state, conditions.length]
    }

    expect(await ask()).toEqual(['maintenance', 1])
    await clock.advance(2 * OWN.intervalMs + 1)

    expect(await ask()).toEqual(['maintenance', 0])
  })
})

test('an endpoint names its open incident, and whether it is flapping, without a new poll', async () => {
  const { server, world, incidents } = setUp()
  await world.pollAll()
  const ask = async () => {
    const { incident, flapping } =
      (await read(server, '/api/v1/status', StatusView)).networks[0]?.endpoints[0] ?? expect.fail()
    return [incident, flapping]
  }
  const seen = [await ask()]

  for (const over of [{}, { flapping: true }, { flapping: true, closedAt: Date.UTC(2026, 0, 2) }]) {
    incidents.put(incident(over))
    seen.push(await ask())
  }

  expect(seen).toEqual([
    [null, false],
    ['incident-1', false],
    ['incident-1', true],
    [null, false],
  ])
})

test('one network and one endpoint have the same shapes as in the whole status', async () => {
  const { server, world } = setUp()
  await world.pollAll()

  const status = await read(server, '/api/v1/status', StatusView)
  const network = await read(server, '/api/v1/networks/avalanche', NetworkView)
  const endpoint = await read(server, '/api/v1/endpoints/avalanche/own-2', EndpointView)

  expect(network).toEqual(status.networks[0])
  expect(endpoint).toEqual(status.networks[0]?.endpoints[1])
})

test.each(['/api/v1/networks/bitcoin', '/api/v1/endpoints/avalanche/missing', '/api/v1/endpoints/bitcoin/own-1'])(
  '%s is not found',
  async (url) => {
    const answer = await setUp().server.inject(url)

    expect(answer.statusCode).toBe(404)
    expect(ProblemView.parse(answer.json()).status).toBe(404)
  },
)

test('of ten thousand checks of a node, 128 are shown, failing ones first', async () => {
  const { server, world } = setUp()
  const checks = Array.from({ length: 10_000 }, (_, at) => nodeCheck(`check-${at}`))
  checks[5000] = nodeCheck('broken', { healthy: false, contiguousFailures: 9 })
  await world.poll(OWN, { liveness: good(liveness(null, { checks })) })

  const endpoint = await read(server, '/api/v1/endpoints/avalanche/own-1', EndpointView)

  expect(endpoint.liveness?.checks).toHaveLength(128)
  expect(endpoint.liveness?.checks[0]?.name).toBe('broken')
  expect(endpoint.liveness?.contiguous_failures).toBe(9)
})

async function read<T extends z.ZodObject>(
  server: ReturnType<typeof setUp>['server'],
  url: string,
  shape: T,
): Promise<z.infer<T>> {
  const answer = await server.inject(url)
  expect(answer.statusCode).toBe(200)
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  return shape.strict().parse(answer.json()) as z.infer<T>
}
