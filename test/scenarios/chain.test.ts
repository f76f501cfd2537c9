import { describe, expect, test } from 'vitest'
import { createRandom } from '../proof/random.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { createStage, type Node, type Stage, type StageNetwork } from '../support/stage.ts'

/** Heights, lag, stalls and halts: the whole daemon, with hours played in milliseconds. */
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const INTERVAL = 10 * SECOND
const BLOCK = 12 * SECOND

function stageOf(names: readonly string[], over: Partial<StageNetwork> = {}): Stage {
  return createStage({ networks: [{ name: 'ethereum', endpoints: names, ...over }] })
}
const key = (name: string) => `ethereum/${name}`

/** No other endpoint was degraded or down at any moment, or has an incident. */
function expectOnly(stage: Stage, ...accused: readonly string[]): void {
  expect([...new Set(stage.accused().map((accusation) => accusation.key))].sort()).toEqual(accused.map(key).sort())
  expect(stage.log.filter(({ level }) => level === 'error')).toEqual([])
  for (const { endpoint } of stage.incidents()) if (endpoint !== null) expect(accused).toContain(endpoint)
}

const TWO = ['a', 'b']
const THREE = ['a', 'b', 'c']
const FIVE = ['a', 'b', 'c', 'd', 'e']

describe('a chain that is set back', () => {
  test.each([TWO, THREE, FIVE])('by 20 or 200 blocks at any moment makes no endpoint late: %s', async (...names) => {
    for (const blocks of [20, 200]) {
      for (let phase = 0; phase < 3; phase++) {
        const stage = stageOf(names)
        await stage.pass(5 * MINUTE + (phase * INTERVAL) / 3)

        for (const name of names) stage.set(key(name), { behind: blocks })
        await stage.pass(2 * MINUTE)

        expectOnly(stage)
        for (const name of names) expect(stage.state(key(name))).toBe('up')
      }
    }
  })

  test('while an endpoint does not answer is not halted when that one is back', async () => {
    const stage = createStage({
      networks: [
        { name: 'ethereum', network: { blockTimeMs: MINUTE }, thresholds: { stallMs: 5 * MINUTE }, endpoints: TWO },
      ],
    })
    await stage.pass(5 * MINUTE)

    stage.set(key('b'), { failure: { kind: 'refused' } })
    stage.set(key('a'), { behind: 20 })
    await stage.pass(10 * MINUTE)
    stage.set(key('b'), { behind: 20 })
    await stage.pass(5 * MINUTE)

    expect(stage.log.filter(({ message }) => message === 'network halted')).toEqual([])
    expect([stage.state(key('a')), stage.state(key('b'))]).toEqual(['up', 'up'])
  })

  test('at one endpoint only: that one is down two polls later, dated to the first', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)

    stage.set(key('c'), { behind: 200 })
    await stage.pass(2 * INTERVAL)

    expect([stage.state(key('c')), stage.codes(key('c'))]).toEqual(['down', ['lagging']])
    expectOnly(stage, 'c')
  })
})

describe('an endpoint that claims more blocks than there are', () => {
  test.each([
    { names: ['liar', 'b'] },
    { names: ['b', 'liar'] },
    { names: ['liar', 'b', 'c'] },
    { names: ['liar', 'b', 'c', 'd', 'e'] },
  ])(
    'a billion ahead among $names makes no other endpoint late, polled first or last, for two hours',
    async ({ names }) => {
      const stage = stageOf(names)
      stage.set(key('liar'), { behind: -1_000_000_000 })

      await stage.pass(2 * HOUR)

      expectOnly(stage)
      expect(stage.reference('ethereum')).toBeLessThanOrEqual(stage.height('ethereum'))
      for (const name of names.filter((one) => one !== 'liar')) expect(stage.state(key(name))).toBe('up')
      expect([stage.halted('ethereum'), stage.forked('ethereum')]).toEqual([false, false])
    },
  )

  test('one of two that creeps ahead makes the other late while that is plausible, but never down', async () => {
    const stage = stageOf(TWO)
    await stage.pass(5 * MINUTE)
    let ahead = 0
    stage.set(key('a'), { behind: () => -(ahead += 1) })

    const states = new Set<string>()
    for (let minutes = 0; minutes < 120; minutes++) {
      await stage.pass(MINUTE)
      states.add(stage.state(key('b')))
    }

    expect([...states].sort()).toEqual(['degraded', 'up'])
    expect(stage.state(key('b'))).toBe('up')
  })

  test.each([THREE, FIVE])(
    'one that creeps ahead a little more with every poll makes no other endpoint late (%s, …)',
    async (...names) => {
      const stage = stageOf(names)
      await stage.pass(5 * MINUTE)
      let ahead = 0
      stage.set(key('a'), { behind: () => -(ahead += 1) })

      await stage.pass(HOUR)

      expectOnly(stage)
      expect(stage.reference('ethereum')).toBeLessThan(stage.height('ethereum') + 3)
    },
  )

  test('two liars of five, one of them creeping, move nothing', async () => {
    const stage = stageOf(FIVE)
    let ahead = 0
    stage.set(key('a'), { behind: -1_000_000_000 })
    stage.set(key('b'), { behind: () => -(ahead += 2) })

    await stage.pass(HOUR)

    expectOnly(stage)
    expect(stage.reference('ethereum')).toBeLessThan(stage.height('ethereum') + 3)
  })

  test('the other endpoints do not lag while only the liar answers, and are up when they are back', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    stage.set(key('a'), { behind: -1_000_000_000 })
    for (const name of ['b', 'c']) stage.set(key(name), { failure: { kind: 'http', status: 503 } })

    await stage.pass(HOUR)
    for (const name of ['b', 'c']) stage.set(key(name))
    await stage.pass(5 * MINUTE)

    expectOnly(stage, 'b', 'c')
    for (const { codes } of stage.accused()) expect(codes).toEqual(['bad-answer'])
    for (const name of ['b', 'c']) expect([stage.state(key(name)), stage.codes(key(name))]).toEqual(['up', []])
  })
})

