import fc from 'fast-check'
import { expect, test } from 'vitest'
import { powersOfTen } from '../../web/chart-options.ts'

test('a logarithmic axis whose minimum is just below a power of ten has an end', () => {
  expect(powersOfTen(0.00097, 1.2)).toEqual([0.001, 0.01, 0.1, 1])
  expect(powersOfTen(0.000_999_999_999_9, 0.002)).toEqual([0.001])
})

test('a logarithmic axis has every power of ten within its range, and no other', () => {
  const digits = fc.integer({ min: 100, max: 999 })
  const value = fc.tuple(digits, fc.integer({ min: -8, max: 3 })).map(([of, to]) => Number(`${of}e${to}`))

  fc.assert(
    fc.property(value, value, (a, b) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)]
      const all = Array.from({ length: 13 }, (_, at) => Number(`1e${at - 6}`))

      expect(powersOfTen(low, high).map((one) => Number(one.toPrecision(12)))).toEqual(
        all.filter((one) => one >= low && one <= high),
      )
    }),
  )
})
