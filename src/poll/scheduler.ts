import { setMaxListeners } from 'node:events'
import type { Clock, Timer } from '../clock.ts'
import type { SkipReason } from '../metrics/own-series.ts'
import { createDueQueue } from './due-queue.ts'

/** Something that is polled again and again. Names are unique. */
export interface ScheduledItem {
  readonly key: string
  readonly intervalMs: number
  /** What it shares with others: a host, a network. */
  readonly lanes: readonly Lane[]
}

/** So many polls at once of all that have a lane of this name. */
export interface Lane {
  readonly name: string
  readonly concurrency: number
}

export interface SchedulerDeps {
  readonly clock: Clock
  /** How many polls may run at once. */
  readonly concurrency: number
  /** Polls one item; must not reject. May ask to be left alone for a while. */
  readonly run: (key: string, signal: AbortSignal) => Promise<{ readonly waitMs: number }>
  /** How late a poll started, on the monotonic clock. */
  readonly onLag: (ms: number) => void
  readonly onSkip: (key: string, reason: SkipReason, count: number) => void
}

/**
 * Runs every item once per interval, on the monotonic clock: steps of the wall clock do not exist here.
 * First runs are spread over the interval. An item never overlaps itself: a turn that comes while it runs waits for its end. Any
 * other missed turn is skipped and counted, never caught up: after a stall what is overdue runs once, at no more than twice
 * the usual pace, and is then back in its own rhythm.
 */
export interface Scheduler {
  /** The whole new set: items that stay keep their place. */
  configure(items: readonly ScheduledItem[], concurrency?: number): void
  start(): void
  /** Ends what runs and resolves when nothing is left running. */
  stop(): Promise<void>
  readonly running: number
  /** Wall time when it last looked for due items; `null` before. */
  readonly lastRoundAt: number | null
  /** Whether every item configured at the start has been run to its end once. */
  readonly firstRoundDone: boolean
}

interface Slot {
  item: ScheduledItem
  due: number
  running: boolean
  /** When it was due, while it waits for a free place; `null` when it does not. */
  waitingSince: number | null
  ran: boolean
  /** When its last poll ended. */
  endedAt: number
  /** The node asked to be left alone until then. */
  notBefore: number
  gone: boolean
}

/** It looks at least this often, so that a stall can be seen from outside. */
const LONGEST_NAP_MS = 1000
/** Timers are coarse: waking once for all that is due within this time saves most of them. */
const SHORTEST_NAP_MS = 2
/** How many overdue items may start at once after a stall, whatever the usual pace. */
const SMALLEST_BURST = 8
const GOLDEN_RATIO = 0.618_033_988_749_895

