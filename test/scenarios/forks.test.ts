import { describe, expect, test } from 'vitest'
import { createRandom } from '../proof/random.ts'
import { createStage, type Node, type Stage, type StageNetwork } from '../support/stage.ts'

/** Which endpoints are on another branch, which are not, and when it is unknown. */
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const CHAINS = [
  { blockTimeMs: 400, intervalMs: SECOND },
  { blockTimeMs: 400, intervalMs: 15 * SECOND },
  { blockTimeMs: 2000, intervalMs: 10 * SECOND },
  { blockTimeMs: 12 * SECOND, intervalMs: 10 * SECOND },
  { blockTimeMs: MINUTE, intervalMs: 10 * SECOND },
]

function stageOf(
  names: readonly string[],
  over: Partial<StageNetwork> = {},
  { blockTimeMs, intervalMs } = CHAINS[3]!,
): Stage {
  return createStage({
    networks: [
      {
        name: 'ethereum',
        endpoints: names,
        network: { blockTimeMs },
        endpoint: { intervalMs },
        ...over,
        thresholds: { stallMs: Math.max(MINUTE, 5 * blockTimeMs), ...over.thresholds },
      },
    ],
  })
}
const key = (name: string) => `ethereum/${name}`
const part = (stage: Stage, names: readonly string[], branch = 'other', over: Node = {}) => {
  const from = stage.height('ethereum') + 1
  for (const name of names) stage.set(key(name), { ...over, branch: { from, name: branch } })
}
const accused = (stage: Stage) => [...new Set(stage.accused().map((one) => one.key.slice('ethereum/'.length)))].sort()

describe.each(CHAINS)('with blocks every $blockTimeMs ms, polled every $intervalMs ms', (chain) => {
  // A fork at any moment between the polls.
  const phases = [0, 0.3, 0.7].map((share) => share * chain.intervalMs)

  test.each([
    { names: ['a', 'b', 'c'], minority: ['c'] },
    { names: ['a', 'b', 'c'], minority: ['a'] },
    { names: ['a', 'b', 'c', 'd', 'e'], minority: ['b', 'e'] },
  ])('the minority $minority of $names is forked, and no other endpoint', async ({ names, minority }) => {
    for (const phase of phases) {
      const stage = stageOf(names, {}, chain)
      await stage.pass(20 * chain.intervalMs + phase)
      part(stage, minority)

      await stage.pass(10 * Math.max(chain.intervalMs, chain.blockTimeMs))

      for (const name of minority)
        expect([stage.state(key(name)), stage.codes(key(name))]).toEqual(['degraded', ['forked']])
      expect(accused(stage)).toEqual(minority)
      expect(stage.forked('ethereum')).toBe(false)
      expect(new Set(stage.incidents().map(({ endpoint }) => endpoint))).toEqual(new Set(minority))
    }
  })

  test('the minority is known within fail_after + 3 polls', async () => {
    const failAfter = 3
    for (let share = 0; share < 1; share += 0.125) {
      const stage = stageOf(['a', 'b', 'c', 'd', 'e'], { thresholds: { failAfter } }, chain)
      await stage.pass(20 * chain.intervalMs + share * chain.intervalMs)
      part(stage, ['a', 'd'])

      await stage.pass(chain.blockTimeMs + (failAfter + 3) * chain.intervalMs)

      expect([stage.codes(key('a')), stage.codes(key('d'))]).toEqual([['forked'], ['forked']])
    }
  })

  test.each([
    { names: ['a', 'b'], minority: ['a'] },
    { names: ['a', 'b', 'c', 'd'], minority: ['b', 'd'] },
  ])(
    '$minority against as many of $names: the network is forked, no endpoint is blamed',
    async ({ names, minority }) => {
      for (const phase of phases) {
        const stage = stageOf(names, {}, chain)
        await stage.pass(20 * chain.intervalMs + phase)
        part(stage, minority)

        await stage.pass(10 * Math.max(chain.intervalMs, chain.blockTimeMs))

        expect(stage.forked('ethereum')).toBe(true)
        expect(accused(stage)).toEqual([])
        expect(stage.open()).toMatchObject([{ cause: 'forked', endpoint: null }])

        for (const name of minority) stage.set(key(name))
        await stage.pass(10 * Math.max(chain.intervalMs, chain.blockTimeMs))
        expect(stage.forked('ethereum')).toBe(false)
        expect([accused(stage), stage.open()]).toEqual([[], []])
      }
    },
  )

  test('a reorganisation of a whole network is no fork, in any order of polls', async () => {
    for (const phase of phases) {
      for (const depth of [1, 2, 3]) {
        const names = ['a', 'b', 'c']
        const stage = stageOf(names, {}, chain)
        await stage.pass(20 * chain.intervalMs + phase)
        const from = stage.height('ethereum') - depth + 1
        for (const name of names) stage.set(key(name), { branch: { from, name: 'new' } })

        await stage.pass(10 * Math.max(chain.intervalMs, chain.blockTimeMs))

        expect([accused(stage), stage.forked('ethereum'), stage.incidents()]).toEqual([[], false, []])
      }
    }
  })
})

