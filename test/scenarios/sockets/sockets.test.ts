import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BLOCK_MS, INTERVAL_MS, openTheatre, type Theatre } from './stage.ts'

/** The whole daemon over real sockets, in real time. */
const LONG = 120_000

let theatre: Theatre
beforeAll(async () => {
  theatre = await openTheatre({
    stops: { nodes: ['a', 'b', 'c'] },
    late: { nodes: ['a', 'b', 'c'] },
    hangs: { nodes: ['a', 'b', 'c'] },
    recovers: { nodes: ['a', 'b', 'c'], thresholds: { recover_after: 5 } },
    shard: { nodes: ['a', 'b', 'c'], family: 'multiversx' },
    'liar-of-three': { nodes: ['a', 'liar', 'c'] },
    'liar-of-two': { nodes: ['a', 'liar'] },
    fork: { nodes: ['a', 'b', 'c'] },
    'fork-of-two': { nodes: ['a', 'b', 'c', 'd', 'e'] },
    split: { nodes: ['a', 'b', 'c', 'd'] },
    halt: { nodes: ['a', 'b', 'c'] },
  })
}, LONG)
afterAll(() => theatre.close())

describe.concurrent('one node', () => {
  test('that stops is down from its first failed poll on, the others are up, and it comes back', {
    timeout: LONG,
  }, async () => {
    const stage = await theatre.stage('stops')

    stage.node('b').inject({ kind: 'refuse' })
    const down = await stage.until(({ states }) => states.b === 'down', 'b is down')
    const lastAnsweredAt = stage.askedAt('b')
    stage.node('b').heal()
    const back = await stage.until(({ states }) => states.b === 'up', 'b is back')

    expect(down.endpoint('b').conditions).toMatchObject([{ code: 'unreachable', message: 'connection refused' }])
    expect(down.metric('endpoint_up', { endpoint: 'b' })).toBe(0)
    expect(down.metric('check_consecutive_failures', { endpoint: 'b', check: 'head' })).toBeGreaterThanOrEqual(2)
    const unseenMs = Date.parse(down.endpoint('b').since) - lastAnsweredAt
    expect(unseenMs).toBeGreaterThan(0)
    expect(unseenMs).toBeLessThan(2 * INTERVAL_MS + 1000)
    expect(back.conditions('b')).toEqual([])
    expect(back.metric('endpoint_up', { endpoint: 'b' })).toBe(1)
    expect(await stage.incidents()).toMatchObject([
      {
        endpoint: 'b',
        cause: 'endpoint',
        state: 'down',
        opened_at: down.endpoint('b').since,
        closed_at: back.endpoint('b').since,
        conditions: [{ code: 'unreachable' }],
      },
    ])
    await stage.expectNeverAccused('a', 'c')
  })

  test('that is 41 hours behind is down, however quickly it answers', { timeout: LONG }, async () => {
    const blocks = (41 * 3_600_000) / BLOCK_MS + 120
    const stage = await theatre.stage('late')

    stage.node('b').inject({ kind: 'lag', blocks, gradual: false })
    const down = await stage.until(({ states }) => states.b === 'down', 'b is down')
    stage.node('b').heal()
    await stage.until(({ states }) => states.b === 'up', 'b is back')

    expect(down.endpoint('b').conditions).toMatchObject([
      { code: 'lagging', message: expect.stringContaining('(41 h) behind') },
    ])
    expect(down.metric('endpoint_block_lag', { endpoint: 'b' })).toBeGreaterThanOrEqual(blocks - 3)
    expect(down.metric('check_success', { endpoint: 'b', check: 'head' })).toBe(1)
    await stage.expectNeverAccused('a', 'c')
  })

  test('that hangs is down, and delays no other endpoint’s polls', { timeout: LONG }, async () => {
    const stage = await theatre.stage('hangs')

    stage.node('b').inject({ kind: 'hang' })
    const down = await stage.until(({ states }) => states.b === 'down', 'b is down')
    await stage.polls(5, ['a', 'c'])
    stage.node('b').heal()
    await stage.until(({ states }) => states.b === 'up', 'b is back')

    expect(down.endpoint('b').conditions).toMatchObject([
      { code: 'unreachable', message: `no complete answer within ${INTERVAL_MS / 1000} s` },
    ])
    await stage.expectNeverAccused('a', 'c')
  })

  test('that answers 503 recovers after `recover_after` good polls, not at the first', { timeout: LONG }, async () => {
    const stage = await theatre.stage('recovers')
    const successes = (look: Awaited<ReturnType<typeof stage.polls>>) =>
      (look.metric('checks_total', { endpoint: 'b', check: 'head' }) ?? 0) -
      (look.metric('check_failures_total', { endpoint: 'b', check: 'head', reason: 'http' }) ?? 0)

    stage.node('b').inject({ kind: 'http', status: 503 })
    const down = await stage.until(({ states }) => states.b === 'down', 'b is down')
    stage.node('b').heal()
    const back = await stage.until(({ states }) => states.b === 'up', 'b is back')

    expect(down.endpoint('b').conditions).toMatchObject([{ code: 'bad-answer', message: 'answered HTTP 503' }])
    expect(successes(back) - successes(down)).toBeGreaterThanOrEqual(5)
    await stage.expectNeverAccused('a', 'c')
  })

  test('that is behind on one shard lags, and says on which', { timeout: LONG }, async () => {
    const stage = await theatre.stage('shard')

    stage.node('b').inject({ kind: 'lag', blocks: 12, gradual: false, shard: 1 })
    // A poll that began before the fault asks for a block that is gone now: a second condition, for a moment.
    const late = await stage.until(({ conditions }) => conditions('b').join() === 'lagging', 'b only lags')
    stage.node('b').heal()
    await stage.until(({ states }) => states.b === 'up', 'b is back')

    expect(late.states.b).toBe('degraded')
    expect(late.endpoint('b').conditions).toMatchObject([
      { code: 'lagging', message: expect.stringMatching(/^shard 1: 1[123] blocks \(\d.* behind$/) },
    ])
    expect(late.metric('endpoint_block_lag', { endpoint: 'b', shard: '1' })).toBeGreaterThanOrEqual(11)
    for (const shard of ['0', '2', '4294967295']) {
      expect(late.metric('endpoint_block_lag', { endpoint: 'b', shard })).toBeLessThanOrEqual(1)
    }
    await stage.expectNeverAccused('a', 'c')
  })
})

describe.concurrent('a liar a billion blocks ahead', () => {
  test.each([
    ['three', 'liar-of-three', ['a', 'c']],
    ['two', 'liar-of-two', ['a']],
  ])(
    'of %s makes no other endpoint lag, and is not the reference head',
    { timeout: LONG },
    async (_count, network, honest) => {
      const stage = await theatre.stage(network)

      stage.node('liar').inject({ kind: 'lie', blocks: 1_000_000_000 })
      await stage.until(
        ({ metric }) => (metric('endpoint_block_height', { endpoint: 'liar' }) ?? 0) > 1_000_000_000,
        'the lie was heard',
      )
      const after = await stage.polls(10)

      const height = after.metric('network_block_height') ?? 0
      expect(Math.abs(stage.chain.height(null) - height)).toBeLessThan(10)
      expect(after.metric('network_halted')).toBe(0)
      await stage.expectNeverAccused(...honest)
    },
  )
})

describe.concurrent('a fork', () => {
  test('of one against two is the one’s, and over when it comes back', { timeout: LONG }, async () => {
    const stage = await theatre.stage('fork')

    stage.node('c').inject({ kind: 'fork', depth: 3 })
    const forked = await stage.until(({ states }) => states.c === 'degraded', 'c is degraded')
    stage.node('c').heal()
    const back = await stage.until(({ states }) => states.c === 'up', 'c is back')

    expect(forked.conditions('c')).toEqual(['forked'])
    expect(forked.metric('network_forked')).toBe(0)
    expect(forked.metric('endpoint_condition', { endpoint: 'c', condition: 'forked' })).toBe(1)
    expect(back.conditions('c')).toEqual([])
    await stage.expectNeverAccused('a', 'b')
  })

  test('of two against three is that of the two, on one branch though told one after the other', {
    timeout: LONG,
  }, async () => {
    const stage = await theatre.stage('fork-of-two')
    const fork = { kind: 'fork', depth: 3, branch: 1, at: stage.chain.height(null) + 1 } as const

    stage.node('d').inject(fork)
    await stage.polls(1)
    stage.node('e').inject(fork)
    const forked = await stage.until(
      ({ states }) => states.d === 'degraded' && states.e === 'degraded',
      'both are forked',
    )
    stage.node('d').heal()
    stage.node('e').heal()
    await stage.until(({ states }) => states.d === 'up' && states.e === 'up', 'both are back')

    expect([forked.conditions('d'), forked.conditions('e')]).toEqual([['forked'], ['forked']])
    expect(forked.metric('network_branches')).toBe(2)
    expect(forked.metric('network_forked')).toBe(0)
    await stage.expectNeverAccused('a', 'b', 'c')
  })

  test('of two against two is the network’s, and no endpoint is blamed', { timeout: LONG }, async () => {
    const stage = await theatre.stage('split')
    const fork = { kind: 'fork', depth: 3, branch: 1, at: stage.chain.height(null) + 2 } as const

    stage.node('c').inject(fork)
    stage.node('d').inject(fork)
    const split = await stage.until(({ metric }) => metric('network_forked') === 1, 'the network is forked')
    await stage.polls(5)
    stage.node('c').heal()
    stage.node('d').heal()
    await stage.until(({ metric }) => metric('network_forked') === 0, 'the network is one again')

    expect(split.metric('network_branches')).toBe(2)
    expect(await stage.incidents()).toMatchObject([{ endpoint: null, cause: 'forked', closed_at: expect.any(String) }])
    await stage.expectNeverAccused('a', 'b', 'c', 'd')
  })
})

describe.concurrent('a halt of the whole chain', () => {
  test('is the network’s: it is halted, and no endpoint is blamed, also when it continues', {
    timeout: LONG,
  }, async () => {
    const stage = await theatre.stage('halt')

    stage.chain.halt()
    await stage.until(({ metric }) => metric('network_halted') === 1, 'the network is halted')
    await stage.polls(5)
    stage.chain.resume()
    await stage.until(({ metric }) => metric('network_halted') === 0, 'the network goes on')
    await stage.polls(3)

    expect(await stage.incidents()).toMatchObject([{ endpoint: null, cause: 'halted', closed_at: expect.any(String) }])
    await stage.expectNeverAccused('a', 'b', 'c')
  })
})
