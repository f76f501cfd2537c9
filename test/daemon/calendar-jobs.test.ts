import { expect, test } from 'vitest'
import { unpolled } from '../../src/core/verdict/health.ts'
import { createCalendarJobs, startJobs } from '../../src/daemon/calendar-jobs.ts'
import { createBoard, newTally } from '../../src/state/board.ts'
import { STORE_JOBS, type StoreJob } from '../../src/store/store.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { silentLog } from '../support/log.ts'
import { endpoint, network } from '../support/network.ts'

const HOUR = 3_600_000

function house(lastRuns: Partial<Record<StoreJob, number>>) {
  const clock = createFakeClock()
  const runs: StoreJob[] = []
  let running = 0
  let most = 0
  const store = {
    lastRuns: async () => new Map(Object.entries(lastRuns) as [StoreJob, number][]),
    run: async (job: StoreJob) => {
      most = Math.max(most, ++running)
      runs.push(job)
      await Promise.resolve()
      running--
      return true
    },
  }
  const calendarJobs = createCalendarJobs({ store, clock, log: silentLog })
  return { clock, runs, calendarJobs, most: () => most }
}

test('jobs that never ran or are overdue run at the start, one after the other', async () => {
  const { calendarJobs, runs, clock, most } = house({})

  await calendarJobs.start()
  await calendarJobs.stop()

  expect(runs).toEqual([...STORE_JOBS])
  expect(most()).toBe(1)
  expect(clock.monotonic()).toBe(1000)
})

test('a job that ran recently waits for its schedule', async () => {
  const now = createFakeClock().now()
  const { calendarJobs, runs } = house({
    'roll-up': now - 60_000,
    retention: now - 2 * HOUR,
    optimise: now - HOUR,
    integrity: now - HOUR,
  })

  await calendarJobs.start()
  await calendarJobs.stop()

  expect(runs).toEqual(['retention'])
})

test('a last run in the future, recorded by a wrong clock, does not delay a job', async () => {
  const now = createFakeClock().now()
  const { calendarJobs, runs } = house({ 'roll-up': now + 24 * HOUR })

  await calendarJobs.start()
  await calendarJobs.stop()

  expect(runs).toContain('roll-up')
})

test('a job that its schedule missed because the wall clock was set back still runs', async () => {
  const { calendarJobs, runs, clock } = house({})
  await calendarJobs.start()
  runs.length = 0

  clock.stepWall(-24 * HOUR)
  await clock.advance(30 * 60_000)
  await calendarJobs.stop()

  expect(runs.filter((job) => job === 'roll-up').length).toBeGreaterThanOrEqual(1)
})

test('a clock that is set forward by years, or that stood still, runs each job once, not once for each time it missed', async () => {
  const { calendarJobs, runs, clock } = house({})
  await calendarJobs.start()
  runs.length = 0

  clock.stepWall(56 * 365 * 24 * HOUR)
  const began = process.cpuUsage()
  await clock.advance(10 * 60_000)
  const { user, system } = process.cpuUsage(began)
  expect(runs.filter((job) => job === 'roll-up').length).toBeLessThanOrEqual(3)
  expect(new Set(runs)).toEqual(new Set(STORE_JOBS))
  // A start for each missed time took 20 minutes.
  expect((user + system) / 1e6).toBeLessThan(5)

  runs.length = 0
  clock.blockLoop(30 * 24 * HOUR)
  await clock.advance(0)
  await calendarJobs.stop()
  expect([...runs].sort()).toEqual([...STORE_JOBS].sort())
})

test('each job runs at its own time, as often as it is planned', async () => {
  const { calendarJobs, runs, clock } = house({})
  await calendarJobs.start()
  runs.length = 0

  await clock.advance(7 * 24 * HOUR)
  await calendarJobs.stop()

  const times = (of: StoreJob) => runs.filter((job) => job === of).length
  expect(STORE_JOBS.map((job) => [job, times(job)])).toEqual([
    ['roll-up', 7 * 288],
    ['retention', 7 * 24],
    ['optimise', 7],
    ['integrity', 1],
  ])
})

test('stopping cuts a running job short, and does not wait for one that cannot be cut short', async () => {
  const clock = createFakeClock()
  const started: StoreJob[] = []
  const store = {
    lastRuns: async () => new Map<StoreJob, number>(),
    run: (job: StoreJob, _now: number, signal?: AbortSignal) => {
      started.push(job)
      return new Promise<boolean>((resolve) => {
        if (job === 'roll-up') resolve(true)
        if (job === 'retention') signal?.addEventListener('abort', () => resolve(false))
      })
    },
  }
  const cut = createCalendarJobs({ store, clock, log: silentLog })
  const cutStart = cut.start()
  await clock.advance(0)
  await cut.stop()
  await cutStart
  expect(started).toEqual(['roll-up', 'retention'])

  const stuckStore = { ...store, run: () => new Promise<boolean>(() => {}) }
  const stuck = createCalendarJobs({ store: stuckStore, clock, log: silentLog })
  const stuckStart = stuck.start()
  const stopped = Promise.all([stuck.stop(), stuckStart])
  await clock.advance(2000)
  await stopped
})

test('availability of endpoints that a reload adds is known at once, and the next time as usual', async () => {
  const clock = createFakeClock()
  const asked: (readonly string[])[] = []
  const board = createBoard()
  const configure = (...names: string[]) =>
    board.configure([
      {
        network: network({ name: 'ethereum' }),
        fresh: names.map((name) => ({ health: unpolled(endpoint(name), clock.now()), tally: newTally([]) })),
      },
    ])
  const none = { ratio: null, coverage: 0, fresh: null }
  const rows = { '24h': none, '7d': none, '30d': none, '90d': none }
  const store = {
    lastRuns: async () => new Map<StoreJob, number>(),
    run: async () => true,
    availability: async (keys: readonly string[]) => {
      asked.push(keys)
      return new Map(keys.map((key) => [key, rows]))
    },
  }
  configure('a')
  const role = { start: async () => {}, runsJobs: true }
  const jobs = startJobs({ store, board, clock, log: silentLog, role })
  await clock.advance(10 * 60_000)
  asked.length = 0

  jobs.reloaded()
  configure('a', 'b')
  jobs.reloaded()
  await clock.advance(0)

  expect(asked).toEqual([['ethereum/a', 'ethereum/b']])
  expect(board.entry('ethereum', 'b')?.availability).toBe(rows)
  await clock.advance(10 * 60_000)
  expect(asked.length).toBeLessThanOrEqual(16)
  await jobs.stop()
  jobs.reloaded()
})

test('availability is known while the first jobs still run', async () => {
  const clock = createFakeClock()
  const shown: unknown[] = []
  const board = { networks: () => [], putAvailability: (rows: unknown) => void shown.push(rows) }
  const store = {
    lastRuns: async () => new Map<StoreJob, number>(),
    run: () => new Promise<boolean>(() => {}),
    availability: async () => new Map(),
  }
  const role = { start: async () => {}, runsJobs: true }
  const jobs = startJobs({ store, board, clock, log: silentLog, role })

  await clock.advance(0)
  expect(shown).toHaveLength(1)
  const stopped = jobs.stop()
  await clock.advance(2000)
  await stopped
})
