import type { SkipReason } from '../core/poll-result.ts'
import type { ConcurrencyLimiter, SharedLimit } from './concurrency-limit.ts'
import { createDueQueue } from './due-queue.ts'

/** The turns of all items: regular ones once per interval, and early ones that yield to them. Says when a poll starts. */
export function createTurns({ limiter, start, onSkip, onEarlier }: TurnsDeps) {
  const regular = createDueQueue<ScheduleEntry>()
  const early = createDueQueue<ScheduleEntry>()

  function enqueue(entry: ScheduleEntry, due: number): void {
    entry.due = due
    regular.add(due, entry)
  }

  /** Whether it starts, or waits for a free poll. */
  function takeTurn(entry: ScheduleEntry, now: number): boolean {
    const { due } = entry
    const { key, intervalMs } = entry.item
    const missed = Math.floor((now - due) / intervalMs)
    enqueue(entry, nextTurn(entry, now))
    if (missed > 0) onSkip(key, 'late', missed)
    if (entry.waitingSince !== null) return skip(entry, entry.running ? 'overlap' : 'concurrency')
    if (entry.notBefore > now) return skip(entry, 'rate-limited')
    // Two polls at nearly the same time must not confirm each other. To drop this turn would leave a suspect alone for an
    // interval, so another early turn takes its place.
    if (entry.startedEarly && now < entry.startedAt + earlyGapMs(entry)) {
      pollEarly(entry, now)
      return false
    }
    entry.waitingSince = due
    if (!startRegular(entry, now)) regular.wait(entry)
    return true
  }

  function skip({ item }: ScheduleEntry, reason: SkipReason): false {
    onSkip(item.key, reason, 1)
    return false
  }

  function takeEarlyTurn(entry: ScheduleEntry, now: number): boolean {
    entry.earlyDue = NEVER
    if (entry.waitingSince !== null || entry.due <= now) return false
    entry.earlyWaits = true
    early.wait(entry)
    return true
  }

  /** Gives the item an early turn, unless its regular turn comes sooner. */
  function pollEarly(entry: ScheduleEntry, now: number): void {
    if (entry.running) {
      entry.pollAgainSoon = true
      return
    }
    const at = earlyTurn(entry, now)
    if (at === NEVER) return
    entry.earlyDue = at
    early.add(at, entry)
    onEarlier(at)
  }

  /** False when it has to go on waiting. */
  function startRegular(entry: ScheduleEntry, now: number): boolean {
    if (entry.removed || entry.waitingSince === null) return true
    if (entry.notBefore > now) {
      entry.waitingSince = null
      onSkip(entry.item.key, 'rate-limited', 1)
      return true
    }
    if (entry.running || !limiter.hasRoom(entry.item.limits, 1)) return false
    start(entry, entry.waitingSince, now)
    return true
  }

  function startEarly(entry: ScheduleEntry, now: number): boolean {
    if (entry.removed || !entry.earlyWaits) return true
    if (entry.running || !limiter.hasRoom(entry.item.limits, EARLY_SHARE)) return false
    start(entry, null, now)
    return true
  }

  /** First come, first served, but an item that waits for its host does not hold up the others. */
  function startWaiting(now: number): void {
    if (limiter.hasRoom(NONE, 1)) regular.retryWaiting((entry) => startRegular(entry, now))
    if (limiter.hasRoom(NONE, EARLY_SHARE)) early.retryWaiting((entry) => startEarly(entry, now))
  }

  return {
    /** How many items are due per millisecond, on average. */
    setPace(perMs: number, now: number): void {
      regular.setPace(CATCH_UP_PACE * perMs, now)
      early.setPace(EARLY_PACE * perMs, now)
    },

    /** Gives a new item, or one with a new interval, its next regular turn. */
    reschedule(entry: ScheduleEntry, due: number, now: number): void {
      enqueue(entry, due)
      if (entry.earlyDue === NEVER) return
      entry.earlyDue = NEVER
      pollEarly(entry, now)
    },

    /** Starts the polls that are due, or lets them wait. */
    takeDue(now: number): void {
      regular.takeDue(now, (entry, due) => !entry.removed && entry.due === due && takeTurn(entry, now))
      early.takeDue(now, (entry, due) => !entry.removed && entry.earlyDue === due && takeEarlyTurn(entry, now))
    },

    pollEarly,
    startWaiting,
    /** When the next turn can be taken. */
    nextAt: (now: number): number => Math.min(regular.nextAt(now), early.nextAt(now)),

    clear(): void {
      regular.clear()
      early.clear()
    },
  }
}

export interface TurnsDeps {
  readonly limiter: ConcurrencyLimiter
  /** Starts a poll. `due` is `null` in an early turn. */
  readonly start: (entry: ScheduleEntry, due: number | null, now: number) => void
  readonly onSkip: (key: string, reason: SkipReason, count: number) => void
  /** An early turn was added at this time. */
  readonly onEarlier: (at: number) => void
}

/** The pace at which overdue items run after a stall, as a multiple of the usual pace. */
const CATCH_UP_PACE = 2
/** A suspect has three early turns in an interval: if all items are suspects, they still get them, and catch up a little. */
const EARLY_PACE = 4
/** Early turns leave the other half free, so that suspects that hang do not delay healthy items. */
export const EARLY_SHARE = 0.5
const NONE: readonly never[] = []

/** An item's place in the schedule. All times are of the monotonic clock. */
export interface ScheduleEntry {
  item: ScheduledItem
  /** Its next regular turn. */
  due: number
  running: boolean
  /** When its regular turn was due, while that waits for a free poll; else `null`. */
  waitingSince: number | null
  hasRun: boolean
  startedAt: number
  /** Its last poll was an early one. */
  startedEarly: boolean
  endedAt: number
  /** The node asked to be polled no sooner than this. */
  notBefore: number
  /** When its early turn is due; `NEVER` without one. */
  earlyDue: number
  /** Its early turn has come, and waits for a free poll. */
  earlyWaits: boolean
  /** While it runs, another poll of it was asked for. */
  pollAgainSoon: boolean
  removed: boolean
}

/** Something that is polled once per interval. Keys are unique. */
export interface ScheduledItem {
  readonly key: string
  readonly intervalMs: number
  readonly limits: readonly SharedLimit[]
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
function nextTurn({ due, item: { intervalMs } }: ScheduleEntry, now: number): number {
  return due + Math.max(1, Math.floor((now - due) / intervalMs) + 1) * intervalMs
}

/** The shortest time from the start of a poll to an early one. */
function earlyGapMs({ item }: ScheduleEntry): number {
  return item.intervalMs / 4
}

/** When an item that is not running can have an early turn; `NEVER` when its next turn comes sooner. */
function earlyTurn(entry: ScheduleEntry, now: number): number {
  const { due, notBefore, item } = entry
  const waits = entry.earlyWaits || (entry.waitingSince !== null && notBefore <= now)
  if (entry.removed || waits) return NEVER
  const at = Math.max(now, entry.startedAt + earlyGapMs(entry), notBefore)
  // Regular turns before `notBefore` are skipped.
  const turn = due + Math.max(0, Math.ceil((notBefore - due) / item.intervalMs)) * item.intervalMs
  return at < turn && at < entry.earlyDue ? at : NEVER
}
