import type Database from 'better-sqlite3'
import { BUCKET_COLUMNS, type Bucket, type BucketCells, bucketOf, cellsOf, isEmpty } from './bucket.ts'
import type { Tier } from './tiers.ts'

/** The buckets of one width, to be added up. */
export interface TierTable {
  /** Buckets in which nothing was seen have no row. */
  put(endpointId: number, at: number, bucket: Bucket): void
  /** Nothing is known any more of the time in the buckets [first, end); what was polled in it stays. */
  blank(endpointId: number, first: number, end: number): void
  /** By number, in the order of time. */
  between(endpointId: number, first: number, end: number): Map<number, Bucket>
  /** Who has any of the buckets [first, end), ascending. */
  endpointsIn(first: number, end: number): number[]
}

export function createTierTable(db: Database.Database, { table }: Tier): TierTable {
  const columns = BUCKET_COLUMNS.join(', ')
  const marks = BUCKET_COLUMNS.map(() => '?').join(', ')
  const replace = db.prepare(
    `INSERT OR REPLACE INTO ${table} (endpoint_id, bucket, ${columns}) VALUES (?, ?, ${marks})`,
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
    put(endpointId, at, bucket) {
      if (isEmpty(bucket)) remove.run(endpointId, at)
      else replace.run(endpointId, at, ...cellsOf(bucket))
    },
    blank: (endpointId, first, end) => void blank.run(endpointId, first, end),
    between(endpointId, first, end) {
      const rows = select.all(endpointId, first, end) as [...BucketCells, number][]
      return new Map(rows.map((cells) => [cells[11], bucketOf(cells as unknown as BucketCells)]))
    },
    endpointsIn: (first, end) => ids.all(first, end) as number[],
  }
}
