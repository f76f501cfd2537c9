import { setMaxListeners } from 'node:events'
import type { Clock, Timer } from '../clock.ts'
import type { SkipReason } from '../metrics/daemon-series.ts'
import { createConcurrencyLimiter, createOnDemandPolls, type OnDemandResult } from './concurrency-limit.ts'
import { createDueQueue } from './due-queue.ts'
import {
  earlyGapMs,
  earlyTurn,
  NEVER,
  newScheduleEntry,
  nextTurn,
  type ScheduledItem,
  type ScheduleEntry,
} from './schedule-entry.ts'
import { createStartRate } from './start-rate.ts'

export type { OnDemandResult } from './concurrency-limit.ts'
export type { ScheduledItem } from './schedule-entry.ts'

export interface SchedulerDeps {
  readonly clock: Clock
  /** How many polls may run at once. */
  readonly concurrency: number
  /** Polls one item; must not reject. `waitMs`: how long it asks to be left alone. */
  readonly run: (key: string, signal: AbortSignal) => Promise<{ readonly waitMs: number }>
  /** How late a poll started after its regular turn, on the monotonic clock. */
  readonly onLag: (ms: number) => void
  readonly onSkip: (key: string, reason: SkipReason, count: number) => void
}

export type OnDemandWork = (ended: AbortSignal) => Promise<{ readonly waitMs: number }>

/**
 * Runs every item once per interval, on the monotonic clock: steps of the wall clock do not exist here.
 * First runs are spread over the interval. An item never overlaps itself: a turn that comes while it runs waits for its end. Any
 * other missed turn is skipped and counted, never caught up: after a stall what is overdue runs once, at no more than twice
 * the usual pace, and is then back in its own rhythm.
 *
 * One that is hastened gets an extra turn, a quarter of its interval after the start of its last poll. These come behind the
 * regular turns of all items in everything: they have an allowance of their own and half of the places, and one that finds
 * no place until the item's regular turn is forgotten. They are no part of the rhythm, so that they count neither as lag
 * nor as skipped.
 */
export interface Scheduler {
  /** The whole new set: items that stay keep their place. */
  configure(items: readonly ScheduledItem[], concurrency?: number): void
  start(): void
  /**
   * The item's next poll comes as soon as it may: a quarter of its interval after the start of its last one, when that has
   * ended, and when the node no longer wants to be left alone. Nothing changes where its turn comes sooner anyway.
   */
  pollSoon(key: string): void
  /**
   * Does `work` on this item but beside its turns: as soon as one of the places is free that extra turns may take, behind all turns
   * that wait for one. Gives up when the signal aborts before that. `work` is handed the signal that ends everything.
   */
  pollOnDemand(key: string, signal: AbortSignal, work: OnDemandWork): Promise<OnDemandResult>
  /** Ends what runs and resolves when nothing is left running. */
  stop(): Promise<void>
  readonly running: number
  /** Wall time when it last looked for due items; `null` before. */
  readonly lastRoundAt: number | null
  /** Whether every item configured at the start has been run to its end once. */
  readonly firstRoundDone: boolean
}

/** It looks at least this often, so that a stall can be seen from outside. */
const LONGEST_NAP_MS = 1000
/** Timers are coarse: waking once for all that is due within this time saves most of them. */
const SHORTEST_NAP_MS = 2
/** The pace at which overdue items are caught up with after a stall, in usual paces. */
const CATCH_UP_PACE = 2
/** A suspect has three extra turns in an interval: if all are suspects, they still get them, and catch up a little. */
const EXTRA_PACE = 4
/** Extra turns leave the other half free: suspects that hang must not keep those waiting that are well. */
const EXTRA_SHARE = 0.5
const NONE: readonly never[] = []
const GOLDEN_RATIO = 0.618_033_988_749_895