describe('an endpoint behind the others', () => {
  test('a pool that jitters by up to two blocks, at random, is up for eight hours', async () => {
    const stage = stageOf(THREE)
    const random = createRandom(1)
    stage.set(key('b'), { behind: () => Math.floor(random() * 3) })
    stage.set(key('c'), { behind: () => Math.floor(random() * 3) })

    await stage.pass(8 * HOUR)

    expectOnly(stage)
    expect(stage.counted(key('b'))).toMatchObject({ reorgs: 0 })
  }, 120_000)

  test('41 hours behind is down while it reports itself healthy', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    stage.set(key('c'), { behind: 12_300 })

    await stage.until(() => stage.state(key('c')) === 'down', 2 * INTERVAL)

    expect(stage.codes(key('c'))).toEqual(['lagging'])
    // A block may come between the polls of the two endpoints.
    expect(stage.message(key('c'), 'lagging')).toMatch(/^(12300 blocks \(41 h\)|12299 blocks \(40 h\)) behind$/)
    expectOnly(stage, 'c')
  })

  test('one that catches up is down, then degraded, then up: one incident', async () => {
    const stage = stageOf(THREE)
    let behind = 2000
    stage.set(key('c'), { behind: () => (behind = Math.max(0, behind - 37)) })

    await stage.pass(30 * MINUTE)

    expect(stage.state(key('c'))).toBe('up')
    const verdicts = stage.accused().map(({ verdict }) => verdict)
    expect(verdicts.lastIndexOf('down')).toBeLessThan(verdicts.lastIndexOf('degraded'))
    expect(stage.incidents()).toMatchObject([{ endpoint: 'c', state: 'down', closedAt: expect.any(Number) }])
    expectOnly(stage, 'c')
  })

  test('lags from lag_blocks on until lag_recover_blocks: two blocks behind neither begin nor end it', async () => {
    const stage = stageOf(THREE, { network: { blockTimeMs: MINUTE }, thresholds: { stallMs: 5 * MINUTE } })
    stage.set(key('c'), { behind: 2 })
    await stage.pass(30 * MINUTE)
    expectOnly(stage)

    stage.set(key('c'), { behind: 3 })
    await stage.pass(MINUTE)
    stage.set(key('c'), { behind: 2 })
    await stage.pass(30 * MINUTE)
    expect([stage.state(key('c')), stage.codes(key('c'))]).toEqual(['degraded', ['lagging']])

    stage.set(key('c'), { behind: 1 })
    await stage.pass(MINUTE)
    expect(stage.state(key('c'))).toBe('up')
    expect(stage.incidents()).toHaveLength(1)
  })

  test('of two, the one behind lags, not the one ahead', async () => {
    const stage = stageOf(TWO)
    await stage.pass(5 * MINUTE)
    stage.set(key('b'), { behind: 5 })

    await stage.until(() => stage.state(key('b')) === 'degraded', 3 * INTERVAL)
    expect(stage.codes(key('b'))).toEqual(['lagging'])
    stage.set(key('b'), { behind: 12_300 })
    await stage.pass(MINUTE)

    expect(stage.state(key('b'))).toBe('down')
    // A block may come between the polls of the two endpoints.
    expect(stage.message(key('b'), 'lagging')).toMatch(/^(12300 blocks \(41 h\)|12299 blocks \(40 h\)) behind$/)
    expectOnly(stage, 'b')
  })

  test('of the two that are left of three lags long after the third has died', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    stage.set(key('c'), { failure: { kind: 'http', status: 503 } })
    await stage.pass(HOUR)
    stage.set(key('b'), { behind: 50 })
    await stage.pass(10 * MINUTE)

    expect([stage.state(key('a')), stage.codes(key('b'))]).toEqual(['up', ['lagging']])
    expectOnly(stage, 'b', 'c')
  })

  test.each([
    { names: THREE, dead: 1 },
    { names: ['a', 'b', 'c', 'd'], dead: 1 },
    { names: FIVE, dead: 2 },
  ])('is down also if $dead of $names died before, at a height below its own', async ({ names, dead }) => {
    const [late = '', ...gone] = names.slice(-1 - dead)
    for (const isRestarted of [false, true]) {
      let stage = stageOf(names)
      await stage.pass(5 * MINUTE)
      for (const name of gone) stage.set(key(name), { failure: { kind: 'http', status: 503 } })
      await stage.pass(2 * HOUR)
      stage.set(key(late), { behind: 300 })
      if (isRestarted)
        stage = createStage({
          networks: [{ name: 'ethereum', endpoints: names }],
          world: stage.world,
          saved: stage.killed(),
        })

      await stage.pass(3 * INTERVAL)

      expect([stage.state(key(late)), stage.codes(key(late))]).toEqual(['down', ['lagging']])
      await stage.pass(HOUR)
      expect(stage.reference('ethereum')).toBeGreaterThanOrEqual(stage.height('ethereum') - 1)
      expect([stage.state(key(late)), stage.codes(key(late))]).toEqual(['down', ['lagging']])
      for (const name of names.slice(0, -1 - dead)) expect(stage.state(key(name))).toBe('up')
    }
  })

  test('is late also on a fast chain whose other endpoint of four has just died', async () => {
    const stage = stageOf(['a', 'b', 'c', 'd'], { network: { blockTimeMs: 400 } })
    stage.set(key('d'), { behind: 80 })
    await stage.pass(5 * MINUTE)
    stage.set(key('b'), { failure: { kind: 'refused' } })

    for (let polls = 0; polls < 60; polls++) {
      await stage.pass(INTERVAL)
      expect([polls, stage.codes(key('d'))]).toEqual([polls, ['lagging']])
    }
    expectOnly(stage, 'b', 'd')
  })

  test('that dies too leaves the reference head to the last one that answers', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    stage.set(key('a'), { failure: { kind: 'refused' } })
    await stage.pass(8 * HOUR)
    stage.set(key('b'), { behind: 2000 })
    await stage.pass(5 * MINUTE)
    stage.set(key('b'), { failure: { kind: 'refused' } })

    for (let polls = 0; polls < 60; polls++) {
      await stage.pass(INTERVAL)
      expect([polls, (stage.reference('ethereum') ?? 0) >= stage.height('ethereum') - 1]).toEqual([polls, true])
    }
    expectOnly(stage, 'a', 'b')
  })

  test.each([400, 2000, BLOCK, MINUTE])(
    'no endpoint is late because of when it is polled: blocks every %i ms, polled every 1, 10, 15 and 60 s, with slow answers',
    async (blockTimeMs) => {
      for (const intervalMs of [SECOND, INTERVAL, 15 * SECOND, MINUTE]) {
        for (const names of [TWO, THREE, FIVE]) {
          const random = createRandom(intervalMs + names.length)
          const stage = stageOf(names, {
            network: { blockTimeMs },
            thresholds: { stallMs: Math.max(MINUTE, 5 * blockTimeMs), failAfter: 1 },
            endpoint: { intervalMs },
          })
          // An answer is as old as its travel time.
          for (const name of names)
            stage.set(key(name), { latencyMs: () => random() * Math.min(0.7 * intervalMs, 1900) })

          await stage.pass(40 * intervalMs)

          expectOnly(stage)
          expect(stage.halted('ethereum')).toBe(false)
        }
      }
    },
    60_000,
  )

  test('a chain that is thirty times faster than configured makes no endpoint late, and a late one is still found', async () => {
    for (const names of [TWO, THREE]) {
      const stage = stageOf(names, { blockTimeMs: 400, network: { blockTimeMs: BLOCK, blockTimeGiven: false } })
      await stage.pass(5 * MINUTE)
      expectOnly(stage)

      stage.set(key('b'), { behind: 200 })
      await stage.pass(2 * MINUTE)

      expect(stage.codes(key('b'))).toEqual(['lagging'])
      expectOnly(stage, 'b')
    }
  })
})

