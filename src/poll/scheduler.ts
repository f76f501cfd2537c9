import { setMaxListeners } from 'node:events'
import type { Clock, Timer } from '../clock.ts'
import type { SkipReason } from '../core/poll-result.ts'
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
  createOnDemandPolls,
  type OnDemandResult,
} from './concurrency-limit.ts'
import {
  createTurns,
  EARLY_SHARE,
  groupOf,
  NEVER,
  newScheduleEntry,
  type ScheduledItem,
  type ScheduleEntry,
} from './turns.ts'

export type { OnDemandResult } from './concurrency-limit.ts'
export type { ScheduledItem } from './turns.ts'

/**
 * Runs every item once per interval, on the monotonic clock, with first runs spread over the interval. A turn that
 * comes while its item runs waits for the end of that run. Other missed turns are skipped and counted: after a stall,
 * overdue items run once, at no more than twice the usual pace, and then keep their rhythm.
 */
export function createScheduler(deps: SchedulerDeps) {
  const { clock, run, onLag, onSkip, concurrency, longestNapMs = LONGEST_NAP_MS } = deps
  const limiter = createConcurrencyLimiter(concurrency)
  const runs = createPollRuns({ clock, run, onLag, limiter, onEnd })
  const turns = createTurns({
    limiter,
    start: runs.start,
    onSkip,
    // Never later than planned, however many early turns come.
    onEarlier: (at) => started && Math.max(at, clock.monotonic() + shortestNapMs) < wakesAt && wakeAt(at),
  })
  let entries = new Map<string, ScheduleEntry>()
  let timer: Timer | null = null
  let wakesAt = NEVER
  let started = false
  let lastRoundAt: number | null = null
  /** Monotonic. */
  let lookedAt = 0
  let lateSince: number | null = null
  let firstRoundDone = false
  let spread = 0
  let shortestNapMs = MOST_LATE_MS

  function wakeAt(due: number): void {
    timer?.cancel()
    const now = clock.monotonic()
    const nap = Math.min(longestNapMs, Math.max(shortestNapMs, due - now))
    wakesAt = now + nap
    timer = clock.after(nap, round)
  }

  function round(): void {
    if (runs.ended) return
    lastRoundAt = clock.now()
    const now = clock.monotonic()
    try {
      turns.takeDue(now)
      startWaiting(now)
      lookedAt = now
      lateSince = turns.isLate(now, entries.values()) ? (lateSince ?? now) : null
    } finally {
      wakeAt(turns.nextAt(now))
    }
  }

  function startWaiting(now: number): void {
    turns.startWaiting(now)
    runs.startOnDemand()
  }

  function onEnd(entry: ScheduleEntry | null, now: number): void {
    if (entry !== null && entry.againAfterMs < NEVER) {
      const retryMs = entry.againAfterMs
      entry.againAfterMs = NEVER
      turns.pollEarly(entry, now, retryMs)
    }
    startWaiting(now)
  }

  function isFirstRoundDone(): boolean {
    firstRoundDone ||=
      started && [...entries.values()].every(({ hasRun, item }) => hasRun || item.onDemandOnly === true)
    return firstRoundDone
  }

  return {
    /**
     * Replaces all items. One with an unchanged interval keeps its rhythm, unless `kept` is given and omits it: it is new
     * then, and what its node has asked for does not hold any more.
     */
    configure(items: readonly ScheduledItem[], newConcurrency?: number, kept?: ReadonlySet<string>): void {
      isFirstRoundDone()
      if (newConcurrency !== undefined) limiter.configure(newConcurrency)
      const now = clock.monotonic()
      const before = entries
      entries = new Map()
      for (const item of items) {
        const known = kept?.has(item.key) === false ? undefined : before.get(item.key)
        if (known !== undefined) before.delete(item.key)
        const isHalted = item.onDemandOnly === true
        const keepsRhythm =
          known?.item.intervalMs === item.intervalMs && isHalted === (known.item.onDemandOnly === true)
        const entry = known ?? newScheduleEntry(item)
        entry.item = item
        entry.group = groupOf(item)
        entries.set(item.key, entry)
        if (isHalted) turns.halt(entry)
        // Multiples of the golden ratio fill an interval evenly, however many items are added or removed.
        else if (!keepsRhythm) turns.reschedule(entry, now + ((spread++ * GOLDEN_RATIO) % 1) * item.intervalMs, now)
      }
      const perMs = turns.setPace(items, now)
      shortestNapMs = Math.min(MOST_LATE_MS, Math.max(LEAST_LATE_MS, TOGETHER / perMs))
      for (const entry of before.values()) entry.removed = true
      if (started) wakeAt(turns.nextAt(now))
    },

    start(): void {
      started = true
      round()
    },

    /**
     * Gives the item an early turn, `retryMs` after its last start, if no regular turn comes sooner. As a witness for a
     * suspect with a shorter `retryMs`, after that.
     */
    pollSoon(key: string, suspect: string = key): void {
      const entry = entries.get(key)
      if (entry === undefined || runs.ended) return
      turns.pollEarly(entry, clock.monotonic(), entries.get(suspect)?.item.retryMs)
    },

    /**
     * Runs `work` on this item outside its turns, once the limits leave room for an early turn and no turn waits. Gives
     * up if `signal` aborts before that. The signal passed to `work` aborts when the scheduler stops.
     */
    async pollOnDemand(key: string, signal: AbortSignal, work: OnDemandWork): Promise<OnDemandResult> {
      const entry = entries.get(key)
      return entry === undefined ? { kind: 'unknown-endpoint' } : runs.onDemand(entry, signal, work)
    },

    /** Aborts running polls, and resolves when all have ended. */
    async stop(): Promise<void> {
      timer?.cancel()
      turns.clear()
      await runs.stop()
    },

    get running(): number {
      return runs.running
    },
    /** Wall time of the last look for due items; `null` before the first. */
    get lastRoundAt(): number | null {
      return lastRoundAt
    },
    /** For how long polls have not been on time; 0 if they are. Slow nodes and hosts delay only themselves. */
    get lateMs(): number {
      const now = clock.monotonic()
      if (started && now - lookedAt > 2 * longestNapMs) return now - lookedAt
      return lateSince === null ? 0 : now - lateSince
    },
    /** Whether every item configured at the start has been polled once. */
    get firstRoundDone(): boolean {
      return isFirstRoundDone()
    },
  }
}

