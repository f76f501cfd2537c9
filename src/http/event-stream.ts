import { randomBytes } from 'node:crypto'
import type { Clock, Timer } from '../clock.ts'
import type { State } from '../core/condition.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import { stateAt } from '../core/health.ts'
import type { Board, BoardChange } from '../state/board.ts'
import type { Changed, StatusWriter } from './status-document.ts'
import type { Audience } from './views.ts'

/** Somebody who listens. */
export interface EventClient {
  readonly audience: Audience
  /** `false` when its buffers are full; it then says `drained` once they are not. */
  write(text: string): boolean
  end(): void
}

export interface Subscription {
  readonly drained: () => void
  readonly leave: () => void
}

/**
 * Tells its clients what changes on the board, in server-sent events `status`: everything at first, or what was missed since
 * the last event they saw; then what changed, several changes in one event. An event without changes says that we are alive.
 */
export interface EventStream {
  /** `null` when there are too many already. */
  join(client: EventClient, lastEventId: string | null): Subscription | null
  close(): void
}

export interface EventStreamDeps {
  readonly board: Board
  readonly clock: Clock
  readonly writers: Readonly<Record<Audience, StatusWriter>>
}

/** People can follow four changes a second; a big board is told once a second at most. */
const SHORTEST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 1000
/** Telling may cost a tenth of our time. */
const PAUSE_PER_COST = 10
/** A page calls itself stale after twice this silence. */
const BEAT_MS = 5000
const MOST_CLIENTS = 256
/** A client whose buffers stay full for this long is gone or does not read. */
const PATIENCE_MS = 30_000
/** Changes that are remembered for those who come back; also how long, when nobody listens. */
const MOST_REMEMBERED = 240
const LINGER_MS = 30_000

interface Listener {
  readonly client: EventClient
  /** What it has not been told, since its buffers are full; `null` when they are not. */
  missed: MutableChanges | null
  blockedSince: number
}

interface MutableChanges extends Changed {
  readonly networks: Set<string>
  readonly endpoints: Set<EndpointKey>
  all: boolean
}

