import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseGoDuration } from '../../src/chains/parse.ts'

test.each([
  ['0s', 0],
  ['0', 0],
  ['1ns', 1e-6],
  ['15\u00b5s', 0.015],
  ['15\u03bcs', 0.015],
  ['15us', 0.015],
  ['293.098ms', 293.098],
  ['1.5s', 1500],
  ['2m5.5s', 125_500],
  ['1h2m3.5s', 3_723_500],
  ['-1.5h', -5_400_000],
  ['+3s', 3000],
  ['.5s', 500],
  ['2562047h47m16.854775807s', 9_223_372_036_854.775],
])('%s is %d ms', (text, ms) => {
  expect(parseGoDuration(text)).toBeCloseTo(ms, 2)
})

test.each([
  '',
  '-',
  '+',
  '1',
  '1.5',
  's',
  '1d',
  '1 s',
  ' 1s',
  '1s ',
  '1S',
  '1s2',
  '--1s',
  '1e3s',
  'NaNs',
  '9999999999h',
])('%j is no duration', (text) => {
  expect(parseGoDuration(text)).toBeNull()
})

test('every duration that Go can print is read back to the nanosecond that a double holds', () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.nat(2_000_000),
      fc.nat(59),
      fc.nat(59),
      fc.nat(999_999_999),
      (negative, h, m, s, ns) => {
        const text = `${negative ? '-' : ''}${h}h${m}m${s}.${String(ns).padStart(9, '0')}s`

        const ms = parseGoDuration(text)

        const expected = (negative ? -1 : 1) * ((h * 3600 + m * 60 + s) * 1000 + ns / 1e6)
        expect(ms).toBeCloseTo(expected, 2)
      },
    ),
  )
})

test('no text makes it throw, hang or give what is no number', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('1', '.', 'h', 'm', 's', 'n', 'u', '\u00b5', '-'), maxLength: 80 }),
      (text) => {
        const ms = parseGoDuration(text)
        expect(ms === null || Number.isFinite(ms)).toBe(true)
      },
    ),
  )
})
