import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ScheduledItem } from '../../src/poll/scheduler.ts'
import { type Run, items as scheduledItems, type World, world } from './scheduled.ts'

const INTERVAL_MS = 16_000
const QUARTER_MS = INTERVAL_MS / 4
/** Polls that are due within this time start together, at the pace of these tests. */
const COARSE_MS = 20

const items = (count: number, { intervalMs = INTERVAL_MS, ...over }: Partial<ScheduledItem> = {}) =>
  scheduledItems(count, intervalMs, over)

/** When it ran, after its first run, in quarters of an interval. */
function quarters({ runs }: World, key = 'e0'): number[] {
  const of = runs.filter((run) => run.key === key)
  return of.map((run) => Math.round(((run.at - (of[0] as Run).at) / QUARTER_MS) * 50) / 50)
}

describe('a suspect', () => {
  test('is polled every quarter of its interval until it is no suspect any more, and then keeps its rhythm', async () => {
    const made = world(items(1), { poll: (_, number) => ({ suspect: number <= 2 }) })

    await made.clock.advance(2 * INTERVAL_MS + 100)

    expect(quarters(made)).toEqual([0, 1, 2, 4, 8])
    expect([...made.skips]).toEqual([])
    expect(Math.max(...made.lags)).toBeLessThan(COARSE_MS)
  })

  test('is polled again after its retry interval, however short or long it is', async () => {
    for (const share of [0.05, 0.6, 1]) {
      const made = world(items(1, { retryMs: share * INTERVAL_MS }), {
        poll: (_, number) => ({ suspect: number <= 2 }),
      })

      await made.clock.advance(2 * INTERVAL_MS + 100)

      const expected = { 0.05: [0, 0.2, 0.4, 4, 8], 0.6: [0, 2.4, 4.8, 8], 1: [0, 4, 8] }[share]
      expect(quarters(made)).toEqual(expected?.map((at) => expect.closeTo(at, 0)))
    }
  })

  test('has four polls per interval while it stays one', async () => {
    const made = world(items(1), { poll: () => ({ suspect: true }) })

    await made.clock.advance(3 * INTERVAL_MS + 100)

    expect(quarters(made)).toEqual(Array.from({ length: 13 }, (_, at) => at))
  })

  test('whose poll took longer than a quarter of the interval is polled again at once', async () => {
    const made = world(items(1), {
      poll: (_, number) => (number === 1 ? { suspect: true, durationMs: 1.5 * QUARTER_MS } : {}),
    })

    await made.clock.advance(INTERVAL_MS + 100)

    expect(quarters(made)).toEqual([0, 1.5, 4])
  })

  test('whose regular turn comes sooner has no early one', async () => {
    const made = world(items(1), {
      poll: (_, number) => (number === 1 ? { suspect: true, durationMs: INTERVAL_MS + 2000 } : {}),
    })

    await made.clock.advance(2 * INTERVAL_MS + 100)

    expect(quarters(made)).toEqual([0, 4.5, 8])
    expect([...made.skips]).toEqual([])
  })

  test('that limits our rate is polled when the wait is over, and not an interval later', async () => {
    const made = world(items(1), {
      poll: (_, number) => (number === 1 ? { suspect: true, waitMs: 5.5 * QUARTER_MS } : {}),
    })

    await made.clock.advance(2 * INTERVAL_MS + 100)

    expect(quarters(made)).toEqual([0, 5.5, 8])
    expect([...made.skips]).toEqual([['rate-limited', 1]])
  })

  test('with a short interval is polled in time although the scheduler naps', async () => {
    const made = world(items(1, { intervalMs: 2000 }), { poll: (_, number) => ({ suspect: number === 1 }) })

    await made.clock.advance(1000)

    expect(made.runs.map((run) => Math.round(run.at - (made.runs[0] as Run).at))).toEqual([0, 500])
  })
})

