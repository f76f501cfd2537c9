import { describe, expect, test } from 'vitest'
import type { Endpoint } from '../../src/core/endpoint.ts'
import type { Head } from '../../src/core/poll-result.ts'
import { BlocksView } from '../../src/http/wire/blocks.ts'
import { RoutingView } from '../../src/http/wire/gateway.ts'
import { Secret } from '../../src/secret.ts'
import { good, head, network } from '../support/network.ts'
import { OTHER, OWN, type Setting, setUp } from './setting.ts'

const URL = '/api/v1/networks/avalanche/blocks'

/** Polls the endpoint now, with this head. */
async function told({ world, clock }: Setting, endpoint: Endpoint, height: number, over: Partial<Head> = {}) {
  const outcome = good(head(height, clock.now(), over))
  await world.poll(endpoint, { heads: [{ shard: null, outcome }] })
}

async function blocksOf({ server }: Setting) {
  const view = BlocksView.strict().parse((await server.inject(URL)).json())
  const [shard] = view.shards
  if (shard === undefined) throw new Error('no shard')
  return shard
}

describe('…/networks/:network/blocks', () => {
  test('shows which endpoint was first at a block, the delay of the others, and its uncertainty', async () => {
    const setting = setUp()
    await told(setting, OWN, 100)
    await told(setting, OTHER, 100)

    await setting.clock.advance(4000)
    await told(setting, OWN, 101)
    await setting.clock.advance(2000)
    await told(setting, OTHER, 101)

    const { blocks, endpoints, shard, endpoints_left_out: left } = await blocksOf(setting)
    expect([shard, left]).toEqual([null, 0])
    // 99 is known as the parent of 100.
    expect(blocks.map(({ height }) => height)).toEqual([99, 100, 101])
    expect(blocks[1]?.first_seen_at).toBeNull()
    expect(blocks[2]?.first_seen_at).toBe('2026-01-01T00:00:04.000Z')
    expect(endpoints.map(({ name, later_seconds: later }) => [name, later])).toEqual([
      ['own-1', [null, null, 0]],
      ['own-2', [null, null, 2]],
    ])
    expect(endpoints.map(({ within_seconds: within }) => within[2])).toEqual([4, 6])
  })

  test('no endpoint was first at a block that another endpoint had at its first poll', async () => {
    const setting = setUp()
    await told(setting, OWN, 100)
    await told(setting, OTHER, 97)
    await setting.clock.advance(4000)

    await told(setting, OTHER, 101)

    const { blocks, endpoints } = await blocksOf(setting)
    const seen = blocks.map(({ height, first_seen_at: at }) => [height, at !== null])
    expect(seen.slice(-4)).toEqual([
      [98, false],
      [99, false],
      [100, false],
      [101, true],
    ])
    expect(endpoints.map(({ later_seconds: later }) => later.slice(-4))).toEqual([
      [null, null, null, null],
      [null, null, null, 0],
    ])
    expect(endpoints[1]?.within_seconds.slice(-4)).toEqual([null, null, null, 4])
  })

  test('blocks that arrive between two polls are dated to the later poll', async () => {
    const setting = setUp()
    await told(setting, OWN, 100)
    await setting.clock.advance(5000)

    await told(setting, OWN, 103)

    const { blocks, endpoints } = await blocksOf(setting)
    expect(blocks.map(({ first_seen_at: at }) => at?.slice(17, 19))).toEqual([undefined, '05', '05', '05'])
    expect(endpoints[0]?.told).toEqual([0, null, null, 0])
  })

  test('a lower height from a pool does not delay the blocks it had before', async () => {
    const setting = setUp()
    await told(setting, OWN, 100)
    for (const height of [102, 101, 102]) {
      await setting.clock.advance(1000)
      await told(setting, OWN, height)
    }

    const { blocks } = await blocksOf(setting)

    expect(blocks.at(-1)?.first_seen_at).toBe('2026-01-01T00:00:01.000Z')
  })

  test('two blocks at one height are two hashes, the most frequent first', async () => {
    const third: Endpoint = { ...OWN, name: 'own-3' }
    const setting = setUp({ networks: [{ network: network({ name: 'avalanche' }), endpoints: [OWN, OTHER, third] }] })

    await told(setting, OWN, 100, { hash: '0xbad' })
    await told(setting, OTHER, 100)
    await told(setting, third, 100)

    const { blocks, endpoints } = await blocksOf(setting)
    expect(blocks[0]?.hashes).toEqual(['0x100', '0xbad'])
    expect(endpoints.map(({ told }) => told)).toEqual([[1], [0], [0]])
  })

  test('parents count only from endpoints that once named a reported block', async () => {
    const setting = setUp()
    await told(setting, OWN, 100)
    await told(setting, OTHER, 100)
    await setting.clock.advance(4000)

    await told(setting, OWN, 101, { parentHash: '0x100' })
    await told(setting, OTHER, 102, { parentHash: '0xnever' })

    const { blocks, endpoints } = await blocksOf(setting)
    expect(blocks.map(({ hashes }) => hashes)).toEqual([['0x99'], ['0x100'], ['0x101'], ['0x102']])
    expect(endpoints[1]?.told).toEqual([null, 0, null, 0])
  })

  test('an endpoint with an impossible height does not hide the others', async () => {
    const third: Endpoint = { ...OWN, name: 'own-3' }
    const setting = setUp({ networks: [{ network: network({ name: 'avalanche' }), endpoints: [OWN, OTHER, third] }] })

    await told(setting, OWN, 100)
    await told(setting, OTHER, 100)
    await told(setting, third, 1_000_000_000)

    const { blocks, endpoints } = await blocksOf(setting)
    expect(blocks.map(({ height }) => height)).toEqual([100])
    expect(endpoints[2]).toMatchObject({ height: 1_000_000_000, told: [null] })
  })

  test('shows the newest sixty blocks at most', async () => {
    const setting = setUp()
    for (let height = 100; height < 200; height++) await told(setting, OWN, height)

    const { blocks, endpoints } = await blocksOf(setting)

    expect([blocks.length, blocks[0]?.height, blocks.at(-1)?.height]).toEqual([60, 140, 199])
    expect(endpoints[0]?.later_seconds).toHaveLength(60)
  })

  test('has no blocks before the first answer, and is 404 for an unknown network', async () => {
    const setting = setUp()

    expect(await blocksOf(setting)).toMatchObject({ blocks: [], endpoints: [] })
    expect((await setting.server.inject('/api/v1/networks/nothing/blocks')).statusCode).toBe(404)
    expect((await setting.server.inject('/api/v1/networks/nothing/routing')).statusCode).toBe(404)
    expect((await setting.server.inject(`${URL}?limit=3`)).statusCode).toBe(400)
  })
})

