import type { EndpointKey } from '../core/endpoint.ts'
import { concerns, type MaintenancePeriod } from '../core/maintenance.ts'
import type { UnixMs } from '../core/time.ts'
import type { Board } from '../state/board.ts'
import type { MaintainedTime } from '../store/store.ts'
import { createRecurrence } from './recurrence.ts'

/** Parses the windows once; the result returns the periods that run at `now` or begin within the horizon, by time. */
export function planMaintenance(windows: readonly PlannedWindow[]): (now: UnixMs) => readonly MaintenancePeriod[] {
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