describe('an item that is wanted soon', () => {
  test('is polled at once when its last poll is a quarter of the interval ago', async () => {
    const made = world(items(1))
    await made.clock.advance(100 + 1.5 * QUARTER_MS)

    made.scheduler.pollSoon('e0')
    made.scheduler.pollSoon('e0')
    await made.clock.advance(INTERVAL_MS)

    expect(quarters(made)).toEqual([0, expect.closeTo(1.5, 1), 4])
    expect([...made.skips]).toEqual([])
  })

  test('waits for a quarter of the interval to pass since the start of its last poll', async () => {
    const made = world(items(1))
    await made.clock.advance(100)

    made.scheduler.pollSoon('e0')
    await made.clock.advance(INTERVAL_MS)

    expect(quarters(made)).toEqual([0, 1, 4])
  })

  test('is polled once more if it is running, since the running poll may be older than the reason', async () => {
    const made = world(items(1), { poll: () => ({ durationMs: 2 * QUARTER_MS }) })
    await made.clock.advance(QUARTER_MS)

    made.scheduler.pollSoon('e0')
    await made.clock.advance(INTERVAL_MS)

    expect(made.most).toBe(1)
    expect(quarters(made)).toEqual([0, 2, 4])
  })

  test('is not polled before the wait of its rate limit is over', async () => {
    const made = world(items(1), { poll: (_, number) => ({ waitMs: number === 1 ? 3 * QUARTER_MS : 0 }) })
    await made.clock.advance(100 + 2 * QUARTER_MS)

    made.scheduler.pollSoon('e0')
    await made.clock.advance(INTERVAL_MS)

    expect(quarters(made)).toEqual([0, 3, 4])
  })

  test('has its regular turn moved if an early poll came shortly before: two polls at once would be one piece of evidence', async () => {
    const made = world(items(1))
    await made.clock.advance(100 + 3.5 * QUARTER_MS)

    made.scheduler.pollSoon('e0')
    await made.clock.advance(2 * INTERVAL_MS)

    const [, hastened = 0, moved = 0, regular] = quarters(made)
    expect(hastened).toBeCloseTo(3.5, 1)
    expect(moved).toBeCloseTo(hastened + 1, 1)
    expect(regular).toBe(8)
  })

  test('has its first turn sooner, also before the scheduler starts', async () => {
    const made = world(items(2), { started: false })
    made.scheduler.pollSoon('e1')

    made.scheduler.start()
    await made.clock.advance(100)

    expect(made.runs.map((run) => run.key).sort()).toEqual(['e0', 'e1'])
  })

  test('has no effect if it is unknown or removed', async () => {
    const made = world(items(2))
    await made.clock.advance(INTERVAL_MS)
    made.scheduler.pollSoon('e1')
    made.scheduler.configure(items(1))
    made.runs.length = 0

    made.scheduler.pollSoon('e1')
    made.scheduler.pollSoon('missing')
    await made.clock.advance(INTERVAL_MS)

    expect(made.runs.map((run) => run.key)).toEqual(['e0'])
  })

  test('has no effect after the scheduler was stopped', async () => {
    const made = world(items(1))
    await made.clock.advance(INTERVAL_MS)
    await made.scheduler.stop()
    made.runs.length = 0

    made.scheduler.pollSoon('e0')
    await made.clock.advance(INTERVAL_MS)

    expect(made.runs).toEqual([])
  })
})

describe('a witness', () => {
  const suspect: ScheduledItem = { key: 'suspect', intervalMs: INTERVAL_MS / 4, retryMs: QUARTER_MS / 4, limits: [] }

  test('that is polled seldom is polled as soon as the suspect would be', async () => {
    const made = world([...items(1), suspect])
    await made.clock.advance(100)

    made.scheduler.pollSoon('e0', 'suspect')
    await made.clock.advance(INTERVAL_MS)

    expect(quarters(made)).toEqual([0, expect.closeTo(0.25, 1), 4])
  })

  test('that is polled often keeps its own pace', async () => {
    const made = world([...items(1), suspect])
    await made.clock.advance(0.7 * QUARTER_MS)

    made.scheduler.pollSoon('suspect', 'e0')
    await made.clock.advance(QUARTER_MS)

    expect(quarters(made, 'suspect')).toEqual([0, expect.closeTo(0.25, 1), expect.closeTo(1, 1)])
  })

  test('that is running is polled once more, as soon as the suspect would be', async () => {
    const made = world([...items(1), suspect], { poll: () => ({ durationMs: QUARTER_MS / 2 }) })
    await made.clock.advance(100)

    made.scheduler.pollSoon('e0')
    made.scheduler.pollSoon('e0', 'suspect')
    await made.clock.advance(INTERVAL_MS)

    expect(quarters(made)).toEqual([0, expect.closeTo(0.5, 1), 4])
  })
})