export function createScheduler({ clock, run, onLag, onSkip, ...options }: SchedulerDeps): Scheduler {
  const places = createConcurrencyLimiter(options.concurrency)
  let slots = new Map<string, ScheduleEntry>()
  const queue = createDueQueue<ScheduleEntry>()
  const extras = createDueQueue<ScheduleEntry>()
  const waiting: ScheduleEntry[] = []
  const extrasWaiting: ScheduleEntry[] = []
  const allowance = createStartRate()
  const extraAllowance = createStartRate()
  const ended = new AbortController()
  // Every poll in flight listens to it.
  setMaxListeners(0, ended.signal)
  const visits = createOnDemandPolls({ places, share: EXTRA_SHARE, ended: ended.signal })
  const inFlight = new Set<Promise<void>>()
  let timer: Timer | null = null
  let wakesAt = NEVER
  let started = false
  let lastRoundAt: number | null = null
  let notYetRun = 0
  let firstRoundDone = false
  let placed = 0

  function enqueue(slot: ScheduleEntry, due: number): void {
    slot.due = due
    queue.push(due, slot)
  }

  function wakeAt(due: number): void {
    timer?.cancel()
    const now = clock.monotonic()
    const nap = Math.min(LONGEST_NAP_MS, Math.max(SHORTEST_NAP_MS, due - now))
    wakesAt = now + nap
    timer = clock.after(nap, round)
  }

  function wakeForNext(now: number): void {
    const regular = Math.max(allowance.readyAt(now), queue.peek()?.due ?? NEVER)
    const extra = Math.max(extraAllowance.readyAt(now), extras.peek()?.due ?? NEVER)
    wakeAt(Math.min(regular, extra))
  }

  function round(): void {
    if (ended.signal.aborted) return
    lastRoundAt = clock.now()
    const now = clock.monotonic()
    allowance.fill(now)
    for (let next = queue.peek(); next !== undefined && next.due <= now && allowance.left >= 1; next = queue.peek()) {
      queue.pop()
      const slot = next.item
      if (!slot.removed && slot.due === next.due) takeTurn(slot, now)
    }
    extraAllowance.fill(now)
    for (
      let next = extras.peek();
      next !== undefined && next.due <= now && extraAllowance.left >= 1;
      next = extras.peek()
    ) {
      extras.pop()
      const slot = next.item
      if (!slot.removed && slot.earlyDue === next.due) takeExtraTurn(slot, now)
    }
    startWaiting(now)
    wakeForNext(now)
  }

  function takeTurn(slot: ScheduleEntry, now: number): void {
    const { key, intervalMs } = slot.item
    const missed = Math.floor((now - slot.due) / intervalMs)
    if (missed > 0) onSkip(key, 'late', missed)
    const due = slot.due
    enqueue(slot, nextTurn(slot, now))
    if (slot.waitingSince !== null) return onSkip(key, slot.running ? 'overlap' : 'concurrency', 1)
    if (slot.notBefore > now) return onSkip(key, 'rate-limited', 1)
    // Two polls at nearly the same time are one piece of evidence, and must not confirm each other. Left out altogether, the
    // turn would leave a suspect alone for an interval: it gives way to an extra turn a quarter after the extra poll.
    if (slot.startedEarly && now < slot.startedAt + earlyGapMs(slot)) return hurry(slot, now)
    allowance.spend()
    if (mayStart(slot, 1)) begin(slot, due, now)
    else {
      slot.waitingSince = due
      waiting.push(slot)
    }
  }

  /** It begins when the regular turns have what they need; its own has perhaps come meanwhile. */
  function takeExtraTurn(slot: ScheduleEntry, now: number): void {
    slot.earlyDue = NEVER
    if (slot.waitingSince !== null || slot.due <= now) return
    extraAllowance.spend()
    slot.earlyWaits = true
    extrasWaiting.push(slot)
  }

  /** Its next poll as soon as it may come, in an extra turn if no regular one comes sooner. */
  function hurry(slot: ScheduleEntry, now: number): void {
    if (slot.running) {
      slot.pollAgainSoon = true
      return
    }
    const at = earlyTurn(slot, now)
    if (at === NEVER) return
    slot.earlyDue = at
    extras.push(at, slot)
    if (started && at < wakesAt) wakeAt(at)
  }

  function mayStart({ item, running }: ScheduleEntry, share: number): boolean {
    return !running && places.hasRoom(item.limits, share)
  }

  /** First come, first served, but a full lane holds up nobody else's. */
  function startWaiting(now: number): void {
    if (waiting.length > 0 && places.hasRoom(NONE, 1)) {
      let kept = 0
      for (const slot of waiting) {
        if (slot.removed || slot.waitingSince === null) continue
        if (slot.notBefore > now) {
          slot.waitingSince = null
          onSkip(slot.item.key, 'rate-limited', 1)
        } else if (mayStart(slot, 1)) begin(slot, slot.waitingSince, now)
        else waiting[kept++] = slot
      }
      waiting.length = kept
    }
    if (extrasWaiting.length > 0 && places.hasRoom(NONE, EXTRA_SHARE)) {
      let kept = 0
      for (const slot of extrasWaiting) {
        if (slot.removed || !slot.earlyWaits) continue
        if (mayStart(slot, EXTRA_SHARE)) begin(slot, null, now)
        else extrasWaiting[kept++] = slot
      }
      extrasWaiting.length = kept
    }
    visits.startWaiting()
  }

  /** `due` is `null` in an extra turn. */
  function begin(slot: ScheduleEntry, due: number | null, now: number): void {
    const { key, limits: lanes } = slot.item
    // A node that is slower than its interval keeps only itself waiting: that is no lag of ours.
    if (due !== null && due > slot.endedAt) onLag(now - due)
    slot.running = true
    slot.startedAt = now
    slot.startedEarly = due === null
    slot.waitingSince = null
    slot.earlyDue = NEVER
    slot.earlyWaits = false
    places.acquire(lanes)
    const poll = run(key, ended.signal).then(({ waitMs }) => {
      const ending = clock.monotonic()
      slot.running = false
      slot.endedAt = ending
      inFlight.delete(poll)
      places.release(lanes)
      if (!slot.hasRun) {
        slot.hasRun = true
        if (!slot.removed) notYetRun--
        if (notYetRun === 0) firstRoundDone = true
      }
      if (waitMs > 0) slot.notBefore = ending + waitMs
      if (ended.signal.aborted) return
      if (slot.pollAgainSoon) {
        slot.pollAgainSoon = false
        hurry(slot, ending)
      }
      startWaiting(ending)
    })
    inFlight.add(poll)
  }

  return {
    configure(items, newConcurrency) {
      if (newConcurrency !== undefined) places.configure(newConcurrency)
      const now = clock.monotonic()
      const before = slots
      slots = new Map()
      let pace = 0
      for (const item of items) {
        pace += 1 / item.intervalMs
        const slot = before.get(item.key)
        before.delete(item.key)
        const keepsPlace = slot?.item.intervalMs === item.intervalMs
        const kept = slot ?? newScheduleEntry(item)
        kept.item = item
        slots.set(item.key, kept)
        // Multiples of the golden ratio fill an interval evenly, however many come and go.
        if (keepsPlace) continue
        enqueue(kept, now + ((placed++ * GOLDEN_RATIO) % 1) * item.intervalMs)
        if (kept.earlyDue < NEVER) {
          kept.earlyDue = NEVER
          hurry(kept, now)
        }
      }
      allowance.configure(CATCH_UP_PACE * pace, now)
      extraAllowance.configure(EXTRA_PACE * pace, now)
      for (const slot of before.values()) slot.removed = true
      notYetRun = [...slots.values()].filter((slot) => !slot.hasRun).length
      if (started && notYetRun === 0) firstRoundDone = true
      if (started) wakeForNext(now)
    },

    start() {
      started = true
      round()
    },

    pollSoon(key) {
      const slot = slots.get(key)
      if (slot !== undefined && !ended.signal.aborted) hurry(slot, clock.monotonic())
    },

    async pollOnDemand(key, signal, work) {
      const slot = slots.get(key)
      if (slot === undefined) return { kind: 'unknown-item' }
      const forMs = slot.notBefore - clock.monotonic()
      if (forMs > 0) return { kind: 'asked-to-wait', forMs }
      const visit = visits.run(slot.item.limits, signal, async () => {
        const { waitMs } = await work(ended.signal)
        if (waitMs > 0) slot.notBefore = clock.monotonic() + waitMs
      })
      const settled = (): void => {
        inFlight.delete(ending)
        if (!ended.signal.aborted) startWaiting(clock.monotonic())
      }
      const ending = visit.then(settled, settled)
      inFlight.add(ending)
      return visit
    },

    async stop() {
      timer?.cancel()
      ended.abort()
      queue.clear()
      extras.clear()
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
