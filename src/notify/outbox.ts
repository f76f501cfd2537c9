import type { UnixMs } from '../core/time.ts'
import { severity, type Verdict } from '../core/verdict/condition.ts'
import {
  type Heard,
  isClosing,
  type Message,
  type MessageType,
  type Notification,
  type Report,
} from './notification.ts'

/**
 * What one channel still has to hear. A channel hears about a subject (an incident, or Heartline itself) in order, and
 * never what became pointless while it waited. Has no clock and no I/O: times are passed, `mono` is monotonic.
 */
export class Outbox {
  readonly #settings: () => OutboxSettings
  readonly #newId: () => string
  /** By subject, what waits, in order. Subjects are in the order in which they began to wait. */
  readonly #chains = new Map<string, Entry[]>()
  readonly #heard = new Map<string, Heard>()
  readonly #toldAt = new Map<string, number>()
  /** Subjects that another daemon tells, with a message in flight from here. */
  readonly #left = new Set<string>()
  /** By id of their notification, those that are not on disk. */
  readonly #unstored = new Map<string, Entry>()
  #group: { readonly messageId: string; readonly closesAt: number; size: number } | null = null

  constructor({ settings, newId }: { readonly settings: () => OutboxSettings; readonly newId: () => string }) {
    this.#settings = settings
    this.#newId = newId
  }

