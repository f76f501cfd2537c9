import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mergeRanges } from '../../src/core/verdict/availability.ts'
import { onlyIn } from '../../src/store/maintenance-plan.ts'
import { createMaintenanceTable } from '../../src/store/sqlite/history-tables.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import {
  BASE,
  type Bench,
  batchOf,
  benchOn,
  DAY_MS,
  finish,
  HOUR_MS,
  opened,
  pollOf,
  RETENTION,
  temporaryDirectory,
} from './setting.ts'

const ENDPOINT = 'ethereum/own-1'
const MINUTE_MS = 60_000
const HOLD_MS = 2 * MINUTE_MS

/** Polled every minute from BASE on, `down` all the time. */
function polled(minutes: number): Bench {
  const bench = benchOn()
  bench.writing.register([{ index: 0, endpoint: ENDPOINT, holdMs: HOLD_MS, at: BASE }])
  poll(bench, 0, minutes)
  return bench
}

function poll(bench: Bench, from: number, to: number): void {
  const polls = Array.from({ length: to - from }, (_, minute) =>
    pollOf(BASE + (from + minute) * MINUTE_MS, { state: 'down' }),
  )
  bench.writing.write(batchOf(polls))
}

/** In minutes since BASE. */
function plan(bench: Bench, at: number, ...periods: (readonly [from: number, until: number])[]): void {
  const named = periods.map(([from, until]) => ({
    endpoint: ENDPOINT,
    from: BASE + from * MINUTE_MS,
    until: BASE + until * MINUTE_MS,
  }))
  bench.writing.write(batchOf([], [{ kind: 'maintain', at: BASE + at * MINUTE_MS, periods: named }]))
}

/** Of the minutes [from, to) since BASE: how many were down, maintenance and unknown. */
function minutesOf(
  bench: Bench,
  from: number,
  to: number,
): readonly [down: number, maintenance: number, unknown: number] {
  const query = {
    endpoint: ENDPOINT,
    from: BASE + from * MINUTE_MS,
    to: BASE + to * MINUTE_MS,
    stepMs: (to - from) * MINUTE_MS,
  }
  const [bucket] = bench.reading.history(query, BASE + 1000 * DAY_MS)
  return [
    (bucket?.downMs ?? 0) / MINUTE_MS,
    (bucket?.maintenanceMs ?? 0) / MINUTE_MS,
    (bucket?.unknownMs ?? 0) / MINUTE_MS,
  ]
}

function rolled(bench: Bench, minute: number): void {
  finish(bench.rollUp.rollTo(BASE + minute * MINUTE_MS))
}

/** Makes everything before it older than its resolution is kept. */
function aged(bench: Bench, days: number): void {
  for (const at of [BASE + days * DAY_MS, BASE + (days + 1) * DAY_MS]) {
    finish(bench.rollUp.rollTo(at))
    finish(bench.retainer.pass(at))
  }
}

