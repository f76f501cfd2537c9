import { coveredMs, portionOf, type TimeRange } from '../core/verdict/availability.ts'
import { newBucket } from './bucket.ts'
import type { TierTable } from './tier-table.ts'
import type { Tier } from './tiers.ts'

/** Other time is in maintenance than before. */
export interface Replan {
  readonly endpointId: number
  readonly before: readonly TimeRange[]
  readonly after: readonly TimeRange[]
}

/** Buckets that lie all in maintenance since now hold nothing else, and nothing needs to be read for it. */
export function blankCovered(
  table: TierTable,
  { widthMs }: Tier,
  { endpointId, after }: Replan,
  added: TimeRange,
): void {
  const whole = after.find(({ from, until }) => from <= added.from && added.until <= until) ?? added
  const first = Math.max(Math.floor(added.from / widthMs), Math.ceil(whole.from / widthMs))
  const end = Math.min(Math.ceil(added.until / widthMs), Math.floor(whole.until / widthMs))
  if (first < end) table.blank(endpointId, first, end)
}

/**
 * Cuts time that is maintenance since now out of a sum whose polls are gone: what was known is taken to lie evenly in the time
 * that was open before. Once for each change of the plan.
 */
export function carve(table: TierTable, { widthMs }: Tier, { endpointId, before, after }: Replan, at: number): void {
  const bucket = table.between(endpointId, at, at + 1).get(at)
  const [from, to] = [at * widthMs, (at + 1) * widthMs]
  const openMs = widthMs - coveredMs(before, from, to)
  const leftMs = widthMs - coveredMs(after, from, to)
  if (bucket === undefined || leftMs >= openMs) return
  table.put(endpointId, at, { ...newBucket(), ...bucket, ...portionOf(bucket, 0, leftMs, openMs) })
}
