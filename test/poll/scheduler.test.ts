import { describe, expect, test } from 'vitest'
import { items, type World, world } from './scheduled.ts'

const perSecond = ({ runs }: World, from: number, to: number): number[] =>
  Array.from({ length: (to - from) / 1000 }, (_, at) => {
    const start = from + at * 1000
    return runs.filter((run) => run.at >= start && run.at < start + 1000).length
  })

function longestGap({ runs }: World, key: string): number {
  const times = runs.filter((run) => run.key === key).map((run) => run.at)
  return Math.max(...times.slice(1).map((at, before) => at - (times[before] as number)))
}

test.each([
  [2000, 10],
  [1000, 10],
  [625, 16],
  [500, 20],
  [20, 20],
])('of %i polls a second, those that are due within %i ms start together', async (count, withinMs) => {
  const made = world(items(count, 1000), { concurrency: count })
  await made.clock.advance(4000)

  const times = new Set(made.runs.map(({ at }) => at).filter((at) => at >= 2000))
  expect(made.runs.filter(({ at }) => at >= 2000).length / count).toBeCloseTo(3, 1)
  expect(times.size).toBeLessThanOrEqual(3000 / withinMs + 1)
  expect(Math.max(...made.lags)).toBeLessThanOrEqual(withinMs)
})

test('however often items want to be polled soon, turns are on time', async () => {
  const made = world(items(2000, 4000), { concurrency: 2000 })
  await made.clock.advance(8000)
  made.lags.length = 0

  for (let at = 0; at < 400; at++) {
    made.scheduler.pollSoon(`e${(7 * at) % 2000}`)
    await made.clock.advance(5)
  }

  expect(made.lags.length).toBeGreaterThan(900)
  expect(Math.max(...made.lags)).toBeLessThanOrEqual(20)
})

describe('the lateness', () => {
  test('is counted while all polls are busy and turns wait for an interval', async () => {
    const made = world(items(10, 1000), { concurrency: 2, poll: () => ({ durationMs: 5000 }) })

    await made.clock.advance(20_000)
    expect(made.scheduler.lateMs).toBeGreaterThan(10_000)
    made.scheduler.configure(items(10, 1000), 100)
    await made.clock.advance(20_000)
    expect(made.scheduler.lateMs).toBe(0)
  })

  test('is counted while short intervals pass behind an item with a long one', async () => {
    const hourly = items(300, 3_600_000).map((item) => ({ ...item, key: `hourly ${item.key}` }))
    const made = world([...hourly, ...items(2, 6000)])
    await made.clock.advance(3_600_000)

    made.clock.blockLoop(20 * 60_000)
    await made.clock.advance(30_000)

    expect(made.scheduler.lateMs).toBeGreaterThan(20_000)
    await made.clock.advance(20 * 60_000)
    expect(made.scheduler.lateMs).toBe(0)
  })

  test('is none because of a slow host', async () => {
    const limits = [{ name: 'one host', concurrency: 1 }]
    const made = world(items(10, 1000, { limits }), { poll: () => ({ durationMs: 5000 }) })

    await made.clock.advance(20_000)

    expect(made.scheduler.lateMs).toBe(0)
  })
})

