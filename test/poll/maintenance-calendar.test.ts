import { describe, expect, test } from 'vitest'
import type { MaintenancePeriod } from '../../src/core/maintenance.ts'
import { createMaintenanceCalendar, type PlannedWindow } from '../../src/poll/maintenance-calendar.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { recordingLog } from '../support/log.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** A Thursday. */
const NOON = Date.UTC(2026, 0, 1, 12)

function once(from: number, until: number, over: Partial<PlannedWindow> = {}): PlannedWindow {
  return { name: 'once', networks: ['ethereum'], endpoints: null, when: { kind: 'once', from, until }, ...over }
}

function repeated(schedule: string, durationMs: number, timeZone = 'UTC'): PlannedWindow {
  return {
    name: 'upgrade',
    networks: ['ethereum'],
    endpoints: ['own-1'],
    when: { kind: 'repeated', schedule, durationMs, timeZone },
  }
}

function planned(windows: readonly PlannedWindow[], now = NOON) {
  const clock = createFakeClock({ now })
  const log = recordingLog()
  const calls: { at: number; periods: readonly MaintenancePeriod[]; changedNow: boolean }[] = []
  const calendar = createMaintenanceCalendar({
    clock,
    log,
    onChange: (periods, changedNow) => calls.push({ at: clock.now(), periods, changedNow }),
  })
  calendar.configure(windows)
  return { clock, log, calls, calendar, latest: () => calls.at(-1)?.periods ?? [] }
}

const spans = (periods: readonly MaintenancePeriod[]) =>
  periods.map(({ from, until }) => [from, until].map((at) => new Date(at).toISOString().slice(5, 16)).join(' – '))

describe('the plan', () => {
  test('is announced at once: what runs, and what begins within eight days, by time', () => {
    const { calls } = planned([
      once(NOON + 8 * DAY_MS + 1, NOON + 9 * DAY_MS, { name: 'too far' }),
      once(NOON + 8 * DAY_MS, NOON + 20 * DAY_MS, { name: 'last' }),
      once(NOON - DAY_MS, NOON, { name: 'over' }),
      once(NOON - DAY_MS, NOON + 1, { name: 'running' }),
      repeated('0 3 * * 0', HOUR_MS),
    ])

    expect(calls).toHaveLength(1)
    expect(calls[0]?.changedNow).toBe(true)
    expect(calls[0]?.periods.map(({ name }) => name)).toEqual(['running', 'upgrade', 'last'])
  })

  test('is empty without windows, and reports no change', () => {
    expect(planned([]).calls).toEqual([{ at: NOON, periods: [], changedNow: false }])
  })

  test('has a period for every network of a window, with the endpoints that it names', () => {
    const { latest } = planned([
      once(NOON, NOON + 1, { networks: ['ethereum', 'avalanche'], endpoints: ['own-1'], name: 'both' }),
    ])

    expect(latest()).toEqual([
      { name: 'both', network: 'avalanche', endpoints: ['own-1'], from: NOON, until: NOON + 1 },
      { name: 'both', network: 'ethereum', endpoints: ['own-1'], from: NOON, until: NOON + 1 },
    ])
  })

  test('keeps overlapping windows separate', () => {
    const { latest } = planned([
      once(NOON, NOON + 2 * HOUR_MS, { name: 'a' }),
      once(NOON + HOUR_MS, NOON + 3 * HOUR_MS, { name: 'b' }),
    ])

    expect(spans(latest())).toEqual(['01-01T12:00 – 01-01T14:00', '01-01T13:00 – 01-01T15:00'])
  })

  test('finds a repeated window that began before the start and still runs, also one of thirty days', () => {
    expect(spans(planned([repeated('0 11 * * 4', 61 * MINUTE_MS)]).latest())[0]).toBe('01-01T11:00 – 01-01T12:01')
    expect(spans(planned([repeated('0 13 2 12 *', 30 * DAY_MS)]).latest())).toEqual(['12-02T13:00 – 01-01T13:00'])
    expect(spans(planned([repeated('0 11 1 * *', HOUR_MS)]).latest())).toEqual([])
  })

  test('of a window for every minute is limited to the periods that end last and the next ones', () => {
    const { latest } = planned([repeated('* * * * *', 2 * HOUR_MS)])

    expect(latest()).toHaveLength(100)
    expect(latest().filter(({ from }) => from <= NOON)).toHaveLength(50)
    expect(latest().map(({ from }) => from)).toEqual(
      Array.from({ length: 100 }, (_, at) => NOON + (at - 49) * MINUTE_MS),
    )
  })
})

