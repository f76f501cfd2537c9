import type { Timer } from '../../clock.ts'
import type { Incident } from '../../core/incident/incident.ts'
import { incidentSummary } from '../incident-views.ts'
import type { RouteDeps } from '../route.ts'
import type { Scope } from '../scopes.ts'
import type { Audience } from '../wire/status.ts'
import {
  type Changes,
  concernsBoard,
  createChangeCollector,
  createChangeLog,
  isEmpty,
  merge,
  noChanges,
} from './event-changes.ts'
import type { StatusWriter } from './status-document.ts'

interface EventStreamDeps extends Pick<RouteDeps, 'board' | 'incidents' | 'clock'> {
  readonly scopes: Readonly<Record<Audience, Pick<Scope, 'shows'>>>
  readonly writers: Readonly<Record<Audience, StatusWriter>>
}

/**
 * Sends changes as server-sent events. `status` starts with the whole board or the changes since the client's last
 * event, then holds all changes since the one before; an empty one is the heartbeat. `incident` holds one incident; a
 * complete `status` is followed by all open ones.
 */
export function createEventStream({ board, incidents, clock, writers, scopes }: EventStreamDeps) {
  const listeners = new Set<Listener>()
  const changeLog = createChangeLog()
  const collector = createChangeCollector({ board, incidents, clock, onChange: scheduleFlush })
  /** The whole board since the latest event, for clients that join at the same time, as after a restart. */
  let complete = oncePerAudience(first)
  let completeUntil = Number.NEGATIVE_INFINITY
  let pauseMs = SHORTEST_PAUSE_MS
  let flushTimer: Timer | null = null
  let beatTimer: Timer | null = null
  let lingerTimer: Timer | null = null

  function follow(): void {
    lingerTimer?.cancel()
    lingerTimer = null
    if (beatTimer !== null) return
    collector.start()
    beatTimer = clock.after(BEAT_MS, beat)
  }

  function unfollow(): void {
    collector.stop()
    for (const timer of [flushTimer, beatTimer, lingerTimer]) timer?.cancel()
    flushTimer = beatTimer = lingerTimer = null
    changeLog.forget()
    completeUntil = Number.NEGATIVE_INFINITY
  }

  function completeFor(audience: Audience): Buffer {
    const now = clock.monotonic()
    if (now >= completeUntil) {
      complete = oncePerAudience(first)
      completeUntil = now + SHORTEST_PAUSE_MS
    }
    return complete(audience)
  }

  function scheduleFlush(): void {
    flushTimer ??= clock.after(pauseMs, flush)
  }

  function flush(): void {
    flushTimer?.cancel()
    flushTimer = null
    const changes = collector.take()
    if (changes === null) return
    changeLog.add(changes)
    completeUntil = Number.NEGATIVE_INFINITY
    const started = clock.monotonic()
    const bytes = oncePerAudience((audience) => message(audience, changes))
    for (const listener of listeners) {
      if (listener.missed === null) send(listener, bytes(listener.client.audience))
      else merge(listener.missed, changes)
    }
    pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, PAUSE_PER_COST * (clock.monotonic() - started)))
  }

  function beat(): void {
    beatTimer = clock.after(BEAT_MS, beat)
    flush()
    const bytes = oncePerAudience((audience) => `: alive\n${statusEvent(audience, noChanges())}\n`)
    for (const listener of listeners) {
      if (listener.missed === null) send(listener, bytes(listener.client.audience))
      else if (clock.monotonic() - listener.blockedSince > PATIENCE_MS) {
        leave(listener)
        listener.client.end()
      }
    }
  }

  function send(listener: Listener, bytes: Buffer): void {
    if (listener.client.write(bytes)) return
    listener.missed = noChanges()
    listener.blockedSince = clock.monotonic()
  }

  /** Only the last event carries the id, so that a client that received only some of them gets all of them again. */
  function message(audience: Audience, changes: Changes): string {
    const shown = changes.all ? new Map(incidents.open().map((one) => [one.id, one])) : new Map<string, Incident>()
    for (const [id, incident] of changes.incidents) shown.set(id, incident)
    const events = [...shown.values()]
      .filter(({ network }) => scopes[audience].shows(network))
      .map((incident) => incidentEvent(audience, incident))
    if (concernsBoard(changes) || events.length === 0) events.unshift(statusEvent(audience, changes))
    const before = events.slice(0, -1).map((event) => `${event}\n`)
    return `${before.join('')}id: ${changeLog.latestId()}\n${events.at(-1)}\n`
  }

  function first(audience: Audience, changes: Changes = changeLog.since(null)): string {
    return `retry: 2000\n${message(audience, changes)}`
  }

  function statusEvent(audience: Audience, changes: Changes): string {
    return `event: status\ndata: ${writers[audience].event(changes.all ? 'all' : changes)}\n`
  }

  function leave(listener: Listener): void {
    if (!listeners.delete(listener) || listeners.size > 0) return
    lingerTimer?.cancel()
    lingerTimer = clock.after(LINGER_MS, unfollow)
  }

  return {
    /** `null` if the maximum number of clients is connected. */
    join(client: EventClient, lastEventId: string | null) {
      if (!hasPlaceFor(client, listeners)) return null
      follow()
      const listener: Listener = { client, missed: null, blockedSince: 0 }
      listeners.add(listener)
      const missed = changeLog.since(lastEventId)
      send(listener, missed.all ? completeFor(client.audience) : Buffer.from(first(client.audience, missed)))
      return {
        drained(): void {
          const { missed } = listener
          if (missed === null || !listeners.has(listener)) return
          listener.missed = null
          if (!isEmpty(missed)) send(listener, Buffer.from(message(client.audience, missed)))
        },
        leave: () => leave(listener),
      }
    },

    close(): void {
      const last = [...listeners]
      listeners.clear()
      unfollow()
      for (const { client } of last) client.end()
    },
  }
}

