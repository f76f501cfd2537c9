import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBlockPace } from '../../src/core/chain/block-pace.ts'

const newPace = () => createBlockPace({ blockTimeMs: 12_000, lagBlocks: 3 })

test('is unknown before enough blocks were seen, then the average block time', () => {
  const pace = newPace()
  for (let height = 0; height < 8; height++) pace.add({ height, timestamp: height * 2000 })
  expect(pace.measuredMs()).toBeNull()

  pace.add({ height: 8, timestamp: 16_000 })
  expect(pace.measuredMs()).toBe(2000)
})

test('blocks that no poll has seen count too', () => {
  const pace = newPace()
  for (const height of [0, 37, 74]) pace.add({ height, timestamp: height * 400 })

  expect(pace.measuredMs()).toBe(400)
})

test.each([
  ['a height that goes back', { height: 3, timestamp: 99_000 }],
  ['a time that goes back', { height: 20, timestamp: 1000 }],
])('%s restarts the measurement', (_title, head) => {
  const pace = newPace()
  for (let height = 0; height < 12; height++) pace.add({ height, timestamp: height * 2000 })
  pace.add(head)

  expect(pace.measuredMs()).toBeNull()
})

test('blocks with equal timestamps give no block time', () => {
  const pace = newPace()
  for (let height = 0; height < 20; height++) pace.add({ height, timestamp: 5000 })

  expect(pace.measuredMs()).toBeNull()
})

test('for any heads the block time is finite and greater than zero, or unknown', () => {
  const anyHead = fc.record({ height: fc.nat({ max: 500 }), timestamp: fc.nat({ max: 1_000_000 }) })
  fc.assert(
    fc.property(fc.array(anyHead, { maxLength: 200 }), (heads) => {
      const pace = newPace()
      for (const head of heads) pace.add(head)
      const blockTimeMs = pace.measuredMs()

      if (blockTimeMs !== null) {
        expect(blockTimeMs).toBeGreaterThan(0)
        expect(Number.isFinite(blockTimeMs)).toBe(true)
      }
    }),
  )
})

test('for any steady chain it is the block time of that chain, whichever blocks are seen', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 8, maxLength: 100 }),
      (blockTimeMs, steps) => {
        const pace = newPace()
        let height = 0
        pace.add({ height, timestamp: 0 })
        for (const step of steps) pace.add({ height: (height += step), timestamp: height * blockTimeMs })

        expect(pace.measuredMs()).toBeCloseTo(blockTimeMs, 6)
      },
    ),
  )
})
