import { request as upstream } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Endpoint } from '../../src/core/endpoint.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { proberOf } from '../nodes/support.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'
import { serveHttp } from '../support/http-server.ts'
import { endpoint, network, nodeTarget } from '../support/network.ts'
import { createWorld } from '../support/world.ts'

/** Nodes that change their chain behind an open connection, asked over real sockets; only time is driven. */
const INTERVAL_MS = 10_000
const BLOCK_MS = 4000
const RIGHT = 1
const WRONG = 5
/** Enough for the first confirmed heads. */
const WARM_UP = 4
type Family = 'ethereum' | 'avalanche'

async function openScene(family: Family, names: readonly string[] = ['a', 'b', 'c']) {
  const clock = createFakeClock()
  const chains = {
    right: createChain({ clock, seed: 'right', blockTimeMs: BLOCK_MS }),
    /** At other heights. */
    lower: createChain({ clock, seed: 'lower', blockTimeMs: 3 * BLOCK_MS }),
    higher: createChain({ clock, seed: 'higher', blockTimeMs: BLOCK_MS / 3 }),
    /** At the same heights. */
    twin: createChain({ clock, seed: 'twin', blockTimeMs: BLOCK_MS }),
  }
  const requests = new Map<string, number>()
  const urls = {} as Record<keyof typeof chains, string>
  const nodes = new Map<keyof typeof chains, SimulatedNode>()
  for (const name of Object.keys(chains) as (keyof typeof chains)[]) {
    const kind = { family, chainId: name === 'right' ? RIGHT : WRONG }
    const node = await startSimulatedNode({ clock, chain: chains[name], kind, name })
    onTestFinished(() => node.stop())
    urls[name] = node.url
    nodes.set(name, node)
  }
  const fronts = new Map<string, { url: string; choose: () => keyof typeof chains }>()
  for (const name of names) {
    const front = { url: '', choose: (): keyof typeof chains => 'right' }
    front.url = await forward(() => {
      requests.set(name, (requests.get(name) ?? 0) + 1)
      return urls[front.choose()]
    })
    fronts.set(name, front)
  }
  const endpoints = names.map((name) =>
    endpoint(name, { family, network: family, checks: ['head'], intervalMs: INTERVAL_MS }),
  )
  // Requests take no time of the driven clock, and deadlines are never reached.
  const prober = proberOf(
    endpoints.map((of) => nodeTarget(of, fronts.get(of.name)?.url ?? '', { chainId: RIGHT, timeoutMs: 30_000 })),
    { clock: { ...systemClock, now: clock.now, monotonic: clock.monotonic } },
  )
  const configured = network({ name: family, family, blockTimeMs: BLOCK_MS, chainId: RIGHT })
  const world = createWorld(clock, [{ network: configured, endpoints }], { prober })
  return { ...sceneOf(world, clock, family, endpoints, fronts, requests), nodes }
}

function sceneOf(
  world: ReturnType<typeof createWorld>,
  clock: FakeClock,
  family: Family,
  endpoints: readonly Endpoint[],
  fronts: ReadonlyMap<string, { choose: () => 'right' | 'lower' | 'higher' | 'twin' }>,
  requests: ReadonlyMap<string, number>,
) {
  const found = new Set<string>()
  const healthOf = (name: string) => world.board.entry(family, name)?.health
  return {
    found,
    requestsTo: (name: string) => requests.get(name) ?? 0,
    serve(name: string, choose: () => 'right' | 'lower' | 'higher' | 'twin') {
      const front = fronts.get(name)
      if (front !== undefined) front.choose = choose
    },
    /** Every endpoint is polled once, spread over the interval; everything found is kept, even if not confirmed. */
    async round(): Promise<void> {
      for (const of of endpoints) {
        await world.poll(of)
        for (const { finding } of healthOf(of.name)?.confirmation.traces ?? []) found.add(`${of.name} ${finding.code}`)
        await clock.advance(INTERVAL_MS / endpoints.length)
      }
    },
    codes: (name: string) => healthOf(name)?.conditions.map(({ code }) => code) ?? [],
    /** What its latest poll found. */
    latest: (name: string) =>
      healthOf(name)?.confirmation.traces.flatMap(({ finding, missed }) => (missed === 0 ? [finding.code] : [])),
    isForked: () => world.board.network(family)?.standing.forked,
  }
}

