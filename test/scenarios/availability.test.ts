import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { coveredMs, flooredRatio, mergeRanges, type TimeRange } from '../../src/core/verdict/availability.ts'
import type { PlannedWindow } from '../../src/poll/maintenance-calendar.ts'
import type { HistoryBucket, Store } from '../../src/store/store.ts'
import { opened, temporaryDirectory } from '../store/setting.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { createStage, type Node, type Stage, type StageNetwork, type StageOptions } from '../support/stage.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** How often the jobs run: much rarer than the daemon's five minutes, so that each one has much to add up. */
const LONGEST_PASS = 6 * HOUR

const REFUSED: Node = { failure: { kind: 'refused' } }
const KEY = 'ethereum/a'

interface Place {
  readonly store: Store
  stage: Stage
  /** The wall clock at the start. */
  readonly from: number
}

function networks(intervalMs: number): StageNetwork[] {
  return [{ name: 'ethereum', endpoints: ['a', 'b'], endpoint: { intervalMs } }]
}

async function place(
  from: number,
  options: StageOptions & { path?: string; intervalMs?: number } = {},
): Promise<Place> {
  const clock = createFakeClock({ now: from })
  const { store } = await opened({ path: options.path ?? ':memory:', clock })
  const stage = createStage({
    networks: networks(options.intervalMs ?? MINUTE),
    ...options,
    clock,
    store,
  })
  return { store, stage, from }
}

/** Lets time pass and runs the roll-up and retention jobs as the daemon would. */
async function pass({ stage, store }: Place, ms: number, everyMs = LONGEST_PASS): Promise<void> {
  for (let left = ms; left > 0; left -= everyMs) {
    await stage.pass(Math.min(left, everyMs))
    await store.flush()
    for (const job of ['roll-up', 'retention'] as const) expect(await store.run(job, stage.clock.now())).toBe(true)
  }
}

async function passTo(at: Place, wall: number): Promise<void> {
  await pass(at, wall - at.stage.clock.now())
}

/** Makes the endpoint fail for so long; returns when it was down, from its first bad poll to its first good one. */
async function outage(at: Place, ms: number, ill: Node = REFUSED): Promise<TimeRange> {
  const { stage } = at
  const fromTo = [stage.clock.now(), stage.clock.now() + ms] as const
  stage.set(KEY, ill)
  await pass(at, ms)
  stage.set(KEY)
  await pass(at, 5 * MINUTE)
  const [from = 0, until = 0] = fromTo.map((moment) => stage.pollsOf(KEY).find((poll) => poll > moment))
  return { from, until }
}

async function whole({ store }: Place, from: number, to: number): Promise<HistoryBucket> {
  const [bucket] = await store.history({ endpoint: KEY, from, to, stepMs: to - from })
  if (bucket === undefined) throw new Error('no bucket')
  const { upMs, degradedMs, downMs, maintenanceMs, unknownMs } = bucket
  expect(upMs + degradedMs + downMs + maintenanceMs + unknownMs).toBe(to - from)
  return bucket
}

