import fc from 'fast-check'
import { expect, test } from 'vitest'
import { finalHeight } from '../../src/gateway/cache/cache-policy.ts'

const standing = (height: number, over: { readonly forked?: boolean; readonly shard?: number | null } = {}) => ({
  forked: over.forked ?? false,
  heads: [
    {
      shard: over.shard ?? null,
      height,
      confirmedHeight: height,
      hash: null,
      timestamp: null,
      branches: 1,
      blockTimeMs: null,
    },
  ],
})

test('a block is final when so many stand on it', () => {
  expect(finalHeight(standing(1000), null, 64)).toBe(936)
})

test('every block is final at once with a depth of 0, also before the first poll', () => {
  expect(finalHeight({ heads: [], forked: false }, null, 0)).toBe(Number.MAX_SAFE_INTEGER)
})

test('nothing is final on a young chain, of an unknown shard, or while endpoints disagree', () => {
  expect(finalHeight(standing(10), null, 64)).toBe(-1)
  expect(finalHeight(standing(1000), 2, 64)).toBe(-1)
  expect(finalHeight(standing(1000, { forked: true }), null, 64)).toBe(-1)
  expect(finalHeight(standing(1000, { forked: true }), null, 0)).toBe(-1)
})

test('what a node calls final is, up to the block before', () => {
  expect(finalHeight(standing(1000, { shard: 1 }), 1, 32, 999)).toBe(998)
  expect(finalHeight(standing(1000, { shard: 1 }), 1, 32, 900)).toBe(968)
  expect(finalHeight(standing(1000, { shard: 1 }), 1, 32, 1001)).toBe(968)
})

test('nothing is final that no endpoint has reached, unless every block is final', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1 }), fc.option(fc.nat()), (height, depth, told) => {
      expect(finalHeight(standing(height), null, depth, told)).toBeLessThan(height)
    }),
  )
})
