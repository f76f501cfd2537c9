import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addTime,
  flooredRatio,
  type HeldResult,
  intervalsOf,
  knownMs,
  noTime,
  portionOf,
  shareOf,
  type TimeParts,
} from '../../src/core/availability.ts'
import { STATES, type State } from '../../src/core/condition.ts'

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
  .map((list): HeldResult[] => {
    let at = 0
    return list.map(({ gap, ...result }) => {
      at += gap
      return { at, ...result }
    })
  })
const window = fc.tuple(fc.nat(200), fc.nat(300)).map(([from, length]) => ({ from, to: from + length }))

/** Millisecond by millisecond: the latest result at or before it, if it still holds. */
function stateAt(list: readonly HeldResult[], time: number): State {
  const latest = list.filter((result) => result.at <= time).at(-1)
  return latest !== undefined && time < latest.at + latest.holdMs ? latest.state : 'unknown'
}

function sum(list: readonly HeldResult[], from: number, to: number): TimeParts {
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

  test('say of every millisecond what the latest result says, for as long as it holds', () => {
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

describe('shares', () => {
  test('one second of downtime in ninety days is not 1', () => {
    const windowMs = 90 * 86_400_000

    const share = shareOf({ ...noTime(), upMs: windowMs - 1000, downMs: 1000, freshMs: windowMs - 1000 }, windowMs)

    expect(share).toEqual({ ratio: 0.999999, coverage: 1, fresh: 0.999999 })
  })

  test('neither maintenance nor unknown time is in the ratio', () => {
    const share = shareOf({ upMs: 30, degradedMs: 10, downMs: 10, maintenanceMs: 40, freshMs: 25 }, 100)

    expect(share).toEqual({ ratio: 0.8, coverage: 0.5, fresh: 0.5 })
  })

  test('where nothing is known there is no ratio', () => {
    expect(shareOf(noTime(), 100)).toEqual({ ratio: null, coverage: 0, fresh: null })
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

  test('a portion of a stretch sums to its own length, however it is rounded', () => {
    const parts = fc.tuple(fc.nat(1000), fc.nat(1000), fc.nat(1000), fc.nat(1000), fc.nat(1000))
    fc.assert(
      fc.property(
        parts,
        fc.double({ min: 0, max: 1, noNaN: true }),
        ([up, degraded, down, maintenance, rest], part) => {
          const stretch = { upMs: up, degradedMs: degraded, downMs: down, maintenanceMs: maintenance, freshMs: up }
          const whole = up + degraded + down + maintenance + rest + 1
          const ms = Math.floor(whole * part)

          const portion = portionOf(stretch, ms, whole)

          const told = knownMs(portion) + portion.maintenanceMs
          expect(told).toBeLessThanOrEqual(ms)
          expect(portion.freshMs).toBeLessThanOrEqual(portion.upMs + portion.degradedMs)
          if (rest === 0) expect(ms - told).toBeLessThanOrEqual(Math.ceil(ms / whole))
          for (const value of Object.values(portion)) expect(value).toBeGreaterThanOrEqual(0)
        },
      ),
    )
  })
})
