import { describe, expect, test } from 'vitest'
import type { Network } from '../../src/core/network.ts'
import type { Need } from '../../src/core/routing/operation.ts'
import type { Upstream } from '../../src/gateway/failover/upstream.ts'
import { createUpstreams } from '../../src/gateway/failover/upstream-registry.ts'
import type { SelectionCriteria } from '../../src/gateway/failover/upstream-selector.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { bad, endpoint, good, head, network, nodeTarget } from '../support/network.ts'
import { createWorld } from '../support/world.ts'

const ANY: Need = { kind: 'any' }
const LATEST: Need = { kind: 'latest', shard: null }

const CRITERIA: SelectionCriteria = {
  need: ANY,
  isRead: true,
  minHeight: null,
  method: null,
  tried: [],
  proxiesOnly: false,
  needsImprovement: false,
  includeBehind: false,
  requiresHeight: false,
}

async function setting(names: readonly string[], over: Partial<Network> = {}, fallbacks: readonly string[] = []) {
  const clock = createFakeClock()
  const chain = network(over)
  const endpoints = names.map((name) => endpoint(name, { tier: fallbacks.includes(name) ? 'fallback' : 'primary' }))
  const world = createWorld(clock, [{ network: chain, endpoints }])
  const upstreams = createUpstreams({ board: world.board, clock })
  upstreams.retarget(endpoints.map((of) => nodeTarget(of, `http://127.0.0.1:1/${of.name}`)))
  await world.pollAll()
  const { selector } = upstreams.network('ethereum') ?? {}
  if (selector === undefined) throw new Error('no selector')
  const of = (name: string): Upstream => {
    for (const upstream of upstreams.all()) if (upstream.name === name) return upstream
    throw new Error(name)
  }
  const select = (wish: Partial<SelectionCriteria> = {}) => selector.select({ ...CRITERIA, ...wish })
  const poll = (name: string, height: number | null) =>
    world.poll(of(name).endpoint, {
      heads: [{ shard: null, outcome: height === null ? bad({ kind: 'refused' }) : good(head(height, clock.now())) }],
    })
  /** So long is an answer of it. */
  const take = (name: string, ms: number, times = 60) => {
    for (let i = 0; i < times; i++) {
      of(name).begin(clock.monotonic())
      of(name).end(clock.monotonic(), ms, true)
    }
  }
  const name = (wish: Partial<SelectionCriteria> = {}) => select(wish)?.upstream.name ?? null
  return { clock, world, selector, select, name, of, poll, take }
}

describe('time alone', () => {
  test('makes a result expire: the endpoint is then used only without a healthy one', async () => {
    const { clock, select, poll, selector } = await setting(['a', 'b'])
    await clock.advance(15_000)
    await poll('b', 1000)
    expect(selector.overview().map(({ excluded }) => excluded)).toEqual([null, null])

    await clock.advance(6000)

    expect(selector.overview()).toMatchObject([
      { endpoint: 'b', excluded: null },
      { endpoint: 'a', excluded: 'unknown' },
    ])
    expect(select()).toMatchObject({ upstream: { name: 'b' }, degraded: false })
  })

  test('begins a maintenance, and ends it', async () => {
    const { clock, world, name } = await setting(['a', 'b'], {}, ['b'])
    const now = clock.now()
    world.board.putMaintenance([
      { name: 'upgrade', network: 'ethereum', endpoints: ['a'], from: now + 5000, until: now + 10_000 },
    ])
    const seen: (string | null)[] = []
    for (let second = 0; second < 13; second++) {
      seen.push(name())
      await clock.advance(1000)
    }

    expect(seen.join('')).toBe('aaaaabbbbbaaa')
  })
})

