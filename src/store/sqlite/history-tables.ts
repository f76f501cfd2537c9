import type Database from 'better-sqlite3'
import type { TimeRange } from '../../core/verdict/availability.ts'
import { BUCKET_COLUMNS, type BucketCells, bucketOf, cellsOf, isEmpty } from '../bucket.ts'
import type { BucketTable, HistoryTables, MaintenanceTable } from '../history-tables.ts'
import { cursorsOf } from '../marks.ts'
import { DAY, FIVE_MINUTES, HOUR, type Resolution, SLOT_MS } from '../resolution.ts'
import { createMarkReader } from './marks.ts'
import { createPollTable } from './poll-table.ts'

/** The tables of the history in one file. */
export function createHistoryTables(db: Database.Database) {
  const marks = createMarkReader(db)
  const polls = createPollTable(db)
  return {
    cursors: () => cursorsOf(marks()),
    holdSlots: () => Math.ceil(polls.longestHoldMs() / SLOT_MS),
    polls,
    maintenance: createMaintenanceTable(db),
    buckets: {
      five_minutes: createBucketTable(db, FIVE_MINUTES),
      hours: createBucketTable(db, HOUR),
      days: createBucketTable(db, DAY),
    },
  } satisfies HistoryTables
}

function createBucketTable(
  db: Database.Database,
  { table }: Resolution,
): BucketTable & { endpointsIn(first: number, end: number): number[] } {
  const columns = BUCKET_COLUMNS.join(', ')
  const values = BUCKET_COLUMNS.map(() => '?').join(', ')
  const replace = db.prepare(
    `INSERT OR REPLACE INTO ${table} (endpoint_id, bucket, ${columns}) VALUES (?, ?, ${values})`,
  )
  const remove = db.prepare(`DELETE FROM ${table} WHERE endpoint_id = ? AND bucket = ?`)
  const blank = db.prepare(
    `UPDATE ${table} SET up_ms = 0, degraded_ms = 0, down_ms = 0, stale_ms = 0
     WHERE endpoint_id = ? AND bucket >= ? AND bucket < ?`,
  )
  const select = db
    .prepare(
      `SELECT ${columns}, bucket FROM ${table} WHERE endpoint_id = ? AND bucket >= ? AND bucket < ? ORDER BY bucket`,
    )
    .raw()
  const sum = db
    .prepare(
      `SELECT total(up_ms), total(degraded_ms), total(down_ms), total(up_ms + degraded_ms - stale_ms)
       FROM ${table} WHERE endpoint_id = ? AND bucket >= ? AND bucket < ?`,
    )
    .raw()
  const ids = db
    .prepare(
      `SELECT endpoint_id FROM endpoints AS known WHERE EXISTS
         (SELECT 1 FROM ${table} WHERE endpoint_id = known.endpoint_id AND bucket >= ? AND bucket < ?)
       ORDER BY endpoint_id`,
    )
    .pluck()
  return {
    put(endpointId, at, bucket) {
      if (isEmpty(bucket)) remove.run(endpointId, at)
      else replace.run(endpointId, at, ...cellsOf(bucket))
    },
    blank: (endpointId, first, end) => void blank.run(endpointId, first, end),
    between(endpointId, first, end) {
      const rows = select.all(endpointId, first, end) as [...BucketCells, number][]
      return new Map(rows.map((cells) => [cells[11], bucketOf(cells as unknown as BucketCells)]))
    },
    sum(endpointId, first, end) {
      const [upMs, degradedMs, downMs, freshMs] = sum.get(endpointId, first, end) as [number, number, number, number]
      // Maintenance has its own table, and counts in none of the shares.
      return { upMs, degradedMs, downMs, maintenanceMs: 0, freshMs }
    },
    /** The endpoints that have any of the buckets [first, end), ascending. */
    endpointsIn: (first, end) => ids.all(first, end) as number[],
  }
}

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
