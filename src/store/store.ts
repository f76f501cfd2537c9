import type { EndpointKey } from '../core/endpoint.ts'
import type { FailureKind } from '../core/failure.ts'
import type { Note } from '../core/incident/note.ts'
import type { Silence } from '../core/incident/silence.ts'
import type { Shard } from '../core/network.ts'
import type { AdminCall, AliasRecord } from '../core/routing/alias.ts'
import type { UnixMs } from '../core/time.ts'
import type { Availability, AvailabilityWindow } from '../core/verdict/availability.ts'
import type { State } from '../core/verdict/condition.ts'

export interface PollRecord {
  readonly endpoint: EndpointKey
  /** Start of the poll. */
  readonly at: UnixMs
  readonly state: Exclude<State, 'maintenance'>
  /** Neither lagging, stalled nor forked. */
  readonly fresh: boolean
  readonly latencyMs: number | null
  /** The height on the worst shard, like the lag. */
  readonly height: number | null
  readonly lagBlocks: number | null
  readonly heartbeatLagMs: number | null
  /** The highest of the node's own checks. */
  readonly contiguousFailures: number | null
  readonly failure: FailureKind | null
}

/** A block hash that differs from the one seen before at the same height; only changes are stored. */
export interface HashChange {
  readonly endpoint: EndpointKey
  readonly at: UnixMs
  readonly shard: Shard
  readonly height: number
  readonly hash: string
  readonly previousHash: string
}

/** An endpoint's health that must survive a restart; `value` is an opaque JSON value to the store. */
export interface SavedHealth {
  readonly endpoint: EndpointKey
  readonly at: UnixMs
  readonly value: unknown
}

/** An incident in its current state, which replaces the stored one. `value` is an opaque JSON value to the store. */
export interface IncidentRecord {
  readonly id: string
  readonly network: string
  /** `null` for a network-wide incident. */
  readonly endpoint: string | null
  readonly openedAt: UnixMs
  readonly closedAt: UnixMs | null
  /** Whether it is part of a network-wide incident, and so not listed. */
  readonly absorbed: boolean
  readonly value: unknown
}

/** A notification in its current state, which replaces the stored one. `value` is an opaque JSON value to the store. */
export interface NotificationRecord {
  readonly id: string
  readonly channel: string
  /** Id of what it is about: usually an incident. */
  readonly incident: string
  /** Its network, whose keeper alone may write it in a cluster; missing if it is about Heartline itself. */
  readonly network?: string | undefined
  readonly createdAt: UnixMs
  /** Whether it still has to be sent. */
  readonly waiting: boolean
  readonly value: unknown
}

/** The newest notifications, in the order in which they were added. */
export interface NotificationQuery {
  readonly about: /** What waits, and the last of each channel about each open incident. */
    | 'unfinished'
    | 'latest'
    /** `limit` holds for each of these. */
    | { readonly incidents: readonly string[] }
    | { readonly ids: readonly string[] }
    /** Those whose `incident` contains one of these texts. */
    | { readonly naming: readonly string[] }
  readonly limit: number
}

/** Silences that hold at some time in [from, to). */
export interface SilenceQuery {
  readonly from: UnixMs
  readonly to: UnixMs
  readonly network?: string | undefined
}

/** Filters for a list of incidents, newest first by `openedAt`, then by `id`. */
export interface IncidentQuery {
  readonly network?: string | undefined
  /** Only of one of these. */
  readonly networks?: readonly string[] | undefined
  /** Includes outages that it is part of. */
  readonly endpoint?: string | undefined
  /** `true` for open incidents only, `false` for closed ones only. */
  readonly open?: boolean | undefined
  /** Only incidents that were open at some time in [from, to). */
  readonly during?: { readonly from: UnixMs; readonly to: UnixMs } | undefined
  /** Only incidents that had this condition at some time. */
  readonly condition?: string | undefined
  /** Only incidents after this one in the list, for the next page. */
  readonly after?: { readonly openedAt: UnixMs; readonly id: string } | undefined
  /** Only the parts of this network-wide incident, which are not listed otherwise. */
  readonly partOf?: string | undefined
  readonly limit: number
}

