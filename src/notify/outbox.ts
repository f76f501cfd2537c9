import type { UnixMs } from '../core/time.ts'
import { severity, type Verdict } from '../core/verdict/condition.ts'
import { type Heard, isClosing, type Message, type MessageType, type Notification } from './notification.ts'
import { isOpening, nextStep, type SubjectState, typeOf } from './subject-state.ts'
import { attemptedOf, createGrouping, type Entry, NEW, replaceable, WaitingList } from './waiting-list.ts'

/**
 * What one channel still has to hear. A channel hears about a subject (an incident, or Heartline itself) in order, and
 * never what became pointless while it waited. Has no clock and no I/O: times are passed, `mono` is monotonic.
 */
export class Outbox {
  readonly #settings: () => OutboxSettings
  readonly #newId: () => string
  readonly #waiting = new WaitingList((network) => this.#settings().maySend?.(network) !== false)
  readonly #heard = new Map<string, Heard>()
  readonly #toldAt = new Map<string, number>()
  /** Subjects that another daemon tells, with a message in flight from here. */
  readonly #left = new Set<string>()
  readonly #placeIn: ReturnType<typeof createGrouping>

  constructor({ settings, newId }: { readonly settings: () => OutboxSettings; readonly newId: () => string }) {
    this.#settings = settings
    this.#newId = newId
    this.#placeIn = createGrouping(newId)
  }

