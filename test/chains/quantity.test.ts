import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readHash, readQuantity, safeCount } from '../../src/chains/parse.ts'

describe('a quantity', () => {
  test('is read back for every safe integer, in either case of its digits', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.boolean(), (value, upper) => {
        const digits = value.toString(16)
        expect(readQuantity(`0x${upper ? digits.toUpperCase() : digits}`)).toBe(value)
      }),
    )
  })

  test('is refused beyond 2^53 - 1, however long', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n, max: 2n ** 256n }), (value) => {
        expect(readQuantity(`0x${value.toString(16)}`)).toBeNull()
      }),
    )
  })

  test.each([
    '',
    '0x',
    '0x00',
    '0x01',
    '0X1',
    '1',
    '12',
    '-0x1',
    '0x-1',
    '0x1.5',
    'latest',
    ' 0x1',
    '0x1 ',
    '0x1g',
    '0x1\n',
  ])('is not %j', (text) => {
    expect(readQuantity(text)).toBeNull()
  })

  test('is a text: numbers, lists and objects that look like one are refused', () => {
    for (const value of [1, 1.5, Number.NaN, null, undefined, true, ['0x1'], { toString: () => '0x1' }]) {
      expect(readQuantity(value)).toBeNull()
    }
  })
})

test('a hash is 32 bytes, and is given in lower case', () => {
  expect(readHash(`0x${'Ab'.repeat(32)}`)).toBe(`0x${'ab'.repeat(32)}`)
  for (const wrong of [`0x${'a'.repeat(63)}`, `0x${'a'.repeat(65)}`, 'a'.repeat(64), `0x${'g'.repeat(64)}`, null, 7]) {
    expect(readHash(wrong)).toBeNull()
  }
})

test('a count is a safe integer from 0 on', () => {
  expect(safeCount(0)).toBe(0)
  expect(safeCount(Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER)
  for (const wrong of [-1, 1.5, JSON.parse('9007199254740993'), JSON.parse('1e999'), '1', null]) {
    expect(safeCount(wrong)).toBeNull()
  }
})
