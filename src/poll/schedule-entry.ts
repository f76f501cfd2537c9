import type { SharedLimit } from './concurrency-limit.ts'

/** Something that is polled again and again. Names are unique. */
export interface ScheduledItem {
  readonly key: string
  readonly intervalMs: number
  /** What it shares with others: a host, a network. */
  readonly limits: readonly SharedLimit[]
}

/** An item's place in the schedule. All times are of the monotonic clock. */
export interface ScheduleEntry {
  item: ScheduledItem
  /** Its next regular turn. */
  due: number
  running: boolean
  /** When its regular turn was due, while that waits for a free place; `null` when none does. */
  waitingSince: number | null
  hasRun: boolean
  /** When its last poll started, and whether in an extra turn. */
  startedAt: number
  startedEarly: boolean
  /** When its last poll ended. */
  endedAt: number
  /** The node asked to be left alone until then. */
  notBefore: number
  /** When its extra turn comes; `NEVER` without one. */
  earlyDue: number
  /** Whether the extra turn has come, and waits for a free place. */
  earlyWaits: boolean
  /** It was hastened while it ran. */
  pollAgainSoon: boolean
  removed: boolean
}

export const NEVER = Number.POSITIVE_INFINITY

export function newScheduleEntry(item: ScheduledItem): ScheduleEntry {
  return {
    item,
    due: 0,
    running: false,
    waitingSince: null,
    hasRun: false,
    startedAt: Number.NEGATIVE_INFINITY,
    startedEarly: false,
    endedAt: Number.NEGATIVE_INFINITY,
    notBefore: 0,
    earlyDue: NEVER,
    earlyWaits: false,
    pollAgainSoon: false,
    removed: false,
  }
}

/** The item's next regular turn after `now`, in its own rhythm. */
export function nextTurn({ due, item: { intervalMs } }: ScheduleEntry, now: number): number {
  return due + Math.max(1, Math.floor((now - due) / intervalMs) + 1) * intervalMs
}

/** How soon after the start of a poll an extra one may start. */
export function earlyGapMs({ item }: ScheduleEntry): number {
  return item.intervalMs / 4
}

/** When an item that does not run may have an extra turn; `NEVER` where a turn that it has anyway comes sooner. */
export function earlyTurn(slot: ScheduleEntry, now: number): number {
  const { due, notBefore, item } = slot
  const waits = slot.earlyWaits || (slot.waitingSince !== null && notBefore <= now)
  if (slot.removed || waits) return NEVER
  const at = Math.max(now, slot.startedAt + earlyGapMs(slot), notBefore)
  // Regular turns before `notBefore` come to nothing.
  const turn = due + Math.max(0, Math.ceil((notBefore - due) / item.intervalMs)) * item.intervalMs
  return at < turn && at < slot.earlyDue ? at : NEVER
}
