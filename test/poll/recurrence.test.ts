import fc from 'fast-check'
import { createTask, validate } from 'node-cron'
import { describe, expect, test } from 'vitest'
import { createRecurrence } from '../../src/poll/recurrence.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** The starts of (after, until], as text. */
function starts(pattern: string, timeZone: string, after: string, until: string): string[] {
  const found = createRecurrence(pattern, timeZone).first(Date.parse(after), Date.parse(until), 10_000)
  return found.map((at) => new Date(at).toISOString().slice(0, 16))
}

describe('a pattern begins', () => {
  test.each([
    ['0 3 * * 0', 'UTC', ['2026-02-01T03:00', '2026-02-08T03:00', '2026-02-15T03:00', '2026-02-22T03:00']],
    [
      '0 3 * * 0',
      'Asia/Kathmandu',
      ['2026-01-31T21:15', '2026-02-07T21:15', '2026-02-14T21:15', '2026-02-21T21:15', '2026-02-28T21:15'],
    ],
    ['30 23 L * *', 'Europe/Berlin', ['2026-01-31T22:30', '2026-02-28T22:30']],
    ['0 12 * * TUE#2', 'America/New_York', ['2026-02-10T17:00']],
    ['0 12 * FEB 5L', 'UTC', ['2026-02-27T12:00']],
    ['0 12 15W * *', 'UTC', ['2026-02-16T12:00']],
    ['0 0 12 L-27 * *', 'UTC', ['2026-02-01T12:00']],
    ['@monthly', 'Pacific/Kiritimati', ['2026-02-28T10:00']],
    ['0 22-2/2 1 2 *', 'UTC', ['2026-02-01T00:00', '2026-02-01T02:00', '2026-02-01T22:00']],
    ['0 3 1 * 1', 'UTC', []],
    ['0 3 31 1,3 *', 'UTC', []],
  ])('%s in %s', (pattern, zone, expected) => {
    expect(starts(pattern, zone, '2026-01-31T12:00Z', '2026-02-28T23:59Z')).toEqual(expected)
  })
})

describe('when clocks are put forward', () => {
  test.each([
    [
      'Europe/Bucharest',
      '30 3 * * *',
      '2026-03-27T12:00Z',
      ['2026-03-28T01:30', '2026-03-29T01:30', '2026-03-30T00:30'],
    ],
    [
      'America/New_York',
      '30 2 * * *',
      '2026-03-06T12:00Z',
      ['2026-03-07T07:30', '2026-03-08T07:30', '2026-03-09T06:30'],
    ],
    [
      'America/New_York',
      '30 3 * * *',
      '2026-03-06T12:00Z',
      ['2026-03-07T08:30', '2026-03-08T07:30', '2026-03-09T07:30'],
    ],
    // At midnight, and by half an hour.
    ['Africa/Cairo', '30 0 * * *', '2026-04-22T12:00Z', ['2026-04-22T22:30', '2026-04-23T22:30', '2026-04-24T21:30']],
    [
      'Australia/Lord_Howe',
      '15 2 * * *',
      '2026-10-02T12:00Z',
      ['2026-10-02T15:45', '2026-10-03T15:45', '2026-10-04T15:15'],
    ],
  ])(
    'in %s, %s begins once that day: a time that does not exist is taken by the clock as it was',
    (zone, pattern, after, expected) => {
      const until = new Date(Date.parse(after) + 3 * DAY_MS).toISOString()

      expect(starts(pattern, zone, after, until)).toEqual(expected)
    },
  )

  test('a pattern for every hour begins in each of 23 hours', () => {
    const found = starts('0 * * * *', 'Europe/Bucharest', '2026-03-28T21:59Z', '2026-03-29T20:59Z')

    expect(found).toHaveLength(23)
    expect(new Set(found).size).toBe(23)
  })

  test('a pattern for some hours never begins twice at the same moment', () => {
    const found = starts('30 2,3,4 * * *', 'Europe/Bucharest', '2026-03-29T00:00Z', '2026-03-29T12:00Z')

    expect(found).toEqual(['2026-03-29T00:30', '2026-03-29T01:30'])
  })
})

