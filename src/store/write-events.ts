import type { EndpointKey } from '../core/endpoint.ts'
import type { Note } from '../core/incident/note.ts'
import type { Silence } from '../core/incident/silence.ts'
import type { AdminCall, AliasRecord } from '../core/routing/alias.ts'
import type { UnixMs } from '../core/time.ts'
import type { HashChange, IncidentRecord, MaintainedTime, NotificationRecord, SavedHealth } from './store.ts'

/** What is written in one transaction. */
export interface Batch {
  /** POLL_NUMBERS numbers for each poll. */
  readonly polls: Float64Array
  /** In order; each event is written after the first `after` polls. */
  readonly events: readonly { readonly after: number; readonly event: WriteEvent }[]
}

/** A write other than a poll. */
export type WriteEvent =
  | { readonly kind: 'register'; readonly registrations: readonly Registration[] }
  | {
      readonly kind: 'amend'
      readonly index: number
      readonly from: UnixMs
      readonly to: UnixMs
      /** The lower bits of an outcome: see VERDICT_BITS. */
      readonly verdict: number
    }
  | Merged
  | ({ readonly kind: 'hash-change'; readonly index: number } & Omit<HashChange, 'endpoint'>)
  /** `token`: as of a registration. */
  | ({ readonly kind: 'save-health'; readonly token?: number } & SavedHealthJson)
  | SaveIncident
  | SaveNotification
  | { readonly kind: 'save-silence'; readonly silence: Silence }
  | { readonly kind: 'save-note'; readonly note: Note }
  | { readonly kind: 'save-alias'; readonly alias: AliasRecord }
  | { readonly kind: 'admin-call'; readonly call: AdminCall }
  | { readonly kind: 'maintain'; readonly at: UnixMs; readonly periods: readonly MaintainedTime[] }

/** Written in its current state, which replaces the stored one. */
export type RecordEvent = Extract<
  WriteEvent,
  { kind: 'save-incident' | 'save-notification' | 'save-silence' | 'save-note' | 'save-alias' | 'admin-call' }
>

/** What the places of a cluster found together, since when. */
export interface Merged {
  readonly kind: 'merged'
  readonly index: number
  readonly at: UnixMs
  readonly since: UnixMs
  /** The lower bits of an outcome. */
  readonly verdict: number
  readonly fence: Fence
}

/** The incident and the notifications of its changes, which are written in one transaction. */
export interface SaveIncident {
  readonly kind: 'save-incident'
  readonly incident: IncidentJson
  readonly notifications: readonly NotificationJson[]
  readonly fence?: Fence
}

export interface SaveNotification {
  readonly kind: 'save-notification'
  readonly notification: NotificationJson
  readonly fence?: Fence
}

/** An endpoint registered by this process; polls refer to it by `index` instead of its name. */
export interface Registration {
  readonly index: number
  readonly endpoint: EndpointKey
  readonly holdMs: number
  readonly at: UnixMs
  /** In a cluster, the token under which polls of this index were made: each token has an index of its own. */
  readonly token?: number
}

/** In a cluster, the right by which a daemon writes about a network: another may have claimed it in the meantime. */
export interface Fence {
  readonly network: string
  readonly token: number
  /** When the write was queued, and whether the database could be reached then. */
  readonly at: UnixMs
  readonly isAway: boolean
}

/** An incident whose value is JSON, as it is stored and sent between threads. */
export type IncidentJson = Omit<IncidentRecord, 'value'> & { readonly json: string }

/** How a condition stands in the JSON of an incident, and nothing else does: quotes within strings are escaped there. */
export function codeText(condition: string): string {
  return `"code":${JSON.stringify(condition)}`
}

export type SavedHealthJson = Omit<SavedHealth, 'value'> & { readonly json: string }
export type NotificationJson = Omit<NotificationRecord, 'value'> & { readonly json: string }