export function createEventStream({ board, clock, writers }: EventStreamDeps): EventStream {
  const origin = randomBytes(6).toString('base64url')
  const listeners = new Set<Listener>()
  const states = new Map<EndpointKey, State>()
  let sequence = 0
  let remembered: { readonly sequence: number; readonly changes: MutableChanges }[] = []
  let pending = noChanges()
  let configured = board.networks()
  let pauseMs = SHORTEST_PAUSE_MS
  let flushTimer: Timer | null = null
  let beatTimer: Timer | null = null
  let lingerTimer: Timer | null = null
  let unsubscribe: (() => void) | null = null

  /** Nothing is followed while nobody listens, or is likely to come back. */
  function follow(): void {
    lingerTimer?.cancel()
    lingerTimer = null
    if (unsubscribe !== null) return
    unsubscribe = board.subscribe(note)
    configured = board.networks()
    noteStates()
    pending = noChanges()
    beatTimer = clock.after(BEAT_MS, beat)
  }

  function unfollow(): void {
    unsubscribe?.()
    unsubscribe = null
    for (const timer of [flushTimer, beatTimer, lingerTimer]) timer?.cancel()
    flushTimer = beatTimer = lingerTimer = null
    remembered = []
    states.clear()
    // What happens from now on is seen by nobody: an id from before is no place to resume from.
    sequence++
  }

  function note({ network, endpoint }: BoardChange): void {
    if (board.networks() !== configured) {
      configured = board.networks()
      pending.all = true
    }
    if (endpoint === null) pending.networks.add(network)
    else pending.endpoints.add(`${network}/${endpoint}`)
    flushTimer ??= clock.after(pauseMs, flush)
  }

  /** A state can also change because nothing happens: a result runs out. */
  function noteStates(): void {
    const now = clock.now()
    for (const { endpoints } of board.networks()) {
      for (const { key, health } of endpoints) {
        const state = stateAt(health, now)
        const before = states.get(key)
        if (before === state) continue
        states.set(key, state)
        if (before !== undefined) pending.endpoints.add(key)
      }
    }
  }

  function flush(): void {
    flushTimer?.cancel()
    flushTimer = null
    noteStates()
    if (isEmpty(pending)) return
    const changes = pending
    pending = noChanges()
    sequence++
    remembered.push({ sequence, changes })
    if (remembered.length > MOST_REMEMBERED) remembered.shift()
    const started = clock.monotonic()
    const text = lazily((audience) => message(audience, changes, sequence))
    for (const listener of listeners) tell(listener, changes, text)
    pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_COST * (clock.monotonic() - started)))
  }

  function beat(): void {
    beatTimer = clock.after(BEAT_MS, beat)
    flush()
    const text = lazily((audience) => `: alive\n${message(audience, noChanges(), null)}`)
    for (const listener of listeners) {
      if (listener.missed === null) send(listener, text(listener.client.audience))
      else if (clock.monotonic() - listener.blockedSince > PATIENCE_MS) {
        leave(listener)
        listener.client.end()
      }
    }
  }

  function tell(listener: Listener, changes: MutableChanges, text: (audience: Audience) => string): void {
    if (listener.missed !== null) merge(listener.missed, changes)
    else send(listener, text(listener.client.audience))
  }

  function send(listener: Listener, text: string): void {
    if (listener.client.write(text)) return
    listener.missed = noChanges()
    listener.blockedSince = clock.monotonic()
  }

  function message(audience: Audience, changes: MutableChanges, id: number | null): string {
    const data = writers[audience].event(changes.all ? 'all' : changes)
    return `${id === null ? '' : `id: ${origin}-${id}\n`}event: status\ndata: ${data}\n\n`
  }

  /** What the one who saw this event last has missed since; everything when that is not known. */
  function missedSince(lastEventId: string | null): MutableChanges {
    const missed = noChanges()
    const [, from, number] = /^([\w-]{8})-(\d{1,15})$/.exec(lastEventId ?? '') ?? []
    const last = from === origin ? Number(number) : -1
    const oldest = remembered[0]?.sequence ?? sequence + 1
    if (last < oldest - 1 || last > sequence) missed.all = true
    else for (const { sequence: at, changes } of remembered) if (at > last) merge(missed, changes)
    return missed
  }

  function leave(listener: Listener): void {
    if (!listeners.delete(listener) || listeners.size > 0) return
    lingerTimer?.cancel()
    lingerTimer = clock.after(LINGER_MS, unfollow)
  }

  return {
    join(client, lastEventId) {
      if (listeners.size >= MOST_CLIENTS) return null
      follow()
      const listener: Listener = { client, missed: null, blockedSince: 0 }
      listeners.add(listener)
      send(listener, `retry: 2000\n${message(client.audience, missedSince(lastEventId), sequence)}`)
      return {
        drained() {
          const { missed } = listener
          if (missed === null || !listeners.has(listener)) return
          listener.missed = null
          if (!isEmpty(missed)) send(listener, message(client.audience, missed, sequence))
        },
        leave: () => leave(listener),
      }
    },

    close() {
      const last = [...listeners]
      listeners.clear()
      unfollow()
      for (const { client } of last) client.end()
    },
  }
}

function noChanges(): MutableChanges {
  return { networks: new Set(), endpoints: new Set(), all: false }
}

function isEmpty({ networks, endpoints, all }: MutableChanges): boolean {
  return !all && networks.size === 0 && endpoints.size === 0
}

function merge(into: MutableChanges, more: MutableChanges): void {
  for (const name of more.networks) into.networks.add(name)
  for (const key of more.endpoints) into.endpoints.add(key)
  into.all ||= more.all
}

/** Written once for every audience that listens, and not at all for one that does not. */
function lazily(write: (audience: Audience) => string): (audience: Audience) => string {
  const written = new Map<Audience, string>()
  return (audience) => {
    const text = written.get(audience) ?? write(audience)
    written.set(audience, text)
    return text
  }
}
