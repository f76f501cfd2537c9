import type Database from 'better-sqlite3'
import { mergeRanges, type TimeRange } from '../core/verdict/availability.ts'

/** Stored maintenance plans, by endpoint. */
export interface MaintenanceTable {
  /** The stretches that reach into [from, to), in the order of time; none overlaps or touches the next. */
  between(endpointId: number, from: number, to: number): TimeRange[]
  /** The endpoints with maintenance that ends after this time. */
  endpointsAfter(at: number): number[]
  /** Replaces an endpoint's stretches that end at `from` or later. */
  replace(endpointId: number, from: number, stretches: readonly TimeRange[]): void
}

export function createMaintenanceTable(db: Database.Database): MaintenanceTable {
  // Stretches do not overlap, so the search can start at the last one that begins by `from`.
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
    between: (endpointId, from, to) =>
      (select.all({ endpointId, from, to }) as [number, number][]).map(([start, until]) => ({ from: start, until })),
    endpointsAfter: (at) => endpointsAfter.all(at) as number[],
    replace(endpointId, from, stretches) {
      remove.run(endpointId, from)
      for (const stretch of stretches) add.run(endpointId, stretch.from, stretch.until)
    },
  }
}

/** The plan after a change at this time: of the earlier plan only its past part remains. */
export function replanned(earlier: readonly TimeRange[], planned: readonly TimeRange[], at: number): TimeRange[] {
  const past = earlier.map(({ from, until }) => ({ from, until: Math.min(until, at) }))
  return mergeRanges([...past, ...planned])
}

/** The time in the first list that is not in the second. In both, and in the result, no stretch overlaps the next. */
export function onlyIn(stretches: readonly TimeRange[], others: readonly TimeRange[]): TimeRange[] {
  return stretches.flatMap(({ from, until }) => {
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
