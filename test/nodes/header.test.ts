import fc from 'fast-check'
import { expect, test } from 'vitest'
import { headerOf, readHttpDate, readRetryAfter } from '../../src/nodes/header.ts'

const NOW = Date.parse('2025-11-22T13:13:23Z')

test.each([
  ['Sat, 22 Nov 2025 13:13:23 GMT', NOW],
  ['Saturday, 22-Nov-25 13:13:23 GMT', NOW],
  ['2025-11-22T13:13:23Z', null],
  ['Sat, 99 Nov 2025 13:13:23 GMT', null],
  ['now', null],
  ['', null],
  [null, null],
])('the date %j is %j', (text, at) => {
  expect(readHttpDate(text)).toBe(at)
})

test.each([
  ['7', 7000],
  ['0', 0],
  ['Sat, 22 Nov 2025 13:14:23 GMT', 60_000],
  ['Sat, 22 Nov 2025 13:12:23 GMT', 0],
  ['999999999', 3_600_000],
  ['Sun, 22 Nov 2026 13:13:23 GMT', 3_600_000],
  ['-1', null],
  ['1.5', null],
  ['99999999999', null],
  ['soon', null],
  [null, null],
])('Retry-After %j is %j ms', (text, ms) => {
  expect(readRetryAfter(text, NOW)).toBe(ms)
})

test('a header is found by its name, the first of several, and nothing else is taken for it', () => {
  const raw = ['X-Date', 'no', 'Date', 'yes', 'date', 'later'].map((text) => Buffer.from(text))

  expect(headerOf(raw, 'date')).toBe('yes')
  expect(headerOf(raw, 'retry-after')).toBeNull()
})

test('no header makes reading it throw', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      readHttpDate(text)
      expect(readRetryAfter(text, NOW) ?? 0).toBeGreaterThanOrEqual(0)
    }),
  )
})