describe('days on which clocks are changed', () => {
  test.each([
    // 03:30 does not exist, and is 04:30; it lasts an hour of time.
    ['Europe/Bucharest', '2026-03-28T12:00Z', '30 3 * * *', '03-29T01:30 – 03-29T02:30'],
    ['America/New_York', '2026-03-07T12:00Z', '30 3 * * *', '03-08T07:30 – 03-08T08:30'],
    ['America/New_York', '2026-03-07T12:00Z', '30 2 * * *', '03-08T07:30 – 03-08T08:30'],
    // 03:30 in Bucharest and 01:30 in New York come twice.
    ['Europe/Bucharest', '2026-10-24T12:00Z', '30 3 * * *', '10-25T00:30 – 10-25T01:30'],
    ['America/New_York', '2026-10-31T12:00Z', '30 3 * * *', '11-01T08:30 – 11-01T09:30'],
    ['America/New_York', '2026-10-31T12:00Z', '30 1 * * *', '11-01T05:30 – 11-01T06:30'],
  ])('in %s after %s, a window of an hour at %s is %s', (zone, now, schedule, expected) => {
    const { latest } = planned([repeated(schedule, HOUR_MS, zone)], Date.parse(now))

    expect(spans(latest())[0]).toBe(expected)
    expect(latest()).toHaveLength(8)
  })

  test('a window over the change has the configured duration', () => {
    const { latest } = planned(
      [repeated('0 2 * * *', 3 * HOUR_MS, 'Europe/Bucharest')],
      Date.parse('2026-03-28T12:00Z'),
    )

    expect(spans(latest())[0]).toBe('03-29T00:00 – 03-29T03:00')
  })
})

describe('time', () => {
  test('every start and end is announced, and every hour without one', async () => {
    const { clock, calls, log } = planned([once(NOON + 90 * MINUTE_MS, NOON + 100 * MINUTE_MS)])

    await clock.advance(4 * HOUR_MS)

    expect(calls.map(({ at, changedNow, periods }) => [(at - NOON) / MINUTE_MS, changedNow, periods.length])).toEqual([
      [0, false, 1],
      [60, false, 1],
      [90, true, 1],
      [100, true, 0],
      [160, false, 0],
      [220, false, 0],
    ])
    expect(log.lines.map(({ message, fields }) => [message, fields])).toEqual([
      ['maintenance begins', { network: 'ethereum', window: 'once' }],
      ['maintenance ends', { network: 'ethereum', window: 'once' }],
    ])
  })

  test('the horizon moves: a week later the window of the next week is there', async () => {
    const { clock, latest } = planned([repeated('0 3 * * 0', HOUR_MS)])
    expect(spans(latest())).toEqual(['01-04T03:00 – 01-04T04:00'])

    await clock.advance(7 * DAY_MS)

    expect(spans(latest())).toEqual(['01-11T03:00 – 01-11T04:00'])
  })

  test('a window that begins again before it ends is logged once', async () => {
    const { clock, calls, log } = planned([repeated('*/30 * * * *', HOUR_MS)])

    await clock.advance(5 * HOUR_MS)

    expect(calls.length).toBeGreaterThan(8)
    expect(log.lines.map(({ message }) => message)).toEqual(['maintenance begins'])
  })

  test.each([
    ['forward into a window', 90 * MINUTE_MS],
    ['forward over a whole window', 200 * MINUTE_MS],
    ['back to before it was planned', -3 * HOUR_MS],
  ])('a wall clock set %s is followed within a minute', async (_, step) => {
    const windows = [
      once(NOON + 60 * MINUTE_MS, NOON + 120 * MINUTE_MS),
      once(NOON - 4 * HOUR_MS, NOON - 2 * HOUR_MS, { name: 'earlier' }),
      once(NOON, NOON + 10 * MINUTE_MS, { name: 'now' }),
    ]
    const { clock, calls, latest } = planned(windows)
    await clock.advance(5 * MINUTE_MS)

    clock.stepWall(step)
    await clock.advance(MINUTE_MS)

    expect(latest()).toEqual(planned(windows, clock.now()).latest())
    expect(calls.at(-1)?.changedNow).toBe(true)
  })

  test('after the machine was suspended, missed starts and ends are reported on waking', async () => {
    const { clock, calls } = planned([once(NOON + HOUR_MS, NOON + 3 * HOUR_MS)])

    clock.blockLoop(2 * HOUR_MS)
    await clock.advance(10)

    expect(calls.at(-1)).toMatchObject({ at: NOON + 2 * HOUR_MS, changedNow: true })
  })
})

describe('a new configuration', () => {
  test('takes effect at once: a removed window ends, and one with other endpoints counts as changed', async () => {
    const { clock, calls, calendar, log } = planned([once(NOON, NOON + HOUR_MS)])

    calendar.configure([once(NOON, NOON + HOUR_MS)])
    calendar.configure([once(NOON, NOON + HOUR_MS, { endpoints: ['own-1'] })])
    calendar.configure([])
    await clock.advance(2 * HOUR_MS)

    expect(calls.map(({ at, changedNow }) => [at - NOON, changedNow])).toEqual([
      [0, true],
      [0, false],
      [0, true],
      [0, true],
      [HOUR_MS, false],
      [2 * HOUR_MS, false],
    ])
    expect(log.lines.map(({ message }) => message)).toEqual(['maintenance begins', 'maintenance ends'])
  })

  test('a stopped calendar reports nothing', async () => {
    const { clock, calls, calendar } = planned([once(NOON + HOUR_MS, NOON + 2 * HOUR_MS)])

    calendar.stop()
    await clock.advance(DAY_MS)

    expect(calls).toHaveLength(1)
  })
})
