import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Block } from '../../src/core/chain/block-reports.ts'
import { type Branches, createBranches } from '../../src/core/chain/branches.ts'

/** A few endpoints at the same height; `report` is one poll. */
function scene(names: readonly string[]) {
  let height = 1000
  let now = 0
  const stands = new Map(names.map((name) => [name, height]))
  const branches: Branches = createBranches({
    reached: (at) => [...stands.values()].filter((stood) => stood >= at).length,
    answering: () => stands.size,
    unpolled: () => 0,
    agreedHeight: () => height,
    slackBlocks: () => 3,
    settleMs: () => 1,
    maxBacktrackBlocks: () => 100,
    maxWaitMs: () => 20_000,
  })
  function report(name: string, hashOf: (height: number) => string, at = height, compared: number[] = []): void {
    now += 1000
    stands.set(name, at)
    const blocks: Block[] = [at, at - 1, ...compared].map((one) => ({ height: one, hash: hashOf(one) }))
    branches.add(name, blocks, now)
  }
  return {
    branches,
    report,
    round(others: Record<string, (height: number) => string> = {}) {
      for (const name of stands.keys()) report(name, others[name] ?? ours)
    },
    next: () => void height++,
    silence(name: string) {
      stands.delete(name)
      branches.expire(name)
    },
    sides: () => names.map((name) => branches.standing(name)?.side ?? null),
  }
}
const ours = (height: number) => `0x${height}`
const theirs = (height: number) => `0xother${height}`

describe('branches', () => {
  test('endpoints that agree are with the majority, without a fork', () => {
    const { branches, round, sides } = scene(['a', 'b', 'c'])
    round()
    round()

    expect(sides()).toEqual(['with', 'with', 'with'])
    expect([branches.fork(), branches.count()]).toEqual([null, 1])
  })

  test('one against two is against the majority once both sides have repeated it, and the last common block is known', () => {
    const { branches, round, next, sides } = scene(['a', 'b', 'c'])
    round()
    round()
    next()
    const fork = (height: number) => (height > 1000 ? theirs(height) : ours(height))
    round({ c: fork })
    expect(sides()[2]).not.toBe('against')
    round({ c: fork })
    round({ c: fork })

    expect(sides()).toEqual(['with', 'with', 'against'])
    expect(branches.standing('c')).toMatchObject({ height: 1001, hash: '0xother1001', agreedAt: 1000 })
    expect([branches.fork(), branches.count()]).toEqual([null, 2])
  })

  test('a block from before a known disagreement does not end it, a newer one or a rollback does', () => {
    const { report, round, next, sides } = scene(['a', 'b', 'c'])
    const fork = (height: number) => (height > 1000 ? theirs(height) : ours(height))
    round()
    next()
    for (let rounds = 0; rounds < 3; rounds++) round({ c: fork })
    expect(sides()).toEqual(['with', 'with', 'against'])

    // Polled at different times, they have no newer block in common.
    const spread = (top: number, of: (height: number) => string) => {
      for (const [at, name] of ['a', 'b', 'c'].entries()) report(name, name === 'c' ? of : ours, top + 5 * at, [990])
    }
    spread(1010, fork)
    spread(1030, fork)
    spread(1050, fork)
    expect(sides()[2]).toBe('against')

    report('c', ours, 995, [990])
    expect(sides()[2]).toBe('with')
  })

  test('a fork is known over a time without answers, until the endpoint can be compared again', () => {
    const { branches, round, next, report, silence, sides } = scene(['a', 'b', 'c'])
    for (let time = 0; time < 3; time++) round({ c: theirs })
    expect(sides()[2]).toBe('against')

    silence('c')
    expect(sides()[2]).toBeNull()
    for (let time = 0; time < 20; time++) {
      next()
      round()
    }
    // No other endpoint has reported blocks at its height.
    report('c', theirs, 1005)
    expect(sides()[2]).toBe('against')

    report('c', ours, 1020)
    report('c', ours, 1020)
    expect(sides()[2]).toBe('with')

    silence('c')
    branches.forget('c')
    report('c', ours, 1007)
    expect(sides()[2]).toBeNull()
  })

  test('one against one is a split, which ends when one of them stops answering', () => {
    const { branches, round, silence, sides } = scene(['a', 'b'])
    for (let time = 0; time < 3; time++) round({ b: theirs })

    expect(sides()).toEqual(['split', 'split'])
    expect(branches.fork()?.branches).toEqual([
      { hash: '0x1000', endpoints: ['a'] },
      { hash: '0xother1000', endpoints: ['b'] },
    ])
    silence('b')
    expect(branches.fork()).toBeNull()
  })

  test('a reorganisation of all endpoints is no disagreement with the one that was polled first', () => {
    const { branches, round, report, sides } = scene(['a', 'b', 'c'])
    round()
    round()
    report('a', theirs)
    expect([sides()[0], branches.fork()]).toEqual([null, null])
    report('b', theirs)
    report('c', theirs)
    round({ a: theirs, b: theirs, c: theirs })

    expect(sides()).toEqual(['with', 'with', 'with'])
  })

  test('a further block is requested only where the reported ones cannot be compared, and never above the head', () => {
    const { branches, round, report } = scene(['a', 'b', 'c'])
    const blocks = (...heights: readonly number[]) => heights.map((at) => ({ height: at, hash: ours(at) }))
    expect(branches.heightToCompare('a', blocks(1000, 999))).toBeNull()
    round()
    expect(branches.heightToCompare('a', blocks(1000, 999))).toBeNull()

    report('a', ours)
    expect(branches.heightToCompare('b', blocks(1050, 1049))).toBe(1000)
    expect(branches.heightToCompare('b', blocks(900, 899))).toBeNull()
  })

  test('a step of the wall clock changes nothing', () => {
    const { branches, round, sides } = scene(['a', 'b', 'c'])
    round({ c: theirs })
    branches.shift(3_600_000)
    round({ c: theirs })
    branches.shift(-7_200_000)
    round({ c: theirs })

    expect(sides()[2]).toBe('against')
  })
})

