import { randomBytes } from 'node:crypto'
import type { Clock, Timer } from '../clock.ts'
import { type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { State } from '../core/verdict/condition.ts'
import { type Board, type BoardChange, shownState } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { incidentSummary } from './incident-views.ts'
import type { Changed, StatusWriter } from './status-document.ts'
import type { Audience } from './wire-status.ts'

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
 * Tells its clients what changes, in server-sent events. `status` is about the board: everything at first, or what was missed
 * since the last event they saw; then what changed, several changes in one event. An event without changes says that we are
 * alive. `incident` holds one incident as it stands now; after a `status` with everything come those that are open.
 */
export interface EventStream {
  /** `null` when there are too many already. */
  join(client: EventClient, lastEventId: string | null): Subscription | null
  close(): void
}

export interface EventStreamDeps {
  readonly board: Board
  readonly incidents: Pick<IncidentLog, 'open' | 'subscribe'>
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
  /** By id; of several changes of one the latest. */
  readonly incidents: Map<Incident['id'], Incident>
  maintenance: boolean
  all: boolean
}

export function createEventStream({ board, incidents, clock, writers }: EventStreamDeps): EventStream {
  const origin = randomBytes(6).toString('base64url')
  const listeners = new Set<Listener>()
  const states = new Map<EndpointKey, State>()
  let sequence = 0
  let remembered: { readonly sequence: number; readonly changes: MutableChanges }[] = []
  let pending = noChanges()
  let configured = board.networks()
  let planned = board.maintenance()
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
    const ends = [board.subscribe(note), incidents.subscribe(noteIncident)]
    unsubscribe = () => {
      for (const end of ends) end()
    }
    configured = board.networks()
    planned = board.maintenance()
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

  /** The status of its endpoint tells of it too. */
  function noteIncident(incident: Incident): void {
    const { id, network, endpoint } = incident
    pending.incidents.set(id, incident)
    if (endpoint !== null) pending.endpoints.add(endpointKey({ network, name: endpoint }))
    flushTimer ??= clock.after(pauseMs, flush)
  }

  /** A state can also change because nothing happens: a result runs out, or maintenance begins. */
  function noteStates(): void {
    const now = clock.now()
    if (board.maintenance() !== planned) {
      planned = board.maintenance()
      pending.maintenance = true
    }
    for (const { endpoints } of board.networks()) {
      for (const entry of endpoints) {
        const { key } = entry
        const state = shownState(entry, now)
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
    const text = lazily((audience) => `: alive\n${statusEvent(audience, noChanges())}\n`)
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

  /** One of several events alone carries the id, the last: who has seen a part of them gets all of them again. */
  function message(audience: Audience, changes: MutableChanges, id: number): string {
    const told = changes.all ? new Map(incidents.open().map((one) => [one.id, one])) : new Map<string, Incident>()
    for (const [of, incident] of changes.incidents) told.set(of, incident)
    const events = [...told.values()].map((incident) => incidentEvent(audience, incident))
    if (isStatus(changes) || events.length === 0) events.unshift(statusEvent(audience, changes))
    return `${events
      .slice(0, -1)
      .map((event) => `${event}\n`)
      .join('')}id: ${origin}-${id}\n${events.at(-1)}\n`
  }

  function statusEvent(audience: Audience, changes: MutableChanges): string {
    return `event: status\ndata: ${writers[audience].event(changes.all ? 'all' : changes)}\n`
  }

  function incidentEvent(audience: Audience, incident: Incident): string {
    return `event: incident\ndata: ${JSON.stringify(incidentSummary(incident, audience))}\n`
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
  return { networks: new Set(), endpoints: new Set(), incidents: new Map(), maintenance: false, all: false }
}

function isEmpty(changes: MutableChanges): boolean {
  return !isStatus(changes) && changes.incidents.size === 0
}

/** Whether anything of the board is among them. */
function isStatus({ networks, endpoints, maintenance, all }: MutableChanges): boolean {
  return all || maintenance || networks.size > 0 || endpoints.size > 0
}

function merge(into: MutableChanges, more: MutableChanges): void {
  for (const name of more.networks) into.networks.add(name)
  for (const key of more.endpoints) into.endpoints.add(key)
  for (const [id, incident] of more.incidents) into.incidents.set(id, incident)
  into.maintenance ||= more.maintenance
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