describe('early turns and regular turns', () => {
  test('a thousand early turns at once have a pace of their own and delay no regular turn', async () => {
    const made = world(items(1000), { concurrency: 2000 })
    await made.clock.advance(2 * INTERVAL_MS)
    const from = made.clock.monotonic()
    made.lags.length = 0

    for (const { key } of items(1000)) made.scheduler.pollSoon(key)
    await made.clock.advance(INTERVAL_MS)

    const inTenth = Array.from({ length: 10 }, (_, tenth) => {
      const start = from + tenth * 100
      return made.runs.filter((run) => run.at >= start && run.at < start + 100).length
    })
    // 62.5 regular turns a second, and at most four times as many extra ones after the first 12.
    for (const count of inTenth) expect(count).toBeLessThanOrEqual(7 + 25 + 13 + 2)
    expect(Math.max(...made.lags)).toBeLessThanOrEqual(COARSE_MS)
    expect([...made.skips]).toEqual([])
  })

  test('suspects that hang leave half of the limits to healthy items', async () => {
    const hangs = (key: string) => Number(key.slice(1)) < 60
    const made = world(items(100), {
      concurrency: 40,
      poll: (key) => (hangs(key) ? { suspect: true, durationMs: 5000 } : { durationMs: 50 }),
    })
    await made.clock.advance(INTERVAL_MS)
    made.lags.length = 0

    await made.clock.advance(4 * INTERVAL_MS)

    expect(made.most).toBeLessThanOrEqual(40)
    expect([...made.skips]).toEqual([])
    expect(Math.max(...made.lags)).toBeLessThan(COARSE_MS)
    const ofHanging = made.runs.filter((run) => hangs(run.key)).length
    expect(ofHanging).toBeGreaterThan(60 * 5)
  })

  test('an early turn that finds no room before the regular turn is dropped, and not counted', async () => {
    const lanes = [{ name: 'host one', concurrency: 3 }]
    const made = world(items(3, { limits: lanes }), {
      // The others always take two of the three places.
      poll: (key) => (key === 'e1' ? { suspect: true } : { durationMs: 1.2 * INTERVAL_MS }),
    })

    await made.clock.advance(5 * INTERVAL_MS)

    expect(made.most).toBe(3)
    expect(quarters(made, 'e1')).toEqual([0, 4, 8, 12, 16])
    expect([...made.skips.keys()]).toEqual([])
    expect(Math.max(...made.lags)).toBeLessThan(COARSE_MS)
  })

  test('after a stall, a thousand suspects run at twice the usual pace, like all items', async () => {
    const made = world(items(1000), { concurrency: 2000, poll: () => ({ suspect: true }) })
    await made.clock.advance(2 * INTERVAL_MS)

    made.clock.blockLoop(2 * INTERVAL_MS)
    const resumed = made.clock.monotonic()
    await made.clock.advance(QUARTER_MS - 100)

    const inTenth = Array.from({ length: 38 }, (_, tenth) => {
      const start = resumed + tenth * 100
      return made.runs.filter((run) => run.at >= start && run.at < start + 100).length
    })
    expect(inTenth[0]).toBeLessThanOrEqual(8 + 13)
    for (const count of inTenth.slice(1)) expect(count).toBeLessThanOrEqual(13)
  })

  test('after a blocked event loop, one early poll runs, not one for every missed turn', async () => {
    const made = world(items(1), { poll: () => ({ suspect: true }) })
    await made.clock.advance(INTERVAL_MS)
    made.runs.length = 0

    made.clock.blockLoop(10 * INTERVAL_MS)
    const resumed = made.clock.monotonic()
    await made.clock.advance(QUARTER_MS - 100)

    expect(made.runs.map((run) => run.at)).toEqual([resumed])
  })
})

