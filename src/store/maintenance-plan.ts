import type { EndpointKey } from '../core/endpoint.ts'
import { mergeRanges, type TimeRange } from '../core/verdict/availability.ts'
import type { Marks } from './marks.ts'
import { DAY } from './resolution.ts'
import type { MaintainedTime } from './store.ts'

/** The time from which a plan that was made at `at` applies. */
export function planFrom(at: number, marks: Marks): number {
  const trustedNow = marks.get('clock_ms')
  // A clock that starts in 1970 must not cancel everything that was planned since.
  return trustedNow !== undefined && at < trustedNow - DAY.widthMs ? Number.MAX_SAFE_INTEGER : at
}

/** The ranges of each endpoint; none of those in `earlier`, whose plan is cancelled, unless they have new ones. */
export function rangesByEndpoint(
  periods: readonly MaintainedTime[],
  earlier: readonly number[],
  idOf: (endpoint: EndpointKey) => number,
): Map<number, TimeRange[]> {
  const planned = new Map<number, TimeRange[]>(earlier.map((endpointId) => [endpointId, []]))
  for (const { endpoint, from, until } of periods) {
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(until) || from >= until) continue
    const endpointId = idOf(endpoint)
    planned.set(endpointId, [...(planned.get(endpointId) ?? []), { from, until }])
  }
  return planned
}

/** Returns the plan after a change at this time, which keeps only the past part of the earlier plan. */
export function replanned(earlier: readonly TimeRange[], planned: readonly TimeRange[], at: number): TimeRange[] {
  const past = earlier.map(({ from, until }) => ({ from, until: Math.min(until, at) }))
  return mergeRanges([...past, ...planned])
}

/** The time in `ranges` that is not in `others`. In both, and in the result, no range overlaps the next. */
export function onlyIn(ranges: readonly TimeRange[], others: readonly TimeRange[]): TimeRange[] {
  return ranges.flatMap(({ from, until }) => {
    const left: TimeRange[] = []
    let reached = from
    for (const other of others) {
      if (other.until <= reached || other.from >= until) continue
      if (other.from > reached) left.push({ from: reached, until: other.from })
      reached = other.until
    }
    if (reached < until) left.push({ from: reached, until })
    return left
  })
}
