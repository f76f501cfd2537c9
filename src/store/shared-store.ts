import type { EndpointKey } from '../core/endpoint.ts'
import type { Silence } from '../core/incident/silence.ts'
import type { AliasRecord } from '../core/routing/alias.ts'
import type { UnixMs } from '../core/time.ts'
import type { ClusterTables } from './cluster-tables.ts'
import type { IncidentRecord, PollRecord } from './store.ts'

/** What a store offers several daemons that share it, besides what one daemon alone needs. */
export interface SharedStore {
  readonly tables: ClusterTables
  /** Queues the merged state of an endpoint, from which the durations of the history follow. Never waits or throws. */
  saveMerged(state: MergedState): void
  /**
   * What was written at or after a position; a row may come twice. `null`: the present position, without rows. Rejects
   * while the database is away.
   */
  changesAfter(position: number | null): Promise<SharedChanges>
}

/** What the votes of all places come to. It holds until the next one, at most for two intervals. */
export interface MergedState extends Pick<PollRecord, 'state' | 'fresh'> {
  readonly endpoint: EndpointKey
  readonly at: UnixMs
  /** Earlier than `at` after a change that took more than one poll to confirm: the time between takes this state too. */
  readonly since: UnixMs
}

/** Rows written by all daemons, in no order. */
export interface SharedChanges {
  /** For the next call. */
  readonly position: number
  readonly incidents: readonly IncidentRecord[]
  readonly silences: readonly Silence[]
  readonly aliases: readonly AliasRecord[]
}

/** By which the database accepts what a member of a cluster writes: a lease's token, or `null` without the lease. */
export interface WriteTokens {
  readonly vantage: string
  readonly pollToken: (network: string) => number | null
  readonly keeperToken: (network: string) => number | null
}
