import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChainView, createChainView } from '../../src/core/chain/chain-view.ts'
import { createHeightTally } from '../../src/core/chain/height-tally.ts'
import type { Head } from '../../src/core/poll-result.ts'

const OPTIONS = {
  blockTimeMs: 12_000,
  lagBlocks: 3,
  lagBlocksDown: 100,
  stallMs: 60_000,
  recentMs: 30_000,
  isAlone: false,
}
const NOW = Date.UTC(2026, 0, 1)

/** The block that every honest endpoint has at this height, made on time. */
function block(height: number, over: Partial<Head> = {}): Head {
  return {
    height,
    hash: `0x${height}`,
    parentHash: `0x${height - 1}`,
    timestamp: NOW + (height - 1000) * OPTIONS.blockTimeMs,
    ...over,
  }
}

function view(heights: Record<string, number>, at = NOW): ChainView {
  const chain = createChainView(OPTIONS)
  for (const [endpoint, height] of Object.entries(heights)) chain.add(endpoint, block(height), at)
  return chain
}

describe('the reference head', () => {
  test('of one endpoint is the endpoint’s own head', () => {
    expect(view({ a: 1000 }).reference(NOW)).toMatchObject({ height: 1000, hash: '0x1000' })
    expect(view({ a: 1000 }).standing('a', NOW)?.lagBlocks).toBe(0)
  })

  test('of three endpoints is where two of them are', () => {
    const chain = view({ a: 1000, b: 1012, c: 1012 })

    expect(chain.reference(NOW)?.height).toBe(1012)
    expect(chain.standing('a', NOW)?.lagBlocks).toBe(12)
    expect(chain.standing('b', NOW)?.lagBlocks).toBe(0)
  })

  test('is the newest block if the other endpoints are close behind it', () => {
    expect(view({ a: 1000, b: 1001, c: 1002 }).reference(NOW)?.height).toBe(1002)
  })

  test('is not moved by one endpoint that claims a billion blocks more, among two, three or ten', () => {
    for (const honest of [['a'], ['a', 'b'], ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']]) {
      const chain = view(Object.fromEntries(honest.map((name) => [name, 1000])))
      chain.add('liar', block(1_000_001_000, { timestamp: NOW }), NOW)

      expect(chain.reference(NOW)?.height).toBe(1000)
      for (const name of honest) expect(chain.standing(name, NOW)?.lagBlocks).toBe(0)
    }
  })

  test('of two is the higher one, however far behind the other really is', () => {
    const far = 1000 - (41 * 3600) / 12
    const chain = view({ ahead: 1000, behind: far })

    expect(chain.reference(NOW)?.height).toBe(1000)
    expect(chain.standing('behind', NOW)?.lagBlocks).toBe(1000 - far)
  })

  test('of two stays where both were when one of them is rolled back', () => {
    const chain = view({ a: 3000, b: 3000 })
    chain.add('b', block(1500, { timestamp: NOW }), NOW + 1000)
    chain.add('a', block(3000), NOW + 1000)

    expect(chain.reference(NOW + 1000)?.height).toBe(3000)
    expect(chain.standing('b', NOW + 1000)?.lagBlocks).toBe(1500)
  })

  test('of two is the higher one as long as that is not far ahead of a fresh block', () => {
    const chain = view({ a: 1000, b: 1000 })
    const later = NOW + 12_000
    chain.forget('b')
    chain.add('a', block(1001), later)
    chain.add('other', block(1009, { timestamp: later }), later)
    expect(chain.reference(later)?.height).toBe(1009)

    chain.add('other', block(1001 + OPTIONS.lagBlocksDown, { timestamp: later }), later)
    expect(chain.reference(later)?.height).toBe(1001)
    expect(chain.standing('a', later)?.lagBlocks).toBe(0)
  })

  test('of two is the one that advances, even if the other gives its old block a new timestamp', () => {
    const chain = view({ goes: 1000, stands: 1000 })
    const last = 150
    for (let blocks = 1; blocks <= last; blocks++) {
      const at = NOW + blocks * OPTIONS.blockTimeMs
      chain.add('goes', block(1000 + blocks), at)
      chain.add('stands', block(1000, { timestamp: at }), at)
    }

    const now = NOW + last * OPTIONS.blockTimeMs
    expect(chain.reference(now)?.height).toBe(1000 + last)
    expect(chain.standing('stands', now)?.lagBlocks).toBe(last)
  })

  test('of two is the one that advances once the other has stalled, however slow the configured chain is', () => {
    const chain = createChainView({ ...OPTIONS, lagBlocksDown: 6, stallMs: 5000 })
    for (let second = 0; second <= 7; second++) {
      const at = NOW + second * 1000
      chain.add('goes', block(1000 + second, { timestamp: at }), at)
      chain.add('stands', block(1000), at)
    }

    expect(chain.standing('stands', NOW + 7000)?.lagBlocks).toBe(7)
  })

  test('of many may be the head of a single endpoint, but that makes no other endpoint late', () => {
    const chain = view({ ahead: 1002, a: 1000, b: 1000, pool: 999 })

    expect(chain.reference(NOW)?.height).toBe(1002)
    expect(chain.standing('pool', NOW)).toMatchObject({ lagBlocks: 3, lagConfirmed: 1 })
  })

  test('stays when the endpoints that reported it stop answering: the endpoint behind still lags', () => {
    const chain = view({ a: 1000, b: 1000, c: 900 })
    const later = NOW + 10 * OPTIONS.recentMs
    chain.add('c', block(905), later)

    expect(chain.reference(later)?.height).toBe(1000)
    expect(chain.standing('c', later)?.lagBlocks).toBe(95)
  })

  test('follows the endpoint that still answers past the last heights of the others', () => {
    const chain = view({ a: 1000, b: 1000, c: 1000 })
    const later = NOW + 10 * OPTIONS.recentMs
    chain.add('c', block(1050), later)

    expect(chain.reference(later)?.height).toBe(1050)
  })

  test('goes back when the chain itself does', () => {
    const chain = view({ a: 1000, b: 1000, c: 1000 })
    for (const name of ['a', 'b', 'c']) chain.add(name, block(990, { hash: '0xother' }), NOW + 1000)

    expect(chain.reference(NOW + 1000)?.height).toBe(990)
  })

  test('has the hash of the majority, in any order of polls', () => {
    const chain = createChainView(OPTIONS)
    chain.add('a', block(1000, { hash: '0xbad' }), NOW)
    chain.add('b', block(1000), NOW)
    chain.add('c', block(1000), NOW)

    expect(chain.reference(NOW)?.hash).toBe('0x1000')
  })

  test('ignores endpoints of another chain', () => {
    const chain = view({ a: 1000, b: 50_000, c: 50_000 })
    chain.forget('b')
    chain.forget('c')

    expect(chain.reference(NOW)?.height).toBe(1000)
  })
})

describe('stall and halt', () => {
  /** Every endpoint is polled each 10 s; those of `frozen` stay at 1000. */
  function run(
    seconds: number,
    names: readonly string[],
    frozen: ReadonlySet<string>,
  ): { chain: ChainView; end: number } {
    const chain = createChainView(OPTIONS)
    for (let at = 0; at <= seconds; at += 10) {
      for (const name of names) {
        chain.add(name, block(frozen.has(name) ? 1000 : 1000 + Math.floor(at / 12)), NOW + at * 1000)
      }
    }
    return { chain, end: NOW + seconds * 1000 }
  }

  test('an endpoint that does not advance while the others do is stalled', () => {
    const { chain, end } = run(120, ['a', 'b', 'c'], new Set(['c']))

    expect(chain.standing('c', end)?.stalledForMs).toBe(120_000)
    expect(chain.standing('a', end)?.stalledForMs).toBeNull()
    expect(chain.haltedSince(end)).toBeNull()
  })

  test('it is not stalled before the threshold', () => {
    const { chain, end } = run(50, ['a', 'b', 'c'], new Set(['c']))

    expect(chain.standing('c', end)?.stalledForMs).toBeNull()
  })

  test('when no endpoint advances the network is halted and no endpoint is stalled', () => {
    const { chain, end } = run(300, ['a', 'b', 'c'], new Set(['a', 'b', 'c']))

    expect(chain.haltedSince(end)).not.toBeNull()
    for (const name of ['a', 'b', 'c']) expect(chain.standing(name, end)?.stalledForMs).toBeNull()
  })

  test('being one block behind when the chain halts is no stall, however long the halt lasts', () => {
    const chain = view({ a: 1000, b: 1000, c: 1000 })
    for (let at = 0; at < 3600; at += 10) {
      const time = NOW + 12_000 + at * 1000
      chain.add('a', block(1001), time)
      chain.add('b', block(1001), time)
      chain.add('c', block(1000), time)
    }
    const end = NOW + 12_000 + 3_590_000

    expect(chain.haltedSince(end)).not.toBeNull()
    expect(chain.standing('c', end)?.stalledForMs).toBeNull()
  })

  test('most endpoints may be stalled: while one advances at a plausible pace they are, and at once no longer when they advance', () => {
    const chain = createChainView(OPTIONS)
    const report = (at: number, stuck: boolean) => {
      for (const name of ['a', 'b']) chain.add(name, block(stuck ? 1000 : 1000 + Math.floor(at / 12)), NOW + at * 1000)
      chain.add('c', block(1000 + Math.floor(at / 12)), NOW + at * 1000)
    }
    for (let at = 0; at <= 200; at += 10) report(at, true)
    expect(chain.standing('a', NOW + 200_000)?.stalledForMs).toBe(200_000)
    expect(chain.standing('c', NOW + 200_000)?.stalledForMs).toBeNull()

    report(210, false)
    expect(chain.standing('a', NOW + 210_000)?.stalledForMs).toBeNull()
  })

  test('silence is no halt', () => {
    const chain = createChainView({ ...OPTIONS, recentMs: 240_000 })
    for (const name of ['a', 'b']) chain.add(name, block(1000), NOW)

    expect(chain.haltedSince(NOW + 200_000)).toBeNull()
    chain.add('a', block(1000), NOW + 200_000)
    expect(chain.haltedSince(NOW + 200_000)).toBeNull()
    chain.add('b', block(1000), NOW + 201_000)
    expect(chain.haltedSince(NOW + 201_000)).toBe(NOW)
  })

  test('a chain on which one endpoint advances is not halted', () => {
    const chain = createChainView(OPTIONS)
    for (let at = 0; at <= 200; at += 10) {
      for (const stuck of ['a', 'b']) chain.add(stuck, block(1000), NOW + at * 1000)
      chain.add('c', block(1050 + at), NOW + at * 1000)
    }

    expect(chain.haltedSince(NOW + 200_000)).toBeNull()
  })

  test('a jittering pool does not hide that the chain has halted', () => {
    const chain = createChainView(OPTIONS)
    for (let at = 0; at <= 300; at += 10) {
      chain.add('a', block(1000), NOW + at * 1000)
      chain.add('pool', block(at % 20 === 0 ? 1001 : 1000), NOW + at * 1000)
    }

    expect(chain.haltedSince(NOW + 300_000)).not.toBeNull()
    expect(chain.standing('a', NOW + 300_000)?.stalledForMs).toBeNull()
  })

  test.each([3_600_000, -3_600_000])('a wall clock stepped by %i ms makes neither a stall nor a halt', (step) => {
    const chain = createChainView(OPTIONS)
    for (let at = 0; at <= 100; at += 10)
      for (const name of ['a', 'b']) chain.add(name, block(1000 + at), NOW + at * 1000)

    chain.shift(step)
    const now = NOW + 110_000 + step
    chain.add('a', block(1100), now)
    chain.add('b', block(1099), now)

    expect(chain.haltedSince(now)).toBeNull()
    expect(chain.standing('b', now)?.stalledForMs).toBeNull()
    for (const name of ['a', 'b']) chain.add(name, block(1100), now + 60_000)
    expect(chain.haltedSince(now + 60_000)).not.toBeNull()
  })

  test('swinging between two heights is no advance', () => {
    const chain = createChainView(OPTIONS)
    for (let at = 0; at <= 200; at += 10) {
      chain.add('a', block(1000 + Math.floor(at / 12)), NOW + at * 1000)
      chain.add('b', block(1000 + Math.floor(at / 12)), NOW + at * 1000)
      chain.add('pool', block(at % 20 === 0 ? 1000 : 999), NOW + at * 1000)
    }

    expect(chain.standing('pool', NOW + 200_000)?.stalledForMs).toBe(200_000)
  })

  test('advancing again after a deep rollback is an advance', () => {
    const chain = view({ a: 2000, b: 2000, c: 2000 })
    chain.add('c', block(1000), NOW + 1000)
    chain.add('c', block(1100), NOW + 90_000)

    expect(chain.standing('c', NOW + 90_000)?.advancedAt).toBe(NOW + 90_000)
  })
})

describe('an older block to compare', () => {
  /** All endpoints are compared at height 1001; `a` and `b` have reported every height from there on. */
  function advanced(to: number, over: (height: number) => Partial<Head> = () => ({})): ChainView {
    const chain = view({ a: 1000, b: 1000, c: 1000, d: 1000, e: 1000 })
    for (const endpoint of ['d', 'e']) chain.add(endpoint, block(1001), NOW)
    for (let height = 1001; height <= to; height++)
      for (const endpoint of ['a', 'b']) chain.add(endpoint, block(height, over(height)), NOW)
    return chain
  }

  test('is not requested if two endpoints have told every block between it and the head', () => {
    const chain = advanced(1007)

    expect(chain.heightToCompare('c', block(1008))).toBeNull()
    chain.add('c', block(1008), NOW)
    expect(chain.standing('c', NOW)?.branch).toMatchObject({ side: 'with' })
  })

  test('is requested if a block in between is unknown', () => {
    expect(advanced(1007).heightToCompare('c', block(1009))).toBe(1001)
    expect(advanced(1007).heightToCompare('c', block(1008, { parentHash: '0xother' }))).toBe(1001)
  })

  test('is requested if only one endpoint has told a block in between, or another one told another parent of it', () => {
    const chain = advanced(1003)
    chain.add('a', block(1004), NOW)
    expect(chain.heightToCompare('c', block(1005))).toBe(1001)

    chain.add('b', block(1004, { parentHash: '0xother' }), NOW)
    for (const endpoint of ['a', 'b']) chain.add(endpoint, block(1005), NOW)
    expect(chain.heightToCompare('c', block(1006))).toBe(1001)
  })

  test('is requested if the head descends from another one than the others have reported', () => {
    const fork = (height: number) =>
      height === 1001 ? {} : { hash: `0xfork${height}`, parentHash: `0xfork${height - 1}` }

    expect(advanced(1007, fork).heightToCompare('c', block(1008, fork(1008)))).toBe(1001)
  })
})

describe('moves', () => {
  test('another hash at the same height, or another parent, is a reorg; a lower height is a step back', () => {
    const chain = view({ a: 1000 })

    expect(chain.add('a', block(1000), NOW)).toEqual({ kind: 'same' })
    expect(chain.add('a', block(1000, { hash: '0xb' }), NOW)).toMatchObject({ kind: 'reorged', height: 1000 })
    expect(chain.add('a', block(1001, { parentHash: '0xc' }), NOW)).toMatchObject({ kind: 'reorged', height: 1000 })
    expect(chain.add('a', block(1005), NOW)).toEqual({ kind: 'advanced' })
    expect(chain.add('a', block(1003), NOW)).toEqual({ kind: 'regressed', blocks: 2 })
  })
})

describe('the parent hash of an endpoint’s block', () => {
  /** Each endpoint reports the heads in turn, four times, and answers no request for a further block. */
  function reported(heads: Record<string, (turn: number) => Head>): ChainView {
    const chain = createChainView(OPTIONS)
    for (let turn = 0; turn < 4; turn++)
      for (const [index, [endpoint, head]] of Object.entries(heads).entries())
        chain.add(endpoint, head(turn), NOW + turn * 12_000 + index * 1000)
    return chain
  }

  test('is ignored if no endpoint ever reported that block', () => {
    for (const parentHash of ['0x0', '0xunheard']) {
      const standing = reported({
        a: () => block(1000, { parentHash }),
        b: () => block(1001, { parentHash }),
      })
      const advancing = reported({
        a: (turn) => block(1001 + turn, { parentHash: `${parentHash}${turn}` }),
        b: (turn) => block(1000 + turn, { parentHash: `${parentHash}${turn}` }),
        c: (turn) => block(1000 + turn, { parentHash: `${parentHash}${turn}` }),
      })

      expect(standing.fork()).toBeNull()
      expect(advancing.fork()).toBeNull()
      for (const name of ['a', 'b', 'c'])
        expect(advancing.standing(name, NOW + 40_000)?.branch?.side).not.toBe('against')
    }
  })

  test('shows the branch of an endpoint whose blocks follow each other', () => {
    const other = (height: number) => block(height, { hash: `0xother${height}`, parentHash: `0xother${height - 1}` })
    const chain = reported({ a: (turn) => block(1000 + turn), b: (turn) => other(1001 + turn) })

    expect(chain.fork()).toMatchObject({ branches: [{ endpoints: ['a'] }, { endpoints: ['b'] }] })
  })

  test('is replaced by a request for the block where it is not trusted', () => {
    const chain = view({ a: 1000, b: 1000 })
    chain.add('a', block(1000), NOW + 1000)

    expect(chain.heightToCompare('b', block(1001, { parentHash: '0xunheard' }))).toBe(1000)
    expect(chain.heightToCompare('b', block(1001))).toBeNull()
  })
})

describe('a replaced block', () => {
  const other = block(1001, { hash: '0xother' })

  test('that no other endpoint has does not fit, though others have its parent', () => {
    const chain = view({ a: 1000, b: 1000 })
    chain.add('a', block(1001), NOW + 1000)

    expect(chain.fits('a', other, NOW + 2000)).toBe(false)
  })

  test('fits once another endpoint has it', () => {
    const chain = view({ a: 1000, b: 1000 })
    chain.add('a', block(1001), NOW + 1000)
    chain.add('b', other, NOW + 1000)

    expect(chain.fits('a', other, NOW + 2000)).toBe(true)
  })
})

describe('for any heights', () => {
  const anyHeights = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 25 })

  test('the height of the majority equals a count of every endpoint', () => {
    fc.assert(
      fc.property(anyHeights, fc.integer({ min: 0, max: 10 }), (heights, slack) => {
        const tally = createHeightTally()
        for (const height of heights) tally.add(height)

        const needed = Math.floor(heights.length / 2) + 1
        const expected = Math.max(
          ...heights.filter((height) => heights.filter((other) => other >= height - slack).length >= needed),
        )
        expect(tally.ofMajority(slack)).toBe(expected)
      }),
    )
  })

  test('the height that so many endpoints have reached equals a count of every endpoint', () => {
    fc.assert(
      fc.property(anyHeights, fc.integer({ min: 1, max: 30 }), (heights, count) => {
        const tally = createHeightTally()
        for (const height of heights) tally.add(height)

        expect(tally.reachedBy(count)).toBe(heights.toSorted((a, b) => b - a)[count - 1] ?? null)
      }),
    )
  })

  test('adding and removing leaves no trace', () => {
    fc.assert(
      fc.property(anyHeights, anyHeights, (stay, go) => {
        const tally = createHeightTally()
        const reference = createHeightTally()
        for (const height of [...stay, ...go]) tally.add(height)
        for (const height of go) tally.remove(height)
        for (const height of stay) reference.add(height)

        expect(tally.size).toBe(stay.length)
        expect(tally.ofMajority(2)).toBe(reference.ofMajority(2))
      }),
    )
  })

  test('an honest majority is never degraded because of the others', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 8 }),
        fc.array(fc.integer({ min: 0, max: 2 ** 50 }), { maxLength: 7 }),
        (honest, lies) => {
          const chain = createChainView(OPTIONS)
          lies
            .slice(0, honest - 1)
            .forEach((height, at) => chain.add(`liar${at}`, block(height, { timestamp: NOW }), NOW))
          for (let at = 0; at < honest; at++) chain.add(`honest${at}`, block(1000), NOW)

          for (let at = 0; at < honest; at++) {
            // A liar may look like the first endpoint at the newest block, but never makes another one late.
            expect(chain.standing(`honest${at}`, NOW)?.lagBlocks).toBeLessThan(OPTIONS.lagBlocks)
          }
        },
      ),
    )
  })
})

