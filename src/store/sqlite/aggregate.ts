import type Database from 'better-sqlite3'
import { addTime, intervalsOf, withMaintenance } from '../../core/verdict/availability.ts'
import { addPoll, type Bucket, mergeBucket, newBucket } from '../bucket.ts'
import { DAY, FIVE_MINUTES, HOUR, HOURS_PER_DAY, SLOT_MS, SLOTS_PER_HOUR } from '../resolution.ts'
import { createBucketTable } from './bucket-table.ts'
import { createMaintenanceTable } from './maintenance-table.ts'
import { createPollTable, type HeldPoll, type Holds } from './poll-table.ts'

export type Aggregator = ReturnType<typeof createAggregator>

/** Computes single buckets of one endpoint from the next finer resolution, and stores them. */
export function createAggregator(db: Database.Database) {
  const polls = createPollTable(db)
  const maintenance = createMaintenanceTable(db)
  const fiveMinutes = createBucketTable(db, FIVE_MINUTES)
  const hours = createBucketTable(db, HOUR)
  const days = createBucketTable(db, DAY)
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()

  return {
    tables: { fiveMinutes, hours, days },
    polls,
    /** The longest time, in slots, that any result holds. */
    holdSlots: () => Math.ceil(((longestHold.get() as number | null) ?? 0) / SLOT_MS),

    /** Aggregates a slot from the polls that started in it and from the result that still holds from before. */
    fiveMinutes(endpointId: number, slot: number, rows: readonly HeldPoll[], holds: Holds): void {
      const carried = polls.carriedInto(slot, endpointId, holds)
      const [start, end] = [slot * SLOT_MS, (slot + 1) * SLOT_MS]
      const bucket = newBucket()
      for (const row of rows) addPoll(bucket, row)
      const intervals = intervalsOf(carried === null ? rows : [carried, ...rows], start, end)
      for (const { from, to, state, fresh } of withMaintenance(
        intervals,
        maintenance.between(endpointId, start, end),
      )) {
        // Maintenance is stored exactly, in its own table, and is left out of buckets.
        if (state !== 'maintenance') addTime(bucket, state, fresh, to - from)
      }
      fiveMinutes.put(endpointId, slot, bucket)
    },

    hour(endpointId: number, hour: number): void {
      const first = hour * SLOTS_PER_HOUR
      hours.put(endpointId, hour, merged(fiveMinutes.between(endpointId, first, first + SLOTS_PER_HOUR).values()))
    },

    day(endpointId: number, day: number): void {
      const first = day * HOURS_PER_DAY
      days.put(endpointId, day, merged(hours.between(endpointId, first, first + HOURS_PER_DAY).values()))
    },
  }
}

function merged(buckets: Iterable<Bucket>): Bucket {
  const sum = newBucket()
  for (const bucket of buckets) mergeBucket(sum, bucket)
  return sum
}