describe('for any endpoints on any branches', () => {
  const anyVotes = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 2, maxLength: 9 })
  const play = (votes: readonly number[], order: readonly number[]) => {
    const names = votes.map((_, at) => `e${at}`)
    const { branches, report, sides } = scene(names)
    for (let time = 0; time < 4; time++)
      for (const at of order) report(names[at] as string, (height) => `0x${votes[at]}.${height}`)
    return { branches, sides: sides() }
  }

  test('endpoints are with or against the majority, or in a split without one, in any order of polls', () => {
    fc.assert(
      fc.property(anyVotes, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (votes, dice) => {
        const order = votes.map((_, at) => ({ at, by: dice.next().value as number }))
        const { branches, sides } = play(
          votes,
          order.toSorted((a, b) => a.by - b.by).map(({ at }) => at),
        )
        const counts = [0, 1, 2, 3].map((branch) => votes.filter((vote) => vote === branch).length)
        const majority = counts.findIndex((count) => count * 2 > votes.length)

        expect(sides).toEqual(votes.map((vote) => (majority < 0 ? 'split' : vote === majority ? 'with' : 'against')))
        expect(branches.fork() === null).toBe(majority >= 0)
        expect(branches.count()).toBe(counts.filter((count) => count > 0).length)
      }),
    )
  })

  test('once all endpoints agree again the disagreement is over', () => {
    fc.assert(
      fc.property(anyVotes, (votes) => {
        const names = votes.map((_, at) => `e${at}`)
        const { branches, report, sides } = scene(names)
        for (let time = 0; time < 4; time++)
          for (const [at, name] of names.entries()) report(name, (height) => `0x${votes[at]}.${height}`)
        for (let time = 0; time < 4; time++) for (const name of names) report(name, ours)

        expect(sides().every((side) => side === 'with')).toBe(true)
        expect([branches.fork(), branches.count()]).toEqual([null, 1])
      }),
    )
  })
})
