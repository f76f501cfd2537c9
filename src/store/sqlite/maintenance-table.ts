import type Database from 'better-sqlite3'
import { mergeRanges, type TimeRange } from '../../core/verdict/availability.ts'

/** The stored maintenance plans, by endpoint. */
export function createMaintenanceTable(db: Database.Database) {
  // Ranges do not overlap, so the search can start at the last one that begins by `from`.
  const select = db
    .prepare(
      `SELECT from_ms, until_ms FROM maintenance
       WHERE endpoint_id = @endpointId AND from_ms < @to AND until_ms > @from AND from_ms >= coalesce(
         (SELECT max(from_ms) FROM maintenance WHERE endpoint_id = @endpointId AND from_ms <= @from), @from)
       ORDER BY from_ms`,
    )
    .raw()
  const endpointsAfter = db.prepare('SELECT DISTINCT endpoint_id FROM maintenance WHERE until_ms > ?').pluck()
  const remove = db.prepare('DELETE FROM maintenance WHERE endpoint_id = ? AND until_ms >= ?')
  const add = db.prepare('INSERT INTO maintenance (endpoint_id, from_ms, until_ms) VALUES (?, ?, ?)')

  return {
    /** The ranges that reach into [from, to), in the order of time; none overlaps or touches the next. */
    between: (endpointId: number, from: number, to: number): TimeRange[] =>
      (select.all({ endpointId, from, to }) as [number, number][]).map(([start, until]) => ({ from: start, until })),
    endpointsAfter: (at: number) => endpointsAfter.all(at) as number[],
    /** Replaces an endpoint's ranges that end at `from` or later. */
    replace(endpointId: number, from: number, ranges: readonly TimeRange[]): void {
      remove.run(endpointId, from)
      for (const range of ranges) add.run(endpointId, range.from, range.until)
    },
  }
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
