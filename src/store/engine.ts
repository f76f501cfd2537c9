import type { Clock } from '../clock.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import type { Note } from '../core/incident/note.ts'
import type { Silence } from '../core/incident/silence.ts'
import type { AliasRecord } from '../core/routing/alias.ts'
import type { UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import type { AvailabilityRow } from './availability.ts'
import type { Retention } from './retention.ts'
import type {
  HistoryBucket,
  HistoryQuery,
  IncidentQuery,
  NotificationQuery,
  PollsQuery,
  SilenceQuery,
  StoredPoll,
  StoreTrouble,
} from './store.ts'
import type { IncidentJson, NotificationJson, SavedHealthJson } from './write-events.ts'

/** What both engines are opened with. */
export interface CommonOptions {
  readonly retention: Retention
  readonly maxSizeBytes: number
  readonly clock: Clock
  readonly log: Log
  /** Called for every batch that is on disk. */
  readonly onCommit: (commit: Written) => void
  /** Maximum number of polls that wait for a store that does not accept them. */
  readonly maxQueueRows: number
}

export interface Written {
  readonly rows: number
  readonly durationMs: number
}

/** The queries that an engine answers. */
export type QueryCalls = {
  history(query: HistoryQuery, now: UnixMs): readonly HistoryBucket[]
  polls(query: PollsQuery): readonly StoredPoll[]
  availability(endpoints: readonly EndpointKey[], now: UnixMs): readonly AvailabilityRow[]
  incidents(query: IncidentQuery): readonly IncidentJson[]
  incident(id: string): IncidentJson | null
  notifications(query: NotificationQuery): readonly NotificationJson[]
  silences(query: SilenceQuery): readonly Silence[]
  notes(incidents: readonly string[]): readonly Note[]
}

/** What a daemon reads when it starts. */
export type StateCalls = {
  'saved-health'(): readonly SavedHealthJson[]
  aliases(): readonly AliasRecord[]
  'last-runs'(): readonly (readonly [job: string, endedAt: number])[]
}

/** Functions by name, of a worker thread or of a database. A thread copies arguments and results. */
export type Handlers = { readonly [kind: string]: (...asked: never[]) => unknown }

/** Never rejects: a call that cannot be made resolves to a failure. */
export type Call<H extends Handlers> = <K extends keyof H>(
  kind: K,
  ...asked: Parameters<H[K]>
) => Promise<Reply<Awaited<ReturnType<H[K]>>>>

export type Reply<T> = { readonly ok: true; readonly value: T } | Failed
export interface Failed {
  readonly ok: false
  readonly trouble: StoreTrouble
  /** The error's code or name, because its message may contain paths and values. */
  readonly code: string
}
