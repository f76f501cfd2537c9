import type { State } from '../core/condition.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import type { FailureKind } from '../core/failure.ts'
import type { Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import type { Availability, AvailabilityWindow } from '../state/board.ts'

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

/** A stretch of history. Durations are milliseconds and sum to the bucket; `null` where nothing was seen. */
export interface HistoryBucket {
  readonly start: UnixMs
  readonly upMs: number
  readonly degradedMs: number
  readonly downMs: number
  readonly maintenanceMs: number
  readonly unknownMs: number
  readonly polls: number
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
  /** Width of a bucket; the last one may be cut off by `to`. */
  readonly stepMs: number
}

/** Why writing does not work right now. */
export type StoreTrouble = 'full' | 'read-only' | 'busy' | 'io' | 'corrupt' | 'other'

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
  readonly integrityOk: boolean
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
 * A broken disk changes `status()`, and nothing else.
 */
export interface Store {
  /** The endpoints of the configuration now in force. */
  register(endpoints: readonly StoredEndpoint[], at: UnixMs): void
  poll(record: PollRecord): void
  /** Retroactive confirmation: the polls of [from, to) were really in this state. */
  amend(endpoint: EndpointKey, from: UnixMs, to: UnixMs, state: PollRecord['state'], fresh: boolean): void
  hashChange(change: HashChange): void
  saveHealth(saved: SavedHealth): void
  /** Resolves when everything queued before the call is on disk, or cannot be written. */
  flush(): Promise<void>

  /** Everything saved for the given endpoints. */
  savedHealth(): Promise<readonly SavedHealth[]>
  history(query: HistoryQuery): Promise<readonly HistoryBucket[]>
  availability(
    endpoints: readonly EndpointKey[],
    now: UnixMs,
  ): Promise<ReadonlyMap<EndpointKey, Readonly<Record<AvailabilityWindow, Availability>>>>
  /** When each job last ended well. */
  lastRuns(): Promise<ReadonlyMap<StoreJob, UnixMs>>
  run(job: StoreJob, now: UnixMs): Promise<void>
  /** A consistent copy while running. */
  backup(file: string): Promise<void>
  status(): StoreStatus
  /** Writes what is queued, checkpoints, lets go of the lock. */
  close(): Promise<void>
}