/** Planned maintenance of one endpoint: [from, until) counts as `maintenance`, regardless of poll results. */
export interface MaintainedTime {
  readonly endpoint: EndpointKey
  readonly from: UnixMs
  readonly until: UnixMs
}

/** A stretch of history. Durations are milliseconds that sum to the bucket's width; `null` if nothing was measured. */
export interface HistoryBucket {
  readonly start: UnixMs
  readonly upMs: number
  readonly degradedMs: number
  readonly downMs: number
  readonly maintenanceMs: number
  readonly unknownMs: number
  readonly polls: number
  /** Quantiles are within 4.8 % of the true latency; the maximum is exact. */
  readonly latencyP50Ms: number | null
  readonly latencyP95Ms: number | null
  readonly latencyMaxMs: number | null
  readonly height: number | null
  readonly lagBlocksMax: number | null
  readonly heartbeatLagMaxMs: number | null
  readonly contiguousFailuresMax: number | null
}

export interface HistoryQuery {
  readonly endpoint: EndpointKey
  readonly from: UnixMs
  readonly to: UnixMs
  /** Width of a bucket, at least a second; buckets start at `from`, and the last one may be cut off by `to`. */
  readonly stepMs: number
}

/** A poll as it is stored now: its state may have been amended. `vantage`: the place of a cluster that made it. */
export type StoredPoll = Omit<PollRecord, 'endpoint'> & { readonly vantage?: string | undefined }

export interface PollsQuery {
  readonly endpoint: EndpointKey
  readonly from: UnixMs
  readonly to: UnixMs
  /** At most this many, oldest first. */
  readonly limit: number
}

/** Maximum number of buckets in one query; more is a RangeError. */
export const MAX_HISTORY_BUCKETS = 100_000

/** Why writing currently fails. */
export const STORE_TROUBLES = ['full', 'read-only', 'busy', 'io', 'corrupt', 'unreachable', 'other'] as const
export type StoreTrouble = (typeof STORE_TROUBLES)[number]

/** Why a store is not opened at all; only a person can fix it. */
export type StoreRefusal =
  | 'store-in-use'
  | 'newer-schema'
  | 'sqlite-too-old'
  | 'read-only'
  | 'bad-spool'
  | 'network-disk'
  | 'bad-url'
  | 'unknown-host'
  | 'unreachable'
  | 'refused-login'
  | 'missing-database'
  | 'postgres-too-old'
  | 'foreign-database'

export class StoreError extends Error {
  readonly kind: StoreRefusal

  constructor(kind: StoreRefusal, message: string) {
    super(message)
    this.name = 'StoreError'
    this.kind = kind
  }
}

export interface StoreStatus {
  /** `null` while writing works. */
  readonly trouble: StoreTrouble | null
  readonly rowsWritten: number
  readonly rowsDropped: number
  readonly writeFailures: ReadonlyMap<StoreTrouble, number>
  readonly queueRows: number
  /** `null` for a store in memory, and until the first measurement. */
  readonly databaseBytes: number | null
  readonly filesystemFreeBytes: number | null
  /** `false` once damage was found; a file that cannot be used any more is moved aside. */
  readonly integrityOk: boolean
  /** How often a thread of the store died and was restarted. */
  readonly threadRestarts: number
  /** `null` for a file or memory. */
  readonly remote: RemoteStatus | null
}

/** A database on a server, which may be away while polling goes on. */
export interface RemoteStatus {
  readonly reachable: boolean
  /** Since when it is, or is not. */
  readonly since: UnixMs
  /** Rows that wait in the spool until it is back. */
  readonly spoolRows: number
  /** Rows of a network that another member of the cluster had claimed when they were polled; never stored. */
  readonly rowsRefused: number
}

/** Maintenance jobs; `daemon/calendar-jobs.ts` schedules them. */
export const STORE_JOBS = ['roll-up', 'retention', 'optimise', 'integrity'] as const
export type StoreJob = (typeof STORE_JOBS)[number]

/** An endpoint that is polled from now on, and how long one of its results holds: two intervals. */
export interface StoredEndpoint {
  readonly endpoint: EndpointKey
  readonly holdMs: number
}

