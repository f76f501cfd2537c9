import type { EndpointKey } from '../core/endpoint.ts'
import type { FailureKind } from '../core/failure.ts'
import type { Shard } from '../core/network.ts'
import type { AdminCall, AliasRecord } from '../core/routing/alias.ts'
import type { UnixMs } from '../core/time.ts'
import type { Availability, AvailabilityWindow } from '../core/verdict/availability.ts'
import type { State } from '../core/verdict/condition.ts'

/** One poll, as kept. */
export interface PollRecord {
  readonly endpoint: EndpointKey
  /** Start of the poll. */
  readonly at: UnixMs
  readonly state: Exclude<State, 'maintenance'>
  /** Neither lagging, stalled nor forked. */
  readonly fresh: boolean
  readonly latencyMs: number | null
  /** Of the worst shard, as is the lag. */
  readonly height: number | null
  readonly lagBlocks: number | null
  readonly heartbeatLagMs: number | null
  /** The highest of the node's own checks. */
  readonly contiguousFailures: number | null
  readonly failure: FailureKind | null
}

/** Another hash where one was known already: hashes are kept only where they change. */
export interface HashChange {
  readonly endpoint: EndpointKey
  readonly at: UnixMs
  readonly shard: Shard
  readonly height: number
  readonly hash: string
  readonly previousHash: string
}

/** What must survive a restart of one endpoint; an opaque JSON value to the store. */
export interface SavedHealth {
  readonly endpoint: EndpointKey
  readonly at: UnixMs
  readonly value: unknown
}

/** An incident as it stands now; it replaces what was kept of it. `value` is an opaque JSON value to the store. */
export interface IncidentRecord {
  readonly id: string
  readonly network: string
  /** `null` for a network-wide one. */
  readonly endpoint: string | null
  readonly openedAt: UnixMs
  readonly closedAt: UnixMs | null
  /** Part of a network-wide one: not listed by itself. */
  readonly absorbed: boolean
  readonly value: unknown
}

/** Newest first: by `openedAt`, then by `id`. */
export interface IncidentQuery {
  readonly network?: string
  readonly endpoint?: string
  /** Only open ones, or only closed ones. */
  readonly open?: boolean
  /** Only those that were open at some time in [from, to). */
  readonly during?: { readonly from: UnixMs; readonly to: UnixMs }
  /** Those that come after this one. */
  readonly after?: { readonly openedAt: UnixMs; readonly id: string }
  /** Those that are part of this one, which are not listed otherwise. */
  readonly partOf?: string
  readonly limit: number
}

/** Planned maintenance of one endpoint: [from, until) counts as `maintenance`, whatever the polls said. */
export interface MaintainedTime {
  readonly endpoint: EndpointKey
  readonly from: UnixMs
  readonly until: UnixMs
}

/** A stretch of history. Durations are milliseconds and sum to the bucket; `null` where nothing was seen. */
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

/** A poll as it was kept: its state may have been confirmed later. */
export type KeptPoll = Omit<PollRecord, 'endpoint'>

export interface PollsQuery {
  readonly endpoint: EndpointKey
  readonly from: UnixMs
  readonly to: UnixMs
  /** The first so many, in the order of time. */
  readonly limit: number
}

/** One query answers at most so many buckets; asking for more is a RangeError. */
export const MAX_HISTORY_BUCKETS = 100_000

/** Why writing does not work right now. */
export const STORE_TROUBLES = ['full', 'read-only', 'busy', 'io', 'corrupt', 'other'] as const
export type StoreTrouble = (typeof STORE_TROUBLES)[number]

/** Why a store is not opened at all: things that only a person can put right. */
export type StoreRefusal = 'store-in-use' | 'newer-schema' | 'sqlite-too-old' | 'read-only' | 'network-disk'

export class StoreError extends Error {
  readonly kind: StoreRefusal

  constructor(kind: StoreRefusal, message: string) {
    super(message)
    this.name = 'StoreError'
    this.kind = kind
  }
}