describe('the time of an endpoint', () => {
  test('is exact to the millisecond over outages and degradations', async () => {
    const at = await place(Date.UTC(2026, 5, 10, 3))
    await pass(at, 2 * HOUR)
    const down = [await outage(at, 17 * MINUTE + 11 * SECOND)]
    await pass(at, HOUR)
    const late = await outage(at, 40 * MINUTE, { behind: 5 })
    await pass(at, 3 * HOUR)
    down.push(await outage(at, 2 * HOUR))
    await passTo(at, at.from + 12 * HOUR)

    const now = at.stage.clock.now()
    const bucket = await whole(at, at.from, now)
    const downMs = coveredMs(down, at.from, now)
    const lateMs = late.until - late.from
    const [first = 0] = at.stage.pollsOf(KEY)
    expect(bucket).toMatchObject({ downMs, degradedMs: lateMs, maintenanceMs: 0, unknownMs: first - at.from })
    expect(downMs).toBeGreaterThan(2 * HOUR)
    const known = now - first
    const day = (await at.store.availability([KEY], now)).get(KEY)?.['24h']
    expect(day).toEqual({
      ratio: flooredRatio(known - downMs, known),
      coverage: flooredRatio(known, DAY),
      fresh: flooredRatio(known - downMs - lateMs, known),
    })
  })

  test('is the same however it is divided, by hours and over midnight', async () => {
    const at = await place(Date.UTC(2026, 5, 10, 20))
    await pass(at, 3 * HOUR + 50 * MINUTE)
    const down = await outage(at, 90 * MINUTE)
    await passTo(at, at.from + 9 * HOUR)

    for (const stepMs of [7 * SECOND * 60 * 60, HOUR, 5 * MINUTE, 97 * SECOND]) {
      const buckets = await at.store.history({ endpoint: KEY, from: at.from, to: at.stage.clock.now(), stepMs })
      for (const bucket of buckets) {
        const to = Math.min(bucket.start + stepMs, at.stage.clock.now())
        expect([bucket.start, bucket.downMs]).toEqual([bucket.start, coveredMs([down], bucket.start, to)])
      }
    }
  })

  test('during which the daemon does not run is unknown, never down and never up', async () => {
    const path = join(temporaryDirectory(), 'history.db')
    const at = await place(Date.UTC(2026, 5, 10, 3), { path })
    await pass(at, 3 * HOUR)
    at.stage.set(KEY, REFUSED)
    await pass(at, HOUR)
    const diedAt = at.stage.pollsOf(KEY).find((poll) => poll > at.from + 3 * HOUR) ?? 0
    // A poll under way is aborted.
    const firstPoll = at.stage.polls.find(({ endpoint }) => endpoint === KEY)?.at ?? 0
    const lastPoll = at.stage.polls.findLast(({ endpoint }) => endpoint === KEY)?.at ?? 0
    const { world } = at.stage
    at.stage.saved()
    await at.stage.stop()
    await at.store.flush()
    const saved = {
      healths: await at.store.savedHealth(),
      incidents: await at.store.incidents({ limit: 100 }),
    }
    await world.clock.advance(5 * HOUR)
    at.stage = createStage({ networks: networks(MINUTE), store: at.store, world, saved })
    const again = at.stage.clock.now()
    await pass(at, HOUR)
    const backAt = at.stage.clock.now()
    at.stage.set(KEY)
    await passTo(at, again + 3 * HOUR)

    const now = at.stage.clock.now()
    const firstAgain = at.stage.pollsOf(KEY).find((poll) => poll >= again) ?? 0
    const good = at.stage.pollsOf(KEY).find((poll) => poll > backAt) ?? 0
    const bucket = await whole(at, at.from, now)
    // The last result holds for two intervals.
    expect(bucket.downMs).toBe(lastPoll + 2 * MINUTE - diedAt + (good - firstAgain))
    expect(bucket.unknownMs).toBe(firstPoll - at.from + firstAgain - (lastPoll + 2 * MINUTE))
    const [incident] = await at.store.incidents({ limit: 10 })
    expect(incident).toMatchObject({ openedAt: diedAt, closedAt: good })
    const day = (await at.store.availability([KEY], now)).get(KEY)?.['24h']
    expect(day?.coverage).toBe(flooredRatio(now - at.from - bucket.unknownMs, DAY))
  })

  test('of our own failures is unknown, and planned maintenance is neither up nor down', async () => {
    const from = Date.UTC(2026, 5, 10, 3)
    const planned = { from: from + 2 * HOUR + 1234, until: from + 4 * HOUR + 777 }
    const window: PlannedWindow = {
      name: 'upgrade',
      networks: ['ethereum'],
      endpoints: ['a'],
      when: { kind: 'once', ...planned },
    }
    const at = await place(from, { windows: [window] })
    await pass(at, HOUR)
    for (const name of ['a', 'b'])
      at.stage.set(`ethereum/${name}`, { failure: { kind: 'unroutable', code: 'ENETUNREACH' } })
    const lostAt = at.stage.clock.now()
    await pass(at, 30 * MINUTE)
    for (const name of ['a', 'b']) at.stage.set(`ethereum/${name}`)
    const foundAt = at.stage.clock.now()
    await passTo(at, from + 3 * HOUR)
    at.stage.set(KEY, REFUSED)
    await passTo(at, from + 5 * HOUR)
    at.stage.set(KEY)
    await passTo(at, from + 6 * HOUR)

    const bucket = await whole(at, from, from + 6 * HOUR)
    const good = at.stage.pollsOf(KEY).find((poll) => poll > from + 5 * HOUR) ?? 0
    const [first = 0] = at.stage.pollsOf(KEY)
    const [lost = 0, found = 0] = [lostAt, foundAt].map((moment) => at.stage.pollsOf(KEY).find((poll) => poll > moment))
    expect(bucket.maintenanceMs).toBe(planned.until - planned.from)
    expect(bucket.downMs).toBe(good - planned.until)
    expect(bucket.unknownMs).toBe(first - from + (found - lost))
    const [incident, ...more] = await at.store.incidents({ limit: 10 })
    expect(more).toEqual([])
    const bad = at.stage.pollsOf(KEY).find((poll) => poll > from + 3 * HOUR)
    expect(incident).toMatchObject({ openedAt: bad, closedAt: good, value: { plannedUntil: planned.until } })
  })

  test('planned for every night in a zone is an hour a day over a change of clocks', async () => {
    // 25 October 2026: Bucharest goes from 04:00 back to 03:00.
    const from = Date.UTC(2026, 9, 23)
    const when = { kind: 'repeated', schedule: '30 2 * * *', durationMs: HOUR, timeZone: 'Europe/Bucharest' } as const
    const window: PlannedWindow = { name: 'nightly', networks: ['ethereum'], endpoints: null, when }
    const at = await place(from, { windows: [window], intervalMs: 30 * MINUTE })
    await passTo(at, from + 4 * DAY)

    // The first window is half over at the start.
    expect((await whole(at, from, from + 4 * DAY)).maintenanceMs).toBe(3.5 * HOUR)
    const days = await at.store.history({ endpoint: KEY, from: from - HOUR, to: from + 4 * DAY - HOUR, stepMs: DAY })
    expect(days.map(({ maintenanceMs }) => maintenanceMs)).toEqual([HOUR, HOUR, HOUR, HOUR])
    expect(at.stage.incidents()).toEqual([])
  })

  test('on 29 February is a day like any other', async () => {
    const from = Date.UTC(2028, 1, 28, 12)
    const at = await place(from, { intervalMs: 4 * MINUTE })
    await passTo(at, Date.UTC(2028, 1, 28, 23, 30))
    const down = [await outage(at, HOUR)]
    await passTo(at, Date.UTC(2028, 1, 29, 23, 30))
    down.push(await outage(at, HOUR))
    await passTo(at, Date.UTC(2028, 2, 1, 12))

    const days = await at.store.history({
      endpoint: KEY,
      from: Date.UTC(2028, 1, 28),
      to: Date.UTC(2028, 2, 2),
      stepMs: DAY,
    })
    expect(days.map(({ start }) => new Date(start).toISOString().slice(0, 10))).toEqual([
      '2028-02-28',
      '2028-02-29',
      '2028-03-01',
    ])
    expect(days.map(({ downMs }) => downMs)).toEqual(days.map(({ start }) => coveredMs(down, start, start + DAY)))
    const leap = days[1]
    expect((leap?.upMs ?? 0) + (leap?.downMs ?? 0)).toBe(DAY)
    const shares = (await at.store.availability([KEY], at.stage.clock.now())).get(KEY)
    expect(shares?.['24h'].coverage).toBe(1)
    expect(shares?.['24h'].ratio).toBe(
      flooredRatio(DAY - coveredMs(down, at.stage.clock.now() - DAY, at.stage.clock.now()), DAY),
    )
  })
})

