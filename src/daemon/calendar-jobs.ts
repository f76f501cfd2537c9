import type { Clock, Timer } from '../clock.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts'
import type { Log } from '../log.ts'
import { createRecurrence, type Recurrence } from '../poll/recurrence.ts'
import type { WritableBoard } from '../state/board.ts'
import type { Store, StoreJob } from '../store/store.ts'

/** Joins the other daemons, then runs calendar jobs and computes availability: none of it delays the first polls. */
export function startJobs({ store, board, clock, log, role }: JobsDeps) {
  const calendarJobs = createCalendarJobs({ store, clock, log, isOurs: () => role.runsJobs })
  const availability = createAvailabilityRefresh({ store, board, clock, log })
  const failed = (error: unknown) => log.warn({ error: String(error) }, 'calendar jobs could not be started')
  const joined = role.start()
  // A job can take minutes, and the reader does without what it will aggregate.
  const started = Promise.all([joined.then(calendarJobs.start).catch(failed), joined.then(availability.start)])
  return {
    reloaded: availability.reloaded,
    async stop(): Promise<void> {
      availability.stop()
      await Promise.all([calendarJobs.stop(), started])
    },
  }
}

interface JobsDeps extends Omit<CalendarJobsDeps, 'isOurs'>, AvailabilityRefreshDeps {
  readonly store: Pick<Store, 'run' | 'lastRuns' | 'availability'>
  readonly role: {
    /** Resolves when this daemon does its part; never rejects. */
    start(): Promise<void>
    readonly runsJobs: boolean
  }
}

/**
 * Runs the store's calendar jobs, in UTC, and never the same job twice at once. Timers are not node-cron's: after the clock was
 * set forward by months, it computes each start that was missed, which stops the event loop for minutes.
 */
export function createCalendarJobs({ store, clock, log, isOurs = () => true }: CalendarJobsDeps) {
  const running = new Map<StoreJob, Promise<void>>()
  /** On the monotonic clock. */
  const ranAt = new Map<StoreJob, number>()
  const timers = new Map<StoreJob, Timer>()
  const stopping = new AbortController()
  let giveUp = () => {}
  const givenUp = new Promise<void>((resolve) => {
    giveUp = resolve
  })

  function run(job: StoreJob): Promise<void> {
    const going = running.get(job)
    if (stopping.signal.aborted || !isOurs()) return Promise.resolve()
    if (going !== undefined) return going
    const started = clock.monotonic()
    ranAt.set(job, started)
    const run = store
      .run(job, clock.now(), stopping.signal)
      .then((ok) => {
        const fields = { job, ms: Math.round(clock.monotonic() - started) }
        if (ok) log.debug(fields, 'job done')
        else if (stopping.signal.aborted) log.debug(fields, 'job cut short')
        else log.warn(fields, 'job failed')
      })
      .catch((error: unknown) => log.warn({ job, error: String(error) }, 'job failed'))
      .finally(() => running.delete(job))
    const awaited = Promise.race([run, givenUp])
    running.set(job, awaited)
    return awaited
  }

  /** Plans the next run, and looks again before that, since the clock may be set and the machine suspended. */
  function plan({ job, schedule, everyMs }: Job): void {
    const now = clock.now()
    const next = schedule.first(now, now + 2 * everyMs, 1)[0] ?? now + everyMs
    async function look(): Promise<void> {
      const isOverdue = clock.monotonic() - (ranAt.get(job) ?? Number.NEGATIVE_INFINITY) > 2 * everyMs
      if (clock.now() >= next || isOverdue) await run(job)
      if (!stopping.signal.aborted) plan({ job, schedule, everyMs })
    }
    timers.set(
      job,
      clock.after(Math.min(next - now, WATCH_MS), () => void look()),
    )
  }

  return {
    /** Runs the overdue jobs first, then all jobs on schedule. */
    async start(): Promise<void> {
      const lastRuns = await store.lastRuns()
      for (const { job, everyMs } of JOBS) {
        const sinceMs = clock.now() - (lastRuns.get(job) ?? Number.NEGATIVE_INFINITY)
        if (sinceMs >= 0 && sinceMs < everyMs) ranAt.set(job, clock.monotonic() - sinceMs)
        else await run(job)
      }
      if (!stopping.signal.aborted) for (const job of JOBS) plan(job)
    },

    /** Stops running jobs after their current step; waits at most two seconds, since a stuck disk can block a job. */
    async stop(): Promise<void> {
      stopping.abort()
      for (const timer of timers.values()) timer.cancel()
      const grace = clock.after(GRACE_MS, giveUp)
      await Promise.all(running.values())
      grace.cancel()
    },
  }
}

interface Job {
  readonly job: StoreJob
  readonly schedule: Recurrence
  /** A job is overdue this long after its last run. */
  readonly everyMs: number
}

/** No job starts at the full minute, when the cron jobs of other programs run. */
const JOBS: readonly Job[] = [
  { job: 'roll-up', schedule: createRecurrence('20 */5 * * * *', 'UTC'), everyMs: 5 * MINUTE_MS },
  { job: 'retention', schedule: createRecurrence('40 17 * * * *', 'UTC'), everyMs: HOUR_MS },
  { job: 'optimise', schedule: createRecurrence('0 37 3 * * *', 'UTC'), everyMs: DAY_MS },
  { job: 'integrity', schedule: createRecurrence('0 47 4 * * 0', 'UTC'), everyMs: 7 * DAY_MS },
]

/** How often to look, at least. */
const WATCH_MS = 10 * MINUTE_MS

/** A step of a job takes about 10 ms, and about a second on a slow disk. */
const GRACE_MS = 2000

export interface CalendarJobsDeps {
  readonly store: Pick<Store, 'run' | 'lastRuns'>
  /** Whether this daemon runs the jobs, among several with one store. */
  readonly isOurs?: () => boolean
  readonly clock: Clock
  readonly log: Log
}

/** Refreshes the availability of every endpoint, at growing intervals, because it changes slowly and reads much. */
function createAvailabilityRefresh({ store, board, clock, log }: AvailabilityRefreshDeps) {
  let isStopped = false
  let timer: Timer | null = null

  async function refresh(nextMs: number): Promise<void> {
    const keys = board.networks().flatMap(({ endpoints }) => endpoints.map(({ key }) => key))
    try {
      board.putAvailability(await store.availability(keys, clock.now()))
    } catch (error) {
      log.warn({ error: String(error) }, 'availability could not be computed')
    }
    timer?.cancel()
    if (!isStopped) timer = clock.after(nextMs, () => void refresh(Math.min(2 * nextMs, AVAILABILITY_EVERY_MS)))
  }

  return {
    start: (): Promise<void> => refresh(AVAILABILITY_FIRST_MS),
    /** Endpoints that were added may have a history. */
    reloaded(): void {
      const isMissing = board.networks().some(({ endpoints }) => endpoints.some((entry) => entry.availability === null))
      if (isMissing && !isStopped) void refresh(AVAILABILITY_FIRST_MS)
    },
    stop(): void {
      isStopped = true
      timer?.cancel()
    },
  }
}

interface AvailabilityRefreshDeps {
  readonly store: Pick<Store, 'availability'>
  readonly board: Pick<WritableBoard, 'networks' | 'putAvailability'>
  readonly clock: Clock
  readonly log: Log
}

const AVAILABILITY_EVERY_MS = MINUTE_MS
const AVAILABILITY_FIRST_MS = 2000
