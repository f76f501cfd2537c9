import type Database from 'better-sqlite3'
import { addTime, intervalsOf, withMaintenance } from '../core/verdict/availability.ts'
import { addPoll, type Bucket, type BucketTable, createBucketTable, mergeBucket, newBucket } from './bucket.ts'
import { createMaintenanceTable } from './maintenance-table.ts'
import { createPollTable, type HeldPoll, type Holds, type PollTable } from './poll-table.ts'
import { DAY, FIVE_MINUTES, HOUR, HOURS_PER_DAY, SLOT_MS, SLOTS_PER_HOUR } from './resolution.ts'

/** Computes single buckets of one endpoint from the next finer resolution, and stores them. */
export interface Aggregator {
  /** Five minutes from the polls that started in them. */
  fiveMinutes(endpointId: number, slot: number, polls: readonly HeldPoll[], holds: Holds): void
  hour(endpointId: number, hour: number): void
  day(endpointId: number, day: number): void
  /** The longest time, in slots, that any result holds. */
  holdSlots(): number
  readonly tables: Readonly<Record<'fiveMinutes' | 'hours' | 'days', BucketTable>>
  readonly polls: PollTable
}

export function createAggregator(db: Database.Database): Aggregator {
  const polls = createPollTable(db)
  const maintenance = createMaintenanceTable(db)
  const fiveMinutes = createBucketTable(db, FIVE_MINUTES)
  const hours = createBucketTable(db, HOUR)
  const days = createBucketTable(db, DAY)
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()

  return {
    tables: { fiveMinutes, hours, days },
    polls,
    holdSlots: () => Math.ceil(((longestHold.get() as number | null) ?? 0) / SLOT_MS),

    fiveMinutes(endpointId, slot, rows, holds) {
      const carried = polls.carriedInto(slot, endpointId, holds)
      const [start, end] = [slot * SLOT_MS, (slot + 1) * SLOT_MS]
      const bucket = newBucket()
      for (const row of rows) addPoll(bucket, row)
      const intervals = intervalsOf(carried === null ? rows : [carried, ...rows], start, end)
      for (const { from, to, state, fresh } of withMaintenance(
        intervals,
        maintenance.between(endpointId, start, end),
      )) {
        // Maintenance is stored exactly, in its own table; buckets leave it out.
        if (state !== 'maintenance') addTime(bucket, state, fresh, to - from)
      }
      fiveMinutes.put(endpointId, slot, bucket)
    },

    hour(endpointId, hour) {
      const first = hour * SLOTS_PER_HOUR
      hours.put(endpointId, hour, merged(fiveMinutes.between(endpointId, first, first + SLOTS_PER_HOUR).values()))
    },

    day(endpointId, day) {
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