describe('an endpoint that does not advance', () => {
  test('alone among others: lagging, then stalled, and the network is not halted', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    stage.set(key('c'), { stuckAt: stage.height('ethereum') })

    await stage.pass(5 * MINUTE)

    expect(stage.state(key('c'))).toBe('degraded')
    expect([...stage.codes(key('c'))].sort()).toEqual(['lagging', 'stalled'])
    expect(stage.halted('ethereum')).toBe(false)
    expectOnly(stage, 'c')
  })

  test('two of three while the third advances: the two are stalled, and no halt hides it', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    for (const name of ['b', 'c']) stage.set(key(name), { stuckAt: stage.height('ethereum') })

    await stage.pass(10 * MINUTE)

    for (const name of ['b', 'c'])
      expect([stage.state(key(name)), stage.codes(key(name))]).toEqual(['degraded', ['stalled']])
    expect([stage.state(key('a')), stage.halted('ethereum')]).toEqual(['up', false])
    expectOnly(stage, 'b', 'c')
  })

  test('two of three while the third is silent too: the network is halted until the third is back', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    for (const name of ['b', 'c']) stage.set(key(name), { stuckAt: stage.height('ethereum') })
    await stage.pass(10 * MINUTE)
    stage.set(key('a'), { failure: { kind: 'refused' } })
    await stage.until(() => stage.halted('ethereum'), 5 * MINUTE)
    const halts = () => stage.incidents().filter(({ cause }) => cause === 'halted')
    expect(halts().map(({ closedAt }) => closedAt)).toEqual([null])

    stage.set(key('a'))
    await stage.pass(10 * MINUTE)

    expect(stage.halted('ethereum')).toBe(false)
    expect(halts().map(({ closedAt }) => closedAt === null)).toEqual([false])
    expect(new Set(stage.open().map(({ endpoint }) => endpoint))).toEqual(new Set(['b', 'c']))
  })

  test.each([20, 101, 900])('two of three that stood %i blocks behind before the daemon began', async (behind) => {
    const stage = stageOf(THREE)
    for (const name of ['b', 'c']) stage.set(key(name), { stuckAt: stage.height('ethereum') - behind })

    await stage.until(() => ['b', 'c'].every((name) => stage.codes(key(name)).includes('stalled')), 2 * MINUTE)
    await stage.pass(HOUR)

    expectOnly(stage, 'b', 'c')
    expect([stage.state(key('a')), stage.halted('ethereum')]).toEqual(['up', false])
  })

  test('two of five, polled more rarely than `stall`: they are stalled, and the network is halted only when it is', async () => {
    const stage = stageOf(FIVE, { endpoint: { intervalMs: 5 * MINUTE } })
    await stage.pass(HOUR)
    for (const name of ['c', 'e']) stage.set(key(name), { stuckAt: stage.height('ethereum') })

    await stage.pass(3 * HOUR)

    expect(stage.incidents().filter(({ cause }) => cause === 'halted')).toEqual([])
    expect(['c', 'e'].map((name) => stage.codes(key(name)).includes('stalled'))).toEqual([true, true])
    stage.halt('ethereum', true)
    await stage.until(() => stage.halted('ethereum'), 8 * MINUTE)
  })

  describe.each([5 * MINUTE, HOUR])('two of five, while the others are polled every %i ms', (intervalMs) => {
    const rare = (name: string) => ({ name, intervalMs })
    const mixed = () =>
      createStage({ networks: [{ name: 'ethereum', endpoints: [...TWO, rare('c'), rare('d'), rare('e')] }] })

    test('and the chain halts: the others are polled, once each, and the network is halted', async () => {
      const stage = mixed()
      await stage.pass(3 * HOUR)
      stage.halt('ethereum', true)
      const before = stage.pollsOf(key('c')).length

      await stage.until(() => stage.halted('ethereum'), 3 * MINUTE)

      await stage.pass(4 * MINUTE)
      expect(stage.pollsOf(key('c')).length - before).toBeLessThanOrEqual(2)
      expect(stage.open().map(({ cause }) => cause)).toEqual(['halted'])
    })

    test('and only they stand still: the others are polled, and it is the two that are stalled', async () => {
      const stage = mixed()
      await stage.pass(3 * HOUR)
      for (const name of ['a', 'b']) stage.set(key(name), { stuckAt: stage.height('ethereum') })

      await stage.until(() => stage.codes(key('a')).includes('stalled'), 3 * MINUTE)

      expect(stage.incidents().filter(({ cause }) => cause === 'halted')).toEqual([])
    })
  })

  test('two of five, as the others have died of a block: the network is halted, however rarely a sixth one is polled', async () => {
    const rare = { name: 'f', intervalMs: HOUR }
    const stage = createStage({ networks: [{ name: 'ethereum', endpoints: [...FIVE, rare] }] })
    await stage.pass(2 * HOUR + 5 * MINUTE)
    stage.halt('ethereum', true)

    for (const name of ['a', 'b', 'c']) stage.set(key(name), { failure: { kind: 'refused' } })

    await stage.until(() => stage.halted('ethereum'), 2 * MINUTE)
  })

  test('all of them: the network is halted, once, and no endpoint is blamed for hours', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    const stoodAt = stage.clock.now()
    stage.halt('ethereum', true)

    await stage.until(() => stage.halted('ethereum'), 2 * MINUTE)
    await stage.pass(2 * HOUR)

    expectOnly(stage)
    expect(stage.open()).toMatchObject([{ cause: 'halted', endpoint: null }])
    expect(Math.abs((stage.open()[0]?.openedAt ?? 0) - stoodAt)).toBeLessThan(BLOCK + INTERVAL)
  })

  test.each([
    { names: THREE, ahead: 1e9 },
    { names: THREE, ahead: 5000 },
    { names: FIVE, ahead: 500 },
  ])('a liar $ahead blocks ahead that keeps growing hides no halt among $names', async ({ names, ahead }) => {
    const stage = stageOf(names)
    let more = ahead
    stage.set(key('a'), { behind: () => -more++ })
    await stage.pass(10 * MINUTE)
    stage.halt('ethereum', true)

    await stage.until(() => stage.halted('ethereum'), 2 * MINUTE)
    await stage.pass(2 * HOUR)
    expect(stage.open()).toMatchObject([{ cause: 'halted', endpoint: null }])
    stage.halt('ethereum', false)
    await stage.pass(MINUTE)

    expect(stage.halted('ethereum')).toBe(false)
    expectOnly(stage)
  })

  test('most of them, in any way, at any time and by any clock of the chain: no halt while one of them follows the chain', async () => {
    for (let seed = 0; seed < 14; seed++) {
      const random = createRandom(seed)
      const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
      const clock = createFakeClock()
      const wrongBy = pick([0, 10 * MINUTE, -10 * MINUTE, HOUR, -HOUR, 2 * DAY, -2 * DAY, 365 * DAY])
      const times = { beganAt: clock.monotonic(), trueTimeThen: clock.now() + wrongBy }
      const blockTimeMs = pick([400, 2 * SECOND, BLOCK])
      const names = pick([THREE, FIVE])
      const stage = createStage({
        networks: [{ name: 'ethereum', endpoints: names, blockTimeMs, network: { blockTimeMs: pick([400, BLOCK]) } }],
        world: { clock, nodes: new Map(), chains: new Map(), ...times },
      })
      await stage.pass(MINUTE)
      for (let time = 0; time < 10; time++) {
        const height = stage.height('ethereum')
        let more = pick([30, 500, 1e4, 1e9])
        const ill = pick<Node>([
          { stuckAt: height },
          { stuckAt: height - pick([50, 2000, 1e5]) },
          { behind: pick([3, 50, 5000]) },
          { behind: () => Math.max(0, (more -= 40)) },
          { behind: () => -more++ },
          { failure: { kind: 'refused' } },
        ])
        stage.set(key(pick(names.slice(1))), pick([{}, ill, ill]))
        await stage.pass(random() * 10 * MINUTE)
        expect([seed, time, stage.halted('ethereum')]).toEqual([seed, time, false])
      }
    }
  })

  test('a halt is known although one endpoint still catches up, and lasts until there is a new block', async () => {
    const stage = stageOf(THREE)
    let behind = 500
    stage.set(key('c'), { behind: () => --behind })
    await stage.pass(10 * MINUTE)
    stage.halt('ethereum', true)

    await stage.until(() => stage.halted('ethereum'), 2 * MINUTE)
    for (let minutes = 0; minutes < 30; minutes++) {
      await stage.pass(MINUTE)
      expect([minutes, behind > 0, stage.halted('ethereum')]).toEqual([minutes, true, true])
    }

    expectOnly(stage, 'c')
    expect(stage.open().filter(({ endpoint }) => endpoint === null)).toMatchObject([{ cause: 'halted' }])
  })

  test('a halt lasts over an endpoint that is added, or answers for the first time', async () => {
    const stage = stageOf(THREE)
    stage.set(key('c'), { failure: { kind: 'refused' } })
    await stage.pass(10 * MINUTE)
    stage.halt('ethereum', true)
    await stage.until(() => stage.halted('ethereum'), 2 * MINUTE)
    const [halt] = stage.open().filter(({ endpoint }) => endpoint === null)

    stage.set(key('c'))
    for (let polls = 0; polls < 10; polls++) {
      await stage.pass(INTERVAL)
      expect([polls, stage.halted('ethereum')]).toEqual([polls, true])
    }
    stage.reconfigure([{ name: 'ethereum', endpoints: [...THREE, 'd'] }])
    for (let polls = 0; polls < 10; polls++) {
      await stage.pass(INTERVAL)
      expect([polls, stage.halted('ethereum')]).toEqual([polls, true])
    }

    expect(stage.open()).toMatchObject([{ id: halt?.id, cause: 'halted' }])
  })

  test('a halt with one endpoint unreachable: the halt and the outage are separate', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(5 * MINUTE)
    stage.set(key('b'), { failure: { kind: 'refused' } })
    await stage.pass(30 * MINUTE)

    expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['down', ['unreachable']])
    expect(stage.halted('ethereum')).toBe(true)
    expect(stage.open().map(({ endpoint }) => endpoint)).toEqual(expect.arrayContaining([null, 'b']))
    for (const name of ['a', 'c']) expect(stage.codes(key(name))).toEqual([])
  })

  test('a halt that ends for one after the other: an endpoint that has not advanced is late only then, and all are up in the end', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(HOUR)
    const stoodAt = stage.height('ethereum')
    for (const name of ['b', 'c']) stage.set(key(name), { stuckAt: stoodAt })
    stage.halt('ethereum', false)

    await stage.until(() => !stage.halted('ethereum'), 2 * MINUTE)
    expectOnly(stage)
    stage.set(key('b'))
    await stage.pass(3 * MINUTE)
    expect(stage.codes(key('c'))).toContain('lagging')
    stage.set(key('c'))
    await stage.pass(2 * MINUTE)

    for (const name of THREE) expect([stage.state(key(name)), stage.codes(key(name))]).toEqual(['up', []])
    expect(stage.open()).toEqual([])
  })

  test('a halt that ends: an endpoint two blocks behind is not stalled until it has had the time to follow', async () => {
    const stage = stageOf(THREE, { network: { blockTimeMs: MINUTE }, thresholds: { stallMs: 5 * MINUTE } })
    await stage.pass(10 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(HOUR)
    stage.halt('ethereum', false)
    stage.set(key('c'), { behind: 2 })
    await stage.pass(10 * MINUTE)

    expectOnly(stage)
    expect(stage.halted('ethereum')).toBe(false)
  })

  test('a network that cannot be polled for a while is not halted: failed polls report no heights', async () => {
    const stage = stageOf(TWO, { endpoint: { intervalMs: MINUTE }, thresholds: { failAfter: 3 } })
    await stage.pass(5 * MINUTE)
    for (const name of TWO) stage.set(key(name), { failure: { kind: 'http', status: 503 } })
    await stage.pass(75 * SECOND)
    for (const name of TWO) stage.set(key(name))
    await stage.pass(10 * MINUTE)

    expect(stage.log.filter(({ message }) => message === 'network halted')).toEqual([])
    expect(stage.incidents().filter(({ cause }) => cause === 'halted')).toEqual([])
  })

  test('one MultiversX shard that halts is named, and no endpoint is blamed', async () => {
    const stage = stageOf(THREE, {
      network: { family: 'multiversx', blockTimeMs: 6000 },
      endpoint: { family: 'multiversx', shards: [0, 1, 4_294_967_295] },
    })
    await stage.pass(5 * MINUTE)
    for (const name of THREE) stage.set(key(name), { shard: 1, stuckAt: stage.height('ethereum') })

    await stage.pass(10 * MINUTE)

    expect(stage.halted('ethereum')).toBe(true)
    expect(stage.open()[0]?.conditions[0]?.message).toContain('shard 1')
    expectOnly(stage)
  })

  test('one stalled shard of one endpoint is the endpoint’s fault, and named', async () => {
    const stage = stageOf(THREE, {
      network: { family: 'multiversx', blockTimeMs: 6000 },
      endpoint: { family: 'multiversx', shards: [0, 1, 4_294_967_295] },
    })
    await stage.pass(5 * MINUTE)
    stage.set(key('c'), { shard: 4_294_967_295, stuckAt: stage.height('ethereum') })

    await stage.pass(5 * MINUTE)

    expect(stage.message(key('c'), 'stalled')).toMatch(/^metachain: no new block/)
    expectOnly(stage, 'c')
  })

  test('an idle Avalanche chain that halts and goes on: the network is halted, no endpoint is blamed', async () => {
    const stage = stageOf(THREE, {
      network: { family: 'avalanche', blockTimeMs: 2000 },
      endpoint: { family: 'avalanche', checks: ['liveness', 'head'] },
    })
    await stage.pass(MINUTE)
    for (let time = 0; time < 5; time++) {
      stage.halt('ethereum', true)
      await stage.pass(10 * MINUTE)
      expect(stage.halted('ethereum')).toBe(true)
      stage.halt('ethereum', false)
      await stage.pass(MINUTE)
      expect(stage.halted('ethereum')).toBe(false)
    }

    expectOnly(stage)
    expect(stage.incidents().every(({ cause }) => cause === 'halted')).toBe(true)
  })
})

