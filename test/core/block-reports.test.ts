import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Block, createBlockReports } from '../../src/core/chain/block-reports.ts'

const ENDPOINTS = ['a', 'b', 'c', 'd']
const block = fc.record({ height: fc.integer({ min: 1, max: 5 }), hash: fc.constantFrom('x', 'y', 'z') })

describe('block reports', () => {
  test('the reports of the latest two polls count, the last one for each height, and no others', () => {
    const poll = fc.record({
      endpoint: fc.constantFrom(...ENDPOINTS),
      blocks: fc.array(block, { maxLength: 4 }),
      leaves: fc.integer({ min: 0, max: 9 }).map((one) => one === 0),
    })

    fc.assert(
      fc.property(fc.array(poll, { maxLength: 40 }), (polls) => {
        const blockReports = createBlockReports<null>()
        const reported = new Map<string, { block: Block; at: number }[][]>()

        polls.forEach(({ endpoint, blocks, leaves }, at) => {
          if (leaves) {
            expect(blockReports.forget(endpoint)).toBe(reported.delete(endpoint))
            return
          }
          blockReports.add(endpoint, blocks, at, () => null)
          const before = reported.get(endpoint)?.at(-1) ?? []
          reported.set(endpoint, [before, blocks.map((one) => ({ block: one, at }))])

          expect(seenIn(blockReports)).toEqual(expected(reported))
        })
      }),
    )
  })

  test('a repeated report changes only its time', () => {
    const blockReports = createBlockReports<null>()
    const blocks = [
      { height: 7, hash: 'x' },
      { height: 6, hash: 'w' },
    ]
    for (const at of [0, 1]) blockReports.add('a', blocks, at, () => null)
    const [branch] = blockReports.at(7)?.branches ?? []
    const reports = [...(branch?.reports ?? [])]

    blockReports.add('a', blocks, 9, () => null)

    expect(blockReports.at(7)?.branches).toEqual([branch])
    expect(branch?.reports[0]).toBe(reports[0])
    expect(blockReports.at(7)?.branches.map(({ hash, reports }) => [hash, reports[0]?.at])).toEqual([['x', 9]])
  })
})

/** `height endpoint hash at`, sorted. */
function seenIn(blockReports: ReturnType<typeof createBlockReports<null>>): string[] {
  const lines: string[] = []
  for (const { height, branches, count } of blockReports.all()) {
    expect(branches.reduce((sum, { reports }) => sum + reports.length, 0)).toBe(count)
    for (const { hash, reports } of branches) {
      reports.forEach(({ by, at, index }, position) => {
        expect(index).toBe(position)
        lines.push(`${height} ${by.endpoint} ${hash} ${at}`)
      })
    }
  }
  return lines.sort()
}

function expected(reported: ReadonlyMap<string, { block: Block; at: number }[][]>): string[] {
  const lines: string[] = []
  for (const [endpoint, polls] of reported) {
    const byHeight = new Map<number, string>()
    for (const { block: one, at } of polls.flat())
      byHeight.set(one.height, `${one.height} ${endpoint} ${one.hash} ${at}`)
    lines.push(...byHeight.values())
  }
  return lines.sort()
}
