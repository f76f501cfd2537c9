import type { SkipReason } from '../core/poll-result.ts'
import type { ConcurrencyLimiter, SharedLimit } from './concurrency-limit.ts'
import { createDueQueue, type Taken } from './due-queue.ts'

/**
 * Decides when each poll starts. Regular turns come once per interval. Early turns yield to them: they have their own
 * pace and half of every limit, and count neither as lag nor as skipped. An early turn that finds no free poll before
 * the item's regular turn is dropped.
 */
export function createTurns({ limiter, start, onSkip, onEarlier }: TurnsDeps) {
  const regular = createDueQueue<ScheduleEntry>()
  const early = createDueQueue<ScheduleEntry>()
  let shortestIntervalMs = NEVER

  function enqueue(entry: ScheduleEntry, due: number): void {
    entry.due = due
    regular.add(due, entry)
  }

  /** Returns whether the poll starts or waits for a free poll. */
  function takeTurn(entry: ScheduleEntry, now: number): boolean {
    const { due } = entry
    const { key, intervalMs } = entry.item
    const missed = Math.floor((now - due) / intervalMs)
    enqueue(entry, nextTurn(entry, now))
    if (missed > 0) onSkip(key, 'late', missed)
    if (entry.waitingSince !== null) return skip(entry, entry.running ? 'overlap' : 'concurrency')
    if (entry.notBefore > now) return skip(entry, 'rate-limited')
    // Two polls at nearly the same time must not confirm each other. Another early turn replaces this turn, so that a
    // suspect is not left alone for an interval.
    if (entry.startedEarly && now < entry.startedAt + entry.item.retryMs) {
      pollEarly(entry, now)
      return false
    }
    entry.waitingSince = due
    if (startRegular(entry, now) !== 'done') regular.wait(entry, entry.group)
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
    early.wait(entry, entry.group)
    return true
  }

  function pollEarly(entry: ScheduleEntry, now: number, retryMs = entry.item.retryMs): void {
    if (entry.running) {
      entry.againAfterMs = Math.min(entry.againAfterMs, retryMs)
      return
    }
    const at = earlyTurn(entry, now, retryMs)
    if (at === NEVER) return
    entry.earlyDue = at
    early.add(at, entry)
    onEarlier(at)
  }

  function startRegular(entry: ScheduleEntry, now: number): Taken {
    if (entry.removed || entry.waitingSince === null) return 'done'
    if (entry.notBefore > now) {
      entry.waitingSince = null
      onSkip(entry.item.key, 'rate-limited', 1)
      return 'done'
    }
    return startIfRoom(entry, entry.waitingSince, 1, now)
  }

  function startEarly(entry: ScheduleEntry, now: number): Taken {
    return entry.removed || !entry.earlyWaits ? 'done' : startIfRoom(entry, null, EARLY_SHARE, now)
  }

  function startIfRoom(entry: ScheduleEntry, due: number | null, share: number, now: number): Taken {
    if (!limiter.hasRoom(NONE, share)) return 'all-full'
    if (!limiter.hasRoom(entry.item.limits, share)) return 'group-full'
    if (entry.running) return 'busy'
    start(entry, due, now)
    return 'done'
  }

  /** An item that waits for its host does not delay those of other hosts. */
  function startWaiting(now: number): void {
    regular.retryWaiting((entry) => startRegular(entry, now))
    early.retryWaiting((entry) => startEarly(entry, now))
  }

  return {
    /** Returns the usual number of polls per millisecond. */
    setPace(all: readonly ScheduledItem[], now: number): number {
      const items = all.filter(({ onDemandOnly }) => onDemandOnly !== true)
      shortestIntervalMs = items.reduce((shortest, { intervalMs }) => Math.min(shortest, intervalMs), NEVER)
      const perMs = items.reduce((sum, { intervalMs }) => sum + 1 / intervalMs, 0)
      regular.setPace(CATCH_UP_PACE * perMs, now)
      // Fast enough even if every item is a suspect.
      early.setPace(
        items.reduce((sum, { retryMs }) => sum + 1 / retryMs, 0),
        now,
      )
      return perMs
    },

    /** Ends the turns of an item; a poll in flight goes on. */
    halt(entry: ScheduleEntry): void {
      entry.due = NEVER
      entry.earlyDue = NEVER
      entry.waitingSince = null
      entry.earlyWaits = false
      entry.againAfterMs = NEVER
    },

    /** Sets the next regular turn of an item that is new or has a new interval. */
    reschedule(entry: ScheduleEntry, due: number, now: number): void {
      enqueue(entry, due)
      if (entry.earlyDue === NEVER) return
      entry.earlyDue = NEVER
      pollEarly(entry, now)
    },

    takeDue(now: number): void {
      regular.takeDue(now, (entry, due) => !entry.removed && entry.due === due && takeTurn(entry, now))
      early.takeDue(now, (entry, due) => !entry.removed && entry.earlyDue === due && takeEarlyTurn(entry, now))
    },

    /** Whether regular turns come an interval late or more, for another reason than a slow node or host. */
    isLate(now: number, entries: Iterable<ScheduleEntry>): boolean {
      const first = regular.first()
      // Turns are taken in the order of their times: all the others wait behind the first one.
      if (first !== undefined && !first.removed && now - first.due >= shortestIntervalMs) return true
      if (limiter.hasRoom(NONE, 1)) return false
      for (const { waitingSince, running, item } of entries) {
        if (waitingSince !== null && !running && now - waitingSince >= item.intervalMs) return true
      }
      return false
    },

    pollEarly,
    startWaiting,
    nextAt: (now: number): number => Math.min(regular.nextAt(now), early.nextAt(now)),

    clear(): void {
      regular.clear()
      early.clear()
    },
  }
}

