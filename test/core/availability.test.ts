import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addTime,
  availabilityOf,
  coveredMs,
  flooredRatio,
  intervalsOf,
  knownMs,
  mergeRanges,
  mergeTime,
  noTime,
  portionOf,
  type TimedState,
  type TimeParts,
  withMaintenance,
} from '../../src/core/verdict/availability.ts'
import { STATES, type State } from '../../src/core/verdict/condition.ts'

const results = fc
  .array(
    fc.record({
      gap: fc.integer({ min: 0, max: 30 }),
      state: fc.constantFrom(...STATES),
      fresh: fc.boolean(),
      holdMs: fc.integer({ min: 0, max: 40 }),
    }),
    { maxLength: 30 },
  )
  .map((list): TimedState[] => {
    let at = 0
    return list.map(({ gap, ...result }) => {
      at += gap
      return { at, ...result }
    })
  })
const window = fc.tuple(fc.nat(200), fc.nat(300)).map(([from, length]) => ({ from, to: from + length }))

/** Millisecond by millisecond: the latest result at or before it, if it still holds. */
function stateAt(list: readonly TimedState[], time: number): State {
  const latest = list.filter((result) => result.at <= time).at(-1)
  return latest !== undefined && time < latest.at + latest.holdMs ? latest.state : 'unknown'
}

function sum(list: readonly TimedState[], from: number, to: number): TimeParts {
  const parts = noTime()
  for (const interval of intervalsOf(list, from, to)) {
    addTime(parts, interval.state, interval.fresh, interval.to - interval.from)
  }
  return parts
}

describe('intervals', () => {
  test('cover the window without gaps or overlaps', () => {
    fc.assert(
      fc.property(results, window, (list, { from, to }) => {
        let reached = from
        for (const interval of intervalsOf(list, from, to)) {
          expect(interval.from).toBe(reached)
          expect(interval.to).toBeGreaterThan(interval.from)
          reached = interval.to
        }
        expect(reached).toBe(to)
      }),
    )
  })

  test('have the state of the latest result for as long as it holds', () => {
    fc.assert(
      fc.property(results, window, (list, { from, to }) => {
        for (const interval of intervalsOf(list, from, to)) {
          for (let time = interval.from; time < interval.to; time++) {
            expect(interval.state).toBe(stateAt(list, time))
          }
        }
      }),
    )
  })

  test('add up to the same when the window is cut in two', () => {
    fc.assert(
      fc.property(results, window, fc.nat(300), (list, { from, to }, at) => {
        const cut = Math.min(to, from + at)

        const whole = sum(list, from, to)
        const left = sum(list, from, cut)
        const right = sum(list, cut, to)

        for (const key of Object.keys(whole) as (keyof TimeParts)[]) expect(left[key] + right[key]).toBe(whole[key])
      }),
    )
  })
})

describe('maintenance', () => {
  const planned = fc.array(
    fc.tuple(fc.integer({ min: -50, max: 500 }), fc.nat(80)).map(([from, ms]) => ({ from, until: from + ms })),
    { maxLength: 6 },
  )

  test('replaces every other state for exactly the planned time', () => {
    fc.assert(
      fc.property(results, window, planned, (list, { from, to }, periods) => {
        let reached = from
        for (const interval of withMaintenance(intervalsOf(list, from, to), mergeRanges(periods))) {
          expect(interval.from).toBe(reached)
          expect(interval.to).toBeGreaterThan(interval.from)
          for (let time = interval.from; time < interval.to; time++) {
            const isPlanned = periods.some((period) => period.from <= time && time < period.until)
            expect(interval.state).toBe(isPlanned ? 'maintenance' : stateAt(list, time))
          }
          reached = interval.to
        }
        expect(reached).toBe(to)
      }),
    )
  })

  test('is counted once where two windows overlap, and the parts sum to the window', () => {
    fc.assert(
      fc.property(results, window, planned, (list, { from, to }, periods) => {
        const united = mergeRanges(periods)
        // An interval may be maintenance by itself, too: here only the plan is.
        const polled = list.filter(({ state }) => state !== 'maintenance')

        const parts = noTime()
        let unknownMs = 0
        for (const { state, fresh, ...interval } of withMaintenance(intervalsOf(polled, from, to), united)) {
          addTime(parts, state, fresh, interval.to - interval.from)
          if (state === 'unknown') unknownMs += interval.to - interval.from
        }

        const inPlan = Array.from({ length: to - from }, (_, ms) => from + ms).filter((time) =>
          periods.some((period) => period.from <= time && time < period.until),
        )
        expect(parts.maintenanceMs).toBe(inPlan.length)
        expect(coveredMs(united, from, to)).toBe(inPlan.length)
        expect(knownMs(parts) + parts.maintenanceMs + unknownMs).toBe(to - from)
      }),
    )
  })

  test('merged ranges are sorted, separate and not empty', () => {
    fc.assert(
      fc.property(planned, (periods) => {
        const united = mergeRanges(periods)

        for (const [index, { from, until }] of united.entries()) {
          expect(until).toBeGreaterThan(from)
          expect(from).toBeGreaterThan(united[index - 1]?.until ?? Number.NEGATIVE_INFINITY)
        }
        expect(mergeRanges(united)).toEqual(united)
      }),
    )
  })

  test('only reduces coverage, and does not change the ratio', () => {
    fc.assert(
      fc.property(results, window, planned, (list, { from, to }, periods) => {
        const parts = noTime()
        for (const interval of withMaintenance(intervalsOf(list, from, to), mergeRanges(periods))) {
          addTime(parts, interval.state, interval.fresh, interval.to - interval.from)
        }
        const without = { ...parts, maintenanceMs: 0 }

        expect(availabilityOf(parts, Math.max(1, to - from))).toEqual(availabilityOf(without, Math.max(1, to - from)))
      }),
    )
  })
})

