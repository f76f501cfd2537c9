import type { Note } from '../../core/incident/note.ts'
import type { Silence } from '../../core/incident/silence.ts'
import type { AliasRecord } from '../../core/routing/alias.ts'
import type { IncidentRecord, NotificationRecord, Store } from '../store.ts'
import type { MergedRecord } from '../writes.ts'
import type { Database } from './database.ts'

/** What only a database that several daemons share has. */
export interface SharedStore {
  readonly database: Database
  /** These reject if the data cannot be read: who takes a network over must not take that for an empty answer. */
  readonly certain: Pick<Store, 'incidents' | 'savedHealth' | 'notifications'>
  /** Stores what the places found together: at each change, and once an interval. Refused without the right to keep. */
  merged(record: MergedRecord): void
  /**
   * What was written at this position or later, by any daemon; a row may come twice. `null`: the present position,
   * without rows. Rejects with a DatabaseError.
   */
  changesAfter(position: number | null): Promise<Changes>
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