export interface SchedulerDeps {
  readonly clock: Clock
  readonly concurrency: number
  /** Polls one item; must not reject. `waitMs`: how long the node asks for no requests. */
  readonly run: (key: string, signal: AbortSignal) => Promise<{ readonly waitMs: number }>
  /** How late a poll started after its regular turn, on the monotonic clock. */
  readonly onLag: (ms: number) => void
  readonly onSkip: (key: string, reason: SkipReason, count: number) => void
  /** It wakes up at least this often, so that a stall can be seen from outside. */
  readonly longestNapMs?: number
}

export type Scheduler = ReturnType<typeof createScheduler>

export type OnDemandWork = (ended: AbortSignal) => Promise<{ readonly waitMs: number }>

const LONGEST_NAP_MS = 1000
/**
 * Polls that are due within a short time start together, because each wake-up has costs of its own: so many that their answers
 * hardly wait for each other (bench/README.md, "Many endpoints"), and at any pace within these times.
 */
const TOGETHER = 10
const LEAST_LATE_MS = 10
const MOST_LATE_MS = 20
const GOLDEN_RATIO = 0.618_033_988_749_895

interface PollRunsDeps extends Pick<SchedulerDeps, 'clock' | 'run' | 'onLag'> {
  readonly limiter: ConcurrencyLimiter
  /** Called when a poll has ended; `entry` is `null` after an on-demand poll. */
  readonly onEnd: (entry: ScheduleEntry | null, now: number) => void
}

function createPollRuns({ clock, run, onLag, limiter, onEnd }: PollRunsDeps) {
  const ended = new AbortController()
  // Every poll in flight listens to this signal, so Node's warning about many listeners is turned off.
  setMaxListeners(0, ended.signal)
  const onDemandPolls = createOnDemandPolls(limiter, EARLY_SHARE, ended.signal)
  const inFlight = new Set<Promise<void>>()

  return {
    start(entry: ScheduleEntry, due: number | null, now: number): void {
      const { key, limits } = entry.item
      // A node that is slower than its interval delays only itself, so that delay is not scheduler lag.
      if (due !== null && due > entry.endedAt) onLag(now - due)
      entry.running = true
      entry.startedAt = now
      entry.startedEarly = due === null
      entry.waitingSince = null
      entry.earlyDue = NEVER
      entry.earlyWaits = false
      limiter.acquire(limits)
      const poll = run(key, ended.signal).then(({ waitMs }) => {
        const endedAt = clock.monotonic()
        entry.running = false
        entry.endedAt = endedAt
        entry.hasRun = true
        if (waitMs > 0) entry.notBefore = endedAt + waitMs
        inFlight.delete(poll)
        limiter.release(limits)
        if (!ended.signal.aborted) onEnd(entry, endedAt)
      })
      inFlight.add(poll)
    },

    async onDemand(entry: ScheduleEntry, signal: AbortSignal, work: OnDemandWork): Promise<OnDemandResult> {
      const forMs = entry.notBefore - clock.monotonic()
      if (forMs > 0) return { kind: 'asked-to-wait', forMs }
      const poll = onDemandPolls.run(entry.item.limits, signal, async () => {
        const { waitMs } = await work(ended.signal)
        if (waitMs > 0) entry.notBefore = clock.monotonic() + waitMs
      })
      const settled = (): void => {
        inFlight.delete(ending)
        if (!ended.signal.aborted) onEnd(null, clock.monotonic())
      }
      const ending = poll.then(settled, settled)
      inFlight.add(ending)
      return poll
    },

    startOnDemand: () => onDemandPolls.startWaiting(),

    async stop(): Promise<void> {
      ended.abort()
      await Promise.all(inFlight)
    },

    get ended() {
      return ended.signal.aborted
    },
    get running() {
      return inFlight.size
    },
  }
}