describe('among the well', () => {
  test('it stays with one until another is a third faster, for longer than half a minute', async () => {
    const { clock, name, take, world } = await setting(['a', 'b'])
    take('a', 20)
    take('b', 17)
    const first = name()
    expect(first).not.toBeNull()
    const other = first === 'a' ? 'b' : 'a'
    take(other, 5)
    // For single requests the faster one is taken at once; what is present changes later.
    expect(name()).toBe(other)
    await clock.advance(31_000)
    await world.pollAll()
    take(first ?? '', 20)
    take(other, 5)
    expect(name()).toBe(other)

    take(first ?? '', 4.5)
    expect(name()).toBe(other)
  })

  test('an endpoint without a method comes last for it, for ten minutes; of hundreds the latest are remembered', async () => {
    const { clock, name, of, poll } = await setting(['a', 'b'], {}, ['b'])
    for (let i = 0; i < 300; i++) of('a').unsupportedMethods.add(`eth_${i}`, clock.monotonic())

    expect(name({ method: 'eth_299' })).toBe('b')
    expect(name({ method: 'eth_0' })).toBe('a')
    expect(name({ method: null })).toBe('a')

    await clock.advance(600_000)
    await poll('a', 1050)
    await poll('b', 1050)
    expect(name({ method: 'eth_299' })).toBe('a')
  })

  test('load moves requests to others', async () => {
    const { name, of, clock } = await setting(['a', 'b'])
    const first = name() ?? ''
    for (let i = 0; i < 3; i++) of(first).begin(clock.monotonic())

    expect(name()).not.toBe(first)
  })

  test('an endpoint that leaves requests unanswered comes last', async () => {
    const { clock, name, of } = await setting(['a', 'b'], {}, ['b'])
    of('a').begin(clock.monotonic())
    expect(name()).toBe('a')

    await clock.advance(1100)

    expect(name()).toBe('b')
  })

  test('a read is tried on a breaker that is half open, and what writes is not', async () => {
    const { clock, name, of, world } = await setting(['a'])
    for (let i = 0; i < 5; i++) of('a').breaker.fail(clock.monotonic(), clock.monotonic())
    expect(name({ isRead: false })).toBeNull()

    await clock.advance(10_000)
    expect([name({ isRead: false }), name()]).toEqual([null, 'a'])

    of('a').breaker.close()
    await world.pollAll()
    expect(name({ isRead: false })).toBe('a')
  })

  test('an open breaker that stands alone lets some through, and not all', async () => {
    const { clock, select, of } = await setting(['a'])
    for (let i = 0; i < 5; i++) of('a').breaker.fail(clock.monotonic(), clock.monotonic())

    let through = 0
    for (let pick = select(); pick !== null; pick = select()) {
      expect(pick.degraded).toBe(true)
      pick.upstream.begin(clock.monotonic())
      through++
    }

    expect(through).toBe(16)
  })

  test('in a thousand all have their turn, and none that is not well', async () => {
    const names = Array.from({ length: 1000 }, (_, i) => `e${i}`)
    const { select, poll, of, clock } = await setting(names)
    await poll('e7', null)
    await poll('e7', null)
    const asked = new Set<string>()

    for (let i = 0; i < 4000; i++) {
      const upstream = select()?.upstream
      if (upstream === undefined) throw new Error('no upstream')
      asked.add(upstream.name)
      upstream.begin(clock.monotonic())
    }

    expect(asked.size).toBeGreaterThan(900)
    expect(asked.has('e7')).toBe(false)
    expect(of('e7').inFlight).toBe(0)
  })
})