describe('an endpoint alone', () => {
  test('with fresh blocks is up', async () => {
    const stage = stageOf(['a'])
    await stage.pass(2 * HOUR)
    expectOnly(stage)
  })

  test('that syncs from 41 hours behind is down by the age of its blocks until it has caught up', async () => {
    const stage = stageOf(['a'])
    let behind = 12_300
    stage.set(key('a'), { behind: () => (behind = Math.max(0, behind - 50)) })

    await stage.pass(20 * MINUTE)
    expect([stage.state(key('a')), stage.codes(key('a'))]).toEqual(['down', ['lagging']])
    await stage.pass(HOUR)

    expect([stage.state(key('a')), stage.codes(key('a'))]).toEqual(['up', []])
    expect(stage.incidents()).toMatchObject([{ endpoint: 'a', closedAt: expect.any(Number) }])
  })

  test('whose pool tells a block less while the next block is late is up', async () => {
    const stage = stageOf(['a'], {
      network: { blockTimeMs: MINUTE },
      thresholds: { failAfter: 1, stallMs: 170 * SECOND },
    })
    let polls = 0
    stage.set(key('a'), { behind: () => polls++ % 2 })
    for (let late = 0; late < 3; late++) {
      await stage.pass(20 * MINUTE + 10 * SECOND)
      stage.halt('ethereum', true)
      await stage.pass(95 * SECOND)
      stage.halt('ethereum', false)
    }

    expectOnly(stage)
  })

  test('that does not advance is stalled, and lagging when that lasts', async () => {
    const stage = stageOf(['a'])
    await stage.pass(5 * MINUTE)
    stage.set(key('a'), { stuckAt: stage.height('ethereum') })

    await stage.pass(3 * MINUTE)
    expect([stage.state(key('a')), stage.codes(key('a'))]).toEqual(['degraded', ['stalled']])
    expect(stage.message(key('a'), 'stalled')).toMatch(/unknown whether the endpoint or the chain has stopped$/)
    await stage.pass(HOUR)
    expect(stage.state(key('a'))).toBe('down')
    expect(stage.codes(key('a'))).toContain('lagging')
  }, 120_000)

  test.each([
    { other: 'is polled for liveness only', endpoint: { checks: ['liveness'] as const }, node: {} },
    { other: 'has never answered', endpoint: {}, node: { failure: { kind: 'refused' } as const } },
  ])('because the other one $other is down by the age of its blocks while they come', async ({ endpoint, node }) => {
    const nodes = { [key('a')]: { behind: 12_300 }, [key('b')]: node }
    const networks = [{ name: 'ethereum', endpoints: ['a', { name: 'b', ...endpoint }] }]
    const stage = createStage({ networks, nodes })

    await stage.pass(5 * MINUTE)

    expect([stage.state(key('a')), stage.codes(key('a'))]).toEqual(['down', ['lagging']])
  })

  test('for some seconds after the start is not blamed for the age of the blocks of a halted chain', async () => {
    const first = stageOf(THREE)
    await first.pass(5 * MINUTE)
    first.halt('ethereum', true)
    first.killed()
    await first.pass(HOUR)
    const thresholds = { failAfter: 1 }
    const stage = createStage({
      world: first.world,
      networks: [{ name: 'ethereum', endpoints: THREE, thresholds }],
    })

    await stage.pass(5 * MINUTE)

    expectOnly(stage)
  })

  test.each([
    { clock: 'right', wrongBy: 0, state: 'down' },
    { clock: 'an hour slow', wrongBy: -HOUR, state: 'up' },
  ])('left of three that falls behind is $state while the clock of the chain is $clock', async ({ wrongBy, state }) => {
    const clock = createFakeClock()
    const times = { beganAt: clock.monotonic(), trueTimeThen: clock.now() + wrongBy }
    const stage = createStage({ world: { clock, nodes: new Map(), chains: new Map(), ...times } })
    await stage.pass(5 * MINUTE)
    for (const name of ['b', 'c']) stage.set(key(name), { failure: { kind: 'http', status: 502 } })
    let behind = 0
    stage.set(key('a'), { behind: () => Math.floor((behind += 0.3)) })
    await stage.pass(2 * HOUR)

    expect(stage.state(key('a'))).toBe(state)
  })

  test('left of three goes on without the others, and is stalled when it stops', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    for (const name of ['b', 'c']) stage.set(key(name), { failure: { kind: 'http', status: 502 } })
    await stage.pass(HOUR)
    expectOnly(stage, 'b', 'c')

    stage.set(key('a'), { stuckAt: stage.height('ethereum') })
    await stage.pass(10 * MINUTE)

    expect(stage.codes(key('a'))).toContain('stalled')
    expect(stage.halted('ethereum')).toBe(false)
  })

  test.each([
    { names: THREE, left: 1 },
    { names: FIVE, left: 1 },
    { names: FIVE, left: 2 },
  ])('or $left left of $names: the reference head follows, for hours and over a restart', async ({ names, left }) => {
    const first = stageOf(names)
    await first.pass(5 * MINUTE)
    for (const name of names.slice(left)) first.set(key(name), { failure: { kind: 'http', status: 502 } })
    async function follow(stage: Stage): Promise<void> {
      for (let minutes = 0; minutes < 60; minutes++) {
        await stage.pass(MINUTE)
        expect([minutes, (stage.reference('ethereum') ?? 0) >= stage.height('ethereum') - 1]).toEqual([minutes, true])
      }
    }
    await follow(first)
    const second = createStage({
      networks: [{ name: 'ethereum', endpoints: names }],
      world: first.world,
      saved: first.killed(),
    })
    await follow(second)
    if (left < 2) return
    second.set(key('b'), { stuckAt: second.height('ethereum') })
    await second.pass(5 * MINUTE)
    for (let minutes = 0; minutes < 20; minutes++) {
      await second.pass(MINUTE)
      expect([minutes, second.codes(key('b')).includes('lagging')]).toEqual([minutes, true])
    }
  })

  test('left of three on a chain that halted before is not blamed for the halt', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(10 * MINUTE)
    for (const name of ['b', 'c']) stage.set(key(name), { failure: { kind: 'http', status: 502 } })

    await stage.pass(HOUR)

    expectOnly(stage, 'b', 'c')
    expect([stage.state(key('a')), stage.halted('ethereum')]).toEqual(['up', true])
  })
})