test('a split of a network lasts while one endpoint is behind on a branch of its own', () => {
  const chain = createChainView({ ...OPTIONS, recentMs: 40_000 })
  const names = ['a', 'b', 'c', 'd', 'e']
  const sideOf = (name: string, height: number) =>
    name === 'e' && height >= 997 ? 'bad' : height < 1000 ? '' : 'ab'.includes(name) ? 'left' : 'right'
  const seen: boolean[] = []

  for (let round = 0; round < 120; round++) {
    for (const [n, name] of names.entries()) {
      const at = NOW - 60_000 + round * 10_000 + n * 2000
      const newest = 1000 + Math.floor((at - NOW) / OPTIONS.blockTimeMs)
      const height = name === 'e' ? Math.min(newest, 997) : newest
      const of = (one: number) => `0x${one}${sideOf(name, one)}`
      const head = block(height, { hash: of(height), parentHash: of(height - 1) })
      const older = chain.heightToCompare(name, head)
      chain.add(name, head, at, older === null ? [] : [{ height: older, hash: of(older) }])
    }
    seen.push(chain.isForked())
  }

  // Once, and for good.
  expect(seen.at(-1)).toBe(true)
  expect(seen.slice(1).filter((isForked, at) => isForked !== seen[at])).toEqual([true])
})
