import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { addLatency, quantile } from '../../src/core/latency-histogram.ts'
import {
  AVAILABILITY_WINDOWS,
  type AvailabilityWindow,
  addTime,
  availabilityOf,
  noTime,
} from '../../src/core/verdict/availability.ts'
import type { Retention } from '../../src/store/retention.ts'
import type { HistoryBucket, HistoryQuery, PollRecord } from '../../src/store/store.ts'
import { type Step, seconds, steps } from './history-steps.ts'
import { BASE, type Bench, batchOf, benchOn, DAY_MS, finish, HOUR_MS, pollOf, RETENTION } from './setting.ts'

const ENDPOINT = 'ethereum/own-1'
const MINUTE_MS = 60_000

interface Naive {
  readonly polls: PollRecord[]
  readonly holds: { readonly from: number; readonly holdMs: number }[]
  maintenance: { readonly from: number; readonly until: number }[]
}

const benches = new Map<Retention | undefined, Bench>()

/** One store for all runs of a property: each rolls back what the one before it wrote. */
function emptied(retention: Retention | undefined): Bench {
  const bench = benches.get(retention) ?? benchOn(':memory:', retention)
  benches.set(retention, bench)
  if (bench.db.inTransaction) bench.db.exec('ROLLBACK')
  bench.db.exec('BEGIN')
  return bench
}

/** Tells the steps to a store, and keeps them in plain lists beside it. */
function tell(list: readonly Step[], retention?: Retention): { bench: Bench; naive: Naive; now: number } {
  const bench = emptied(retention)
  const naive: Naive = { polls: [], holds: [{ from: 0, holdMs: 30_000 }], maintenance: [] }
  const register = (holdMs: number, at: number) =>
    bench.writing.register([{ index: 0, endpoint: ENDPOINT, holdMs, at }])
  register(30_000, BASE)
  let now = BASE
  const put = (poll: PollRecord) => {
    bench.writing.write(batchOf([poll]))
    const same = naive.polls.findIndex(({ at }) => at === poll.at)
    if (same === -1) naive.polls.push(poll)
    else naive.polls[same] = poll
    naive.polls.sort((a, b) => a.at - b.at)
  }
  for (const step of list) {
    switch (step.kind) {
      case 'poll':
        now += step.gapMs
        put(pollOf(now, step.record))
        break
      case 'late':
        put(pollOf(Math.max(BASE, now - step.backMs), step.record))
        break
      case 'amend': {
        const { state: amended, fresh } = step
        const from = now - step.backMs
        bench.writing.write(
          batchOf([], [{ kind: 'amend', index: 0, from, to: now, verdict: verdictBits(amended, fresh) }]),
        )
        for (const [at, poll] of naive.polls.entries()) {
          if (poll.at >= from && poll.at < now) naive.polls[at] = { ...poll, state: amended, fresh }
        }
        break
      }
      case 'hold':
        register(step.holdMs, now + 1)
        if (naive.holds.at(-1)?.holdMs !== step.holdMs) naive.holds.push({ from: now + 1, holdMs: step.holdMs })
        break
      case 'maintain': {
        const planned = step.periods.map(({ startMs, lengthMs }) => ({
          from: now + startMs,
          until: now + startMs + lengthMs,
        }))
        plan(bench, planned, now)
        const past = naive.maintenance.map(({ from, until }) => ({ from, until: Math.min(until, now) }))
        naive.maintenance = [...past, ...planned]
        break
      }
      case 'roll-up':
        finish(bench.rollUp.rollTo(now))
        if (retention !== undefined) finish(bench.retainer.pass(now))
        break
    }
  }
  return { bench, naive, now }
}

function verdictBits(amended: PollRecord['state'], fresh: boolean): number {
  return ['up', 'degraded', 'down', 'unknown'].indexOf(amended) + (fresh ? 0 : 4)
}

function holdOf(holds: Naive['holds'], at: number): number {
  return (holds.findLast(({ from }) => from <= at) ?? holds[0])?.holdMs ?? 0
}

function plan(bench: Bench, planned: readonly { readonly from: number; readonly until: number }[], at: number): void {
  const periods = planned.map(({ from, until }) => ({ endpoint: ENDPOINT, from, until }))
  bench.writing.write(batchOf([], [{ kind: 'maintain', at, periods }]))
}