describe('an endpoint that no other one can follow, because the others are far behind and catch up', () => {
  /** All but the first. At 180 blocks in every third poll it takes them five hours. */
  function catchUp(stage: Stage, names: readonly string[]): void {
    for (const name of names.slice(1)) {
      let [behind, polls] = [100_000, 0]
      stage.set(key(name), { behind: () => (behind = polls++ % 3 === 0 ? Math.max(0, behind - 180) : behind) })
    }
  }

  test.each([{ names: TWO }, { names: THREE }])(
    'is up while it advances, and stalled when it stops: $names',
    async ({ names }) => {
      const stage = stageOf(names)
      catchUp(stage, names)
      await stage.pass(HOUR)
      expect(stage.accused().map((accusation) => accusation.key)).not.toContain(key('a'))

      stage.set(key('a'), { stuckAt: stage.height('ethereum') })
      await stage.pass(3 * MINUTE)

      expect([stage.state(key('a')), stage.codes(key('a'))]).toEqual(['degraded', ['stalled']])
      expect(stage.halted('ethereum')).toBe(false)
      await stage.pass(HOUR)
      expect(stage.codes(key('a'))).toContain('stalled')
      stage.set(key('a'))
      await stage.pass(MINUTE)
      expect([stage.state(key('a')), stage.codes(key('a'))]).toEqual(['up', []])
    },
  )

  test('is stalled when the chain halts, also over a restart, until another one is there too: then the network is halted', async () => {
    const first = stageOf(TWO)
    catchUp(first, TWO)
    await first.pass(5 * MINUTE)
    first.halt('ethereum', true)
    await first.pass(3 * MINUTE)
    expect(first.codes(key('a'))).toEqual(['stalled'])

    const stage = createStage({
      networks: [{ name: 'ethereum', endpoints: TWO }],
      world: first.world,
      saved: first.killed(),
    })
    for (let minutes = 0; minutes < 60; minutes++) {
      await stage.pass(MINUTE)
      expect([minutes, stage.codes(key('a')).includes('stalled')]).toEqual([minutes, true])
    }
    await stage.pass(5 * HOUR)

    expect([stage.halted('ethereum'), stage.codes(key('a')), stage.codes(key('b'))]).toEqual([true, [], []])
    expect(stage.incidents().filter(({ endpoint }) => endpoint === 'a')).toHaveLength(1)
    expect(stage.open()).toMatchObject([{ cause: 'halted', endpoint: null }])
  })

  test('is not blamed for a halt that was known before', async () => {
    const stage = stageOf(TWO)
    await stage.pass(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(5 * MINUTE)
    catchUp(stage, TWO)

    await stage.pass(HOUR)

    expectOnly(stage, 'b')
    expect(stage.halted('ethereum')).toBe(true)
  })

  test('is not blamed for a halt because the others are polled seldom', async () => {
    for (let phase = 0; phase < 6; phase++) {
      const stage = createStage({
        networks: [
          {
            name: 'ethereum',
            endpoints: [{ name: 'a' }, { name: 'b', intervalMs: 3 * MINUTE }],
            network: { blockTimeMs: 2 * SECOND },
          },
        ],
      })
      await stage.pass(10 * MINUTE + phase * 30 * SECOND)
      stage.halt('ethereum', true)

      await stage.pass(20 * MINUTE)

      expectOnly(stage)
      expect(stage.halted('ethereum')).toBe(true)
    }
  })

  test('is not blamed for a halt after a restart, while another one has not answered yet', async () => {
    const names = ['a', 'b', 'c', 'd']
    for (const phase of [0, 0.3, 0.7]) {
      const first = stageOf(names)
      await first.pass(5 * MINUTE + phase * BLOCK)
      first.halt('ethereum', true)
      for (const name of ['c', 'd']) first.set(key(name), { behind: 3 })
      await first.pass(10 * MINUTE)
      const networks = [{ name: 'ethereum', endpoints: names }]
      const stage = createStage({ networks, world: first.world, saved: first.killed() })

      await stage.pass(HOUR)

      for (const name of ['a', 'b']) expect(stage.accused().map((one) => one.key)).not.toContain(key(name))
    }
  })
})

describe('half of the endpoints behind the other half', () => {
  const FOUR = ['a', 'b', 'c', 'd']

  test.each([
    { names: FOUR, behind: 8, state: 'degraded' },
    { names: FOUR, behind: 600, state: 'down' },
    { names: [...FOUR, 'e', 'f'], behind: 600, state: 'down' },
  ])('by $behind blocks are $state by the age of their blocks: $names', async ({ names, behind, state }) => {
    const late = names.slice(names.length / 2)
    const stage = stageOf(names)
    await stage.pass(5 * MINUTE)
    for (const name of late) stage.set(key(name), { behind })

    await stage.pass(2 * MINUTE)

    for (const name of late) expect([stage.state(key(name)), stage.codes(key(name))]).toEqual([state, ['lagging']])
    for (const name of late) stage.set(key(name))
    await stage.pass(2 * MINUTE)
    expectOnly(stage, ...late)
    for (const name of names) expect(stage.state(key(name))).toBe('up')
  })

  test('stay late when they stop', async () => {
    const stage = stageOf(FOUR)
    await stage.pass(5 * MINUTE)
    for (const name of ['c', 'd']) stage.set(key(name), { behind: 600 })
    await stage.pass(2 * MINUTE)

    for (const name of ['c', 'd']) stage.set(key(name), { stuckAt: stage.height('ethereum') - 600 })

    for (let minutes = 0; minutes < 60; minutes++) {
      await stage.pass(MINUTE)
      expect([stage.state(key('c')), stage.state(key('d')), stage.state(key('a'))]).toEqual(['down', 'down', 'up'])
    }
    const stalled = stage.board.entry('ethereum', 'c')?.health.conditions.find(({ code }) => code === 'stalled')
    expect([stalled?.message, stalled?.isAlone]).toEqual([
      expect.stringContaining('while the network advanced'),
      undefined,
    ])
  })

  test('are judged by height where most are ahead, however old their blocks are', async () => {
    const stage = stageOf(FIVE)
    await stage.pass(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(HOUR)
    stage.set(key('e'), { behind: 7 })
    stage.halt('ethereum', false)

    for (let polls = 0; polls < 60; polls++) {
      await stage.pass(5000)
      expect(stage.state(key('e'))).not.toBe('down')
    }
    expect(stage.codes(key('e'))).toEqual(['lagging'])
  })

  test('are not late with fresh blocks: the others may claim any height', async () => {
    for (const ahead of [8, 600, 1e9]) {
      const stage = stageOf(FOUR)
      await stage.pass(5 * MINUTE)
      for (const name of ['a', 'b']) stage.set(key(name), { behind: -ahead })

      await stage.pass(2 * HOUR)

      expectOnly(stage)
    }
  })

  test('because of when they are polled are not late, by any clock of the chain', async () => {
    for (const wrongBy of [0, -HOUR, HOUR]) {
      const clock = createFakeClock()
      const random = createRandom(wrongBy)
      const times = { beganAt: clock.monotonic(), trueTimeThen: clock.now() + wrongBy }
      const blockTimeMs = 400
      const stage = createStage({
        networks: [{ name: 'ethereum', endpoints: FOUR, network: { blockTimeMs }, thresholds: { failAfter: 1 } }],
        world: { clock, nodes: new Map(), chains: new Map(), ...times },
      })
      for (const name of FOUR) stage.set(key(name), { latencyMs: () => 1900 * random() })

      await stage.pass(HOUR)

      expectOnly(stage)
    }
  })

  test('by three blocks when the chain halts: it is halted, and no endpoint is blamed', async () => {
    for (const phase of [0, 0.3, 0.7]) {
      const stage = stageOf(FOUR)
      await stage.pass(5 * MINUTE + phase * BLOCK)
      stage.halt('ethereum', true)
      for (const name of ['c', 'd']) stage.set(key(name), { behind: 3 })

      await stage.pass(HOUR)

      expectOnly(stage)
      expect(stage.halted('ethereum')).toBe(true)
    }
  })

  test('fall back while Heartline is stopped: the network is not halted before the others were polled', async () => {
    const pairs = FIVE.flatMap((one, at) => FIVE.slice(at + 1).map((other) => [one, other]))
    for (const pair of pairs) {
      const networks = [{ name: 'ethereum', endpoints: FIVE }]
      const first = createStage({ networks })
      await first.pass(5 * MINUTE)
      const saved = first.saved()
      first.killed()
      await first.pass(3 * MINUTE)
      for (const name of pair) first.set(key(name), { behind: 60 })
      const stage = createStage({ networks, world: first.world, saved })

      await stage.pass(5 * MINUTE)

      expect(new Set(stage.incidents().map(({ endpoint }) => endpoint))).toEqual(new Set(pair))
    }
  })

  test('are late also after a restart', async () => {
    const nodes = { [key('c')]: { behind: 600 }, [key('d')]: { behind: 600 } }
    const networks = [{ name: 'ethereum', endpoints: FOUR }]
    const first = createStage({ networks, nodes })
    await first.pass(10 * MINUTE)
    const stage = createStage({ networks, world: first.world, saved: first.killed() })

    for (let minutes = 0; minutes < 10; minutes++) {
      await stage.pass(MINUTE)
      expect([minutes, ...FOUR.map((name) => stage.state(key(name)))]).toEqual([minutes, 'up', 'up', 'down', 'down'])
    }

    expect(stage.incidents().map(({ endpoint }) => endpoint)).toEqual(['d', 'c'])
  })
})

test.each([5, 50, 5000])(
  'a node that claims %i blocks too many, polled first after a start, makes no other late',
  async (ahead) => {
    for (const liar of THREE) {
      const stage = stageOf(THREE)
      stage.set(key(liar), { behind: -ahead })

      await stage.pass(5 * MINUTE)

      expectOnly(stage)
    }
  },
)

test('a node that is far behind when Heartline starts is not called up once another one was polled', async () => {
  for (const late of ['b', 'c']) {
    const stage = stageOf(THREE)
    stage.set(key(late), { behind: 1000 })

    const states = new Set<string>()
    for (let at = 0; at < 60; at++) {
      await stage.pass(SECOND)
      states.add(stage.state(key(late)))
    }

    expect([...states]).toEqual(['unknown', 'down'])
  }
})

describe('heights that go back', () => {
  test('by one block now and then are counted and are no fault', async () => {
    const stage = stageOf(THREE, { network: { blockTimeMs: MINUTE }, thresholds: { stallMs: 5 * MINUTE } })
    let poll = 0
    stage.set(key('c'), { behind: () => (poll++ % 9 === 0 ? 1 : 0) })

    await stage.pass(HOUR)

    expectOnly(stage)
    expect(stage.counted(key('c')).regressions).toBeGreaterThan(0)
    expect(stage.counted(key('c')).reorgs).toBe(0)
  })

  test.each([TWO, THREE])(
    'by a thousand are a restored backup: down until it has caught up (%s, …)',
    async (...names) => {
      const stage = stageOf(names)
      await stage.pass(5 * MINUTE)
      const before = stage.counted(key('b')).regressions
      let behind = 1040
      stage.set(key('b'), { behind: () => (behind = Math.max(0, behind - 40)) })

      await stage.until(() => stage.state(key('b')) === 'down', 3 * INTERVAL)
      expect(stage.counted(key('b')).regressions).toBe(before + 1)
      await stage.pass(10 * MINUTE)

      expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['up', []])
      expect(stage.incidents()).toHaveLength(1)
      expectOnly(stage, 'b')
    },
  )
})