/**
 * The history. Writes are queued: they never wait, throw or block. Reads are answered off the event loop. Of data that cannot
 * be read, those for a single answer reject with `Unreadable`; the others leave it out, and `certain` has them rejecting.
 */
export interface Store {
  /** Call it with all configured endpoints before their first poll. Polls of unregistered endpoints are dropped. */
  register(endpoints: readonly StoredEndpoint[], at: UnixMs): void
  poll(record: PollRecord): void
  /** Changes the state of the polls in [from, to), when it is confirmed later. */
  amend(endpoint: EndpointKey, from: UnixMs, to: UnixMs, state: PollRecord['state'], fresh: boolean): void
  hashChange(change: HashChange): void
  saveHealth(saved: SavedHealth): void
  /** Both are written in one transaction, so a crash never loses a part of an incident; kept as long as hours are. */
  saveIncident(incident: IncidentRecord, notifications?: readonly NotificationRecord[]): void
  saveNotification(notification: NotificationRecord): void
  /** Replaces the stored silence of that id; kept as long as hours are, as notes are. */
  saveSilence(silence: Silence): void
  saveNote(note: Note): void
  /** Replaces the stored alias of that name in its network. */
  saveAlias(alias: AliasRecord): void
  /** For the audit log; kept as long as hours are. */
  adminCall(call: AdminCall): void
  /**
   * Replaces the plan from `at` on with periods that have begun or begin soon; a cancelled period counts until `at`. A
   * period counts from its beginning, even if it is announced late or began while the daemon was off. Counts are exact,
   * except that a bucket whose polls are gone loses the same share of polls as of time.
   */
  maintain(periods: readonly MaintainedTime[], at: UnixMs): void
  /** Resolves when everything queued before the call is on disk, or writing has failed. */
  flush(): Promise<void>

  /** Includes endpoints that are no longer polled. */
  savedHealth(): Promise<readonly SavedHealth[]>
  /** Includes stale aliases. */
  aliases(): Promise<readonly AliasRecord[]>
  /** Reads written incidents only, without queued changes and absorbed incidents. */
  incidents(query: IncidentQuery): Promise<readonly IncidentRecord[]>
  /** Finds absorbed incidents too. Rejects with `Unreadable`. */
  incident(id: string): Promise<IncidentRecord | null>
  /** Reads written notifications only, without queued changes. */
  notifications(query: NotificationQuery): Promise<readonly NotificationRecord[]>
  /** Reads written silences only, without queued changes. */
  silences(query: SilenceQuery): Promise<readonly Silence[]>
  /** Reads written notes of these incidents only, oldest first. */
  notes(incidents: readonly string[]): Promise<readonly Note[]>
  /** Rejects with `Unreadable`, or with a RangeError for too many buckets. */
  history(query: HistoryQuery): Promise<readonly HistoryBucket[]>
  /** Single polls, while they are still kept. Rejects with `Unreadable`. */
  polls(query: PollsQuery): Promise<readonly StoredPoll[]>
  /**
   * Availability of the known endpoints, in windows that end at `now`. A window is exact while the polls of its beginning
   * are kept; later it starts with the first complete bucket, up to five minutes or, if those are gone too, an hour late.
   */
  availability(
    endpoints: readonly EndpointKey[],
    now: UnixMs,
  ): Promise<ReadonlyMap<EndpointKey, Readonly<Record<AvailabilityWindow, Availability>>>>
  /** These reject with `Unreadable`, for those who must not take that for an empty answer. */
  readonly certain: Pick<Store, 'incidents' | 'savedHealth' | 'notifications' | 'silences' | 'aliases'>
  /** When each job last succeeded. */
  lastRuns(): Promise<ReadonlyMap<StoreJob, UnixMs>>
  /**
   * Returns whether the job succeeded; never rejects. Jobs run one after the other, between writes. The signal, or
   * closing the store, stops them after the current step; stopped jobs can be run again.
   */
  run(job: StoreJob, now: UnixMs, signal?: AbortSignal): Promise<boolean>
  status(): StoreStatus
  /** Stops the jobs, writes what is queued, checkpoints, and releases the lock. */
  close(): Promise<void>
}
