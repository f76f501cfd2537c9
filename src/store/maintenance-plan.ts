import { mergeRanges, type TimeRange } from '../core/verdict/availability.ts'

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