describe('heights', () => {
  test('endpoints that have it come first, then those that must have it by now; a fallback that has it before a primary that has not', async () => {
    const { clock, name, poll, of } = await setting(['a', 'b', 'f'], { blockTimeMs: 2000 }, ['f'])
    await poll('a', 1000)
    await poll('b', 1002)
    await poll('f', 1004)

    expect(name({ need: LATEST, minHeight: 1002 })).toBe('b')
    expect(name({ need: LATEST, minHeight: 1004 })).toBe('f')
    await clock.advance(5000)
    expect(name({ need: LATEST, minHeight: 1004 })).toBe('b')
    expect(name({ need: { kind: 'height', shard: null, height: 1004 }, tried: [of('b')] })).toBe('f')
  })

  test('a poll that finds an endpoint lower goes before what it answered earlier, not before what it answered since', async () => {
    const { clock, of, poll, selector } = await setting(['a'])
    of('a').heights.set(null, 1005, clock.monotonic())
    await clock.advance(1000)
    await poll('a', 1003)
    expect(selector.highestKnown(null)).toBe(1003)

    of('a').heights.set(null, 1004, clock.monotonic() + 1)
    of('a').heights.setPolled(null, 1003, clock.monotonic())
    expect(selector.highestKnown(null)).toBe(1004)
  })

  test('a poll after the wall clock was set back counts, one before it does not count again', async () => {
    const { clock, of, poll, selector, world } = await setting(['a'])
    await poll('a', 1005)
    await clock.advance(1000)
    of('a').heights.set(null, 1006, clock.monotonic())

    clock.stepWall(-3_600_000)
    world.shift(-3_600_000)
    expect(selector.highestKnown(null)).toBe(1006)
    await clock.advance(1000)
    await poll('a', 956)

    expect(selector.highestKnown(null)).toBe(956)
  })

  test('an endpoint is likely to have a block as soon, though the wall clock was set back', async () => {
    const { clock, name, poll } = await setting(['a', 'f'], { blockTimeMs: 2000 }, ['f'])
    await poll('a', 1002)
    await poll('f', 1004)
    clock.stepWall(-3_600_000)

    await clock.advance(5000)

    expect(name({ need: LATEST, minHeight: 1004 })).toBe('a')
  })

  test('no endpoint can be ahead of the block rate', async () => {
    const { clock, selector, of } = await setting(['a', 'b', 'c'])
    of('c').heights.set(null, 5000, clock.monotonic())

    expect(selector.ceiling(null)).toBe(1000 + 3 + 5)
    expect(selector.highestKnown(null)).toBe(1000)
    await clock.advance(10_000)
    expect(selector.ceiling(null)).toBe(1000 + 3 + 5 + 40)
  })
})

test('a poll closes the breaker that opened before the wall clock was set back', async () => {
  const { clock, of, poll, world } = await setting(['a'])
  for (let i = 0; i < 5; i++) of('a').breaker.fail(clock.monotonic(), clock.monotonic())
  of('a').breakerOpenedAt = clock.monotonic()

  clock.stepWall(-3_600_000)
  world.shift(-3_600_000)
  expect(of('a').breaker.state(clock.monotonic())).toBe('open')
  await clock.advance(1000)
  await poll('a', 1000)

  expect(of('a').breaker.state(clock.monotonic())).toBe('closed')
})

test('what is known of an endpoint outlives a reload that leaves it as it was', async () => {
  const { clock, world, of } = await setting(['a'])
  const upstreams = createUpstreams({ board: world.board, clock })
  const target = { ...of('a').target }
  upstreams.retarget([target])
  const [before] = upstreams.all()

  upstreams.retarget([{ ...target }])
  const [kept] = upstreams.all()
  upstreams.retarget([{ ...target, rpcPath: '/other' }])
  const [fresh] = upstreams.all()

  expect(kept).toBe(before)
  expect(fresh).not.toBe(before)
})

test('the preferred endpoint outlives a reload, and goes with its endpoint', async () => {
  const { world, clock, of } = await setting(['a', 'b'])
  const upstreams = createUpstreams({ board: world.board, clock })
  const targets = [of('a').target, of('b').target]
  upstreams.retarget(targets)
  const [a, b] = [...upstreams.all()] as [Upstream, Upstream]
  const select = () => upstreams.network('ethereum')?.selector.select(CRITERIA)?.upstream.name
  a.latencyMs = 10
  b.latencyMs = 50
  expect(select()).toBe('a')
  // A little faster, which is no reason to switch.
  b.latencyMs = 9

  upstreams.retarget(targets.map((target) => ({ ...target })))
  expect(select()).toBe('a')

  upstreams.retarget(targets.slice(1))
  expect(select()).toBe('b')
})