describe('the rhythm', () => {
  test('every item runs once per interval, spread over it, in time', async () => {
    const made = world(items(100, 10_000))
    const start = made.clock.monotonic()

    await made.clock.advance(60_000)

    for (const count of perSecond(made, start, start + 60_000)) {
      expect(count).toBeGreaterThanOrEqual(8)
      expect(count).toBeLessThanOrEqual(12)
    }
    for (const { key } of items(100, 0)) expect(longestGap(made, key)).toBeLessThan(10_050)
    expect([...made.skips]).toEqual([])
    expect(Math.max(...made.lags)).toBeLessThan(50)
  })

  test('an item never overlaps itself: one turn waits for the end of a long run, further ones are skipped and counted', async () => {
    const made = world(items(1, 1000), { poll: () => ({ durationMs: 2500 }) })

    await made.clock.advance(12_400)

    expect(made.most).toBe(1)
    expect(longestGap(made, 'e0')).toBe(2500)
    expect(made.runs).toHaveLength(5)
    expect(made.skips.get('overlap')).toBe(7)
    expect(Math.max(...made.lags)).toBeLessThan(50)
  })

  test('the first round is also done when the last missing item is removed', async () => {
    const made = world(items(2, 10_000))
    await made.clock.advance(100)
    expect(made.scheduler.firstRoundDone).toBe(false)

    made.scheduler.configure(items(1, 10_000))

    expect(made.scheduler.firstRoundDone).toBe(true)
  })

  test('the first round is done when every item was polled once', async () => {
    const made = world(items(20, 10_000))
    expect(made.scheduler.firstRoundDone).toBe(false)

    await made.clock.advance(10_100)

    expect(made.scheduler.firstRoundDone).toBe(true)
  })
})

describe('limits', () => {
  test('the limit of all concurrent polls holds', async () => {
    const made = world(items(100, 1000), { concurrency: 10, poll: () => ({ durationMs: 500 }) })

    await made.clock.advance(10_000)

    expect(made.most).toBe(10)
    expect(made.runs.length).toBeGreaterThan(180)
    const keys = new Set(made.runs.map((run) => run.key))
    expect(keys.size).toBe(100)
  })

  test('a busy host delays no other host', async () => {
    const busy = items(20, 1000, { limits: [{ name: 'host one', concurrency: 2 }] })
    const others = items(20, 1000).map((item) => ({ ...item, key: `other-${item.key}` }))
    const made = world([...busy, ...others], { poll: () => ({ durationMs: 400 }) })

    await made.clock.advance(20_000)

    expect(made.skips.get('concurrency')).toBeGreaterThan(0)
    for (const { key } of others) expect(longestGap(made, key)).toBeLessThan(1050)
    const ofBusy = made.runs.filter((run) => !run.key.startsWith('other')).length
    expect(ofBusy).toBeGreaterThan(90)
    expect(ofBusy).toBeLessThanOrEqual(102)
  })

  test('an endpoint with two shared limits waits for both', async () => {
    const lanes = [
      { name: 'host one', concurrency: 8 },
      { name: 'network one', concurrency: 3 },
    ]
    const made = world(items(20, 1000, { limits: lanes }), { poll: () => ({ durationMs: 500 }) })

    await made.clock.advance(5000)

    expect(made.most).toBe(3)
  })

  test('a node that limits our rate is not polled until the wait is over', async () => {
    const made = world(items(1, 1000), { poll: (_, number) => ({ waitMs: number === 1 ? 10_000 : 0 }) })

    await made.clock.advance(15_000)

    expect(longestGap(made, 'e0')).toBeGreaterThanOrEqual(10_000)
    expect(longestGap(made, 'e0')).toBeLessThan(11_500)
    expect(made.skips.get('rate-limited')).toBeGreaterThan(8)
  })

  test('what a node has asked for does not hold for the one that follows it under the same key', async () => {
    const made = world(items(2, 1000), { poll: () => ({ waitMs: 3_600_000 }) })
    await made.clock.advance(5000)

    made.scheduler.configure(items(2, 1000), 256, new Set(['e0']))
    await made.clock.advance(5000)

    expect(made.runs.filter(({ key }) => key === 'e0')).toHaveLength(1)
    expect(made.runs.filter(({ key }) => key === 'e1')).toHaveLength(2)
  })

  test('nor does what it asks for after it was replaced', async () => {
    const made = world(items(1, 1000), {
      poll: (_, number) => ({ durationMs: 400, waitMs: number === 1 ? 3_600_000 : 0 }),
    })
    await made.clock.advance(200)
    expect(made.runs).toHaveLength(1)

    made.scheduler.configure(items(1, 1000), 256, new Set())
    await made.clock.advance(5000)

    expect(made.runs.length).toBeGreaterThan(4)
  })
})