test('ninety days of outages, maintenance and stops, rolled up and retained, add up exactly', async () => {
  const from = Date.UTC(2026, 7, 1)
  const intervalMs = HOUR
  const when = { kind: 'repeated', schedule: '0 3 * * 0', durationMs: 2 * HOUR, timeZone: 'America/New_York' } as const
  const window: PlannedWindow = { name: 'weekly', networks: ['ethereum'], endpoints: null, when }
  const at = await place(from, { intervalMs, windows: [window] })
  const down: TimeRange[] = []
  let random = 7
  const next = () => (random = (random * 48_271) % 2_147_483_647) / 2_147_483_647

  while (at.stage.clock.now() < from + 88 * DAY) {
    await pass(at, Math.floor((6 + 60 * next()) * HOUR), DAY)
    const [illFrom, illFor] = [at.stage.clock.now(), Math.floor((1.5 + 3 * next()) * HOUR)]
    at.stage.set(KEY, REFUSED)
    await pass(at, illFor, DAY)
    at.stage.set(KEY)
    await at.stage.pass(2 * HOUR)
    const [bad = 0, good = 0] = [illFrom, illFrom + illFor].map((moment) =>
      at.stage.pollsOf(KEY).find((poll) => poll > moment),
    )
    down.push({ from: bad, until: good })
  }
  await pass(at, from + 91 * DAY - at.stage.clock.now())

  const now = at.stage.clock.now()
  const windows = mergeRanges(
    Array.from({ length: 14 }, (_, week) => {
      // Sundays; New York is at UTC-4 until 1 November 2026.
      const sunday = Date.UTC(2026, 7, 2) + week * 7 * DAY
      const begin = sunday + (sunday < Date.UTC(2026, 10, 1, 6) ? 7 : 8) * HOUR
      return { from: begin, until: begin + 2 * HOUR }
    }).filter((span) => span.from < now),
  )
  const judgedDown = (a: number, b: number) =>
    down.reduce((sum, one) => {
      const [begin, end] = [Math.max(a, one.from), Math.min(b, one.until)]
      return sum + (end > begin ? end - begin - coveredMs(windows, begin, end) : 0)
    }, 0)
  const windowFrom = now - 90 * DAY
  const bucket = await whole(at, windowFrom, now)
  expect(down.length).toBeGreaterThan(40)
  expect(bucket.maintenanceMs).toBe(coveredMs(windows, windowFrom, now))
  expect(bucket.unknownMs).toBe(0)
  expect(bucket.downMs).toBe(judgedDown(windowFrom, now))
  const shares = (await at.store.availability([KEY], now)).get(KEY)
  for (const [name, days] of [
    ['24h', 1],
    ['7d', 7],
    ['30d', 30],
    ['90d', 90],
  ] as const) {
    const begin = now - days * DAY
    const known = now - begin - coveredMs(windows, begin, now)
    expect([name, shares?.[name].ratio, shares?.[name].coverage]).toEqual([
      name,
      flooredRatio(known - judgedDown(begin, now), known),
      flooredRatio(known, days * DAY),
    ])
  }
}, 300_000)
