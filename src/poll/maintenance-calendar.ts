import type { Clock, Timer } from '../clock.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import { concerns, type MaintenancePeriod } from '../core/maintenance.ts'
import type { UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import type { Board } from '../state/board.ts'
import type { MaintainedTime } from '../store/store.ts'
import { createRecurrence } from './recurrence.ts'

/** Plans the maintenance windows ahead, and reports when a period begins or ends. */
export function createMaintenanceCalendar({ clock, log, onChange }: MaintenanceCalendarDeps) {
  let periodsAt: (now: UnixMs) => readonly MaintenancePeriod[] = () => []
  let running = new Map<string, MaintenancePeriod>()
  /** The latest plan holds in [plannedAt, holdsUntil). */
  let plannedAt = 0
  let holdsUntil = 0
  let timer: Timer | null = null

  function plan(now: UnixMs): void {
    const periods = periodsAt(now)
    plannedAt = now
    holdsUntil = periods.reduce(
      (soonest, { from, until }) => Math.min(soonest, from > now ? from : until),
      now + PLAN_EVERY_MS,
    )
    const before = running
    running = new Map(periods.filter(({ from }) => from <= now).map((period) => [JSON.stringify(period), period]))
    logChange(before, running)
    onChange(periods, running.size !== before.size || [...running.keys()].some((key) => !before.has(key)))
  }

  /** Logs a window only once if its next period begins before the last one ends. */
  function logChange(
    before: ReadonlyMap<string, MaintenancePeriod>,
    after: ReadonlyMap<string, MaintenancePeriod>,
  ): void {
    const windows = (of: typeof before) => new Map([...of.values()].map((one) => [`${one.network} ${one.name}`, one]))
    const ended = windows(before)
    for (const [key, { network, name }] of windows(after)) {
      if (!ended.delete(key)) log.info({ network, window: name }, 'maintenance begins')
    }
    for (const { network, name } of ended.values()) log.info({ network, window: name }, 'maintenance ends')
  }

  function look(): void {
    const now = clock.now()
    try {
      if (now < plannedAt || now >= holdsUntil) plan(now)
    } finally {
      // Timers fire up to a millisecond early.
      timer = clock.after(Math.max(1, Math.min(LONGEST_NAP_MS, holdsUntil - now)), look)
    }
  }

  return {
    configure(windows: readonly PlannedWindow[]): void {
      timer?.cancel()
      periodsAt = planMaintenance(windows)
      holdsUntil = Number.NEGATIVE_INFINITY
      look()
    },

    stop: (): void => timer?.cancel(),
  }
}

export interface MaintenanceCalendarDeps {
  readonly clock: Clock
  readonly log: Log
  /**
   * Called by `configure`, when a period begins or ends, and every hour, with the periods that run now or begin soon,
   * by time. `changedNow`: different periods run now than at the previous call.
   */
  readonly onChange: (periods: readonly MaintenancePeriod[], changedNow: boolean) => void
}

const PLAN_EVERY_MS = 3_600_000
/** How often to look at the wall clock, since it can be set. */
const LONGEST_NAP_MS = 60_000

/** Parses the windows once; the result returns the periods that run at `now` or begin within the horizon, by time. */
function planMaintenance(windows: readonly PlannedWindow[]): (now: UnixMs) => readonly MaintenancePeriod[] {
  const planned = windows.map((window) => ({ window, spans: spansOf(window.when) }))

  return (now) =>
    planned
      .flatMap(({ window: { name, networks, endpoints }, spans }) => {
        const periods = spans(now)
        return networks.flatMap((network) => periods.map((span) => ({ name, network, endpoints, ...span })))
      })
      .sort((a, b) => a.from - b.from || a.until - b.until || compare(a.network, b.network) || compare(a.name, b.name))
}

export interface PlannedWindow {
  readonly name: string
  readonly networks: readonly string[]
  /** Names of endpoints; `null` for all. */
  readonly endpoints: readonly string[] | null
  readonly when:
    | { readonly kind: 'repeated'; readonly schedule: string; readonly durationMs: number; readonly timeZone: string }
    | { readonly kind: 'once'; readonly from: UnixMs; readonly until: UnixMs }
}

/** The spans [from, until) of a window that run at `now` or begin soon. */
type Spans = (now: UnixMs) => readonly { readonly from: UnixMs; readonly until: UnixMs }[]

/** A weekly window always begins again within this time. */
const HORIZON_MS = 8 * 86_400_000
/** Per window and network, so that a pattern that matches every minute does not fill the page. */
const MOST_PERIODS = 100
/** At most this many of these periods run at `now`. */
const MOST_RUNNING = 50

function spansOf(when: PlannedWindow['when']): Spans {
  switch (when.kind) {
    case 'once':
      return (now) =>
        now < when.until && when.from <= now + HORIZON_MS ? [{ from: when.from, until: when.until }] : []
    case 'repeated': {
      const { durationMs } = when
      const recurrence = createRecurrence(when.schedule, when.timeZone)
      return (now) => {
        // All periods have the same duration: if too many run, the latest ones are kept, since they end last.
        const running = recurrence.latest(now - durationMs, now, MOST_RUNNING)
        const ahead = recurrence.first(now, now + HORIZON_MS, MOST_PERIODS - running.length)
        return [...running, ...ahead].map((from) => ({ from, until: from + durationMs }))
      }
    }
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The store gets a period this long before it begins: longer than the time between two calls of the calendar. */
const NOTED_AHEAD_MS = 2 * 3_600_000

/** Lists every endpoint's current and upcoming maintenance for the store. */
export function maintainedTimes(periods: readonly MaintenancePeriod[], board: Board, now: UnixMs): MaintainedTime[] {
  return periods
    .filter(({ from }) => from <= now + NOTED_AHEAD_MS)
    .flatMap((period) =>
      endpointsIn(period, board).map((endpoint) => ({ endpoint, from: period.from, until: period.until })),
    )
}

/** The configured endpoints that the period concerns. */
export function endpointsIn(period: MaintenancePeriod, board: Board): EndpointKey[] {
  const { endpoints } = board.network(period.network) ?? { endpoints: [] }
  return endpoints.filter(({ health }) => concerns(period, health.endpoint)).map(({ key }) => key)
}