export function createScheduler({ clock, run, onLag, onSkip, ...options }: SchedulerDeps): Scheduler {
  let concurrency = options.concurrency
  let slots = new Map<string, Slot>()
  const queue = createDueQueue<Slot>()
  const waiting: Slot[] = []
  /** Polls under way in each lane. */
  const busy = new Map<string, number>()
  const ended = new AbortController()
  // Every poll in flight listens to it.
  setMaxListeners(0, ended.signal)
  const inFlight = new Set<Promise<void>>()
  let timer: Timer | null = null
  let started = false
  let lastRoundAt: number | null = null
  let notYetRun = 0
  let firstRoundDone = false
  let placed = 0
  /** Starts per millisecond that the configuration asks for, and what may be started now at twice that pace. */
  let pace = 0
  let allowance = SMALLEST_BURST
  let allowanceAt = 0

  /** The item's next turn after `now`, in its own rhythm. */
  function nextTurn(slot: Slot, now: number): number {
    const { intervalMs } = slot.item
    const turns = Math.max(1, Math.floor((now - slot.due) / intervalMs) + 1)
    return slot.due + turns * intervalMs
  }

  function enqueue(slot: Slot, due: number): void {
    slot.due = due
    queue.push(due, slot)
  }

  function wakeAt(due: number): void {
    timer?.cancel()
    const nap = Math.min(LONGEST_NAP_MS, Math.max(SHORTEST_NAP_MS, due - clock.monotonic()))
    timer = clock.after(nap, round)
  }

  function round(): void {
    if (ended.signal.aborted) return
    lastRoundAt = clock.now()
    const now = clock.monotonic()
    const burst = Math.max(SMALLEST_BURST, pace * 100)
    allowance = Math.min(burst, allowance + 2 * pace * (now - allowanceAt))
    allowanceAt = now
    let next = queue.peek()
    while (next !== undefined && next.due <= now && allowance >= 1) {
      queue.pop()
      const slot = next.item
      if (!slot.gone && slot.due === next.due) takeTurn(slot, now)
      next = queue.peek()
    }
    startWaiting(now)
    const paced = allowance < 1 && pace > 0 ? now + (1 - allowance) / (2 * pace) : now
    wakeAt(Math.max(paced, next?.due ?? Number.POSITIVE_INFINITY))
  }

  function takeTurn(slot: Slot, now: number): void {
    const { key, intervalMs } = slot.item
    const missed = Math.floor((now - slot.due) / intervalMs)
    if (missed > 0) onSkip(key, 'late', missed)
    const due = slot.due
    enqueue(slot, nextTurn(slot, now))
    if (slot.waitingSince !== null) return onSkip(key, slot.running ? 'overlap' : 'concurrency', 1)
    if (slot.notBefore > now) return onSkip(key, 'rate-limited', 1)
    allowance -= 1
    if (mayStart(slot)) begin(slot, due, now)
    else {
      slot.waitingSince = due
      waiting.push(slot)
    }
  }

  function mayStart({ item, running }: Slot): boolean {
    return (
      !running &&
      inFlight.size < concurrency &&
      item.lanes.every((lane) => (busy.get(lane.name) ?? 0) < lane.concurrency)
    )
  }

  /** First come, first served, but a full lane holds up nobody else's. */
  function startWaiting(now: number): void {
    if (waiting.length === 0 || inFlight.size >= concurrency) return
    let kept = 0
    for (const slot of waiting) {
      if (slot.gone || slot.waitingSince === null) continue
      if (slot.notBefore > now) {
        slot.waitingSince = null
        onSkip(slot.item.key, 'rate-limited', 1)
      } else if (mayStart(slot)) begin(slot, slot.waitingSince, now)
      else waiting[kept++] = slot
    }
    waiting.length = kept
  }

  function begin(slot: Slot, due: number, now: number): void {
    const { key, lanes } = slot.item
    // A node that is slower than its interval keeps only itself waiting: that is no lag of ours.
    if (due > slot.endedAt) onLag(now - due)
    slot.running = true
    slot.waitingSince = null
    for (const { name } of lanes) busy.set(name, (busy.get(name) ?? 0) + 1)
    const poll = run(key, ended.signal).then(({ waitMs }) => {
      slot.running = false
      slot.endedAt = clock.monotonic()
      inFlight.delete(poll)
      for (const { name } of lanes) {
        const others = (busy.get(name) ?? 1) - 1
        if (others === 0) busy.delete(name)
        else busy.set(name, others)
      }
      if (!slot.ran) {
        slot.ran = true
        if (!slot.gone) notYetRun--
        if (notYetRun === 0) firstRoundDone = true
      }
      const ending = clock.monotonic()
      if (waitMs > 0) slot.notBefore = ending + waitMs
      if (!ended.signal.aborted) startWaiting(ending)
    })
    inFlight.add(poll)
  }

  return {
    configure(items, newConcurrency) {
      if (newConcurrency !== undefined) concurrency = newConcurrency
      const now = clock.monotonic()
      const before = slots
      slots = new Map()
      pace = 0
      for (const item of items) {
        pace += 1 / item.intervalMs
        const slot = before.get(item.key)
        before.delete(item.key)
        const keepsPlace = slot?.item.intervalMs === item.intervalMs
        const kept: Slot = slot ?? {
          item,
          due: 0,
          running: false,
          waitingSince: null,
          ran: false,
          endedAt: Number.NEGATIVE_INFINITY,
          notBefore: 0,
          gone: false,
        }
        kept.item = item
        slots.set(item.key, kept)
        // Multiples of the golden ratio fill an interval evenly, however many come and go.
        if (!keepsPlace) enqueue(kept, now + ((placed++ * GOLDEN_RATIO) % 1) * item.intervalMs)
      }
      for (const slot of before.values()) slot.gone = true
      notYetRun = [...slots.values()].filter((slot) => !slot.ran).length
      if (started && notYetRun === 0) firstRoundDone = true
      if (started) wakeAt(queue.peek()?.due ?? Number.POSITIVE_INFINITY)
    },

    start() {
      started = true
      allowanceAt = clock.monotonic()
      round()
    },

    async stop() {
      timer?.cancel()
      ended.abort()
      queue.clear()
      await Promise.all(inFlight)
    },

    get running() {
      return inFlight.size
    },
    get lastRoundAt() {
      return lastRoundAt
    },
    get firstRoundDone() {
      return firstRoundDone
    },
  }
}
