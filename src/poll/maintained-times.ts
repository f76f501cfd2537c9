import type { EndpointKey } from '../core/endpoint.ts'
import { concerns, type MaintenancePeriod } from '../core/maintenance.ts'
import type { UnixMs } from '../core/time.ts'
import type { Board } from '../state/board.ts'
import type { MaintainedTime } from '../store/store.ts'

/** The store is told of a period this long before it begins: longer than the calendar is silent. */
const NOTED_AHEAD_MS = 2 * 3_600_000

/** What the store must know of the plan: which endpoints' time is maintenance, now and soon. */
export function maintainedTimes(periods: readonly MaintenancePeriod[], board: Board, now: UnixMs): MaintainedTime[] {
  return periods
    .filter(({ from }) => from <= now + NOTED_AHEAD_MS)
    .flatMap((period) =>
      endpointsIn(period, board).map((endpoint) => ({ endpoint, from: period.from, until: period.until })),
    )
}

/** Those that the period is about, of the ones that are there. */
export function endpointsIn(period: MaintenancePeriod, board: Board): EndpointKey[] {
  const { endpoints } = board.network(period.network) ?? { endpoints: [] }
  return endpoints.filter(({ health }) => concerns(period, health.endpoint)).map(({ key }) => key)
}
