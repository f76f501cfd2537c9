import { isClosing, type Notification } from './notification.ts'

/** What waits for one channel: by subject, in order. Subjects are in the order in which they began to wait. */
export class WaitingList {
  readonly #maySend: (network: string) => boolean
  readonly #chains = new Map<string, Entry[]>()
  /** By id of their notification, those that are not on disk. */
  readonly #unstored = new Map<string, Entry>()

  constructor(maySend: (network: string) => boolean) {
    this.#maySend = maySend
  }

  get isEmpty(): boolean {
    return this.#chains.size === 0
  }

  has(subject: string): boolean {
    return this.#chains.has(subject)
  }

  knows({ subject, id }: Notification): boolean {
    return this.of(subject).some(({ notification }) => notification.id === id)
  }

  subjects(): string[] {
    return [...this.#chains.keys()]
  }

  of(subject: string): readonly Entry[] {
    return this.#chains.get(subject) ?? []
  }

  all(): Entry[] {
    return [...this.#chains.values()].flat()
  }

  /** The first of each subject. */
  heads(): Entry[] {
    return [...this.#chains.values()].flatMap(([head]) => head ?? [])
  }

  /** Those of the message with this id that is in flight. */
  inFlightAs(id: string): Entry[] {
    return this.heads().filter(
      ({ inFlight, notification }) => inFlight && (notification.messageId === id || notification.id === id),
    )
  }

  /** Puts those of the message that can be sent now in flight, without those that were replaced. */
  takeGroup(messageId: string): readonly Entry[] {
    for (const entry of this.all()) {
      for (const undone of entry.undone) if (undone.notification.messageId === messageId) undone.sentWithout = true
    }
    return this.take(this.heads().filter((head) => head.notification.messageId === messageId && this.#isReady(head)))
  }

  take(entries: readonly Entry[]): readonly Entry[] {
    for (const entry of entries) Object.assign(entry, { inFlight: true, attempted: true })
    return entries
  }

  add(entry: Entry): void {
    const { subject } = entry.notification
    this.#chains.set(subject, [...this.of(subject), entry])
  }

  /** Adds it, and keeps it back until it is on disk. */
  addUnstored(entry: Entry): void {
    this.add(entry)
    this.hold(entry)
  }

  /** Returns whether anything else about its subject waits. */
  remove(entry: Entry): boolean {
    const { id, subject } = entry.notification
    this.#unstored.delete(id)
    const rest = this.of(subject).filter((other) => other !== entry)
    if (rest.length > 0) this.#chains.set(subject, rest)
    else this.#chains.delete(subject)
    return rest.length > 0
  }

  drop(subject: string): void {
    this.#chains.delete(subject)
  }

  /** Drops what is not in flight; returns whether anything is. */
  keepInFlight(subject: string): boolean {
    const chain = this.of(subject)
    for (const { notification } of chain) this.#unstored.delete(notification.id)
    const inFlight = chain.filter((entry) => entry.inFlight)
    if (inFlight.length > 0) this.#chains.set(subject, inFlight)
    else this.#chains.delete(subject)
    return inFlight.length > 0
  }

  /** Keeps it back until it is on disk. */
  hold(entry: Entry): void {
    entry.stored = false
    this.#unstored.set(entry.notification.id, entry)
  }

  stored(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const entry = this.#unstored.get(id)
      if (entry === undefined) continue
      this.#unstored.delete(id)
      entry.stored = true
    }
  }

  /** The one that can be sent and has been due for longest at `mono`: one that fails again and again lets others pass. */
  due(mono: number): Entry | null {
    let longest: Entry | null = null
    for (const head of this.#sendable()) {
      if (head.dueAt <= mono && (longest === null || head.dueAt < longest.dueAt)) longest = head
    }
    return longest
  }

  /** When the next one can be sent; `null` if none can. */
  soonest(): number | null {
    let soonest: number | null = null
    for (const { dueAt } of this.#sendable()) if (soonest === null || dueAt < soonest) soonest = dueAt
    return soonest
  }

  #isReady({ inFlight, stored, notification: { report } }: Entry): boolean {
    return !inFlight && stored && (report === null || this.#maySend(report.network))
  }

  /** Called after every commit: it must not copy what waits. */
  *#sendable(): Generator<Entry> {
    // Messages that are not on disk as a whole: what follows later under the same id, a receiver drops as a double.
    const partial = new Set<string>()
    for (const { notification } of this.#unstored.values()) partial.add(notification.messageId)
    for (const [head] of this.#chains.values()) {
      if (head !== undefined && this.#isReady(head) && !partial.has(head.notification.messageId)) yield head
    }
  }
}

export interface Entry {
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

export const NEW = { attempted: false, inFlight: false, stored: false, undone: [], sentWithout: false } as const

/** What a message about the end may replace: an end that the channel may know already stays, under its id. */
export function replaceable(chain: readonly Entry[]): readonly Entry[] {
  const kept = chain.findLastIndex(
    ({ attempted, inFlight, notification }) => inFlight || (attempted && isClosing(notification.type)),
  )
  return chain.slice(kept + 1)
}

/** Those that the channel may have received, with those that they replaced. */
export function attemptedOf(entries: readonly Entry[]): readonly Entry[] {
  return entries.flatMap((entry) => [...entry.undone, ...(entry.attempted ? [entry] : [])])
}

/** Puts the notifications of one kind and one `group_wait` into one message, which is due at the end of it. */
export function createGrouping(newId: () => string) {
  const groups = new Map<string, { readonly messageId: string; readonly closesAt: number; size: number }>()
  /** The message of a new notification, and when it is due (monotonic). With 0, it has one of its own, at once. */
  return (kind: string, groupWaitMs: number, mono: number) => {
    if (groupWaitMs === 0) return { messageId: newId(), dueAt: mono }
    let group = groups.get(kind)
    if (group === undefined || mono >= group.closesAt || group.size >= MAX_GROUP) {
      group = { messageId: newId(), closesAt: mono + groupWaitMs, size: 0 }
      groups.set(kind, group)
    }
    group.size++
    return { messageId: group.messageId, dueAt: group.closesAt }
  }
}

/** Rendering and storing one message about a thousand held polls up, by an estimated 0.1 s; chats show fewer anyway. */
const MAX_GROUP = 250