describe('a minority', () => {
  const NAMES = ['a', 'b', 'c']

  test('that switches back has recovered within the usual polls, and its switches count as reorganisations', async () => {
    const stage = stageOf(NAMES)
    await stage.pass(5 * MINUTE)
    part(stage, ['c'])
    await stage.until(() => stage.state(key('c')) === 'degraded', 2 * MINUTE)

    stage.set(key('c'))
    await stage.until(() => stage.state(key('c')) === 'up', MINUTE)

    expect(stage.counted(key('c')).reorgs).toBeGreaterThan(0)
    expect(stage.incidents()).toMatchObject([{ endpoint: 'c', closedAt: expect.any(Number) }])
    expect(accused(stage)).toEqual(['c'])
  })

  test.each([2000, 12 * SECOND])(
    'is found also if half of the endpoints are polled twice as often: blocks every %i ms',
    async (blockTimeMs) => {
      for (const name of ['a', 'b', 'c', 'd']) {
        const intervalMs = 5 * SECOND
        const slow = { intervalMs: 2 * intervalMs, livenessIntervalMs: 2 * intervalMs }
        const stage = stageOf(
          [],
          { endpoints: [{ name: 'a', ...slow }, 'b', { name: 'c', ...slow }, 'd'] },
          { blockTimeMs, intervalMs },
        )
        await stage.pass(MINUTE)
        part(stage, [name])

        await stage.pass(MINUTE)

        expect([name, stage.codes(key(name))]).toEqual([name, ['forked']])
        expect(accused(stage)).toEqual([name])
      }
    },
  )

  test('that does not advance on its branch is forked and lagging', async () => {
    const stage = stageOf(NAMES)
    await stage.pass(5 * MINUTE)
    part(stage, ['c'])
    await stage.until(() => stage.codes(key('c')).includes('forked'), 2 * MINUTE)
    const from = stage.height('ethereum') - 4
    stage.set(key('c'), { branch: { from, name: 'other' }, stuckAt: stage.height('ethereum') })

    await stage.pass(10 * MINUTE)

    expect([...stage.codes(key('c'))].sort()).toEqual(['forked', 'lagging', 'stalled'])
    expect(accused(stage)).toEqual(['c'])
    expect(stage.incidents()).toHaveLength(1)
  })

  test('is no fork of the network while the others replace blocks before it is known', async () => {
    const endpoints = ['a', 'b', 'c', 'd'].map((name) => ({ name, intervalMs: (name === 'c' ? 40 : 15) * SECOND }))
    for (let phase = 0; phase < 40; phase += 4) {
      const stage = createStage({ networks: [{ name: 'ethereum', endpoints, thresholds: { failAfter: 3 } }] })
      await stage.pass(5 * MINUTE + phase * SECOND)
      part(stage, ['d'])
      await stage.pass(36 * SECOND)

      const from = stage.height('ethereum') - 3
      for (const name of ['a', 'c', 'b']) {
        stage.set(key(name), { branch: { from, name: 'replaced' } })
        await stage.pass(4 * SECOND)
      }
      await stage.pass(10 * MINUTE)

      expect(stage.codes(key('d'))).toEqual(['forked'])
      expect(stage.incidents().map(({ endpoint }) => endpoint)).toEqual(['d'])
    }
  })

  test('stays forked while the others replace blocks one after the other', async () => {
    const others = ['a', 'c', 'd']
    const stage = stageOf(['b', ...others], { thresholds: { recoverAfter: 1 } })
    await stage.pass(20 * MINUTE)
    part(stage, ['b'])
    await stage.until(() => stage.codes(key('b')).includes('forked'), 10 * MINUTE)
    await stage.pass(5 * MINUTE)

    const from = stage.height('ethereum') - 2
    for (const name of others) {
      stage.set(key(name), { branch: { from, name: 'replaced' } })
      for (let polls = 0; polls < 12; polls++) {
        await stage.pass(SECOND)
        expect(stage.codes(key('b'))).toEqual(['forked'])
      }
    }
    await stage.pass(10 * MINUTE)

    expect(stage.told(key('b')).map(({ codes }) => codes)).toEqual([[], ['forked']])
    expect(accused(stage)).toEqual(['b'])
  })

  test('that also lags is forked too: it is compared at its own height', async () => {
    const stage = stageOf(NAMES)
    await stage.pass(5 * MINUTE)
    part(stage, ['c'], 'other', { behind: 5 })

    await stage.pass(5 * MINUTE)

    expect([...stage.codes(key('c'))].sort()).toEqual(['forked', 'lagging'])
    expect(accused(stage)).toEqual(['c'])
  })

  test.each([CHAINS[1]!, CHAINS[3]!])(
    'whose nodes cannot return blocks by height is found where heads meet (%j)',
    async (chain) => {
      const stage = stageOf(NAMES, {}, chain)
      for (const name of NAMES) stage.set(key(name), { mute: true })
      await stage.pass(5 * MINUTE)
      expect(accused(stage)).toEqual([])

      part(stage, ['c'], 'other', { mute: true })
      await stage.pass(HOUR)

      // Where heads never meet the branch stays unknown.
      expect(accused(stage).filter((name) => name !== 'c')).toEqual([])
      expect(stage.forked('ethereum')).toBe(false)
      if (chain.blockTimeMs > chain.intervalMs) expect(stage.codes(key('c'))).toEqual(['forked'])
    },
  )

  test('with one endpoint that cannot return blocks by height: that is no fault, and its heads show the branch', async () => {
    const stage = stageOf(NAMES)
    stage.set(key('b'), { mute: true })
    await stage.pass(HOUR)

    expect([accused(stage), stage.forked('ethereum')]).toEqual([[], false])
  })

  test('that forks while the third is unreachable: one against one is no endpoint’s fault until there is a majority', async () => {
    const stage = stageOf(NAMES)
    await stage.pass(5 * MINUTE)
    stage.set(key('a'), { failure: { kind: 'http', status: 503 } })
    await stage.pass(MINUTE)
    part(stage, ['c'])
    await stage.pass(5 * MINUTE)
    expect([accused(stage), stage.forked('ethereum')]).toEqual([['a'], true])

    stage.set(key('a'))
    await stage.pass(5 * MINUTE)

    expect([stage.forked('ethereum'), stage.codes(key('c')), stage.codes(key('a'))]).toEqual([false, ['forked'], []])
    expect(accused(stage)).toEqual(['a', 'c'])
  })

  test('of an endpoint that is briefly on another block now and then, as any may be, is no fork', async () => {
    const stage = stageOf(NAMES)
    let poll = 0
    const top = () => stage.height('ethereum')
    // In every third poll its newest block is one that is replaced later.
    stage.set(key('c'), { branch: () => (poll++ % 6 === 0 ? [{ from: top(), name: `uncle${top()}` }] : []) })

    await stage.pass(HOUR)

    expect([accused(stage), stage.forked('ethereum')]).toEqual([[], false])
  })

  test('of a pool that reported one losing block, and is then a few blocks behind, is no fork', async () => {
    const stage = stageOf(NAMES, {}, CHAINS[4])
    const story = [
      { behind: 0, loses: true },
      { behind: 2, loses: false },
      { behind: 2, loses: false },
      { behind: 2, loses: false },
    ]
    let poll = 0
    const now = () => story[Math.floor(poll / 2) % story.length]
    stage.set(key('c'), {
      behind: () => {
        poll += 2
        return now()?.behind ?? 0
      },
      branch: () => (now()?.loses ? [{ from: stage.height('ethereum'), name: `lost${poll}` }] : []),
    })
    await stage.pass(2 * HOUR)

    expect([accused(stage), stage.forked('ethereum')]).toEqual([[], false])
  })
})

