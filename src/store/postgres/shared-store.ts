import type { Clock } from '../../clock.ts'
import type { Note } from '../../core/incident/note.ts'
import type { Silence } from '../../core/incident/silence.ts'
import type { AliasRecord } from '../../core/routing/alias.ts'
import type { IncidentRecord, NotificationRecord } from '../store.ts'
import type { MergedRecord } from '../writes.ts'
import type { Database } from './database.ts'

/** What only a database that several daemons share has. */
export interface SharedStore {
  readonly database: Database
  /** In a cluster the machine's clock, corrected to the database's whenever it is more than half a second off. */
  readonly clock: Clock
  /** Stores what the places found together: at each change, and once an interval. Refused without the right to keep. */
  merged(record: MergedRecord): void
  /**
   * What was written at this position or later, by any daemon; a row may come twice. The first call, with 0, returns
   * everything that is kept. Rejects with a DatabaseError.
   */
  changesAfter(position: number): Promise<Changes>
}

export interface Changes {
  /** For the next call. */
  readonly position: number
  readonly incidents: readonly IncidentRecord[]
  readonly notifications: readonly NotificationRecord[]
  readonly silences: readonly Silence[]
  readonly notes: readonly Note[]
  readonly aliases: readonly AliasRecord[]
}

const OFF_BY_MS = 500

/** A clock that follows the database's in steps: small differences are the network's, not the clock's. */
export function createDatabaseClock(clock: Clock, database: Pick<Database, 'serverNow'>): Clock {
  let offsetMs = 0
  return {
    ...clock,
    now() {
      const now = clock.now()
      const offMs = database.serverNow() - now
      if (Math.abs(offMs - offsetMs) > OFF_BY_MS) offsetMs = offMs
      return now + offsetMs
    },
  }
}