export interface TurnsDeps {
  readonly limiter: ConcurrencyLimiter
  /** `due` is `null` in an early turn. */
  readonly start: (entry: ScheduleEntry, due: number | null, now: number) => void
  readonly onSkip: (key: string, reason: SkipReason, count: number) => void
  /** Called when an early turn was added; `at` is its time. */
  readonly onEarlier: (at: number) => void
}

/** The pace at which overdue items run after a stall, as a multiple of the usual pace. */
const CATCH_UP_PACE = 2
/** Early turns leave the other half of every limit free, so that suspects that hang do not delay healthy items. */
export const EARLY_SHARE = 0.5
const NONE: readonly never[] = []

/** An item's place in the schedule; all times are on the monotonic clock. */
export interface ScheduleEntry {
  item: ScheduledItem
  /** Items with the same limits are in one group. */
  group: string
  /** When its next regular turn is due. */
  due: number
  running: boolean
  /** When the regular turn that waits for a free poll was due; `null` if none waits. */
  waitingSince: number | null
  hasRun: boolean
  startedAt: number
  startedEarly: boolean
  endedAt: number
  /** The node asked not to be polled before this time. */
  notBefore: number
  /** When its early turn is due; `NEVER` without one. */
  earlyDue: number
  /** Whether its early turn is due and waits for a free poll. */
  earlyWaits: boolean
  /** Another poll was requested while it runs, this long after its start; `NEVER` without one. */
  againAfterMs: number
  removed: boolean
}

/** Keys are unique. */
export interface ScheduledItem {
  readonly key: string
  readonly intervalMs: number
  /** The shortest time from the start of a poll to the start of an early one, unless that is for a suspect with a shorter one. */
  readonly retryMs: number
  readonly limits: readonly SharedLimit[]
  /** It has no turns of its own: another daemon polls it. */
  readonly onDemandOnly?: boolean
}

export const NEVER = Number.POSITIVE_INFINITY

export function newScheduleEntry(item: ScheduledItem): ScheduleEntry {
  return {
    item,
    group: groupOf(item),
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
    againAfterMs: NEVER,
    removed: false,
  }
}

export function groupOf({ limits }: ScheduledItem): string {
  return limits.map(({ name }) => name).join(' ')
}

/** The item's next regular turn after `now`, in its own rhythm. */
function nextTurn({ due, item: { intervalMs } }: ScheduleEntry, now: number): number {
  return due + Math.max(1, Math.floor((now - due) / intervalMs) + 1) * intervalMs
}

/** When an item that is not running can have an early turn; `NEVER` if its next regular turn comes sooner. */
function earlyTurn(entry: ScheduleEntry, now: number, retryMs: number): number {
  const { due, notBefore, item } = entry
  const waits = entry.earlyWaits || (entry.waitingSince !== null && notBefore <= now)
  if (entry.removed || waits || item.onDemandOnly === true) return NEVER
  const at = Math.max(now, entry.startedAt + Math.min(retryMs, item.retryMs), notBefore)
  // Regular turns before `notBefore` are skipped.
  const turn = due + Math.max(0, Math.ceil((notBefore - due) / item.intervalMs)) * item.intervalMs
  return at < turn && at < entry.earlyDue ? at : NEVER
}