describe('while one poll in seven times out', () => {
  test.each([4, 5, 7, 10])('reorganisations of the whole network blame none of %i endpoints', async (size) => {
    const names = 'abcdefghij'.slice(0, size).split('')
    for (let seed = 0; seed < 2; seed++) {
      const random = createRandom(1000 * size + seed)
      const failure = () => (random() < 0.15 ? ({ kind: 'timeout', afterMs: 5000 } as const) : null)
      const stage = stageOf(names, {}, CHAINS[4])
      for (const name of names) stage.set(key(name), { failure })
      await stage.pass((8 + random()) * 10 * SECOND)

      for (let time = 0; time < 10; time++) {
        const from = stage.height('ethereum') - Math.floor(3 * random())
        for (const name of names) stage.set(key(name), { failure, branch: { from, name: `new${time}` } })
        await stage.pass((5 + 2 * random()) * 10 * SECOND)
      }

      expect(stage.accused().filter(({ codes }) => codes.includes('forked'))).toEqual([])
      expect(stage.forked('ethereum')).toBe(false)
    }
  })
})

describe('branches without a majority', () => {
  test('three of them, two endpoints each: forked, no endpoint is blamed, and each branch is named', async () => {
    const stage = stageOf(['a', 'b', 'c', 'd', 'e', 'f'])
    await stage.pass(5 * MINUTE)
    part(stage, ['c', 'd'], 'second')
    part(stage, ['e', 'f'], 'third')

    await stage.pass(5 * MINUTE)

    expect([accused(stage), stage.forked('ethereum')]).toEqual([[], true])
    expect(stage.open()[0]?.conditions[0]?.message).toContain('3 different blocks')
    expect(stage.open()[0]?.affected).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  test('are not seen in the first polls, before those that are polled rarely have had theirs', async () => {
    const endpoints = ['a', 'b', 'c', 'd'].map((name) => ({
      name,
      intervalMs: 'ac'.includes(name) ? SECOND : 4 * SECOND,
    }))
    const networks = [{ name: 'ethereum', endpoints, network: { blockTimeMs: 400 } }]
    const first = createStage({ networks, nodes: { [key('a')]: { branch: { from: 1, name: 'other' } } } })
    await first.pass(MINUTE)
    const saved = first.saved()
    await first.stop()
    await first.pass(5 * MINUTE)
    first.set(key('a'))
    first.set(key('c'), { branch: { from: first.height('ethereum') - 3, name: 'third' } })
    const second = createStage({ networks, world: first.world, saved })
    await second.pass(MINUTE)

    for (const [stage, forked] of [
      [first, 'a'],
      [second, 'c'],
    ] as const) {
      expect(stage.log.filter(({ message }) => message === 'network forked')).toEqual([])
      expect(stage.codes(key(forked))).toEqual(['forked'])
    }
    expect(second.incidents().map(({ endpoint }) => endpoint)).toEqual(['a', 'c'])
  })

  test('that endpoints leave until one has a majority: then the rest is forked, and the network no longer', async () => {
    const stage = stageOf(['a', 'b', 'c', 'd'])
    await stage.pass(5 * MINUTE)
    part(stage, ['c', 'd'])
    await stage.until(() => stage.forked('ethereum'), 5 * MINUTE)

    stage.set(key('c'))
    await stage.pass(5 * MINUTE)

    expect([stage.forked('ethereum'), stage.codes(key('d')), accused(stage)]).toEqual([false, ['forked'], ['d']])
  })
})

describe('a block that loses against another one of its height', () => {
  test.each([SECOND, 2 * SECOND, 5 * SECOND, 6 * SECOND, 10 * SECOND])(
    'and is the head of one node until the next block is no fork, polled every %i ms',
    async (intervalMs) => {
      for (const names of [
        ['a', 'b'],
        ['a', 'b', 'c'],
        ['a', 'b', 'c', 'd', 'e'],
      ]) {
        for (let share = 0; share < 1; share += 0.25) {
          const stage = stageOf(names, {}, { blockTimeMs: 12 * SECOND, intervalMs })
          await stage.pass(5 * MINUTE + share * intervalMs)
          const before = stage.height('ethereum')
          part(stage, ['b'])

          await stage.until(() => stage.height('ethereum') === before + 2, 24 * SECOND)
          stage.set(key('b'))
          await stage.pass(MINUTE)

          expect([accused(stage), stage.incidents()]).toEqual([[], []])
        }
      }
    },
  )
})

describe('a chain that halts while endpoints on another branch go on', () => {
  const cases = [
    { names: ['a', 'b', 'c'], minority: ['a'] },
    { names: ['a', 'b', 'c', 'd', 'e'], minority: ['c'] },
    { names: ['a', 'b', 'c', 'd', 'e'], minority: ['b', 'e'] },
  ]

  /** The others stop as soon as the minority is known. */
  async function haltAfterFork(stage: Stage, names: readonly string[], minority: readonly string[]): Promise<void> {
    await stage.pass(5 * MINUTE)
    part(stage, minority)
    await stage.until(() => minority.every((name) => stage.codes(key(name)).includes('forked')), 2 * MINUTE)
    const stuckAt = stage.height('ethereum') + 1
    for (const name of names) if (!minority.includes(name)) stage.set(key(name), { stuckAt })
    await stage.pass(20 * MINUTE)
  }

  test.each(cases)('is halted, and only $minority of $names is blamed', async ({ names, minority }) => {
    const stage = stageOf(names)
    await haltAfterFork(stage, names, minority)

    expect([stage.halted('ethereum'), accused(stage)]).toEqual([true, minority])

    for (const name of names) stage.set(key(name))
    await stage.pass(3 * MINUTE)

    expect([stage.halted('ethereum'), stage.open(), accused(stage)]).toEqual([false, [], minority])
  })

  test.each(cases)(
    'is halted after a restart, with $minority of $names on that branch',
    async ({ names, minority }) => {
      const first = stageOf(names)
      await haltAfterFork(first, names, minority)
      const networks = [{ name: 'ethereum', endpoints: names }]

      const stage = createStage({ networks, saved: first.killed(), world: first.world })
      await stage.pass(10 * MINUTE)

      expect([stage.halted('ethereum'), accused(stage)]).toEqual([true, []])
      for (const name of minority) expect(stage.codes(key(name))).toEqual(['forked'])
    },
  )
})

describe('an endpoint that is behind is compared at its own height', () => {
  const SIZES = [2, 3, 4, 6, 10]
  const namesOf = (size: number) => 'abcdefghij'.slice(0, size).split('')
  const cases = CHAINS.flatMap((chain) => SIZES.map((size) => ({ ...chain, size })))

  test.each(cases)(
    'and its fork is found, among $size with blocks every $blockTimeMs ms, polled every $intervalMs ms',
    async ({ size, ...chain }) => {
      for (const behind of [1, 3, 20]) {
        const stage = stageOf(namesOf(size), {}, chain)
        await stage.pass(8.3 * chain.intervalMs)
        const from = stage.height('ethereum') - behind
        stage.set(key('b'), { behind, branch: { from, name: 'other' } })

        // One against one is the network's fork.
        const isFound = () => (size === 2 ? stage.forked('ethereum') : stage.codes(key('b')).includes('forked'))
        await stage.until(isFound, 5 * chain.intervalMs)

        expect([behind, accused(stage).filter((name) => name !== 'b')]).toEqual([behind, []])
      }
    },
  )

  test('and its fork is found on one shard of a proxy', async () => {
    const shards = [0, 1, 2, 4294967295]
    const over = {
      network: { family: 'multiversx', blockTimeMs: 6000 },
      endpoint: { shards, intervalMs: 2000 },
    } as const
    const stage = stageOf(namesOf(4), over)
    await stage.pass(MINUTE)
    const branch = { from: stage.height('ethereum') - 5, name: 'other' }
    stage.set(key('b'), { behind: 2, shard: 1, branch })

    await stage.until(() => stage.codes(key('b')).includes('forked'), 10 * SECOND)

    expect(stage.message(key('b'), 'forked')).toContain('shard 1')
    expect(accused(stage)).toEqual(['b'])
  })

  test('and so are several, each on a branch and at a height of its own', async () => {
    const stage = stageOf(namesOf(10))
    await stage.pass(5 * MINUTE)
    const height = stage.height('ethereum')
    for (const [at, name] of ['a', 'd', 'g', 'i'].entries())
      stage.set(key(name), { behind: 2 + 3 * at, branch: { from: height - 2 - 3 * at, name } })

    await stage.pass(3 * MINUTE)

    expect(accused(stage)).toEqual(['a', 'd', 'g', 'i'])
    for (const name of accused(stage))
      expect([name, stage.codes(key(name))]).toEqual([name, expect.arrayContaining(['forked'])])
  })

  test.each(cases.filter(({ size }) => size !== 2))(
    'and never forked while it only lags, among $size with blocks every $blockTimeMs ms, polled every $intervalMs ms',
    async ({ size, ...chain }) => {
      for (const behind of [2, 5]) {
        const stage = stageOf(namesOf(size), {}, chain)
        await stage.pass(8 * chain.intervalMs)
        stage.set(key('b'), { behind })
        const [before, polls] = [stage.comparedBy(key('a')), stage.pollsOf(key('a')).length]

        await stage.pass(60 * chain.intervalMs)

        expect(stage.accused().flatMap(({ codes }) => codes)).not.toContain('forked')
        expect([accused(stage).filter((name) => name !== 'b'), stage.forked('ethereum')]).toEqual([[], false])
        // Where blocks are rarer than polls, the others pay at most one block in three polls.
        const share = (stage.comparedBy(key('a')) - before) / (stage.pollsOf(key('a')).length - polls)
        if (chain.blockTimeMs >= chain.intervalMs) expect(share).toBeLessThanOrEqual(1 / 3)
      }
    },
  )

  test('and a side that gets its majority only there is no split: two of five are forked while a third is behind', async () => {
    const stage = stageOf(namesOf(5))
    await stage.pass(5 * MINUTE)
    const from = stage.height('ethereum')
    stage.set(key('c'), { behind: 20 })
    part(stage, ['a', 'b'])
    await stage.until(() => stage.height('ethereum') > from + 25, HOUR)

    await stage.pass(5 * MINUTE)

    expect([stage.codes(key('a')), stage.codes(key('b')), stage.codes(key('c'))]).toEqual([
      ['forked'],
      ['forked'],
      ['lagging'],
    ])
    expect(stage.forked('ethereum')).toBe(false)
  })
})
