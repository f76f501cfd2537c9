import { addTime, intervalsOf, withMaintenance } from '../core/verdict/availability.ts'
import { addPoll, type Bucket, mergeBucket, newBucket } from './bucket.ts'
import { HOURS_PER_DAY, SLOT_MS, SLOTS_PER_HOUR } from './resolution.ts'
import type { HeldPoll, HistoryTables, Holds } from './tables.ts'

/** Computes single buckets of one endpoint from the next finer resolution, and stores them. */
export function createAggregator({ polls, maintenance, buckets }: Omit<HistoryTables, 'cursors'>) {
  return {
    /** Aggregates a slot from the polls that started in it and from the result that still holds from before. */
    fiveMinutes(endpointId: number, slot: number, rows: readonly HeldPoll[], holds: Holds): void {
      const carried = polls.carriedInto(slot, endpointId, holds)
      const [start, end] = [slot * SLOT_MS, (slot + 1) * SLOT_MS]
      const bucket = newBucket()
      for (const row of polls.countedIn?.(slot, endpointId) ?? rows) addPoll(bucket, row)
      const intervals = intervalsOf(carried === null ? rows : [carried, ...rows], start, end)
      for (const { from, to, state, fresh } of withMaintenance(
        intervals,
        maintenance.between(endpointId, start, end),
      )) {
        // Maintenance is stored exactly, in its own table, and is left out of buckets.
        if (state !== 'maintenance') addTime(bucket, state, fresh, to - from)
      }
      buckets.five_minutes.put(endpointId, slot, bucket)
    },

    hour(endpointId: number, hour: number): void {
      const first = hour * SLOTS_PER_HOUR
      buckets.hours.put(
        endpointId,
        hour,
        merged(buckets.five_minutes.between(endpointId, first, first + SLOTS_PER_HOUR).values()),
      )
    },

    day(endpointId: number, day: number): void {
      const first = day * HOURS_PER_DAY
      buckets.days.put(
        endpointId,
        day,
        merged(buckets.hours.between(endpointId, first, first + HOURS_PER_DAY).values()),
      )
    },
  }
}

function merged(buckets: Iterable<Bucket>): Bucket {
  const sum = newBucket()
  for (const bucket of buckets) mergeBucket(sum, bucket)
  return sum
}
