import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseSize } from '../../src/config/scalars.ts'
import { parseDuration } from '../../src/core/time.ts'

describe('durations', () => {
  test.each([
    ['500ms', 500],
    ['15s', 15_000],
    ['2m', 120_000],
    ['48h', 172_800_000],
    ['90d', 7_776_000_000],
    ['2y', 63_072_000_000],
    ['1.5s', 1500],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  test.each([
    '',
    '15',
    's',
    '15 s',
    ' 15s',
    '15S',
    '-1s',
    '+1s',
    '1e3s',
    '0s',
    '0.0001ms',
    '1h30m',
    '99999999999999y',
    '1s\n',
  ])('%j is none', (text) => {
    expect(parseDuration(text)).toBeUndefined()
  })

  test('any whole number of a unit is that many times the unit', () => {
    const units = fc.constantFrom(
      ['ms', 1],
      ['s', 1000],
      ['m', 60_000],
      ['h', 3_600_000],
      ['d', 86_400_000],
      ['y', 31_536_000_000],
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), units, (count, [unit, ms]) => {
        expect(parseDuration(`${count}${unit}`)).toBe(count * ms)
      }),
    )
  })

  test('any text gives a positive safe integer, or nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{0,20}(ms|s|m|h|d|y)$/)), (text) => {
        const ms = parseDuration(text)
        expect(ms === undefined || (Number.isSafeInteger(ms) && ms > 0)).toBe(true)
      }),
    )
  })
})

describe('sizes', () => {
  test.each([
    ['1KiB', 1024],
    ['64MiB', 67_108_864],
    ['10GiB', 10_737_418_240],
    ['1TiB', 1_099_511_627_776],
    ['500MB', 500_000_000],
    ['1kB', 1000],
    ['512B', 512],
    ['0.5GiB', 536_870_912],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes)
  })

  test.each(['', '1', '1 MiB', '1M', '1mib', '-1MiB', '0MiB', '1PiB', '999999999999999TiB'])('%j is none', (text) => {
    expect(parseSize(text)).toBeUndefined()
  })

  test('any whole number of a unit is that many times the unit', () => {
    const units = fc.constantFrom(
      ['B', 1],
      ['KiB', 2 ** 10],
      ['MiB', 2 ** 20],
      ['GiB', 2 ** 30],
      ['MB', 1e6],
      ['GB', 1e9],
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), units, (count, [unit, bytes]) => {
        expect(parseSize(`${count}${unit}`)).toBe(count * bytes)
      }),
    )
  })
})