/** The time of [from, to) from one moment at which anything may change to the next. */
function timeOf({ polls, holds, maintenance }: Naive, from: number, to: number) {
  const parts = noTime()
  if (to <= from) return parts
  const ends = polls.map(({ at }) => at + holdOf(holds, at))
  const borders = [
    ...polls.map(({ at }) => at),
    ...ends,
    ...maintenance.flatMap((planned) => [planned.from, planned.until]),
  ]
  const moments = [from, ...borders.filter((at) => at > from && at < to), to].sort((a, b) => a - b)
  for (const [index, moment] of moments.entries()) {
    const ms = (moments[index + 1] ?? moment) - moment
    if (ms <= 0) continue
    const latest = polls.findLast(({ at }) => at <= moment)
    const isPlanned = maintenance.some((planned) => planned.from <= moment && moment < planned.until)
    if (isPlanned) addTime(parts, 'maintenance', false, ms)
    else if (latest !== undefined && moment < latest.at + holdOf(holds, latest.at)) {
      addTime(parts, latest.state, latest.fresh, ms)
    }
  }
  return parts
}

function naiveHistory(naive: Naive, { from, to, stepMs }: HistoryQuery, now: number): HistoryBucket[] {
  const buckets: HistoryBucket[] = []
  for (let start = from; start < to; start += stepMs) {
    const end = Math.min(to, start + stepMs)
    const { upMs, degradedMs, downMs, maintenanceMs } = timeOf(naive, start, Math.min(end, now))
    const seen = naive.polls.filter(({ at }) => at >= start && at < Math.min(end, now))
    const values = (key: 'latencyMs' | 'height' | 'lagBlocks' | 'heartbeatLagMs' | 'contiguousFailures') =>
      seen.map((poll) => poll[key]).filter((value) => value !== null)
    const most = (list: number[]) => (list.length === 0 ? null : Math.max(...list))
    const histogram = new Map()
    for (const latencyMs of values('latencyMs')) addLatency(histogram, latencyMs * 1000)
    const quantileMs = (q: number) => {
      const us = quantile(histogram, q)
      return us === null ? null : Math.round(Math.min(us, (most(values('latencyMs')) ?? 0) * 1000)) / 1000
    }
    buckets.push({
      start,
      upMs,
      degradedMs,
      downMs,
      maintenanceMs,
      unknownMs: end - start - upMs - degradedMs - downMs - maintenanceMs,
      polls: seen.length,
      latencyP50Ms: quantileMs(0.5),
      latencyP95Ms: quantileMs(0.95),
      latencyMaxMs: most(values('latencyMs')),
      height: values('height').at(-1) ?? null,
      lagBlocksMax: most(values('lagBlocks')),
      heartbeatLagMaxMs: most(values('heartbeatLagMs')),
      contiguousFailuresMax: most(values('contiguousFailures')),
    })
  }
  return buckets
}