describe('after a change of the configuration', () => {
  test('an early turn is neither lost nor doubled, and the rhythm stays', async () => {
    const made = world(items(3), { poll: (key, number) => ({ suspect: key === 'e0' && number === 1 }) })
    await made.clock.advance(100)

    made.scheduler.configure(items(4))
    made.scheduler.configure(items(2))
    await made.clock.advance(INTERVAL_MS)

    expect(quarters(made)).toEqual([0, 1, 4])
  })

  test('of the interval, the early turn comes a quarter of the new interval after the poll', async () => {
    for (const intervalMs of [4000, 64_000]) {
      const made = world(items(1), { poll: (_, number) => ({ suspect: number === 1 }) })
      await made.clock.advance(100)
      // Placed a second time, an item comes 0.618 of its interval after the change.
      made.scheduler.configure(items(1, { intervalMs }))

      await made.clock.advance(0.6 * intervalMs)

      expect(made.runs.map((run) => Math.round(run.at - (made.runs[0] as Run).at))).toEqual([0, intervalMs / 4])
    }
  })
})

describe('for all results of polls', () => {
  const anyPoll = fc.record({
    suspect: fc.boolean(),
    hasten: fc.boolean(),
    durationMs: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 0, max: 200 }) },
      fc.integer({ min: 0, max: 15_000 }),
    ),
  })

  test('no item overlaps itself, is polled sooner than a quarter of its interval, more than 5 times or less than once per interval, or loses its rhythm', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyPoll, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 3 * INTERVAL_MS })), {
          maxLength: 10,
        }),
        async (script, count, hastened) => {
          let polls = 0
          let quiet = false
          const made = world(items(count), {
            started: false,
            poll: (key) => {
              if (quiet) return {}
              const next = script[polls++ % script.length]
              // Also from within a poll.
              if (next?.hasten === true) made.scheduler.pollSoon(key === 'e0' ? 'e1' : 'e0')
              return next ?? {}
            },
          })
          for (const [item, afterMs] of hastened) made.clock.after(afterMs, () => made.scheduler.pollSoon(`e${item}`))

          const start = made.clock.monotonic()
          made.scheduler.start()
          await made.clock.advance(10 * INTERVAL_MS)
          quiet = true
          await made.clock.advance(3.9 * INTERVAL_MS)

          const end = made.clock.monotonic()
          for (const [item, { key }] of items(count).entries()) {
            const runs = made.runs.filter((run) => run.key === key)
            for (const [at, run] of runs.slice(1).entries()) {
              const before = runs[at] as Run
              expect(run.at).toBeGreaterThanOrEqual(before.end)
              // A turn that waited for the end of a long poll is as late as that, and the next one in its rhythm.
              if (before.end - before.at < QUARTER_MS)
                expect(run.at - before.at).toBeGreaterThanOrEqual(QUARTER_MS - 15)
            }
            for (const { at } of runs) {
              expect(runs.filter((run) => run.at >= at && run.at < at + INTERVAL_MS).length).toBeLessThanOrEqual(5)
              if (at + 2 * INTERVAL_MS > end) continue
              expect(runs.some((run) => run.at > at && run.at <= at + 2 * INTERVAL_MS)).toBe(true)
            }
            const last = runs.filter((run) => run.at >= end - 2 * INTERVAL_MS)
            expect(last).toHaveLength(2)
            for (const { at } of last) {
              const turns = (at - start) / INTERVAL_MS - ((item * 0.618_033_988_749_895) % 1)
              expect(turns - Math.round(turns)).toBeCloseTo(0, 3)
            }
          }
        },
      ),
      { numRuns: 200 },
    )
  })
})
