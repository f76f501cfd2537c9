import { SaxesParser } from 'saxes'
import { describe, expect, test } from 'vitest'
import { badgeSvg } from '../../src/http/status/badge.ts'
import { Secret } from '../../src/secret.ts'
import { incident } from '../support/incident.ts'
import { bad, good, head } from '../support/network.ts'
import { NETWORKS, NODE, OTHER, OWN, type Setting, setUp } from './setting.ts'

/** As a screen reader presents it; fails on invalid XML. */
function spoken(svg: string): string | undefined {
  let label: string | undefined
  const parser = new SaxesParser()
  parser.on('opentag', ({ name, attributes }) => {
    if (name === 'svg') label = attributes['aria-label'] as string
  })
  parser.on('error', (error) => {
    throw error
  })
  parser.write(svg).close()
  return label
}

const UNKNOWN = { ratio: null, coverage: 0, fresh: null }

describe('a badge', () => {
  test('shows the state, in words and not only in colour', async () => {
    const { server, world } = setUp()
    await world.pollAll()
    for (let poll = 0; poll < 2; poll++) {
      await world.poll(NODE, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    }

    const down = await server.inject('/badge/ethereum/node.svg')
    const up = await server.inject('/badge/avalanche/own-1.svg?type=state')

    expect(down.headers['content-type']).toBe('image/svg+xml; charset=utf-8')
    expect(down.headers['cross-origin-resource-policy']).toBe('cross-origin')
    expect(spoken(down.body)).toBe('node: down')
    expect(spoken(up.body)).toBe('Own node 1: up')
    expect(down.body).toContain('#bd1c31')
  })

  test('shows no percentage with too little coverage, and never rounds up', async () => {
    const { server, world } = setUp()
    const of = (ratio: number, coverage: number) => ({
      '24h': UNKNOWN,
      '7d': UNKNOWN,
      '90d': UNKNOWN,
      '30d': { ratio, coverage, fresh: ratio },
    })
    world.board.putAvailability(
      new Map([
        ['avalanche/own-1', of(0.99999, 1)],
        ['avalanche/own-2', of(1, 0.49)],
      ]),
    )

    const known = await server.inject('/badge/avalanche/own-1.svg?type=availability')
    const little = await server.inject('/badge/avalanche/own-2.svg?type=availability')

    expect(spoken(known.body)).toBe('Own node 1, 30 d: 99.999 %')
    expect(spoken(little.body)).toBe('Own node 2, 30 d: not enough data')
  })

  test('shows the lag of an endpoint, and to the public only whether it lags', async () => {
    const open = setUp()
    const { server, world } = setUp({ options: { token: new Secret('a-token-of-the-operator') } })
    for (const { world: one, clock } of [open, { world, clock: open.clock }]) {
      await one.pollAll()
      for (let poll = 0; poll < 2; poll++) {
        await one.poll(OWN, { heads: [{ shard: null, outcome: good(head(1000, clock.now())) }] })
        await one.poll(OTHER, { heads: [{ shard: null, outcome: good(head(988, clock.now() - 24_000)) }] })
      }
    }

    expect(spoken((await open.server.inject('/badge/avalanche/own-2.svg?type=lag')).body)).toBe(
      'Own node 2, lag: 12 blocks behind',
    )
    expect(spoken((await open.server.inject('/badge/avalanche/own-1.svg?type=lag')).body)).toBe(
      'Own node 1, lag: at head',
    )
    expect(spoken((await server.inject('/badge/avalanche/own-2.svg?type=lag')).body)).toBe('Own node 2, lag: behind')
  })

  test('of a forked endpoint says so instead of "at head", to the public too', async () => {
    const third = { ...OTHER, name: 'own-3', title: 'Own node 3' }
    const networks = NETWORKS.slice(0, 1).map(({ network }) => ({ network, endpoints: [OWN, OTHER, third] }))
    const [open, closed] = [{}, { token: new Secret('a-token-of-the-operator') }].map((options) =>
      setUp({ networks, options }),
    )
    for (const setting of [open, closed]) {
      const { world, clock } = setting as Setting
      for (let height = 1000; height < 1008; height++) {
        await clock.advance(OWN.intervalMs)
        for (const of of [OWN, OTHER, third]) {
          const branch = of === third ? '0xother' : '0x'
          const one = head(height, clock.now(), { hash: `${branch}${height}`, parentHash: `${branch}${height - 1}` })
          await world.poll(of, { heads: [{ shard: null, outcome: good(one) }] })
        }
      }
    }

    for (const setting of [open, closed]) {
      const badge = await setting?.server.inject('/badge/avalanche/own-3.svg?type=lag')
      expect(spoken(badge?.body ?? '')).toBe('Own node 3, lag: forked')
    }
  })

  test.each(['unreachable', 'bad-answer', 'wrong-network'] as const)(
    'does not know the lag of an endpoint that is down: %s',
    async (code) => {
      const { server, world } = setUp()
      await world.pollAll()
      const health = world.board.entry('avalanche', 'own-1')?.health
      if (health === undefined) throw new Error('no endpoint')
      const condition = { code, verdict: 'down', message: '', since: health.since } as const
      world.board.put({ ...health, verdict: 'down', conditions: [condition] }, true)

      const badge = await server.inject('/badge/avalanche/own-1.svg?type=lag')

      expect(spoken(badge.body)).toBe('Own node 1, lag: not known')
    },
  )

  test('of an endpoint on a fork says so also if it is down', async () => {
    const { server, world } = setUp()
    await world.pollAll()
    const health = world.board.entry('avalanche', 'own-1')?.health
    if (health === undefined) throw new Error('no endpoint')
    const conditions = [
      { code: 'unhealthy', verdict: 'down', message: '', since: health.since },
      { code: 'forked', verdict: 'degraded', message: '', since: health.since },
    ] as const
    world.board.put({ ...health, verdict: 'down', conditions }, true)

    const badge = await server.inject('/badge/avalanche/own-1.svg?type=lag')

    expect(spoken(badge.body)).toBe('Own node 1, lag: forked')
  })

  test('of an endpoint of a halted chain does not say "at head"', async () => {
    for (const options of [{}, { token: new Secret('a-token-of-the-operator') }]) {
      const { server, world } = setUp({ options })
      await world.pollAll()
      const network = world.board.network('avalanche')
      if (network === undefined) throw new Error('no network')
      world.board.putStanding({ ...network.standing, haltedShards: [null] }, true)

      const badge = await server.inject('/badge/avalanche/own-1.svg?type=lag')

      expect(spoken(badge.body)).toBe('Own node 1, lag: chain halted')
      expect(badge.body).toContain('#945600')
    }
  })

  test('claims nothing about the chain while no endpoint has a current head', async () => {
    const { server, world, clock } = setUp({ options: { token: new Secret('a-token-of-the-operator') } })
    await world.pollAll()
    const network = world.board.network('avalanche')
    if (network === undefined) throw new Error('no network')
    world.board.putStanding({ ...network.standing, haltedShards: [null] }, true)

    for (let poll = 0; poll < 4; poll++) {
      await clock.advance(OWN.intervalMs)
      for (const of of [OWN, OTHER]) await world.poll(of, { heads: [] })
    }

    const state = await server.inject('/badge/avalanche/own-1.svg')
    const lag = await server.inject('/badge/avalanche/own-1.svg?type=lag')
    expect(spoken(state.body)).toBe('Own node 1: up')
    expect(spoken(lag.body)).toBe('Own node 1, lag: not known')
  })

  test('of an endpoint that is up for the moment says that it is unstable', async () => {
    const { server, world, incidents } = setUp()
    await world.pollAll()
    incidents.put(incident({ network: 'avalanche', endpoint: 'own-2', flapping: true }))

    const badge = await server.inject('/badge/avalanche/own-2.svg')

    expect(spoken(badge.body)).toBe('Own node 2: unstable')
    expect(badge.body).toContain('#945600')
  })

  test('is not sent again while it has not changed', async () => {
    const { server } = setUp()
    const { headers } = await server.inject('/badge/ethereum/node.svg')

    const again = await server.inject({ url: '/badge/ethereum/node.svg', headers: { 'if-none-match': headers.etag } })

    expect(again.statusCode).toBe(304)
  })

  test.each([
    ['/badge/ethereum/missing.svg', 404],
    ['/badge/missing.svg', 404],
    ['/badge/ethereum.svg?type=lag', 400],
    ['/badge/ethereum/node.png', 404],
    ['/badge/ethereum/node.svg?type=colour', 400],
    [`/badge/ethereum/node.svg?v=${'1'.repeat(65)}`, 400],
  ])('of %s is a problem', async (url, status) => {
    expect((await setUp().server.inject(url)).statusCode).toBe(status)
  })

  test('of a network shows how many endpoints are up, and no healthy state while one is open to doubt', async () => {
    const { server, world, incidents } = setUp()
    const said = async (name: string) => spoken((await server.inject(`/badge/${name}.svg`)).body)
    expect(await said('avalanche')).toBe('Avalanche: unknown')

    await world.pollAll()
    expect(await said('avalanche')).toBe('Avalanche: up')
    incidents.put(incident({ network: 'avalanche', endpoint: 'own-2', flapping: true }))
    expect(await said('avalanche')).toBe('Avalanche: unstable')

    for (let poll = 0; poll < 2; poll++) {
      for (const one of [NODE, OTHER])
        await world.poll(one, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    }
    expect(await said('avalanche')).toBe('Avalanche: 1 of 2 up')
    expect(await said('ethereum')).toBe('Ethereum: down')
  })

  test('of everything counts the endpoints of all networks that its reader may see', async () => {
    const setting = setUp()
    const { world, incidents } = setting
    const publicPage = { title: 'Our nodes', logo: null, networks: ['ethereum'] }
    const hidden = setUp({ options: { token: new Secret('a token that is long enough'), publicPage } })
    const said = async ({ server }: Setting) => spoken((await server.inject('/badge.svg?v=1')).body)
    expect(await said(setting)).toBe('Heartline: unknown')

    await world.pollAll()
    expect(await said(setting)).toBe('Heartline: up')
    incidents.put(incident({ network: 'avalanche', endpoint: 'own-2', flapping: true }))
    expect(await said(setting)).toBe('Heartline: unstable')
    for (let poll = 0; poll < 2; poll++) {
      await world.poll(NODE, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    }
    expect(await said(setting)).toBe('Heartline: 2 of 3 up')

    await hidden.world.pollAll()
    expect(await said(hidden)).toBe('Our nodes: up')
  })

  test('shows markup in a title as text', () => {
    const svg = badgeSvg({ label: '</text><script>"&\'', value: 'up', tone: 'up' })

    expect(spoken(svg)).toBe('</text><script>"&\': up')
    expect(svg).not.toContain('<script')
  })
})