/** A balancer: sends each request to the node that is chosen for it, and keeps the caller's connection open. */
async function forward(choose: () => string): Promise<string> {
  const { url } = await serveHttp(async (request, response, asked) => {
    const { body } = await upstream(`${choose()}${request.url}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: asked,
    })
    // It would be of the real time.
    response.sendDate = false
    response.end(Buffer.from(await body.arrayBuffer()))
  })
  return url
}

const FAMILIES: readonly Family[] = ['ethereum', 'avalanche']
const CHAINS = ['twin', 'lower', 'higher'] as const

describe.each(FAMILIES)('on %s', (family) => {
  test.each(CHAINS)('a node that changes to a chain with %s heights is on the wrong network at once', async (chain) => {
    const scene = await openScene(family)
    for (let round = 0; round < WARM_UP; round++) await scene.round()
    expect([...scene.found]).toEqual([])

    scene.serve('b', () => chain)
    await scene.round()
    expect(scene.latest('b')).toEqual(['wrong-network'])
    await scene.round()

    expect(scene.codes('b')).toEqual(['wrong-network'])
    for (let round = 0; round < 5; round++) await scene.round()
    scene.serve('b', () => 'right')
    for (let round = 0; round < 4; round++) await scene.round()
    expect(scene.codes('b')).toEqual([])
    expect([...scene.found]).toEqual(['b wrong-network'])
    expect(scene.isForked()).toBe(false)
  })

  const SIZES = [3, 4, 6].map((size) => 'abcdef'.slice(0, size).split(''))

  test.each(SIZES)(
    'of %s %s %s …, one that changes to a chain a few blocks behind is on the wrong network at its first poll, confirmed by the second',
    async (...names) => {
      for (const blocks of [1, 3, 20]) {
        const scene = await openScene(family, names)
        for (let round = 0; round < WARM_UP; round++) await scene.round()
        scene.nodes.get('twin')?.inject({ kind: 'lag', blocks, gradual: false })

        scene.serve('b', () => 'twin')
        await scene.round()
        expect([blocks, scene.latest('b')]).toEqual([blocks, ['wrong-network']])
        await scene.round()

        expect([blocks, scene.codes('b')]).toEqual([blocks, ['wrong-network']])
        expect([...scene.found]).toEqual(['b wrong-network'])
        expect(scene.isForked()).toBe(false)
      }
    },
  )

  test.each(CHAINS)('a balancer that alternates with a chain with %s heights is never a fork', async (chain) => {
    for (const parity of [0, 1]) {
      const scene = await openScene(family)
      let turn = parity
      for (let round = 0; round < WARM_UP; round++) await scene.round()

      scene.serve('b', () => (turn++ % 2 === 0 ? chain : 'right'))
      for (let round = 0; round < 10; round++) await scene.round()

      expect(scene.codes('b')).toEqual(['wrong-network'])
      expect([...scene.found]).toEqual(['b wrong-network'])
      expect(scene.isForked()).toBe(false)
    }
  })

  test('two of three that change together are on the wrong network, and do not outvote the third', async () => {
    const scene = await openScene(family)
    for (let round = 0; round < WARM_UP; round++) await scene.round()

    for (const name of ['a', 'b']) scene.serve(name, () => 'twin')
    for (let round = 0; round < 5; round++) await scene.round()

    expect(['a', 'b', 'c'].map(scene.codes)).toEqual([['wrong-network'], ['wrong-network'], []])
    expect([...scene.found].sort()).toEqual(['a wrong-network', 'b wrong-network'])
  })

  test('the only endpoint of a network is found by its own break', async () => {
    const scene = await openScene(family, ['a'])
    for (let round = 0; round < WARM_UP; round++) await scene.round()

    scene.serve('a', () => 'lower')
    await scene.round()

    expect(scene.latest('a')).toEqual(['wrong-network'])
  })

  test.each([3, 5, 20])(
    'the only endpoint of a network is found on a chain %i blocks behind at its first poll, confirmed by the second',
    async (blocks) => {
      const scene = await openScene(family, ['a'])
      for (let round = 0; round < WARM_UP; round++) await scene.round()
      scene.nodes.get('twin')?.inject({ kind: 'lag', blocks, gradual: false })

      scene.serve('a', () => 'twin')
      await scene.round()
      expect(scene.latest('a')).toEqual(['wrong-network'])
      await scene.round()

      expect(scene.codes('a')).toEqual(['wrong-network'])
      expect([...scene.found]).toEqual(['a wrong-network'])
    },
  )

  test.each([1, 2])(
    'the only endpoint of a network is found within ten minutes on a chain %i blocks behind, where it has no block in common',
    async (blocks) => {
      const scene = await openScene(family, ['a'])
      for (let round = 0; round < WARM_UP; round++) await scene.round()
      scene.nodes.get('twin')?.inject({ kind: 'lag', blocks, gradual: false })

      scene.serve('a', () => 'twin')
      let rounds = 0
      while (rounds < 100 && !scene.found.has('a wrong-network')) {
        await scene.round()
        rounds++
      }

      expect(rounds * INTERVAL_MS).toBeLessThanOrEqual(600_000)
      expect([...scene.found]).toEqual(['a wrong-network'])
    },
  )
})
