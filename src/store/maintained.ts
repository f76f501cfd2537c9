import type Database from 'better-sqlite3'
import { mergeRanges, type TimeRange } from '../core/verdict/availability.ts'

/** Planned maintenance as kept, endpoint by endpoint. */
export interface MaintainedTimes {
  /** Those that reach into [from, to), in the order of time, united. */
  between(endpointId: number, from: number, to: number): TimeRange[]
  /** Who has maintenance that ends after this moment. */
  endpointsAfter(at: number): number[]
  /** Of one endpoint, instead of all that was kept from `from` on, what of it began before included. */
  replace(endpointId: number, from: number, stretches: readonly TimeRange[]): void
}

export function createMaintainedTimes(db: Database.Database): MaintainedTimes {
  // They are apart from each other, so those that end later also begin later: the search begins with the last to have begun.
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

/** What is planned once the plan was told at this moment: of what was kept only the past counts on, and what is named again. */
export function replanned(kept: readonly TimeRange[], planned: readonly TimeRange[], at: number): TimeRange[] {
  const past = kept.map(({ from, until }) => ({ from, until: Math.min(until, at) }))
  return mergeRanges([...past, ...planned])
}

/** What is in the first list and not in the second; both are united, and so is the outcome. */
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