export interface StoreStatus {
  /** `null` when all is well. */
  readonly trouble: StoreTrouble | null
  readonly rowsWritten: number
  readonly rowsDropped: number
  readonly writeFailures: ReadonlyMap<StoreTrouble, number>
  readonly queueRows: number
  /** `null` for a store in memory, or until it was first measured. */
  readonly databaseBytes: number | null
  readonly filesystemFreeBytes: number | null
  /** `false` from the moment a damaged file was found (and moved aside, where nothing else helped). */
  readonly integrityOk: boolean
  /** How often a thread of the store died and was started again. */
  readonly threadRestarts: number
}

/** The jobs that are due by the calendar; `poll/housekeeping.ts` says when. */
export const STORE_JOBS = ['roll-up', 'retention', 'optimise', 'integrity'] as const
export type StoreJob = (typeof STORE_JOBS)[number]

/** An endpoint that is polled from now on, and how long one of its results holds (two intervals). */
export interface StoredEndpoint {
  readonly endpoint: EndpointKey
  readonly holdMs: number
}

/**
 * The history. Writes are queued and never awaited, never throw and never block; reads are answered off the event loop.
 * A broken disk changes `status()`, and nothing else: what cannot be read is unknown, or missing from the answer.
 */
export interface Store {
  /** The endpoints of the configuration now in force. Comes before their first poll; polls of others are dropped. */
  register(endpoints: readonly StoredEndpoint[], at: UnixMs): void
  poll(record: PollRecord): void
  /** Retroactive confirmation: the polls of [from, to) were really in this state. */
  amend(endpoint: EndpointKey, from: UnixMs, to: UnixMs, state: PollRecord['state'], fresh: boolean): void
  hashChange(change: HashChange): void
  saveHealth(saved: SavedHealth): void
  /** A crash right after it loses at most what was queued, and never half of it. Kept as long as the hours are. */
  saveIncident(incident: IncidentRecord): void
  /** As it stands now: it replaces what was kept of this network's alias. */
  saveAlias(alias: AliasRecord): void
  /** For the audit; kept as long as the hours are. */
  adminCall(call: AdminCall): void
  /**
   * What is planned now: periods that have begun by `at`, or begin soon. What was planned before from `at` on is forgotten
   * where it is not named again, so that a window cut short counts only until then. A period counts from its beginning, though
   * it is told late, and while the daemon was off. It counts to the millisecond, except that where a border lies within a
   * bucket whose polls were gone when it was told nobody knows what to take out: as much of the sum goes as of the time.
   */
  maintain(periods: readonly MaintainedTime[], at: UnixMs): void
  /** Resolves when everything queued before the call is on disk, or cannot be written. */
  flush(): Promise<void>

  /** Everything saved, of endpoints that are no longer polled too. */
  savedHealth(): Promise<readonly SavedHealth[]>
  /** Stale ones too. */
  aliases(): Promise<readonly AliasRecord[]>
  /** As written so far; what is still queued is missing. Absorbed ones are left out. */
  incidents(query: IncidentQuery): Promise<readonly IncidentRecord[]>
  /** Absorbed ones too. */
  incident(id: string): Promise<IncidentRecord | null>
  history(query: HistoryQuery): Promise<readonly HistoryBucket[]>
  /** One by one, where they are still kept. */
  polls(query: PollsQuery): Promise<readonly KeptPoll[]>
  /**
   * Of those endpoints that are known, at the time `now`, until which the windows last. While there are polls from its beginning
   * a window is as long as it is called, to the millisecond; after that it begins with the first bucket that lies all within it:
   * up to five minutes later, and an hour later when the five minutes are gone. Nothing is guessed.
   */
  availability(
    endpoints: readonly EndpointKey[],
    now: UnixMs,
  ): Promise<ReadonlyMap<EndpointKey, Readonly<Record<AvailabilityWindow, Availability>>>>
  /** When each job last ended well. */
  lastRuns(): Promise<ReadonlyMap<StoreJob, UnixMs>>
  /**
   * Whether the job ended well. Never rejects; jobs run one after the other, between the writes. The signal, or closing the
   * store, cuts a job short after the step that it is at, and with it all others: they are simply run again.
   */
  run(job: StoreJob, now: UnixMs, signal?: AbortSignal): Promise<boolean>
  /** A consistent copy while running; rejects when it cannot be made. */
  backup(file: string): Promise<void>
  status(): StoreStatus
  /** Ends the jobs, writes what is queued, checkpoints, lets go of the lock. */
  close(): Promise<void>
}
