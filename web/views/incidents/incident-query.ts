import type { IncidentSummaryView } from '../../../src/http/wire/incidents.ts'
import { concerns } from '../model.ts'
import type { Route } from '../route.ts'
import { RANGES, spanOf } from '../time-range.ts'
import type { IncidentQuery } from '../view.ts'
import { NEXT_STEPS } from '../words-runbooks.ts'

/** What the address of a list of incidents asks for. A range of time is either a named one up to now, or `from` and `to`. */
export function incidentQuery({ query }: Pick<Route, 'query'>, nowMs: number): IncidentQuery {
  const { network, endpoint, open, condition, cursor } = query
  const time = timeOf(query, nowMs)
  return {
    ...(network === undefined ? {} : { network }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(open === 'true' || open === 'false' ? { open: open === 'true' } : {}),
    ...(condition !== undefined && Object.hasOwn(NEXT_STEPS, condition) ? { condition } : {}),
    ...(time === null ? {} : { from: Math.floor(time.fromMs / 1000) }),
    ...(time === null || time.range !== null ? {} : { to: Math.ceil(time.toMs / 1000) }),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

interface Time {
  readonly fromMs: number
  readonly toMs: number
  /** `null` for `from` and `to`. */
  readonly range: TimeRange | null
}

export const TIME_RANGES = ['24h', '7d', '30d', '90d'] as const
type TimeRange = (typeof TIME_RANGES)[number]

/** `null` for all time. */
export function timeOf(query: Route['query'], nowMs: number): Time | null {
  const range = TIME_RANGES.find((name) => name === query.range)
  if (range !== undefined) return { fromMs: nowMs - RANGES[range], toMs: nowMs, range }
  const { fromMs, toMs, range: fallback } = spanOf({ query: { from: query.from ?? '', to: query.to ?? '' } }, nowMs)
  return fallback === null ? { fromMs, toMs, range: null } : null
}

/** Whether an open incident belongs to the list. */
export function isAskedFor(
  incident: IncidentSummaryView,
  { network, endpoint, open, to, condition }: IncidentQuery,
): boolean {
  return (
    open !== false &&
    (network === undefined || incident.network === network) &&
    (endpoint === undefined || concerns(incident, endpoint)) &&
    (to === undefined || Date.parse(incident.opened_at) < to * 1000) &&
    (condition === undefined || incident.conditions.some(({ code }) => code === condition))
  )
}
