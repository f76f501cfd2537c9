import type { UnixMs } from '../core/time.ts'
import type { TimedState, TimeParts, TimeRange } from '../core/verdict/availability.ts'
import type { Bucket } from './bucket.ts'
import type { PollRow } from './poll-columns.ts'
import type { Cursors, Resolution } from './resolution.ts'

/** What the arithmetic of the history reads and writes: SQLite's tables, or parts of PostgreSQL's that were read before. */
export interface HistoryTables {
  cursors(): Cursors
  /** The longest time, in slots, that any result holds. */
  holdSlots(): number
  readonly polls: PollTable
  readonly maintenance: Pick<MaintenanceTable, 'between'>
  readonly buckets: Readonly<Record<Resolution['table'], BucketTable>>
}

/** Stored polls, of one endpoint or of many, together with how long each result holds. */
export interface PollTable {
  holds(endpointId: number): Holds
  /** The poll whose result may still hold when the slot begins; `null` if there is none. */
  carriedInto(slot: number, endpointId: number, holds: Holds): HeldPoll | null
  /** In the order of time. */
  inSlot(slot: number, endpointId: number, holds: Holds): HeldPoll[]
  /** In a cluster, the polls of all places, which `inSlot` then replaces by the state that they found together. */
  countedIn?(slot: number, endpointId: number): readonly PollRow[]
  /** By endpoint, for the endpoints [firstId, lastId]. */
  bySlot(slot: number, firstId: number, lastId: number): Map<number, StateRow[]>
  /** The first slot at or after `slot` that has any poll; `null` if there is none. */
  nextSlot(slot: number): number | null
}

/** The first slot from `slot` on, up to `end`, that has something to aggregate: slots without polls are skipped. */
export function nextBusySlot({ polls, holdSlots }: HistoryTables, slot: number, end: number): number {
  const polled = polls.nextSlot(slot - holdSlots() - 1)
  return polled === null ? end : Math.min(end, Math.max(slot, polled))
}

/** How long the results of one endpoint hold, which can change when it is configured again. */
export interface Holds {
  at(time: UnixMs): number
  readonly longestMs: number
  readonly shortestMs: number
}

export type HeldPoll = PollRow & TimedState

/** A poll, or several in a row that found the same state, each while the one before held; `lastAt` is then the last one. */
export type StateRow = PollRow & { readonly lastAt?: UnixMs }

export function hold(row: StateRow, holds: Holds): HeldPoll {
  const { at, lastAt = at } = row
  return { ...row, holdMs: lastAt - at + holds.at(lastAt) }
}

/** From rows of `holds` of one endpoint, in the order of time. */
export function holdsOf(rows: readonly (readonly [fromMs: number, holdMs: number])[]): Holds {
  const [only] = rows
  if (only === undefined) return NO_HOLDS
  if (rows.length === 1) return { at: () => only[1], longestMs: only[1], shortestMs: only[1] }
  const all = rows.map(([, holdMs]) => holdMs)
  const at = (time: UnixMs) => (rows.findLast(([from]) => from <= time) ?? only)[1]
  return { at, longestMs: Math.max(...all), shortestMs: Math.min(...all) }
}

export const NO_HOLDS: Holds = { at: () => 0, longestMs: 0, shortestMs: 0 }

export interface BucketTable {
  /** Writes no row for an empty bucket. */
  put(endpointId: number, at: number, bucket: Bucket): void
  /** Removes the time of the buckets [first, end); their polls, heights and maxima stay. */
  blank(endpointId: number, first: number, end: number): void
  /** The buckets [first, end) by number, in the order of time. */
  between(endpointId: number, first: number, end: number): Map<number, Bucket>
  /** The sums of the buckets [first, end). */
  sum(endpointId: number, first: number, end: number): TimeParts
}

/** The stored maintenance plans, by endpoint. */
export interface MaintenanceTable {
  /** The ranges that reach into [from, to), in the order of time; none overlaps or touches the next. */
  between(endpointId: number, from: number, to: number): TimeRange[]
  endpointsAfter(at: number): number[]
  /** Replaces an endpoint's ranges that end at `from` or later. */
  replace(endpointId: number, from: number, ranges: readonly TimeRange[]): void
}