describe('…/networks/:network/routing', () => {
  test('without a gateway is the order it would use, from verdicts and latencies of the monitor', async () => {
    const { server, world, clock } = setUp()
    await world.pollAll()
    const slow = { heads: [{ shard: null, outcome: good(head(1000, clock.now()), 300) }] }
    await world.poll(OWN, slow)

    const view = RoutingView.strict().parse((await server.inject('/api/v1/networks/avalanche/routing')).json())

    expect(view.enabled).toBe(false)
    expect(view.endpoints.map(({ name, left_out: leftOut }) => [name, leftOut])).toEqual([
      ['own-2', null],
      ['own-1', null],
    ])
    expect(view.endpoints[1]?.latency_seconds).toBe(0.3)
  })

  test('with a gateway is its present order', async () => {
    const endpoints = [
      { endpoint: 'own-2', tier: 'primary', excluded: null, breaker: 'closed', latencyMs: 12.5, inFlight: 2 },
      { endpoint: 'own-1', tier: 'primary', excluded: 'resting', breaker: 'closed', latencyMs: null, inFlight: 0 },
    ] as const
    const gateway = () => ({
      requestsInFlight: 0,
      callers: [],
      networks: [{ name: 'avalanche', endpoints: [...endpoints] }],
      aliases: [],
    })
    const { server } = setUp({ gateway })

    const view = RoutingView.strict().parse((await server.inject('/api/v1/networks/avalanche/routing')).json())

    expect(view).toMatchObject({ enabled: true, endpoints: [{ name: 'own-2' }, { left_out: 'resting' }] })
  })
})

test.each([URL, '/api/v1/networks/avalanche/routing'])('%s needs the token', async (url) => {
  const token = 'a-token-of-sixteen-and-more'
  const { server } = setUp({ options: { token: new Secret(token) } })

  expect((await server.inject(url)).statusCode).toBe(401)
  expect((await server.inject({ url, headers: { authorization: `Bearer ${token}` } })).statusCode).toBe(200)
})
