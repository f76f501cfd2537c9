import { addTime, intervalsOf, withMaintenance } from '../core/verdict/availability.ts'
import { addPoll, mergeBucket, newBucket } from './bucket.ts'
import type { HeldPoll, HistoryTables, Holds } from './history-tables.ts'
import { FINER, SLOT_MS } from './resolution.ts'

/** Computes single buckets of one endpoint from the next finer resolution, and stores them. */
export function createAggregator({
  polls,
  maintenance,
  buckets,
}: Pick<HistoryTables, 'polls' | 'maintenance' | 'buckets'>) {
  return {
    /** Aggregates a slot from the polls that started in it and from the result that still holds from before. */
    fiveMinutes(endpointId: number, slot: number, rows: readonly HeldPoll[], holds: Holds): void {
      const carried = polls.carriedInto(slot, endpointId, holds)
      const [start, end] = [slot * SLOT_MS, (slot + 1) * SLOT_MS]
      const bucket = newBucket()
      for (const row of polls.countedIn?.(slot, endpointId) ?? rows) addPoll(bucket, row)
      const intervals = intervalsOf(carried === null ? rows : [carried, ...rows], start, end)
      const maintained = maintenance.between(endpointId, start, end)
      for (const { from, to, state, fresh } of withMaintenance(intervals, maintained)) {
        // Maintenance is stored exactly, in its own table, and is left out of buckets.
        if (state !== 'maintenance') addTime(bucket, state, fresh, to - from)
      }
      buckets.five_minutes.put(endpointId, slot, bucket)
    },

    coarser(table: keyof typeof FINER, endpointId: number, at: number): void {
      const { table: finer, parts } = FINER[table]
      const sum = newBucket()
      for (const part of buckets[finer].between(endpointId, at * parts, (at + 1) * parts).values())
        mergeBucket(sum, part)
      buckets[table].put(endpointId, at, sum)
    },
  }
}