describe('when clocks are put back', () => {
  test.each([
    [
      'Europe/Bucharest',
      '30 3 * * *',
      '2026-10-23T12:00Z',
      ['2026-10-24T00:30', '2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    [
      'America/New_York',
      '30 1 * * *',
      '2026-10-30T12:00Z',
      ['2026-10-31T05:30', '2026-11-01T05:30', '2026-11-02T06:30'],
    ],
    ['Africa/Cairo', '30 23 * * *', '2026-10-28T12:00Z', ['2026-10-28T20:30', '2026-10-29T20:30', '2026-10-30T21:30']],
  ])('in %s, %s begins at the first of the two times', (zone, pattern, after, expected) => {
    const until = new Date(Date.parse(after) + 3 * DAY_MS).toISOString()

    expect(starts(pattern, zone, after, until)).toEqual(expected)
  })

  test('a pattern for every hour begins in each of 25 hours', () => {
    const found = starts('30 * * * *', 'America/New_York', '2026-11-01T04:00Z', '2026-11-02T05:00Z')

    expect(found).toHaveLength(25)
    expect(found.slice(0, 3)).toEqual(['2026-11-01T04:30', '2026-11-01T05:30', '2026-11-01T06:30'])
  })
})

const numberIn = (min: number, max: number) => fc.integer({ min, max }).map(String)
function field(min: number, max: number, ...more: string[]) {
  return fc.oneof(
    fc.constantFrom('*', '*/7', ...more),
    numberIn(min, max),
    fc.tuple(numberIn(min, max), numberIn(min, max)).map((pair) => pair.join('-')),
    fc.array(numberIn(min, max), { minLength: 1, maxLength: 3 }).map((list) => list.join()),
  )
}
const anyPattern = fc
  .tuple(
    field(0, 59),
    field(0, 23),
    field(1, 31, '?', 'L', 'L-3', '15W'),
    field(1, 12, 'JAN', 'feb-apr'),
    field(0, 7, '?', 'MON-FRI', '5L', '1#2', 'sun'),
  )
  .map((fields) => fields.join(' '))
const anyMinute = fc
  .integer({ min: Date.UTC(2024, 0, 1) / MINUTE_MS, max: Date.UTC(2028, 0, 1) / MINUTE_MS })
  .map((minute) => minute * MINUTE_MS)
const anyZone = fc.constantFrom('UTC', 'Europe/Bucharest', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Chatham')

describe('for all patterns', () => {
  test('without clock changes, it begins exactly in the minutes that match for node-cron', () => {
    fc.assert(
      fc.property(anyPattern, anyMinute, fc.constantFrom('UTC', 'Asia/Kathmandu'), (pattern, from, timeZone) => {
        fc.pre(validate(pattern))
        const task = createTask(pattern, () => {}, { timezone: timeZone })
        void task.destroy()
        const until = from + 30 * HOUR_MS
        const expected: number[] = []
        for (let at = from + MINUTE_MS; at <= until; at += MINUTE_MS) if (task.match(new Date(at))) expected.push(at)

        const found = createRecurrence(pattern, timeZone).first(from, until, 10_000)

        expect(found).toEqual(expected)
      }),
      { numRuns: 80 },
    )
  })

  test('`latest` returns the last starts and `first` the first ones, in every zone', () => {
    fc.assert(
      fc.property(anyPattern, anyMinute, anyZone, fc.integer({ min: 1, max: 60 }), (pattern, from, timeZone, most) => {
        fc.pre(validate(pattern))
        const recurrence = createRecurrence(pattern, timeZone)
        const until = from + 5 * DAY_MS
        const all = recurrence.first(from, until, 10_000)

        expect(all).toEqual([...new Set(all)].sort((a, b) => a - b))
        expect(recurrence.first(from, until, most)).toEqual(all.slice(0, most))
        expect(recurrence.latest(from, until, most)).toEqual(all.slice(-most))
        expect(recurrence.latest(from, until, 10_000)).toEqual(all)
      }),
      { numRuns: 150 },
    )
  })

  test('it is parsed exactly if the configuration accepts it', () => {
    const piece = fc.constantFrom(
      ...'0123456789*/-,#?LWlw @MONjanfeb'.split(''),
      '0 ',
      ' *',
      '60',
      '@daily',
      '1-5',
      '*/0',
    )
    const anyText = fc.oneof(
      anyPattern,
      fc.array(piece, { maxLength: 16 }).map((pieces) => pieces.join('')),
    )

    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          anyText.map((text) => `${text} *`),
        ),
        (text) => {
          const read = () => createRecurrence(text, 'UTC')

          if (validate(text)) expect(read).not.toThrow()
          else expect(read).toThrow()
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('an unknown time zone throws', () => {
    expect(() => createRecurrence('* * * * *', 'Mars/Olympus')).toThrow(RangeError)
  })
})
