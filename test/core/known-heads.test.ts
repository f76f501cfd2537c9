import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKnownHeads } from '../../src/core/chain/known-heads.ts'

const ENDPOINTS = ['a', 'b', 'c', 'd']

describe('known heads', () => {
  test('the oldest answer expires first, and both tallies match a simple model', () => {
    const step = fc.record({
      endpoint: fc.constantFrom(...ENDPOINTS),
      height: fc.integer({ min: 1, max: 6 }),
      branch: fc.constantFrom('x', 'y'),
      asked: fc.integer({ min: 1, max: 6 }),
      passesMs: fc.integer({ min: 0, max: 3 }),
      what: fc.constantFrom('take', 'take', 'take', 'forget', 'silence', 'shift'),
    })

    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const heads = createKnownHeads({ lagBlocks: 1, recentMs: 2 })
        const model = new Map<string, { height: number; branch: string; answeredAt: number | null }>()
        let now = 0

        for (const { endpoint, height, branch, asked, passesMs, what } of steps) {
          now += passesMs
          if (what === 'take') {
            heads.add(
              endpoint,
              { height, hash: `${branch}${height}`, parentHash: `${branch}${height - 1}`, timestamp: 0 },
              now,
            )
            model.set(endpoint, { height, branch, answeredAt: now })
          } else if (what === 'forget') {
            expect(heads.forget(endpoint)).toBe(model.delete(endpoint))
          } else if (what === 'shift') {
            heads.shift(100)
            now += 100
            for (const one of model.values()) if (one.answeredAt !== null) one.answeredAt += 100
          } else {
            const late = [...model].filter(([, { answeredAt }]) => answeredAt !== null && answeredAt < now - 2)
            expect([...heads.expire(now)].sort()).toEqual(late.map(([name]) => name).sort())
            for (const [, one] of late) one.answeredAt = null
          }

          const answering = [...model].filter(([, { answeredAt }]) => answeredAt !== null)
          expect([...heads.recentEndpoints()].sort()).toEqual(answering.map(([name]) => name).sort())
          expect([heads.all.size, heads.recent.size]).toEqual([model.size, answering.length])
          const standing = (on: string) =>
            [...model.values()].filter((one) => one.height === asked && one.branch === on)
          const [xs, ys] = [standing('x').length, standing('y').length]
          expect(heads.isMostReported(asked, `x${asked}`)).toBe(xs > 0 && xs >= ys)
          for (let at = 1; at <= 6; at++) {
            expect(heads.all.reached(at)).toBe([...model.values()].filter((one) => one.height >= at).length)
            expect(heads.recent.reached(at)).toBe(answering.filter(([, one]) => one.height >= at).length)
          }
        }
      }),
    )
  })
})