  /** Loads the notifications of an earlier run, in the order in which they were added. */
  restore(notifications: readonly Notification[], now: UnixMs, mono: number): void {
    for (const notification of notifications) {
      const { subject, state, type, report, before, createdAt, endedAt } = notification
      if (state === 'superseded' || (this.#waiting.knows(notification) && !this.#left.has(subject))) continue
      this.#heard.set(subject, { open: !isClosing(type), state: report?.state ?? before?.state ?? 'down' })
      this.#toldAt.set(subject, mono - Math.max(0, now - (endedAt ?? createdAt)))
      if (state !== 'waiting') {
        if (isClosing(type) && !this.#waiting.has(subject)) this.#forget(subject)
        continue
      }
      const age = Math.min(Math.max(0, now - createdAt), EXPIRES_AFTER_MS)
      // Whether the earlier run tried to send it is unknown.
      const entry = { ...NEW, notification, attempted: true, stored: true, dueAt: mono }
      if (this.#left.delete(subject)) this.#waiting.drop(subject)
      this.#waiting.add({ ...entry, expiresAt: mono + EXPIRES_AFTER_MS - age })
    }
  }

  /** Forgets these subjects, which another daemon tells from now on. What waits stays in the store; what is in flight is settled. */
  leave(isLeft: (subject: string) => boolean): void {
    for (const subject of this.#waiting.subjects()) {
      if (isLeft(subject) && this.#waiting.keepInFlight(subject)) this.#left.add(subject)
    }
    for (const subject of this.#heard.keys()) if (isLeft(subject)) this.#forget(subject)
  }

  /** Call it at every change; returns the notifications that were added, changed or superseded. */
  changed(current: SubjectState, now: UnixMs, mono: number): readonly Notification[] {
    return current.open ? this.#changedOpen(current, now, mono) : this.#changedClosed(current, now, mono)
  }

  /** Adds a repetition if the channel knows that the subject is open and has nothing to hear about it. */
  repeat(current: SubjectState, now: UnixMs, mono: number): readonly Notification[] {
    const { subject, open, wanted, flapping, state } = current
    if (!open || !wanted || flapping || severity(state) < severity(this.#settings().minState)) return []
    if (this.#heard.get(subject)?.open !== true || this.#waiting.has(subject)) return []
    return [this.#add(current, 'incident.repeated', false, now, mono)]
  }

  /** Drops the last message about an open subject, unless the channel may have received it or what it replaced. */
  hush(subject: string, now: UnixMs): readonly Notification[] {
    const last = this.#waiting.of(subject).at(-1)
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
    return this.#waiting.has(subject)
  }

  waiting(): readonly Notification[] {
    return this.#waiting.all().map(({ notification }) => notification)
  }

  /** These notifications are on disk, and may be sent. */
  stored(ids: ReadonlySet<string>): void {
    this.#waiting.stored(ids)
  }

  /** The next message to send, which is in flight until `settle`; `null` if nothing is due. */
  take(now: UnixMs, mono: number): Message | null {
    const first = this.#waiting.due(mono)
    if (first === null) return null
    const { messageId, type, subject, createdAt, attempts, saysBoth, text } = first.notification
    const { groups = true } = this.#settings()
    // What was grouped for another type of channel is sent one by one, each under an id that it keeps.
    const id = groups ? messageId : first.notification.id
    const entries = groups ? this.#waiting.takeGroup(messageId) : this.#waiting.take([first])
    const reports = entries.flatMap(({ notification }) => notification.report ?? [])
    return { id, type, subject, createdAt, sentAt: now, attempts, reports, saysBoth, text }
  }

  settle(message: Message, outcome: Outcome, now: UnixMs, mono: number): readonly Notification[] {
    return this.#waiting.inFlightAs(message.id).flatMap((entry) => {
      entry.inFlight = false
      const error = outcome.result === 'sent' ? null : outcome.error
      entry.notification = { ...entry.notification, attempts: entry.notification.attempts + 1, error }
      const isLeft = this.#left.delete(entry.notification.subject)
      if (isLeft && outcome.result === 'retried') {
        // The daemon that sends about it now tries again.
        this.#waiting.drop(entry.notification.subject)
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
    const excess = new Set(this.#waiting.subjects().slice(0, -MAX_WAITING))
    const ended = this.#waiting.all().filter(({ expiresAt, inFlight, notification }) => {
      return !inFlight && (expiresAt <= mono || excess.has(notification.subject))
    })
    return ended.map((entry) => this.#end(entry, 'expired', now))
  }

  /** Ends everything that waits, because the channel is removed. Call it when nothing is in flight. */
  close(error: string, now: UnixMs): readonly Notification[] {
    return this.#waiting.all().map((entry) => ({ ...this.#end(entry, 'expired', now), error }))
  }

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#waiting.isEmpty
  }

  /** When `take` may next have a message (monotonic); `null` if nothing waits. */
  dueAt(): number | null {
    return this.#waiting.soonest()
  }

  /** Lets everything that waits for another attempt be sent at once. */
  hurry(mono: number): void {
    for (const entry of this.#waiting.heads()) {
      if (entry.notification.attempts > 0) entry.dueAt = Math.min(entry.dueAt, mono)
    }
  }

  #changedOpen(current: SubjectState, now: UnixMs, mono: number): Notification[] {
    const { subject } = current
    const last = this.#waiting.of(subject).at(-1)
    // The channel cannot have received the last message, and what that one replaced can still be sent.
    const isReplaceable = last?.attempted === false && !last.undone.some(({ sentWithout }) => sentWithout)
    const replaced = isReplaceable ? last : null
    const heard = replaced === null ? (this.#heard.get(subject) ?? null) : replaced.notification.before
    const step = nextStep(heard, current, this.#settings().minState)
    const type = step === null ? null : typeOf(step, current.kind)
    if (replaced === null) return type === null ? [] : [this.#add(current, type, false, now, mono)]
    if (type !== null && type === replaced.notification.type) {
      const report = current.report(heard?.state ?? null)
      replaced.notification = { ...replaced.notification, report, text: current.text }
      this.#waiting.hold(replaced)
      this.#heard.set(subject, { open: true, state: current.state })
      return [replaced.notification]
    }
    // What no longer reaches `min_state`, or is silenced by now, was to be sent when it opened.
    if (type === null && heard?.open !== true) return []
    const superseded = this.#end(replaced, 'superseded', now)
    this.#setHeard(subject, heard)
    if (replaced.undone.length > 0) return [superseded, ...this.#restoreUndone(replaced.undone, current, now, mono)]
    return type === null ? [superseded] : [superseded, this.#add(current, type, false, now, mono)]
  }

  /** Sends again, under the same ids, what the channel may know already, and then what has changed since. */
  #restoreUndone(undone: readonly Entry[], current: SubjectState, now: UnixMs, mono: number): readonly Notification[] {
    const { subject } = current
    const entries = undone.map((entry): Entry => {
      const notification: Notification = { ...entry.notification, state: 'waiting', endedAt: null }
      return { ...entry, notification, inFlight: false, stored: false }
    })
    for (const entry of entries) {
      this.#waiting.addUnstored(entry)
      const { type, report } = entry.notification
      this.#heard.set(subject, { open: !isClosing(type), state: report?.state ?? current.state })
    }
    return [...entries.map(({ notification }) => notification), ...this.#changedOpen(current, now, mono)]
  }

  #changedClosed(current: SubjectState, now: UnixMs, mono: number): Notification[] {
    const { subject } = current
    const pending = replaceable(this.#waiting.of(subject))
    const [first] = pending
    const heard = first === undefined ? (this.#heard.get(subject) ?? null) : first.notification.before
    const missed = pending.some(({ notification }) => isOpening(notification.type))
    const undone = attemptedOf(pending)
    const tells = heard?.open === true || (missed && (undone.length > 0 || !current.absorbed))
    if (!tells && first === undefined) return []
    const superseded = pending.map((entry) => this.#end(entry, 'superseded', now))
    this.#setHeard(subject, heard)
    if (!tells) return superseded
    const closed = this.#add(current, typeOf('closed', current.kind), missed && heard?.open !== true, now, mono)
    for (const entry of this.#waiting.of(subject)) if (entry.notification === closed) entry.undone = undone
    return [...superseded, closed]
  }

  #add(current: SubjectState, type: MessageType, saysBoth: boolean, now: UnixMs, mono: number): Notification {
    const { subject, open, state } = current
    const before = this.#heard.get(subject) ?? null
    const groupWaitMs = type === 'incident.opened' && !this.#waiting.has(subject) ? this.#settings().groupWaitMs : 0
    const report = current.report(before?.state ?? null)
    const kind = this.#settings().groupsByNetwork === true ? (report?.network ?? '') : ''
    const { messageId, dueAt } = this.#placeIn(kind, groupWaitMs, mono)
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
      report,
      saysBoth,
      text: current.text,
    }
    this.#waiting.addUnstored({ ...NEW, notification, dueAt, expiresAt: mono + EXPIRES_AFTER_MS })
    this.#heard.set(subject, { open, state })
    this.#toldAt.set(subject, mono)
    return notification
  }

  /** An opening that failed, with its end already behind it, is said together with its end. */
  #merge(subject: string, now: UnixMs): Notification[] {
    const chain = this.#waiting.of(subject)
    const last = chain.at(-1)
    const earlier = replaceable(chain.slice(0, -1))
    if (last === undefined || earlier.length === 0 || !isClosing(last.notification.type)) return []
    const missed = earlier.some(({ notification }) => isOpening(notification.type))
    last.undone = attemptedOf(earlier)
    const superseded = earlier.map((entry) => this.#end(entry, 'superseded', now))
    last.notification = { ...last.notification, saysBoth: missed }
    this.#waiting.hold(last)
    return [...superseded, last.notification]
  }

  #end(entry: Entry, state: Exclude<Notification['state'], 'waiting'>, now: UnixMs): Notification {
    const { subject } = entry.notification
    entry.notification = { ...entry.notification, state, endedAt: now }
    if (!this.#waiting.remove(entry) && this.#heard.get(subject)?.open === false) this.#forget(subject)
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
  /** Whether one message may have several subjects; by default it may. */
  readonly groups?: boolean
  readonly groupsByNetwork?: boolean
  /** Whether messages about the network may be sent now; the others wait. By default all may. */
  readonly maySend?: ((network: string) => boolean) | undefined
}

/** Older messages are of no use. */
export const EXPIRES_AFTER_MS = 24 * 3_600_000
/** Far more than any fleet has incidents; a bound for the memory. */
const MAX_WAITING = 20_000
