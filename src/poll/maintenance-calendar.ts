import type { Clock, Timer } from '../clock.ts'
import type { MaintenancePeriod } from '../core/maintenance.ts'
import type { UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import { type PlannedWindow, planMaintenance } from './maintenance-plan.ts'

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

export type { PlannedWindow } from './maintenance-plan.ts'

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
