import type Database from 'better-sqlite3'
import type { TimeRange } from '../../core/verdict/availability.ts'
import type { MaintenanceTable } from '../tables.ts'

export function createMaintenanceTable(db: Database.Database): MaintenanceTable {
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
    between: (endpointId, from, to) =>
      (select.all({ endpointId, from, to }) as [number, number][]).map(
        ([start, until]): TimeRange => ({ from: start, until }),
      ),
    endpointsAfter: (at) => endpointsAfter.all(at) as number[],
    replace(endpointId, from, ranges) {
      remove.run(endpointId, from)
      for (const range of ranges) add.run(endpointId, range.from, range.until)
    },
  }
}
