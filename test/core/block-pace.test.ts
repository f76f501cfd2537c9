import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBlockClock } from '../../src/core/chain/block-pace.ts'

test('says nothing before it has seen enough blocks, then the time from block to block', () => {
  const clock = createBlockClock()
  for (let height = 0; height < 8; height++) clock.take({ height, timestamp: height * 2000 })
  expect(clock.blockTimeMs()).toBeNull()

  clock.take({ height: 8, timestamp: 16_000 })
  expect(clock.blockTimeMs()).toBe(2000)
})

test('blocks that were not looked at count all the same', () => {
  const clock = createBlockClock()
  for (const height of [0, 37, 74]) clock.take({ height, timestamp: height * 400 })

  expect(clock.blockTimeMs()).toBe(400)
})

test.each([
  ['a height that goes back', { height: 3, timestamp: 99_000 }],
  ['a time that goes back', { height: 20, timestamp: 1000 }],
])('%s begins anew', (_title, head) => {
  const clock = createBlockClock()
  for (let height = 0; height < 12; height++) clock.take({ height, timestamp: height * 2000 })
  clock.take(head)

  expect(clock.blockTimeMs()).toBeNull()
})

test('blocks that all have the same time say nothing', () => {
  const clock = createBlockClock()
  for (let height = 0; height < 20; height++) clock.take({ height, timestamp: 5000 })

  expect(clock.blockTimeMs()).toBeNull()
})

test('for any heads it is a finite time greater than zero, or nothing', () => {
  const anyHead = fc.record({ height: fc.nat({ max: 500 }), timestamp: fc.nat({ max: 1_000_000 }) })
  fc.assert(
    fc.property(fc.array(anyHead, { maxLength: 200 }), (heads) => {
      const clock = createBlockClock()
      for (const head of heads) clock.take(head)
      const blockTimeMs = clock.blockTimeMs()

      if (blockTimeMs !== null) {
        expect(blockTimeMs).toBeGreaterThan(0)
        expect(Number.isFinite(blockTimeMs)).toBe(true)
      }
    }),
  )
})

test('for any steady chain it is that chain’s time, wherever one looks', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 8, maxLength: 100 }),
      (blockTimeMs, steps) => {
        const clock = createBlockClock()
        let height = 0
        clock.take({ height, timestamp: 0 })
        for (const step of steps) clock.take({ height: (height += step), timestamp: height * blockTimeMs })

        expect(clock.blockTimeMs()).toBeCloseTo(blockTimeMs, 6)
      },
    ),
  )
})