describe('history', () => {
  test('is the same from polls, five minutes, hours and days, with late and amended polls and any hold', () => {
    const stepMs = fc.constantFrom(7000, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS, DAY_MS)
    fc.assert(
      fc.property(steps, stepMs, fc.integer({ min: -3, max: 3 }), (list, step, shift) => {
        const { bench, naive, now } = tell(list)
        finish(bench.rollUp.rollTo(now + 10 * MINUTE_MS))
        const at = now + 8 * MINUTE_MS
        const from = Math.floor(BASE / DAY_MS) * DAY_MS + (step < MINUTE_MS ? 22 * HOUR_MS + shift * 1234 : 0)
        const query = {
          endpoint: ENDPOINT,
          from,
          to: Math.max(from, Math.min(from + 900 * step, at + HOUR_MS)),
          stepMs: step,
        }

        expect(bench.reading.history(query, at)).toEqual(naiveHistory(naive, query, at))
      }),
      { numRuns: 60 },
    )
  })

  test('is the same before anything is aggregated', () => {
    fc.assert(
      fc.property(
        steps.map((list) => list.filter(({ kind }) => kind !== 'roll-up')),
        (list) => {
          const { bench, naive, now } = tell(list)
          const query = { endpoint: ENDPOINT, from: BASE - HOUR_MS, to: now + HOUR_MS, stepMs: 5 * MINUTE_MS }

          expect(bench.reading.history(query, now)).toEqual(naiveHistory(naive, query, now))
        },
      ),
      { numRuns: 20 },
    )
  })

  test('is the same after polls, and then five minutes, are deleted', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom(HOUR_MS, DAY_MS), (list, stepMs) => {
        const { bench, naive, now } = tell(list)
        const query = { endpoint: ENDPOINT, from: BASE - 22.5 * HOUR_MS, to: now + DAY_MS, stepMs }

        // A clock that jumps is believed after a day.
        for (const days of [3, 4, 39, 40]) {
          finish(bench.rollUp.rollTo(now + days * DAY_MS))
          finish(bench.retainer.pass(now + days * DAY_MS))
          const at = now + days * DAY_MS
          expect(bench.reading.history(query, at)).toEqual(naiveHistory(naive, query, at))
        }
        expect(bench.db.prepare('SELECT count(*) FROM polls').pluck().get()).toBe(0)
        expect(bench.db.prepare('SELECT count(*) FROM five_minutes').pluck().get()).toBe(0)
      }),
      { numRuns: 20 },
    )
  })

  test('sums to the width of each bucket at any step when only coarser buckets are left', () => {
    fc.assert(
      fc.property(steps, seconds(2000), seconds(86_400), (list, stepMs, offset) => {
        const { bench, naive, now } = tell(list)
        finish(bench.rollUp.rollTo(now + 40 * DAY_MS))
        finish(bench.retainer.pass(now + 40 * DAY_MS))
        const from = Math.floor((BASE - offset) / HOUR_MS) * HOUR_MS
        const query = { endpoint: ENDPOINT, from, to: now + HOUR_MS, stepMs }

        const history = bench.reading.history(query, now + 40 * DAY_MS)

        const wrong = history.filter((bucket, index) => {
          const parts = [bucket.upMs, bucket.degradedMs, bucket.downMs, bucket.maintenanceMs, bucket.unknownMs]
          const width = Math.min(stepMs, query.to - bucket.start)
          const sum = parts.reduce((a, b) => a + b)
          return bucket.start !== query.from + index * stepMs || Math.min(...parts) < 0 || sum !== width
        })
        expect(wrong).toEqual([])
        expect(history.reduce((sum, { polls }) => sum + polls, 0)).toBe(naive.polls.length)
      }),
      { numRuns: 20 },
    )
  })

  test('is the same when it is queried in two parts, whatever is left of it', () => {
    const moment = fc.integer({ min: -2 * HOUR_MS, max: 6 * HOUR_MS })
    const cuts = fc.tuple(moment, moment, moment).map((at) => at.sort((a, b) => a - b))
    fc.assert(
      fc.property(steps, fc.constantFrom(0, 1, 3, 40), cuts, (list, days, [first, cut, last]) => {
        const { bench, now } = tell(list)
        const at = now + days * DAY_MS
        for (const pass of days === 0 ? [at] : [at - DAY_MS, at]) {
          finish(bench.rollUp.rollTo(pass))
          finish(bench.retainer.pass(pass))
        }
        const read = (from: number, to: number) => {
          const query = { endpoint: ENDPOINT, from: BASE + from, to: BASE + to, stepMs: Math.max(1000, to - from) }
          const [bucket] = bench.reading.history(query, at + DAY_MS)
          const { upMs = 0, degradedMs = 0, downMs = 0, maintenanceMs = 0, unknownMs = 0, polls = 0 } = bucket ?? {}
          return [upMs, degradedMs, downMs, maintenanceMs, unknownMs, polls]
        }

        const [left, right, whole] = [read(first, cut), read(cut, last), read(first, last)]

        expect(left.map((ms, part) => ms + (right[part] ?? 0))).toEqual(whole)
        expect(Math.min(...left, ...right)).toBeGreaterThanOrEqual(0)
      }),
      { numRuns: 60 },
    )
  })

  test('of a leap day, and of the night in which New York springs forward, has days of 24 hours', () => {
    const before = process.env.TZ
    process.env.TZ = 'America/New_York'
    try {
      expect(new Date(2028, 2, 12, 12).getTimezoneOffset()).toBe(new Date(2028, 2, 11, 12).getTimezoneOffset() - 60)
      const bench = benchOn()
      const start = Date.UTC(2028, 1, 28)
      const days = 15
      bench.writing.register([{ index: 0, endpoint: ENDPOINT, holdMs: HOUR_MS, at: start }])
      // The first twenty minutes of every hour down.
      const polls = Array.from({ length: days * 72 }, (_, at) => {
        return pollOf(start + at * 20 * MINUTE_MS, { state: at % 3 === 0 ? 'down' : 'up' })
      })
      bench.writing.write(batchOf(polls))
      const end = start + days * DAY_MS
      finish(bench.rollUp.rollTo(end + 10 * MINUTE_MS))

      const history = bench.reading.history({ endpoint: ENDPOINT, from: start, to: end, stepMs: DAY_MS }, end)
      const [answer] = bench.reading.availability([ENDPOINT], end)

      expect(history).toHaveLength(days)
      for (const day of history) expect(day).toMatchObject({ downMs: 8 * HOUR_MS, upMs: 16 * HOUR_MS, polls: 72 })
      expect(new Date(history.at(1)?.start ?? 0).toISOString()).toBe('2028-02-29T00:00:00.000Z')
      expect(answer?.[1]['7d']).toEqual({ ratio: 0.666666, coverage: 1, fresh: 0.666666 })
    } finally {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    }
  })

  test('of half a century, in steps that fit no resolution, reads only time with polls', () => {
    const bench = benchOn()
    bench.writing.register([{ index: 0, endpoint: ENDPOINT, holdMs: HOUR_MS, at: BASE }])
    bench.writing.write(batchOf([pollOf(BASE), pollOf(BASE + 5 * HOUR_MS)]))
    const before = systemClock.monotonic()

    bench.writing.write(batchOf([], [{ kind: 'amend', index: 0, from: 1000, to: BASE + HOUR_MS, verdict: 2 }]))
    const [bucket] = bench.reading.history(
      { endpoint: ENDPOINT, from: 1, to: BASE + DAY_MS, stepMs: 100 * 365 * DAY_MS },
      BASE + DAY_MS,
    )
    finish(bench.rollUp.rollTo(BASE + DAY_MS))
    bench.writing.write(batchOf([], [{ kind: 'amend', index: 0, from: 1000, to: BASE + HOUR_MS, verdict: 1 }]))
    const query = { endpoint: ENDPOINT, from: 0, to: BASE + DAY_MS, stepMs: 100 * 365 * DAY_MS }
    const [amended] = bench.reading.history(query, BASE + DAY_MS)

    expect(bucket).toMatchObject({ downMs: HOUR_MS, upMs: HOUR_MS, polls: 2 })
    expect(amended).toMatchObject({ degradedMs: HOUR_MS, upMs: HOUR_MS, polls: 2 })
    // Going through every five minutes of it took seconds.
    expect(systemClock.monotonic() - before).toBeLessThan(500)
  })

  test('of an unknown endpoint, and of the future, is unknown', () => {
    const bench = benchOn()

    const [bucket] = bench.reading.history({ endpoint: 'a/b', from: BASE, to: BASE + 1500, stepMs: 1000 }, BASE)

    expect(bucket).toMatchObject({ upMs: 0, unknownMs: 1000, polls: 0, height: null, latencyP50Ms: null })
  })

  test('rejects steps below a second, and too many steps', () => {
    const bench = benchOn()
    const ask = (stepMs: number, to: number) => () =>
      bench.reading.history({ endpoint: 'a/b', from: 0, to, stepMs }, BASE)

    expect(ask(999, 5000)).toThrow(RangeError)
    expect(ask(1000, 100_001_000)).toThrow(RangeError)
    expect(ask(Number.NaN, 5000)).toThrow(RangeError)
  })
})

