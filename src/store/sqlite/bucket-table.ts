import type Database from 'better-sqlite3'
import { BUCKET_COLUMNS, type Bucket, type BucketCells, bucketOf, cellsOf, isEmpty } from '../bucket.ts'
import type { Resolution } from '../resolution.ts'

export type BucketTable = ReturnType<typeof createBucketTable>

export function createBucketTable(db: Database.Database, { table }: Resolution) {
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
  const ids = db
    .prepare(
      `SELECT endpoint_id FROM endpoints AS known WHERE EXISTS
         (SELECT 1 FROM ${table} WHERE endpoint_id = known.endpoint_id AND bucket >= ? AND bucket < ?)
       ORDER BY endpoint_id`,
    )
    .pluck()
  return {
    /** Writes no row for an empty bucket. */
    put(endpointId: number, at: number, bucket: Bucket): void {
      if (isEmpty(bucket)) remove.run(endpointId, at)
      else replace.run(endpointId, at, ...cellsOf(bucket))
    },
    /** Removes the time of the buckets [first, end); their polls, heights and maxima stay. */
    blank: (endpointId: number, first: number, end: number) => void blank.run(endpointId, first, end),
    /** The buckets [first, end) by number, in the order of time. */
    between(endpointId: number, first: number, end: number): Map<number, Bucket> {
      const rows = select.all(endpointId, first, end) as [...BucketCells, number][]
      return new Map(rows.map((cells) => [cells[11], bucketOf(cells as unknown as BucketCells)]))
    },
    /** The endpoints that have any of the buckets [first, end), ascending. */
    endpointsIn: (first: number, end: number) => ids.all(first, end) as number[],
  }
}
