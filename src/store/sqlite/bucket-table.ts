import type Database from 'better-sqlite3'
import { BUCKET_COLUMNS, type BucketCells, bucketOf, cellsOf, isEmpty } from '../bucket.ts'
import type { Resolution } from '../resolution.ts'
import type { BucketTable } from '../tables.ts'

export function createBucketTable(
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
