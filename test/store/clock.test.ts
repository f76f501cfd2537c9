import { describe, expect, test } from 'vitest'
import { slotOf } from '../../src/store/resolution.ts'
import { createTrustedClock } from '../../src/store/sqlite/clock-trust.ts'
import { BASE, type Bench, batchOf, benchOn, DAY_MS, finish, HOUR_MS, pollOf, RETENTION } from './setting.ts'

const ENDPOINT = 'ethereum/own-1'
const INTERVAL_MS = 60_000

/** A store that is polled every minute, with the jobs of the calendar, under whatever clock there is. */
function lived() {
  const bench = benchOn()
  bench.writing.register([{ index: 0, endpoint: ENDPOINT, holdMs: 2 * INTERVAL_MS, at: BASE }])
  return {
    ...bench,
    live(from: number, to: number): void {
      for (let at = from; at < to; at += HOUR_MS) {
        const end = Math.min(to, at + HOUR_MS)
        const polls = []
        for (let poll = at; poll < end; poll += INTERVAL_MS) polls.push(pollOf(poll))
        bench.writing.write(batchOf(polls))
        runJobs(bench, end)
      }
    },
  }
}

function runJobs({ rollUp, retainer }: Bench, now: number): void {
  finish(rollUp.rollTo(now))
  finish(rollUp.rollTo(now))
  finish(retainer.pass(now))
}

function upHours({ reading }: Bench, from: number, to: number, stepMs: number, now: number): number {
  const buckets = reading.history({ endpoint: ENDPOINT, from, to, stepMs }, now)
  return buckets.reduce((sum, { upMs }) => sum + upMs, 0) / HOUR_MS
}

const STEPS = [7 * 60_000, 5 * 60_000, 30 * 60_000]

describe('a wall clock', () => {
  test('that is forty days ahead for an hour deletes nothing, and later polls count as usual', () => {
    const bench = lived()
    const start = BASE + HOUR_MS / 2
    const stepped = start + 6 * HOUR_MS
    bench.live(start, stepped)

    bench.live(stepped + 40 * DAY_MS, stepped + 40 * DAY_MS + HOUR_MS)
    bench.live(stepped, stepped + 24 * HOUR_MS)

    const now = stepped + 24 * HOUR_MS
    for (const stepMs of STEPS) expect(upHours(bench, start, now, stepMs, now)).toBeCloseTo(30, 6)
    expect(bench.db.prepare("SELECT value FROM marks WHERE name = 'rolled_to'").pluck().get()).toBeLessThanOrEqual(
      slotOf(now),
    )
    const [availability] = bench.reading.availability([ENDPOINT], now)
    expect(availability?.[1]['24h']).toMatchObject({ ratio: 1, coverage: 1 })
  })

  test('that starts in 1970 until it is set neither deletes nor hides anything', () => {
    const bench = lived()
    const start = BASE + HOUR_MS / 2
    const stopped = start + 5 * DAY_MS
    bench.live(start, stopped)

    bench.live(0, HOUR_MS)
    bench.live(stopped, stopped + HOUR_MS)

    const now = stopped + HOUR_MS
    for (const stepMs of STEPS) expect(upHours(bench, start, now, stepMs, now)).toBeCloseTo(5 * 24 + 1, 6)
    expect(bench.db.prepare('SELECT count(*) FROM polls WHERE slot < 1000').pluck().get()).toBe(0)
  })

  test('that is right after weeks without polls is trusted after a day, and then deletes by age', () => {
    const bench = lived()
    bench.live(BASE, BASE + 6 * HOUR_MS)
    const again = BASE + 60 * DAY_MS

    bench.live(again, again + 23 * HOUR_MS)
    expect(bench.db.prepare('SELECT min(slot) FROM polls').pluck().get()).toBe(slotOf(BASE))
    bench.live(again + 23 * HOUR_MS, again + 27 * HOUR_MS)

    expect(bench.db.prepare('SELECT min(slot) FROM polls').pluck().get()).toBe(slotOf(again))
    expect(bench.db.prepare('SELECT min(bucket) FROM five_minutes').pluck().get()).toBe(slotOf(again))
    const now = again + 27 * HOUR_MS
    expect(upHours(bench, again, now, 300_000, now)).toBeCloseTo(27, 6)
  })

  test('that was ahead long enough to be trusted hides later polls for a day, and no longer', () => {
    const bench = lived()
    const ahead = BASE + 100 * DAY_MS
    bench.live(BASE, BASE + HOUR_MS)
    bench.live(ahead, ahead + 4 * DAY_MS)

    const right = BASE + 5 * DAY_MS
    bench.live(right, right + 26 * HOUR_MS)

    const now = right + 26 * HOUR_MS
    for (const stepMs of STEPS) expect(upHours(bench, right, now, stepMs, now)).toBeCloseTo(26, 6)
  })

  test('set back by minutes loses no aggregated history', () => {
    const bench = lived()
    bench.live(BASE, BASE + 6 * HOUR_MS)
    const back = BASE + 6 * HOUR_MS - 20 * 60_000 + 30_000

    bench.live(back, back + 3 * HOUR_MS)

    const now = back + 3 * HOUR_MS
    for (const stepMs of STEPS) expect(upHours(bench, BASE, now, stepMs, now)).toBeCloseTo((now - BASE) / HOUR_MS, 6)
  })

  test('is compared with the last trusted one', () => {
    const { db } = benchOn()
    const trusted = createTrustedClock(db)

    const verdicts = [0, 1, 26, 27, 2, 50, 51, 60, 74, 75, 76].map((hours) => trusted.judge(BASE + hours * HOUR_MS))

    const doubted = 'doubted'
    expect(verdicts.map((verdict) => (verdict === doubted ? 'no' : 'yes')).join(' ')).toBe(
      'yes yes no no yes no no no yes yes yes',
    )
    expect(trusted.trusts(BASE + 1000 * DAY_MS)).toBe(false)
    expect(RETENTION.rawMs).toBe(2 * DAY_MS)
  })
})