  /** Loads the notifications of an earlier run, in the order in which they were added. */
  restore(notifications: readonly Notification[], now: UnixMs, mono: number): void {
    for (const notification of notifications) {
      const { subject, state, type, report, before, createdAt, endedAt } = notification
      if (state === 'superseded') continue
      this.#heard.set(subject, { open: !isClosing(type), state: report?.state ?? before?.state ?? 'down' })
      this.#toldAt.set(subject, mono - Math.max(0, now - (endedAt ?? createdAt)))
      if (state !== 'waiting') {
        if (isClosing(type) && !this.#chains.has(subject)) this.#forget(subject)
        continue
      }
      const age = Math.min(Math.max(0, now - createdAt), EXPIRES_AFTER_MS)
      // Whether the earlier run tried to send it is unknown.
      const entry = { ...NEW, notification, attempted: true, stored: true, dueAt: mono }
      const chain = this.#left.delete(subject) ? [] : (this.#chains.get(subject) ?? [])
      this.#chains.set(subject, [...chain, { ...entry, expiresAt: mono + EXPIRES_AFTER_MS - age }])
    }
  }

  /** Forgets these subjects, which another daemon tells from now on. What waits stays in the store; what is in flight is settled. */
  leave(isLeft: (subject: string) => boolean): void {
    for (const [subject, chain] of this.#chains) {
      if (!isLeft(subject)) continue
      for (const { notification } of chain) this.#unstored.delete(notification.id)
      const inFlight = chain.filter((entry) => entry.inFlight)
      if (inFlight.length === 0) this.#chains.delete(subject)
      else {
        this.#chains.set(subject, inFlight)
        this.#left.add(subject)
      }
    }
    for (const subject of this.#heard.keys()) if (isLeft(subject)) this.#forget(subject)
  }

  /** Call it at every change; returns the notifications that were added, changed or superseded. */
  changed(change: Change, now: UnixMs, mono: number): readonly Notification[] {
    return change.open ? this.#changedOpen(change, now, mono) : this.#changedClosed(change, now, mono)
  }

  /** Adds a repetition if the channel knows that the subject is open and has nothing to hear about it. */
  repeat(change: Change, now: UnixMs, mono: number): readonly Notification[] {
    const { subject, open, wanted, flapping, state } = change
    if (!open || !wanted || flapping || severity(state) < severity(this.#settings().minState)) return []
    if (this.#heard.get(subject)?.open !== true || this.#chains.has(subject)) return []
    return [this.#add(change, 'incident.repeated', false, now, mono)]
  }

  /** Drops the last message about an open subject, unless the channel may have received it or what it replaced. */
  hush(subject: string, now: UnixMs): readonly Notification[] {
    const last = this.#chains.get(subject)?.at(-1)
    if (last === undefined || last.attempted || last.undone.length > 0 || isClosing(last.notification.type)) return []
    const superseded = this.#end(last, 'superseded', now)
    this.#setHeard(subject, superseded.before)
    return [superseded]
  }

  /** What the channel knows, or will know when everything is sent. */
  heard(subject: string): Heard | null {
    return this.#heard.get(subject) ?? null
  }

  /** When the channel was last sent a message about it (monotonic). */
  toldAt(subject: string): number {
    return this.#toldAt.get(subject) ?? Number.NEGATIVE_INFINITY
  }

  /** Whether anything about this subject waits. */
  waitsFor(subject: string): boolean {
    return this.#chains.has(subject)
  }

  waiting(): readonly Notification[] {
    return [...this.#chains.values()].flatMap((chain) => chain.map(({ notification }) => notification))
  }

  /** These notifications are on disk, and may be sent. */
  stored(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const entry = this.#unstored.get(id)
      if (entry === undefined) continue
      this.#unstored.delete(id)
      entry.stored = true
    }
  }

  /** The next message to send, which is in flight until `settle`; `null` if nothing is due. */
  take(now: UnixMs, mono: number): Message | null {
    const first = this.#firstReady(mono)
    if (first === null) return null
    const { messageId } = first.notification
    const entries = this.#heads().filter((entry) => entry.notification.messageId === messageId && isReady(entry))
    for (const entry of entries) Object.assign(entry, { inFlight: true, attempted: true })
    for (const entry of [...this.#chains.values()].flat()) {
      for (const undone of entry.undone) if (undone.notification.messageId === messageId) undone.sentWithout = true
    }
    const { type, subject, createdAt, attempts, saysBoth, text } = first.notification
    const reports = entries.flatMap(({ notification }) => notification.report ?? [])
    return { id: messageId, type, subject, createdAt, sentAt: now, attempts, reports, saysBoth, text }
  }

  settle(message: Message, outcome: Outcome, now: UnixMs, mono: number): readonly Notification[] {
    const entries = this.#heads().filter((entry) => entry.inFlight && entry.notification.messageId === message.id)
    return entries.flatMap((entry) => {
      entry.inFlight = false
      const error = outcome.result === 'sent' ? null : outcome.error
      entry.notification = { ...entry.notification, attempts: entry.notification.attempts + 1, error }
      const isLeft = this.#left.delete(entry.notification.subject)
      if (isLeft && outcome.result === 'retried') {
        // The daemon that sends about it now tries again.
        this.#chains.delete(entry.notification.subject)
        return []
      }
      if (outcome.result !== 'retried') return [this.#end(entry, outcome.result, now)]
      entry.dueAt = mono + outcome.delayMs
      const merged = this.#merge(entry.notification.subject, now)
      return merged.length > 0 ? merged : [entry.notification]
    })
  }

  /** Ends the notifications that have waited too long, or that are too many. */
  expire(now: UnixMs, mono: number): readonly Notification[] {
    const excess = Math.max(0, this.#chains.size - MAX_WAITING)
    const ended = [...this.#chains.values()].flatMap((chain, at) =>
      chain.filter(({ expiresAt, inFlight }) => !inFlight && (expiresAt <= mono || at < excess)),
    )
    return ended.map((entry) => this.#end(entry, 'expired', now))
  }

  /** Ends everything that waits, because the channel is removed. Call it when nothing is in flight. */
  close(error: string, now: UnixMs): readonly Notification[] {
    const all = [...this.#chains.values()].flat()
    return all.map((entry) => ({ ...this.#end(entry, 'expired', now), error }))
  }

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#chains.size === 0
  }

  /** When `take` may next have a message (monotonic); `null` if nothing waits. */
  dueAt(): number | null {
    let soonest: number | null = null
    const partial = this.#partlyStored()
    // Called after every commit: it must not copy what waits.
    for (const [head] of this.#chains.values()) {
      if (head === undefined || !isReady(head) || partial.has(head.notification.messageId)) continue
      if (soonest === null || head.dueAt < soonest) soonest = head.dueAt
    }
    return soonest
  }

  /** Lets everything that waits for another attempt be sent at once. */
  hurry(mono: number): void {
    for (const entry of this.#heads()) {
      if (entry.notification.attempts > 0) entry.dueAt = Math.min(entry.dueAt, mono)
    }
  }

  #changedOpen(change: Change, now: UnixMs, mono: number): Notification[] {
    const { subject } = change
    const last = this.#chains.get(subject)?.at(-1)
    // The channel cannot have received the last message, and what that one replaced can still be sent.
    const isReplaceable = last?.attempted === false && !last.undone.some(({ sentWithout }) => sentWithout)
    const replaced = isReplaceable ? last : null
    const heard = replaced === null ? (this.#heard.get(subject) ?? null) : replaced.notification.before
    const step = nextStep(heard, change, this.#settings().minState)
    const type = step === null ? null : typeOf(step, change.kind)
    if (replaced === null) return type === null ? [] : [this.#add(change, type, false, now, mono)]
    if (type !== null && type === replaced.notification.type) {
      const report = change.report(heard?.state ?? null)
      replaced.notification = { ...replaced.notification, report, text: change.text }
      this.#hold(replaced)
      this.#heard.set(subject, { open: true, state: change.state })
      return [replaced.notification]
    }
    // What no longer reaches `min_state`, or is silenced by now, was to be sent when it opened.
    if (type === null && heard?.open !== true) return []
    const superseded = this.#end(replaced, 'superseded', now)
    this.#setHeard(subject, heard)
    if (replaced.undone.length > 0) return [superseded, ...this.#restoreUndone(replaced.undone, change, now, mono)]
    return type === null ? [superseded] : [superseded, this.#add(change, type, false, now, mono)]
  }

  /** Sends again, under the same ids, what the channel may know already, and then what has changed since. */
  #restoreUndone(undone: readonly Entry[], change: Change, now: UnixMs, mono: number): readonly Notification[] {
    const { subject } = change
    const entries = undone.map((entry): Entry => {
      const notification: Notification = { ...entry.notification, state: 'waiting', endedAt: null }
      return { ...entry, notification, inFlight: false, stored: false }
    })
    this.#chains.set(subject, [...(this.#chains.get(subject) ?? []), ...entries])
    for (const entry of entries) {
      this.#hold(entry)
      const { type, report } = entry.notification
      this.#heard.set(subject, { open: !isClosing(type), state: report?.state ?? change.state })
    }
    return [...entries.map(({ notification }) => notification), ...this.#changedOpen(change, now, mono)]
  }

  #changedClosed(change: Change, now: UnixMs, mono: number): Notification[] {
    const { subject } = change
    const pending = replaceable(this.#chains.get(subject) ?? [])
    const [first] = pending
    const heard = first === undefined ? (this.#heard.get(subject) ?? null) : first.notification.before
    const missed = pending.some(({ notification }) => isOpening(notification.type))
    const undone = attemptedOf(pending)
    const tells = heard?.open === true || (missed && (undone.length > 0 || !change.absorbed))
    if (!tells && first === undefined) return []
    const superseded = pending.map((entry) => this.#end(entry, 'superseded', now))
    this.#setHeard(subject, heard)
    if (!tells) return superseded
    const closed = this.#add(change, typeOf('closed', change.kind), missed && heard?.open !== true, now, mono)
    this.#chains.get(subject)?.forEach((entry) => {
      if (entry.notification === closed) entry.undone = undone
    })
    return [...superseded, closed]
  }

  #add(change: Change, type: MessageType, saysBoth: boolean, now: UnixMs, mono: number): Notification {
    const { subject, open, state } = change
    const before = this.#heard.get(subject) ?? null
    const chain = this.#chains.get(subject) ?? []
    const { messageId, dueAt } = this.#placeIn(type, mono, chain.length === 0)
    const notification: Notification = {
      id: this.#newId(),
      channel: this.#settings().channel,
      subject,
      type,
      messageId,
      createdAt: now,
      state: 'waiting',
      attempts: 0,
      endedAt: null,
      error: null,
      before,
      report: change.report(before?.state ?? null),
      saysBoth,
      text: change.text,
    }
    const entry = { ...NEW, notification, dueAt, expiresAt: mono + EXPIRES_AFTER_MS }
    this.#hold(entry)
    this.#chains.set(subject, [...chain, entry])
    this.#heard.set(subject, { open, state })
    this.#toldAt.set(subject, mono)
    return notification
  }

  #placeIn(type: MessageType, mono: number, isFirst: boolean): { messageId: string; dueAt: number } {
    const { groupWaitMs } = this.#settings()
    if (type !== 'incident.opened' || groupWaitMs === 0 || !isFirst) return { messageId: this.#newId(), dueAt: mono }
    if (this.#group === null || mono >= this.#group.closesAt || this.#group.size >= MAX_GROUP) {
      this.#group = { messageId: this.#newId(), closesAt: mono + groupWaitMs, size: 0 }
    }
    this.#group.size++
    return { messageId: this.#group.messageId, dueAt: this.#group.closesAt }
  }

  /** An opening that failed, with its end already behind it, is said together with its end. */
  #merge(subject: string, now: UnixMs): Notification[] {
    const chain = this.#chains.get(subject) ?? []
    const last = chain.at(-1)
    const earlier = replaceable(chain.slice(0, -1))
    if (last === undefined || earlier.length === 0 || !isClosing(last.notification.type)) return []
    const missed = earlier.some(({ notification }) => isOpening(notification.type))
    last.undone = attemptedOf(earlier)
    const superseded = earlier.map((entry) => this.#end(entry, 'superseded', now))
    last.notification = { ...last.notification, saysBoth: missed }
    this.#hold(last)
    return [...superseded, last.notification]
  }

  #end(entry: Entry, state: Exclude<Notification['state'], 'waiting'>, now: UnixMs): Notification {
    const { subject } = entry.notification
    entry.notification = { ...entry.notification, state, endedAt: now }
    this.#unstored.delete(entry.notification.id)
    const rest = (this.#chains.get(subject) ?? []).filter((other) => other !== entry)
    if (rest.length > 0) this.#chains.set(subject, rest)
    else {
      this.#chains.delete(subject)
      if (this.#heard.get(subject)?.open === false) this.#forget(subject)
    }
    return entry.notification
  }

  #setHeard(subject: string, heard: Heard | null): void {
    if (heard === null) this.#forget(subject)
    else this.#heard.set(subject, heard)
  }

  #forget(subject: string): void {
    this.#heard.delete(subject)
    this.#toldAt.delete(subject)
  }

  #firstReady(mono: number): Entry | null {
    const partial = this.#partlyStored()
    for (const [head] of this.#chains.values()) {
      if (head === undefined || !isReady(head) || partial.has(head.notification.messageId)) continue
      if (head.dueAt <= mono) return head
    }
    return null
  }

  /** Messages that are not on disk as a whole: what follows later under the same id, a receiver drops as a double. */
  #partlyStored(): ReadonlySet<string> {
    const ids = new Set<string>()
    for (const { notification } of this.#unstored.values()) ids.add(notification.messageId)
    return ids
  }

  /** Keeps it back until it is on disk. */
  #hold(entry: Entry): void {
    entry.stored = false
    this.#unstored.set(entry.notification.id, entry)
  }

  #heads(): Entry[] {
    return [...this.#chains.values()].flatMap(([head]) => head ?? [])
  }
}

/** The present state of a subject. */
export interface Change {
  readonly subject: string
  readonly kind: 'incident' | 'heartline'
  readonly open: boolean
  readonly state: Verdict
  /** A flapping incident changes silently while it is open. */
  readonly flapping: boolean
  /** A network-wide incident covers it: no new message, only the end of what was sent before. */
  readonly absorbed: boolean
  /** Whether the channel is to hear of it now; it always hears that something ended of which it has heard. */
  readonly wanted: boolean
  readonly text: string
  readonly report: (previous: Verdict | null) => Report | null
}

export type Outcome =
  | { readonly result: 'sent' }
  | { readonly result: 'rejected'; readonly error: string }
  | { readonly result: 'retried'; readonly error: string; readonly delayMs: number }

export interface OutboxSettings {
  readonly channel: string
  readonly minState: Verdict
  /** 0: openings are sent at once, each in a message of its own. */
  readonly groupWaitMs: number
}

/** Older messages are of no use. */
export const EXPIRES_AFTER_MS = 24 * 3_600_000
/** Rendering and storing one message about a thousand held polls up, by an estimated 0.1 s; chats show fewer anyway. */
const MAX_GROUP = 250
/** Far more than any fleet has incidents; a bound for the memory. */
const MAX_WAITING = 20_000

/** What to send next, given what the channel has heard; `null` for nothing. */
export function nextStep(
  heard: Heard | null,
  { open, state, flapping, wanted }: Pick<Change, 'open' | 'state' | 'flapping' | 'wanted'>,
  minState: Verdict,
): 'opened' | 'worse' | 'better' | 'closed' | null {
  if (!open) return heard?.open === true ? 'closed' : null
  if (!wanted || severity(state) < severity(minState)) return null
  if (heard?.open !== true) return 'opened'
  if (flapping || heard.state === state) return null
  return severity(state) > severity(heard.state) ? 'worse' : 'better'
}

interface Entry {
  notification: Notification
  /** Whether the channel may have received it. */
  attempted: boolean
  inFlight: boolean
  stored: boolean
  /** What this one replaced although the channel may have received it: needed if it is replaced in turn. */
  undone: readonly Entry[]
  /** Whether its message went out after this one was replaced: sent again, a receiver would drop it as a double. */
  sentWithout: boolean
  /** Monotonic. */
  dueAt: number
  readonly expiresAt: number
}

const NEW = { attempted: false, inFlight: false, stored: false, undone: [], sentWithout: false } as const

function isReady({ inFlight, stored }: Entry): boolean {
  return !inFlight && stored
}

/** What a message about the end may replace: an end that the channel may know already stays, under its id. */
function replaceable(chain: readonly Entry[]): readonly Entry[] {
  const kept = chain.findLastIndex(
    ({ attempted, inFlight, notification }) => inFlight || (attempted && isClosing(notification.type)),
  )
  return chain.slice(kept + 1)
}

/** Those that the channel may have received, with those that they replaced. */
function attemptedOf(entries: readonly Entry[]): readonly Entry[] {
  return entries.flatMap((entry) => [...entry.undone, ...(entry.attempted ? [entry] : [])])
}

function isOpening(type: MessageType): boolean {
  return type === 'incident.opened' || type === 'heartline.impaired'
}

function typeOf(step: 'opened' | 'worse' | 'better' | 'closed', kind: Change['kind']): MessageType {
  if (kind === 'heartline') return step === 'closed' ? 'heartline.recovered' : 'heartline.impaired'
  return `incident.${step}`
}