describe('time', () => {
  test.each([3_600_000, -3_600_000])('a wall clock stepped by %i ms makes no burst and no gap', async (step) => {
    const made = world(items(100, 10_000))
    const start = made.clock.monotonic()
    await made.clock.advance(30_000)

    made.clock.stepWall(step)
    await made.clock.advance(30_000)

    for (const count of perSecond(made, start, start + 60_000)) expect(count).toBeLessThanOrEqual(12)
    for (const { key } of items(100, 0)) expect(longestGap(made, key)).toBeLessThan(10_050)
    expect([...made.skips]).toEqual([])
  })

  test('a loop blocked for five seconds makes no burst: missed turns are skipped and counted, and overdue items run at most at twice the pace', async () => {
    const made = world(items(1000, 1000), { concurrency: 2000 })
    await made.clock.advance(5000)
    const before = made.runs.length

    made.clock.blockLoop(5000)
    const resumed = made.clock.monotonic()
    await made.clock.advance(5000)

    expect(before).toBeGreaterThan(4900)
    expect(made.skips.get('late')).toBeGreaterThan(3500)
    const perTenth = Array.from({ length: 50 }, (_, at) => {
      const from = resumed + at * 100
      return made.runs.filter((run) => run.at >= from && run.at < from + 100).length
    })
    for (const count of perTenth.slice(1)) expect(count).toBeLessThanOrEqual(260)
    expect(perTenth[0]).toBeLessThanOrEqual(360)
    for (const { key } of items(1000, 0)) expect(longestGap(made, key)).toBeLessThan(7100)
  })

  test('a process stopped for a minute polls every endpoint once, and then keeps the rhythm', async () => {
    const made = world(items(3, 15_000))
    await made.clock.advance(30_000)
    made.runs.length = 0

    made.clock.blockLoop(60_000)
    await made.clock.advance(14_000)

    const counts = items(3, 0).map(({ key }) => made.runs.filter((run) => run.key === key).length)
    for (const count of counts) expect(count).toBeLessThanOrEqual(2)
    for (const count of counts) expect(count).toBeGreaterThanOrEqual(1)
  })
})

describe('changes', () => {
  test('items that stay keep their rhythm, new ones are added, removed ones are not polled', async () => {
    const made = world(items(10, 10_000))
    await made.clock.advance(25_000)
    const due = new Map(made.runs.map((run) => [run.key, run.at]))
    made.runs.length = 0

    made.scheduler.configure([...items(9, 10_000), { ...items(1, 10_000)[0]!, key: 'new' }])
    await made.clock.advance(10_000)

    for (const { key } of items(9, 0)) {
      expect(made.runs.filter((run) => run.key === key).map((run) => run.at - (due.get(key) as number))).toEqual([
        expect.closeTo(10_000, -2),
      ])
    }
    expect(made.runs.filter((run) => run.key === 'new')).toHaveLength(1)
    expect(made.runs.filter((run) => run.key === 'e9')).toHaveLength(0)
  })

  test('another interval takes effect at once', async () => {
    const made = world(items(1, 60_000))
    await made.clock.advance(1000)

    made.scheduler.configure(items(1, 1000))
    made.runs.length = 0
    await made.clock.advance(10_000)

    expect(made.runs.length).toBeGreaterThanOrEqual(9)
  })

  test('stopping ends what runs, and nothing runs after it', async () => {
    const made = world(items(10, 1000), { poll: () => ({ durationMs: 60_000 }) })
    await made.clock.advance(2000)

    await made.scheduler.stop()
    const count = made.runs.length
    await made.clock.advance(10_000)

    expect(made.scheduler.running).toBe(0)
    expect(made.runs).toHaveLength(count)
  })
})
