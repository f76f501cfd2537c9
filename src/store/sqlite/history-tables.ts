import type Database from 'better-sqlite3'
import { DAY, FIVE_MINUTES, HOUR, SLOT_MS } from '../resolution.ts'
import type { HistoryTables } from '../tables.ts'
import { createBucketTable } from './bucket-table.ts'
import { createCursorReader } from './cursors.ts'
import { createMaintenanceTable } from './maintenance-table.ts'
import { createPollTable } from './poll-table.ts'

/** The tables of the history in one file. */
export function createHistoryTables(db: Database.Database) {
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()
  return {
    cursors: createCursorReader(db),
    polls: createPollTable(db),
    maintenance: createMaintenanceTable(db),
    buckets: {
      five_minutes: createBucketTable(db, FIVE_MINUTES),
      hours: createBucketTable(db, HOUR),
      days: createBucketTable(db, DAY),
    },
    /** The longest time, in slots, that any result holds. */
    holdSlots: () => Math.ceil(((longestHold.get() as number | null) ?? 0) / SLOT_MS),
  } satisfies HistoryTables & { holdSlots(): number }
}
