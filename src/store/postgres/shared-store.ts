import type { Silence } from '../../core/incident/silence.ts'
import type { AliasRecord } from '../../core/routing/alias.ts'
import type { IncidentRecord } from '../store.ts'
import type { Fencing, MergedRecord } from '../writes.ts'
import type { Database } from './database.ts'
import type { Seen } from './versions.ts'

/** What only a database that several daemons share has. */
export interface SharedStore {
  readonly database: Database
  /** Resolves when the spool is empty, or the database is away. */
  replayed(): Promise<void>
  /** Whether the database lacks what an earlier run has put aside. */
  isReplaying(): boolean
  /** Stores what the places found together: at each change, and with about each poll. Refused without the right to keep. */
  merged(record: MergedRecord): void
  /**
   * What was written since, by any daemon; everything with `null`, or after another server has taken over. Rejects with a
   * DatabaseError.
   */
  changesAfter(position: Seen | null): Promise<Changes>
}

export interface Changes {
  /** For the next call. */
  readonly position: Seen
  /** `null` if this is everything: they are many, and have to be read in parts. */
  readonly incidents: readonly FencedIncident[] | null
  readonly silences: readonly Silence[]
  readonly aliases: readonly AliasRecord[]
}

/** `token`: of the keeper that has written it. */
export type FencedIncident = IncidentRecord & { readonly token: number }

/** This daemon among those that share the database. */
export interface ClusterRights extends Pick<Fencing, 'pollToken' | 'keeperToken'> {
  readonly member: string
  readonly vantage: string
}
