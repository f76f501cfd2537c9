import type { EndpointKey } from '../core/endpoint.ts'
import type { UnixMs } from '../core/time.ts'
import type { Availability, AvailabilityWindow } from '../core/verdict/availability.ts'
import type { ClockVerdict } from './clock-belief.ts'
import type {
  HistoryBucket,
  HistoryQuery,
  IncidentQuery,
  KeptPoll,
  PollsQuery,
  StoreJob,
  StoreRefusal,
  StoreTrouble,
} from './store.ts'

/** How long each tier is kept. */
export interface Retention {
  readonly rawMs: number
  readonly fiveMinutesMs: number
  readonly hourMs: number
}

/** An endpoint of this process: its polls carry `index` instead of its name. */
export interface Registration {
  readonly index: number
  readonly endpoint: EndpointKey
  readonly holdMs: number
  readonly at: UnixMs
}

/** What is written besides polls. */
export type WriteEvent =
  | { readonly kind: 'register'; readonly registrations: readonly Registration[] }
  | {
      readonly kind: 'amend'
      readonly index: number
      readonly from: UnixMs
      readonly to: UnixMs
      /** The lower bits of an outcome; see poll-row.ts. */
      readonly verdict: number
    }
  | {
      readonly kind: 'hash-change'
      readonly index: number
      readonly at: UnixMs
      readonly shard: number
      readonly height: number
      readonly hash: string
      readonly previousHash: string
    }
  | { readonly kind: 'save-health'; readonly endpoint: EndpointKey; readonly at: UnixMs; readonly json: string }
  | { readonly kind: 'save-incident'; readonly id: string; readonly row: IncidentRow }
  | { readonly kind: 'save-alias'; readonly row: AliasRow }
  | { readonly kind: 'admin-call'; readonly row: AdminCallRow }
  | {
      readonly kind: 'maintain'
      readonly at: UnixMs
      readonly periods: readonly (readonly [endpoint: EndpointKey, from: UnixMs, until: UnixMs])[]
    }

/** Numbers of one poll in a batch: index, at, outcome, then five measured values, NaN where there is none. */
export const POLL_NUMBERS = 8

/** One transaction. */
export interface Batch {
  readonly polls: Float64Array
  /** In order; each comes after so many of the polls. */
  readonly events: readonly { readonly after: number; readonly event: WriteEvent }[]
}

export interface OpenAsk {
  readonly path: string
  readonly retention: Retention
  readonly maxSizeBytes: number
  readonly registrations: readonly Registration[]
  readonly now: UnixMs
}

/** What became of the file while it was being opened or written. */
export interface FileNews {
  /** The damaged file was moved there, and a new one begun. */
  readonly movedTo: string | null
  /** The last shutdown was unclean, and the file too large to be checked at once. */
  readonly wantsCheck: boolean
  /** What the last job found; `null` when there was none. */
  readonly clock: ClockVerdict | null
}

export interface StoreSizes {
  readonly databaseBytes: number | null
  readonly filesystemFreeBytes: number | null
}

export type SavedHealthRow = readonly [endpoint: EndpointKey, at: UnixMs, json: string]
/** As in the table; `absorbed` is 0 or 1. */
export type IncidentRow = readonly [
  id: string,
  network: string,
  endpoint: string | null,
  openedAt: UnixMs,
  closedAt: UnixMs | null,
  absorbed: number,
  json: string,
]
export type AliasRow = readonly [
  network: string,
  alias: string,
  target: string,
  endpoint: string,
  nodeId: string | null,
  caller: string,
  at: UnixMs,
  staleAt: UnixMs | null,
  staleReason: string | null,
]
export type AdminCallRow = readonly [
  at: UnixMs,
  nth: number,
  network: string,
  caller: string,
  alias: string,
  target: string,
  endpoint: string | null,
  nodeId: string | null,
  outcome: string,
]
export type AvailabilityAnswer = readonly (readonly [EndpointKey, Readonly<Record<AvailabilityWindow, Availability>>])[]

/** What can be read on either thread. */
export interface ReadCalls {
  history: { ask: { readonly query: HistoryQuery; readonly now: UnixMs }; answer: readonly HistoryBucket[] }
  polls: { ask: { readonly query: PollsQuery }; answer: readonly KeptPoll[] }
  availability: {
    ask: { readonly endpoints: readonly EndpointKey[]; readonly now: UnixMs }
    answer: AvailabilityAnswer
  }
  incidents: { ask: { readonly query: IncidentQuery }; answer: readonly IncidentRow[] }
  incident: { ask: { readonly id: string }; answer: IncidentRow | null }
  backup: { ask: { readonly file: string }; answer: null }
}

export interface WriterCalls extends ReadCalls {
  /** Comes first. A refusal is final; trouble is not: every later call tries to open again. */
  open: { ask: OpenAsk; answer: { readonly refusal: { kind: StoreRefusal; message: string } | null } & FileNews }
  write: {
    ask: { readonly batch: Batch; readonly now: UnixMs }
    answer: { readonly rows: number; readonly durationMs: number } & FileNews
  }
  /**
   * Whether it came to its end. Of `integrity` only that it ended is noted: checking is the reading side's.
   */
  job: { ask: { readonly job: StoreJob; readonly now: UnixMs }; answer: boolean }
  /** Cuts short, after the step that each is at, the jobs that were asked for so far. */
  'end-jobs': { ask: null; answer: null }
  /** Whether quick_check finds nothing. Only of a store in memory: a file is checked apart. */
  check: { ask: null; answer: boolean }
  'saved-health': { ask: null; answer: readonly SavedHealthRow[] }
  aliases: { ask: null; answer: readonly AliasRow[] }
  'last-runs': { ask: null; answer: readonly (readonly [string, UnixMs])[] }
  /** Also looks whether the file is still the one that was opened, and keeps the reserve. */
  measure: { ask: { readonly now: UnixMs }; answer: StoreSizes & FileNews }
  /** Ends the jobs first. Nothing is opened again after it. */
  close: { ask: null; answer: null }
}

export interface ReaderCalls extends ReadCalls {
  open: { ask: { readonly path: string }; answer: null }
}

export type Reply<T> = { readonly ok: true; readonly value: T } | Failed
export interface Failed {
  readonly ok: false
  readonly trouble: StoreTrouble
  /** The error's code or name: its message may hold paths and values. */
  readonly code: string
}
