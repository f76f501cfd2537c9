import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTimestamp } from '../../src/chains/parse.ts'

const NOW = Date.UTC(2100, 0, 1)
const padded = (max: number, length: number) => fc.nat({ max }).map((number) => String(number).padStart(length, '0'))

const written = fc
  .tuple(
    fc.tuple(padded(9999, 4), padded(13, 2), padded(33, 2)),
    fc.tuple(padded(25, 2), padded(61, 2), padded(61, 2)),
    fc.oneof(
      fc.constant(''),
      fc.stringMatching(/^\.\d{0,10}$/),
      fc.nat({ max: 999 }).map((ms) => `.${ms}`),
    ),
    fc.constantFrom('Z', 'Z', 'Z', 'z', '', '+01:00', '-00:30'),
  )
  .map(([date, time, decimals, zone]) => `${date.join('-')}T${time.join(':')}${decimals}${zone}`)

/** A written time with one character replaced: nearly one. */
const misspelt = fc
  .tuple(written, fc.nat({ max: 29 }), fc.constantFrom('x', ' ', '-', '.', ':', '/', '\u0661', ''))
  .map(([text, at, other]) => text.slice(0, at) + other + text.slice(at + 1))

test('a time in UTC is read to the millisecond, and a zone shifts it', () => {
  const time = fc.date({ min: new Date(0), max: new Date(NOW), noInvalidDate: true })
  fc.assert(
    fc.property(time, fc.stringMatching(/^\d{0,6}$/), (date, decimals) => {
      const text = date.toISOString().replace('Z', decimals)
      expect(readTimestamp(`${text}Z`, NOW)).toBe(date.getTime())
      expect(readTimestamp(`${text}-01:30`, NOW)).toBe(date.getTime() + 90 * 60_000)
    }),
  )
})

test('a misspelt time is no time, or the one that Date.parse reads', () => {
  fc.assert(
    fc.property(fc.oneof(written, misspelt), (text) => {
      const at = readTimestamp(text, NOW)
      if (at !== null) expect(at).toBe(Date.parse(text))
    }),
    { numRuns: 20_000 },
  )
})

test.each([
  '2025-11-22',
  '2025-11-22T13:13:23',
  '2025-11-22 13:13:23Z',
  '13:13:23Z',
  '1763817203',
  ' 2025-11-22T13:13:23Z',
])('%s is no time of RFC 3339', (text) => {
  expect(readTimestamp(text, NOW)).toBeNull()
})

test('decimals are cut at the millisecond, however many there are', () => {
  for (let ms = 0; ms < 1000; ms++) {
    const decimals = String(ms).padStart(3, '0')
    const at = Date.UTC(2025, 10, 22, 13, 13, 23, ms)
    for (const more of ['', '9', '999999']) {
      expect(readTimestamp(`2025-11-22T13:13:23.${decimals}${more}Z`, NOW)).toBe(at)
    }
  }
  expect(readTimestamp('2025-11-22T13:13:23.7Z', NOW)).toBe(Date.UTC(2025, 10, 22, 13, 13, 23, 700))
  expect(readTimestamp('2025-11-22T13:13:23.57Z', NOW)).toBe(Date.UTC(2025, 10, 22, 13, 13, 23, 570))
})

test('Go’s zero time, and what is more than a day ahead, is none', () => {
  expect(readTimestamp('0001-01-01T00:00:00Z', NOW)).toBeNull()
  expect(readTimestamp('2025-11-24T00:00:01Z', Date.UTC(2025, 10, 23))).toBeNull()
  expect(readTimestamp('2025-11-24T00:00:00Z', Date.UTC(2025, 10, 23))).toBe(Date.UTC(2025, 10, 24))
})
