import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Block, createBlockReports } from '../../src/core/chain/block-reports.ts'

const ENDPOINTS = ['a', 'b', 'c', 'd']
const block = fc.record({ height: fc.integer({ min: 1, max: 5 }), hash: fc.constantFrom('x', 'y', 'z') })

describe('votes', () => {
  test('what each endpoint told in its latest two polls counts, by height the last word, and nothing else', () => {
    const poll = fc.record({
      endpoint: fc.constantFrom(...ENDPOINTS),
      blocks: fc.array(block, { maxLength: 4 }),
      leaves: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
    })

    fc.assert(
      fc.property(fc.array(poll, { maxLength: 40 }), (polls) => {
        const votes = createBlockReports<null>()
        const told = new Map<string, { block: Block; at: number }[][]>()

        polls.forEach(({ endpoint, blocks, leaves }, at) => {
          if (leaves) {
            expect(votes.forget(endpoint)).toBe(told.delete(endpoint))
            return
          }
          votes.take(endpoint, blocks, at, () => null)
          const before = told.get(endpoint)?.at(-1) ?? []
          told.set(endpoint, [before, blocks.map((one) => ({ block: one, at }))])

          expect(seenIn(votes)).toEqual(expected(told))
        })
      }),
    )
  })

  test('saying the same again changes nothing but when it was said', () => {
    const votes = createBlockReports<null>()
    const blocks = [
      { height: 7, hash: 'x' },
      { height: 6, hash: 'w' },
    ]
    for (const at of [0, 1]) votes.take('a', blocks, at, () => null)
    const { changes } = votes

    votes.take('a', blocks, 9, () => null)

    expect(votes.changes).toBe(changes)
    expect(votes.at(7)?.branches.map(({ hash, latestAt }) => [hash, latestAt])).toEqual([['x', 9]])
  })
})

/** `height endpoint hash at`, sorted. */
function seenIn(votes: ReturnType<typeof createBlockReports<null>>): string[] {
  const words: string[] = []
  for (const { height, branches, count } of votes.all()) {
    expect(branches.reduce((sum, { reports: said }) => sum + said.length, 0)).toBe(count)
    for (const { hash, reports: said } of branches) {
      said.forEach(({ by, at, index: place }, index) => {
        expect(place).toBe(index)
        words.push(`${height} ${by.endpoint} ${hash} ${at}`)
      })
    }
  }
  return words.sort()
}

function expected(told: ReadonlyMap<string, { block: Block; at: number }[][]>): string[] {
  const words: string[] = []
  for (const [endpoint, polls] of told) {
    const byHeight = new Map<number, string>()
    for (const { block: one, at } of polls.flat())
      byHeight.set(one.height, `${one.height} ${endpoint} ${one.hash} ${at}`)
    words.push(...byHeight.values())
  }
  return words.sort()
}
