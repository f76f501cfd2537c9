import type { IncidentListView, IncidentSummaryView } from '../src/http/wire-incidents.ts'
import type { StatusEventView, StatusView } from '../src/http/wire-status.ts'
import { readEvents, type ServerEvent } from './event-reader.ts'
import { authHeaders } from './session.ts'
import { applyEvent, applyIncident } from './views/model.ts'
import type { Contact, Model } from './views/view.ts'

/** Follows the daemon by server-sent events, or by polling while events do not get through. */
export function follow({ changed, returned, refused }: FollowOptions): LiveConnection {
  const startedAt = instant()
  const stopped = new AbortController()
  let status: StatusView | null = null
  let incidents: readonly IncidentSummaryView[] = []
  let lastReceived: Moment | null = null
  let isLost = false
  let daemonAheadMs = 0
  let by: 'events' | 'polling' = 'events'
  let lastEventId = ''

  function receiveStatus(generatedAt: string): void {
    daemonAheadMs = Date.parse(generatedAt) - Date.now()
    receiveSign()
  }

  function receiveSign(): void {
    lastReceived = instant()
    if (isLost) returned()
    isLost = false
  }

  function receive({ name, id, data }: ServerEvent): void {
    if (id !== '') lastEventId = id
    by = 'events'
    if (name === 'status') {
      const event = JSON.parse(data) as StatusEventView
      // Open incidents follow a complete status.
      if (event.complete) incidents = []
      receiveStatus(event.generated_at)
      status = applyEvent(status, event)
    } else if (name === 'incident') incidents = applyIncident(incidents, JSON.parse(data) as IncidentSummaryView)
    changed()
  }

  /** Resolves when the stream ends, for whatever reason. */
  async function listen(): Promise<void> {
    const silence = new AbortController()
    let timer = setTimeout(() => silence.abort(), DEAD_AFTER_MS)
    try {
      const resume = lastEventId === '' ? {} : { 'last-event-id': lastEventId }
      const answer = await fetch('/api/v1/events', {
        headers: authHeaders({ accept: 'text/event-stream', ...resume }),
        signal: AbortSignal.any([silence.signal, stopped.signal]),
        cache: 'no-store',
      })
      if (answer.status === 401) return refused()
      if (!answer.ok || answer.body === null) return
      await readEvents(answer.body, {
        heard() {
          clearTimeout(timer)
          timer = setTimeout(() => silence.abort(), DEAD_AFTER_MS)
        },
        receive,
      })
    } catch {
      // No contact: the status lamp shows it, by the time of the last message.
    } finally {
      clearTimeout(timer)
    }
  }

  async function poll(): Promise<void> {
    const options = { headers: authHeaders(), signal: AbortSignal.timeout(POLL_EVERY_MS) }
    try {
      const [answer, list] = await Promise.all([
        fetch('/api/v1/status', options),
        fetch('/api/v1/incidents?open=true', options),
      ])
      if (!answer.ok || !list.ok) isLost = true
      if (!answer.ok || !list.ok || by === 'events') return
      const next = (await answer.json()) as StatusView
      incidents = ((await list.json()) as IncidentListView).incidents
      // A cached response is as old as its timestamp, but it proves that the daemon is alive.
      receiveSign()
      status = next
      changed()
    } catch {
      // No contact, as above.
      isLost = true
    }
  }

  async function keepListening(): Promise<void> {
    while (!stopped.signal.aborted) {
      await listen()
      if (stopped.signal.aborted) return
      // A stream that never worked does not count as lost.
      if (by === 'events' && lastReceived !== null) isLost = true
      by = 'polling'
      void poll()
      await pause(RETRY_MS)
    }
  }

  void keepListening()
  const polling = setInterval(() => {
    if (by === 'polling') void poll()
  }, POLL_EVERY_MS)

  return {
    current() {
      const silentMs = since(lastReceived ?? startedAt)
      const contact = contactAfter(silentMs, lastReceived === null, by)
      const stoodStillMs = contact.kind === 'stale' ? silentMs : 0
      return { status, incidents, contact, nowMs: Date.now() + daemonAheadMs - stoodStillMs }
    },
    stop() {
      clearInterval(polling)
      stopped.abort()
    },
  }
}

export type Live = Pick<Model, 'status' | 'incidents' | 'contact' | 'nowMs'>

/** The daemon sends something every 5 s. After twice that time the page must not look live. */
const STALE_AFTER_MS = 10_000
/** A stream that is silent for longer is treated as broken. */
const DEAD_AFTER_MS = 15_000
const POLL_EVERY_MS = 5000
const RETRY_MS = 2000

export interface LiveConnection {
  current(): Live
  stop(): void
}

export interface FollowOptions {
  /** Called for every change. */
  readonly changed: () => void
  /** Called when the daemon is back after a loss of contact: it may have been updated. */
  readonly returned: () => void
  /** Called when the daemon rejects the token. */
  readonly refused: () => void
}

interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

function instant(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() }
}

/** The larger value of two clocks: the monotonic one stops while the computer sleeps, the other may be set back. */
function since({ monotonicMs, wallMs }: Moment): number {
  return Math.max(performance.now() - monotonicMs, Date.now() - wallMs)
}

function contactAfter(silentMs: number, isFirst: boolean, by: 'events' | 'polling'): Contact {
  if (silentMs > STALE_AFTER_MS) return { kind: 'stale', forSeconds: silentMs / 1000 }
  return isFirst ? { kind: 'connecting' } : { kind: 'live', by }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/**
 * Whether the daemon is the one that this page came from, another one with other files (after an update this page cannot
 * load its remaining files), or gone.
 */
export async function checkDaemon(): Promise<'same' | 'other' | 'gone'> {
  try {
    // The address of this script contains a hash of its content.
    const answer = await fetch(import.meta.url, { method: 'HEAD', cache: 'no-store' })
    if (answer.status === 404) return 'other'
    return answer.ok ? 'same' : 'gone'
  } catch {
    return 'gone'
  }
}