export type EventStream = ReturnType<typeof createEventStream>

export interface EventClient {
  readonly audience: Audience
  /** `null` for a client with the token. */
  readonly address: string | null
  /** `false` if the buffers are full; the client calls `drained` when they are empty again. */
  write(bytes: Buffer): boolean
  end(): void
}

interface Listener {
  readonly client: EventClient
  /** Changes held back while the client's buffers are full; `null` otherwise. */
  missed: Changes | null
  blockedSince: number
}

/** Readers can follow four updates a second; a board that is slow to write is sent once a second. */
const SHORTEST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 1000
/** Writing events may take a tenth of the CPU time. */
const PAUSE_PER_COST = 10
/** A page is marked stale after twice this time without an event. */
const BEAT_MS = 5000
const MOST_CLIENTS = 256
/** The other places are reserved for clients with the token. A page without a stream falls back to polling. */
const MOST_ANONYMOUS = 128
const MOST_PER_ADDRESS = 16
/** A client whose buffers stay full for this long is gone or does not read. */
const PATIENCE_MS = 30_000
/** How long changes are kept after the last client has left, in case it reconnects. */
const LINGER_MS = 30_000

function hasPlaceFor({ address }: EventClient, listeners: ReadonlySet<Listener>): boolean {
  if (listeners.size >= MOST_CLIENTS) return false
  if (address === null) return true
  const anonymous = [...listeners].filter(({ client }) => client.address !== null)
  const sameAddress = anonymous.filter(({ client }) => client.address === address)
  return anonymous.length < MOST_ANONYMOUS && sameAddress.length < MOST_PER_ADDRESS
}

function incidentEvent(audience: Audience, incident: Incident): string {
  return `event: incident\ndata: ${JSON.stringify(incidentSummary(incident, audience))}\n`
}

/** Bytes, because many clients share them: each would encode and keep a text of its own. */
function oncePerAudience(write: (audience: Audience) => string): (audience: Audience) => Buffer {
  const written = new Map<Audience, Buffer>()
  return (audience) => {
    const bytes = written.get(audience) ?? Buffer.from(write(audience))
    written.set(audience, bytes)
    return bytes
  }
}