describe('how long results hold', () => {
  test('is forgotten when it was set by a clock that was ahead', () => {
    const { db, writing } = benchOn()
    const register = (holdMs: number, at: number) => writing.register([{ index: 0, endpoint: ENDPOINT, holdMs, at }])
    const holds = () => db.prepare('SELECT from_ms, hold_ms FROM holds ORDER BY from_ms').raw().all()
    register(30_000, BASE)
    register(60_000, BASE + 100 * DAY_MS)

    for (let start = 1; start <= 5; start++) register(30_000, BASE + start)

    expect(holds()).toEqual([[0, 30_000]])
  })
})

describe('an endpoint that is no longer polled', () => {
  test('is not aggregated any more', () => {
    const { db, rollUp, writing } = benchOn()
    const names = Array.from({ length: 200 }, (_, index) => ({
      index,
      endpoint: `old/${index}`,
      holdMs: 1000,
      at: BASE,
    }))
    writing.register([...names, { index: 200, endpoint: ENDPOINT, holdMs: 1000, at: BASE }])
    const polls = Array.from({ length: 200 }, (_, index) => ({ ...pollOf(BASE + 1), index }))
    writing.write(batchOf([...polls, { ...pollOf(BASE + 2 * HOUR_MS), index: 200 }]))
    const stepsTo = (now: number) => [...rollUp.rollTo(now)].length

    const withThem = stepsTo(BASE + 10 * 60_000)
    stepsTo(BASE + 2 * HOUR_MS)
    const without = stepsTo(BASE + 2 * HOUR_MS + 10 * 60_000)

    expect(withThem).toBeGreaterThan(4)
    expect(without).toBeLessThan(5)
    expect(db.prepare('SELECT count(*) FROM five_minutes').pluck().get()).toBe(201)
  })
})