describe('availability', () => {
  test('of each window is exact to the millisecond while there are polls, aggregated or not', () => {
    fc.assert(
      fc.property(steps, fc.boolean(), fc.integer({ min: 0, max: 26 * HOUR_MS }), (list, rolled, laterMs) => {
        const { bench, naive, now } = tell(list)
        const at = now + laterMs
        if (rolled) {
          finish(bench.rollUp.rollTo(at))
          finish(bench.retainer.pass(at))
        }

        const [answer] = bench.reading.availability([ENDPOINT, 'unknown/endpoint'], at)

        expect(answer?.[0]).toBe(ENDPOINT)
        expect(answer?.[1]['24h']).toEqual(availabilityOf(timeOf(naive, at - DAY_MS, at), DAY_MS))
        for (const [name, ms] of Object.entries(AVAILABILITY_WINDOWS)) {
          const ratio = availabilityOf(timeOf(naive, at - ms, at), ms).ratio
          expect(answer?.[1]).toHaveProperty([name, 'ratio'], ratio)
        }
      }),
      { numRuns: 60 },
    )
  })

  for (const [name, ms] of Object.entries(AVAILABILITY_WINDOWS) as [AvailabilityWindow, number][]) {
    test(`of ${name} is exact from its first border on, whatever is left of the history`, () => {
      const gridMs = { '24h': 1, '7d': 5 * MINUTE_MS, '30d': 5 * MINUTE_MS, '90d': HOUR_MS }[name]
      fc.assert(
        fc.property(steps, fc.integer({ min: 0, max: 3 * HOUR_MS }), (list, agoMs) => {
          const { bench, naive, now } = tell(list)
          const at = Math.max(BASE, now - agoMs) + ms
          // A clock that jumps is believed after a day.
          for (const pass of [at - DAY_MS, at]) {
            finish(bench.rollUp.rollTo(pass))
            finish(bench.retainer.pass(pass))
          }

          const [answer] = bench.reading.availability([ENDPOINT], at)

          const from = Math.ceil((at - ms) / gridMs) * gridMs
          expect(answer?.[1][name]).toEqual(availabilityOf(timeOf(naive, from, at), at - from))
        }),
        { numRuns: 24 },
      )
    })
  }

  test('agrees with history after any roll-up, retention, amendment and plan, at any time', () => {
    // Here nothing is reported after its polls were deleted.
    const short = { rawMs: 1.5 * HOUR_MS, fiveMinutesMs: 4 * HOUR_MS, hourMs: 100 * DAY_MS }
    fc.assert(
      fc.property(steps, (list) => {
        const { bench, naive, now } = tell(list, short)
        finish(bench.rollUp.rollTo(now))
        finish(bench.retainer.pass(now))
        const at = Math.ceil(now / HOUR_MS) * HOUR_MS

        const [answer] = bench.reading.availability([ENDPOINT], at)
        const query = { endpoint: ENDPOINT, from: BASE - 30 * MINUTE_MS, to: at, stepMs: HOUR_MS }
        const history = bench.reading.history(query, at)

        expect(history).toEqual(naiveHistory(naive, query, at))
        for (const [name, ms] of Object.entries(AVAILABILITY_WINDOWS)) {
          expect(answer?.[1]).toHaveProperty(name, availabilityOf(timeOf(naive, at - ms, at), ms))
        }
      }),
      { numRuns: 60 },
    )
  })

  test('of thirty days with polls every half hour is the same from days, hours and minutes', () => {
    const bench = benchOn()
    bench.writing.register([{ index: 0, endpoint: ENDPOINT, holdMs: HOUR_MS, at: BASE }])
    const naive: Naive = { polls: [], holds: [{ from: 0, holdMs: HOUR_MS }], maintenance: [] }
    for (let at = BASE; at < BASE + 40 * DAY_MS; at += 30 * MINUTE_MS + 7000) {
      naive.polls.push(pollOf(at, { state: naive.polls.length % 7 === 0 ? 'down' : 'up' }))
    }
    bench.writing.write(batchOf(naive.polls))
    const now = BASE + 40 * DAY_MS

    finish(bench.rollUp.rollTo(now))
    finish(bench.retainer.pass(now))

    const [answer] = bench.reading.availability([ENDPOINT], now)
    const from = Math.ceil((now - AVAILABILITY_WINDOWS['30d']) / (5 * MINUTE_MS)) * 5 * MINUTE_MS
    expect(answer?.[1]['30d']).toEqual(availabilityOf(timeOf(naive, from, now), now - from))
    expect(answer?.[1]['30d'].coverage).toBeGreaterThan(0.99)
    expect(RETENTION.rawMs).toBeLessThan(now - from)
  })
})