describe('a calendar', () => {
  const HOUR = 3_600_000

  test.each([
    ['the hour that spring leaves out in New York', 'America/New_York', Date.UTC(2027, 2, 14, 7), 24],
    ['the hour that autumn has twice in Bucharest', 'Europe/Bucharest', Date.UTC(2027, 9, 31, 1), 24],
    ['the last day of February in a leap year', 'UTC', Date.UTC(2028, 1, 29), 48],
    ['the turn of the year', 'Pacific/Kiritimati', Date.UTC(2027, 11, 31, 10), 24],
  ])('makes no window longer or shorter: %s', (_what, zone, moment, hours) => {
    const before = process.env.TZ
    process.env.TZ = zone
    try {
      expect(Intl.DateTimeFormat().resolvedOptions().timeZone).toBe(zone)
      // Half an hour of every hour down, across the moment.
      const start = moment - 12 * HOUR
      const polls = Array.from({ length: 2 * hours }, (_, half): TimedState => {
        return { at: start + half * (HOUR / 2), state: half % 2 === 0 ? 'up' : 'down', fresh: true, holdMs: HOUR / 2 }
      })

      const parts = sum(polls, start, start + hours * HOUR)

      expect(parts).toMatchObject({ upMs: (hours * HOUR) / 2, downMs: (hours * HOUR) / 2 })
      expect(availabilityOf(parts, hours * HOUR)).toEqual({ ratio: 0.5, coverage: 1, fresh: 0.5 })
    } finally {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    }
  })
})

describe('shares', () => {
  test('ignore unknown time, however much there is', () => {
    const part = fc.nat(1_000_000)
    fc.assert(
      fc.property(part, part, part, part, part, (upMs, degradedMs, downMs, maintenanceMs, unknownMs) => {
        const parts = { upMs, degradedMs, downMs, maintenanceMs, freshMs: upMs }
        const known = knownMs(parts)

        const share = availabilityOf(parts, known + maintenanceMs + unknownMs + 1)

        expect(share.ratio).toBe(known === 0 ? null : flooredRatio(upMs + degradedMs, known))
        expect(share.coverage).toBeLessThan(1)
        expect(share.coverage * (known + maintenanceMs + unknownMs + 1)).toBeLessThanOrEqual(known + 1e-6)
      }),
    )
  })

  test('one second of downtime in ninety days is not 1', () => {
    const windowMs = 90 * 86_400_000

    const share = availabilityOf(
      { ...noTime(), upMs: windowMs - 1000, downMs: 1000, freshMs: windowMs - 1000 },
      windowMs,
    )

    expect(share).toEqual({ ratio: 0.999999, coverage: 1, fresh: 0.999999 })
  })

  test('neither maintenance nor unknown time is in the ratio', () => {
    const share = availabilityOf({ upMs: 30, degradedMs: 10, downMs: 10, maintenanceMs: 40, freshMs: 25 }, 100)

    expect(share).toEqual({ ratio: 0.8, coverage: 0.5, fresh: 0.5 })
  })

  test('there is no ratio without known time', () => {
    expect(availabilityOf(noTime(), 100)).toEqual({ ratio: null, coverage: 0, fresh: null })
  })

  test('are never above the true value, and within a millionth of it', () => {
    const whole = fc.integer({ min: 1, max: 90 * 86_400_000 })
    fc.assert(
      fc.property(whole, fc.double({ min: 0, max: 1, noNaN: true }), (known, part) => {
        const good = Math.floor(known * part)

        const millionths = BigInt(Math.round(flooredRatio(good, known) * 1e6))

        expect(millionths).toBe((BigInt(good) * 1_000_000n) / BigInt(known))
      }),
    )
  })

  test('the portions of a period sum to the whole, however it is cut', () => {
    const times = fc.tuple(
      fc.nat(1000),
      fc.nat(1000),
      fc.nat(1000),
      fc.nat(1000),
      fc.double({ min: 0, max: 1, noNaN: true }),
    )
    fc.assert(
      fc.property(times, fc.array(fc.nat(4000), { maxLength: 10 }), ([up, degraded, down, rest, fresh], borders) => {
        const parts = {
          upMs: up,
          degradedMs: degraded,
          downMs: down,
          maintenanceMs: 0,
          freshMs: Math.floor((up + degraded) * fresh),
        }
        const whole = up + degraded + down + rest
        const cuts = [0, ...borders.map((at) => Math.min(at, whole)), whole].sort((a, b) => a - b)
        const total = noTime()

        for (const [index, to] of cuts.entries()) {
          const from = cuts[index - 1] ?? 0
          const portion = portionOf(parts, from, to, whole)
          expect(Math.min(...Object.values(portion))).toBeGreaterThanOrEqual(0)
          expect(knownMs(portion)).toBeLessThanOrEqual(to - from)
          if (rest === 0) expect(knownMs(portion)).toBe(to - from)
          expect(portion.freshMs).toBeLessThanOrEqual(portion.upMs + portion.degradedMs)
          mergeTime(total, portion)
        }

        expect(total).toEqual(parts)
      }),
    )
  })
})