describe('planned maintenance', () => {
  test('announced ahead is exact to the millisecond, whatever the polls and wherever its borders', () => {
    const bench = benchOn()
    bench.writing.register([{ index: 0, endpoint: ENDPOINT, holdMs: HOLD_MS, at: BASE }])
    plan(bench, 0, [31 + 1 / 60_000, 92.5])
    poll(bench, 0, 180)

    for (const minute of [0, 45, 92, 185]) {
      rolled(bench, minute)
      expect(minutesOf(bench, 0, 120)).toEqual([
        expect.closeTo(120 - 61.5 + 1 / 60_000, 9),
        expect.closeTo(61.5 - 1 / 60_000, 9),
        0,
      ])
      expect(minutesOf(bench, 30, 35)[1]).toBeCloseTo(4 - 1 / 60_000, 9)
      expect(minutesOf(bench, 92, 93)).toEqual([0.5, 0.5, 0])
    }
  })

  test('announced late is removed from aggregated history', () => {
    const bench = polled(180)
    rolled(bench, 185)
    expect(minutesOf(bench, 0, 180)).toEqual([180, 0, 0])

    plan(bench, 180, [12, 190])

    expect(minutesOf(bench, 0, 180)).toEqual([12, 168, 0])
    const [answer] = bench.reading.availability([ENDPOINT], BASE + 181 * MINUTE_MS)
    expect(answer?.[1]['24h']).toMatchObject({ ratio: 0, coverage: expect.closeTo(12 / 1440, 5) })
  })

  test('that is cut short counts until then; what the new plan omits is cancelled, the rest stays', () => {
    const bench = benchOn()
    bench.writing.register([{ index: 0, endpoint: ENDPOINT, holdMs: HOLD_MS, at: BASE }])
    plan(bench, 0, [10, 60], [100, 110])
    poll(bench, 0, 30)
    rolled(bench, 31)

    plan(bench, 30, [100, 110])
    poll(bench, 30, 120)
    rolled(bench, 125)

    expect(minutesOf(bench, 0, 120)).toEqual([90, 30, 0])
    expect(minutesOf(bench, 29, 31)).toEqual([1, 1, 0])
  })

  test('in two overlapping windows counts once', () => {
    const bench = polled(60)

    plan(bench, 0, [10, 30], [20, 40], [40, 41], [15, 16])

    expect(minutesOf(bench, 0, 60)).toEqual([29, 31, 0])
    expect(bench.db.prepare('SELECT count(*) FROM maintenance').pluck().get()).toBe(1)
  })

  test('while the daemon was off counts as maintenance', () => {
    const bench = polled(30)
    plan(bench, 25, [20, 95])

    // Off from here to the second hour.
    poll(bench, 120, 180)
    plan(bench, 120)
    rolled(bench, 185)

    expect(minutesOf(bench, 0, 120)).toEqual([20, 75, 25])
    aged(bench, 40)
    // Hours are all that is left.
    expect(minutesOf(bench, 30, 90)).toEqual([expect.any(Number), 60, 0])
    expect(minutesOf(bench, -30, 150)).toEqual([50, 75, 55])
  })

  test('announced after polls, or even five minutes, are deleted is removed from the remaining buckets', () => {
    for (const [days, table] of [
      [3, 'five_minutes'],
      [40, 'hours'],
    ] as const) {
      const bench = polled(24 * 60)
      aged(bench, days)
      expect(bench.db.prepare('SELECT count(*) FROM polls').pluck().get()).toBe(0)
      expect(bench.db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()).toBeGreaterThan(0)
      const late = days * 24 * 60

      // Whole buckets exactly; where a border lies within one, as much of it as was maintenance.
      plan(bench, late, [30, 630])
      plan(bench, late, [42, 630], [690, 720])

      expect(minutesOf(bench, 30, 630)).toEqual([0, 600, 0])
      expect(minutesOf(bench, 630, 750)).toEqual([90, 30, 0])
      expect(minutesOf(bench, -30, 1410)).toEqual([24 * 60 - 60 - 600, 630, 60 - 30 + 30 - 30 + 30 - 30])
      const [answer] = bench.reading.availability([ENDPOINT], BASE + 42 * DAY_MS)
      expect(answer?.[1]['90d']?.coverage).toBeCloseTo((24 * 60 - 630 + 2) / (90 * 24 * 60), 4)
    }
  })

  test('of an endpoint that was never polled counts, and changes no other endpoint', () => {
    const bench = polled(60)

    const periods = [{ endpoint: 'other/one', from: BASE, until: BASE + HOUR_MS }] as const
    bench.writing.write(batchOf([], [{ kind: 'maintain', at: BASE, periods }]))

    const query = { endpoint: 'other/one', from: BASE, to: BASE + 2 * HOUR_MS, stepMs: HOUR_MS }
    const history = bench.reading.history(query, BASE + HOUR_MS / 2)
    expect(history.map(({ maintenanceMs }) => maintenanceMs)).toEqual([HOUR_MS / 2, 0])
    expect(minutesOf(bench, 0, 60)).toEqual([60, 0, 0])
  })

  test('is not cancelled by a clock that starts in 1970', () => {
    const bench = polled(120)
    plan(bench, 0, [10, 60])
    rolled(bench, 125)

    bench.writing.write(batchOf([], [{ kind: 'maintain', at: 1000, periods: [] }]))

    expect(minutesOf(bench, 0, 120)).toEqual([70, 50, 0])
  })

  test('is kept as long as a bucket needs it', () => {
    const bench = polled(60)
    plan(bench, 0, [10, 20])
    const kept = () => bench.db.prepare('SELECT count(*) FROM maintenance').pluck().get()

    aged(bench, RETENTION.hourMs / DAY_MS - 1)
    expect(kept()).toBe(1)
    aged(bench, RETENTION.hourMs / DAY_MS + 2)

    expect(kept()).toBe(0)
    expect(bench.db.prepare('SELECT count(*) FROM hours').pluck().get()).toBe(0)
  })

  test('survives a restart', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const clock = createFakeClock({ now: BASE + HOUR_MS })
    const first = await opened({ path, clock })
    first.store.maintain([{ endpoint: ENDPOINT, from: BASE + 0.5, until: BASE + HOUR_MS }], BASE)
    first.store.maintain([{ endpoint: ENDPOINT, from: Number.NaN, until: BASE }], BASE + 1000)
    await first.store.close()

    const { store } = await opened({ path, clock })
    store.maintain([{ endpoint: ENDPOINT, from: BASE + 60_000, until: BASE + 61_000 }], BASE + 30_000)
    await store.flush()

    const [bucket] = await store.history({ endpoint: ENDPOINT, from: BASE, to: BASE + HOUR_MS, stepMs: HOUR_MS })
    expect(bucket).toMatchObject({ maintenanceMs: 2000, unknownMs: HOUR_MS - 2000 })
  })

  test('that is announced again changes nothing', () => {
    const bench = polled(60)
    plan(bench, 0, [10, 20], [20, 30])
    rolled(bench, 65)
    const changes = () => bench.db.prepare('SELECT total_changes()').pluck().get()
    const before = changes()

    plan(bench, 5, [10, 30])
    plan(bench, 50)

    expect(changes()).toBe(before)
  })
})

describe('stored maintenance', () => {
  const periods = fc
    .array(
      fc.tuple(fc.nat(200), fc.integer({ min: 1, max: 30 })).map(([from, ms]) => ({ from, until: from + ms })),
      { maxLength: 12 },
    )
    .map(mergeRanges)

  test('is found by any time that it overlaps', () => {
    fc.assert(
      fc.property(periods, fc.nat(230), fc.nat(60), (list, from, ms) => {
        const { db } = benchOn()
        const kept = createMaintenanceTable(db)
        kept.replace(1, 0, list)
        kept.replace(2, 0, [{ from: 0, until: 500 }])

        const found = kept.between(1, from, from + ms)

        expect(found).toEqual(list.filter((period) => period.from < from + ms && period.until > from))
        db.close()
      }),
    )
  })

  test('is compared with another plan to the millisecond', () => {
    fc.assert(
      fc.property(periods, periods, (one, other) => {
        const isIn = (list: typeof one, time: number) =>
          list.some((period) => period.from <= time && time < period.until)

        const alone = onlyIn(one, other)

        expect(mergeRanges(alone)).toEqual(alone)
        for (let time = 0; time < 240; time++) expect(isIn(alone, time)).toBe(isIn(one, time) && !isIn(other, time))
      }),
    )
  })
})
