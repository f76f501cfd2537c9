import type { IncidentListView, IncidentSummaryView } from '../src/http/wire/incidents.ts'
import type { StatusEventView, StatusView } from '../src/http/wire/status.ts'
import { instant, type Moment, since } from './elapsed.ts'
import { readEvents, type ServerEvent } from './event-reader.ts'
import { authHeaders } from './session.ts'
import { joinTabs } from './tabs.ts'
import { applyEnd, applyEvent, applyIncident } from './views/model.ts'
import type { Contact, Model } from './views/view.ts'

/**
 * Follows the daemon by server-sent events, or by polling while events do not get through. One tab of the browser does so
 * for all of them.
 */
export function follow({ audience, changed, returned, refused }: FollowOptions) {
  const startedAt = instant()
  let status: StatusView | null = null
  let incidents: readonly IncidentSummaryView[] = []
  let ended: readonly IncidentSummaryView[] = []
  let lastReceived: Moment | null = null
  let isLost = false
  /** When the daemon was found to be gone. */
  let goneSince: Moment | null = null
  let daemonAheadMs = 0
  /** By the event of the stream that was the fastest. */
  let mostAheadMs = 0
  /** For how many rounds there is no stream, because its events came late. */
  let withoutStream = 0
  let by: 'events' | 'polling' = 'events'
  let lastEventId = ''

  function receiveSign(): void {
    lastReceived = instant()
    goneSince = null
    if (isLost) returned()
    isLost = false
  }

  function tellTime(aheadMs: number): void {
    // What was loaded by a wrong clock is of another time.
    isLost ||= Math.abs(aheadMs - daemonAheadMs) > CLOCK_OFF_MS
    daemonAheadMs = aheadMs
  }

  function receive(news: News): void {
    switch (news.kind) {
      case 'event':
        by = 'events'
        receiveEvent(news.event)
        break
      case 'whole':
        ;({ status, incidents, by } = news)
        ended = []
        if (news.lastEventId !== undefined) lastEventId = news.lastEventId
        // A cached response is as old as its timestamp, but it proves that the daemon is alive.
        if (news.daemonAheadMs !== undefined) tellTime(news.daemonAheadMs)
        receiveSign()
        break
      case 'gone':
        isLost = true
        goneSince ??= instant()
    }
    changed()
  }

  function receiveEvent({ name, id, data }: ServerEvent): void {
    const event = name === 'status' ? (JSON.parse(data) as StatusEventView) : null
    // Changes say nothing without the whole, and a stream resumed after one of them would only have changes.
    if (status === null && event?.complete !== true) return tabs.askWhole()
    if (id !== '') lastEventId = id
    if (event !== null) {
      // Open incidents follow a complete status. It may be that of a reload: what views have loaded is out of date.
      if (event.complete) {
        incidents = ended = []
        isLost ||= status !== null
      }
      const aheadMs = Date.parse(event.generated_at) - Date.now()
      mostAheadMs = Math.max(mostAheadMs, aheadMs)
      if (mostAheadMs - aheadMs > STALE_AFTER_MS) withoutStream = LATE_ROUNDS
      tellTime(aheadMs)
      receiveSign()
      status = applyEvent(status, event)
    } else if (name === 'incident') {
      const news = JSON.parse(data) as IncidentSummaryView
      incidents = applyIncident(incidents, news)
      ended = applyEnd(ended, news)
    }
  }

  const tabs = joinTabs<News>({
    name: `${new URL('.', import.meta.url).pathname} ${audience}`,
    lead: keepListening,
    receive,
    whole: () =>
      status === null || goneSince !== null
        ? null
        : { kind: 'whole', status, incidents, by, lastEventId, daemonAheadMs },
  })

  function tell(news: News): void {
    receive(news)
    tabs.tell(news)
  }

  /** Resolves when the stream ends, for whatever reason. */
  async function listen(signal: AbortSignal): Promise<void> {
    const silence = new AbortController()
    mostAheadMs = Number.NEGATIVE_INFINITY
    let timer = setTimeout(() => silence.abort(), DEAD_AFTER_MS)
    const onHidden = () => {
      if (!tabs.mayStream()) silence.abort()
    }
    document.addEventListener('visibilitychange', onHidden)
    try {
      const resume = lastEventId === '' ? {} : { 'last-event-id': lastEventId }
      const answer = await fetch('/api/v1/events', {
        headers: authHeaders({ accept: 'text/event-stream', ...resume }),
        signal: AbortSignal.any([silence.signal, signal]),
        cache: 'no-store',
      })
      if (answer.status === 401) return refused()
      if (!answer.ok || answer.body === null) return
      await readEvents(answer.body, {
        heard() {
          clearTimeout(timer)
          timer = setTimeout(() => silence.abort(), DEAD_AFTER_MS)
        },
        receive(event) {
          tell({ kind: 'event', event })
          if (withoutStream > 0) silence.abort()
        },
      })
    } catch {
      // No contact: the poll that follows tells whether the daemon is gone.
    } finally {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onHidden)
    }
  }

  async function poll(): Promise<void> {
    const options = { headers: authHeaders(), signal: AbortSignal.timeout(POLL_EVERY_MS) }
    let news: News
    try {
      const [answer, open] = await Promise.all([fetch('/api/v1/status', options), openIncidents(options)])
      if (!answer.ok || open === null) return void (isLost = true)
      // In whole seconds, so not as good as that of an event.
      const aheadMs = Date.parse(answer.headers.get('date') ?? '') - Date.now()
      const isOff = Math.abs(aheadMs - daemonAheadMs) > CLOCK_OFF_MS
      const clock = isOff ? { daemonAheadMs: aheadMs } : {}
      news = { kind: 'whole', status: (await answer.json()) as StatusView, incidents: open, by: 'polling', ...clock }
    } catch {
      news = { kind: 'gone' }
    }
    // A stream that works again knows better.
    if (by === 'polling') tell(news)
  }

  async function keepListening(signal: AbortSignal): Promise<void> {
    const polling = setInterval(() => {
      if (by === 'polling') void poll()
    }, POLL_EVERY_MS)
    while (!signal.aborted) {
      if (withoutStream-- < 1 && tabs.mayStream()) await listen(signal)
      if (signal.aborted) break
      if (by === 'events') {
        // A stream that never worked does not count as lost.
        if (lastReceived !== null) isLost = true
        by = 'polling'
        void poll()
      }
      await pause(RETRY_MS)
    }
    clearInterval(polling)
  }

  return {
    current(): Live {
      const silentMs = since(lastReceived ?? startedAt)
      const contact: Contact =
        silentMs > STALE_AFTER_MS || goneSince !== null
          ? { kind: 'stale', forSeconds: silentMs / 1000 }
          : lastReceived === null
            ? { kind: 'connecting' }
            : { kind: 'live', by }
      // From the first of the two, so that ages never jump.
      const stoodStillMs = Math.max(0, silentMs - STALE_AFTER_MS, goneSince === null ? 0 : since(goneSince))
      return { status, incidents, ended, contact, nowMs: Date.now() + daemonAheadMs - stoodStillMs }
    },
    stop: tabs.stop,
  }
}

/** What a tab learns, and passes on to the others. */
type News =
  | { readonly kind: 'event'; readonly event: ServerEvent }
  | {
      readonly kind: 'whole'
      readonly status: StatusView
      readonly incidents: readonly IncidentSummaryView[]
      readonly by: 'events' | 'polling'
      readonly lastEventId?: string
      readonly daemonAheadMs?: number
    }
  | { readonly kind: 'gone' }

export type Live = Pick<Model, 'status' | 'incidents' | 'ended' | 'contact' | 'nowMs'>

/** The daemon sends something every 5 s. After twice that time a silent connection must not look live. */
const STALE_AFTER_MS = 10_000
/** A stream that is silent for longer is treated as broken. */
const DEAD_AFTER_MS = 15_000
const POLL_EVERY_MS = 5000
/** More than a slow network makes of it. */
const CLOCK_OFF_MS = 5000
const RETRY_MS = 2000
/** A network that cannot carry all changes delivers them later and later; polls are compressed, and always of now. */
const LATE_ROUNDS = 15

export type LiveConnection = ReturnType<typeof follow>

export interface FollowOptions {
  /** Names those who may see the same data; only their tabs share it. */
  readonly audience: string
  /** Called for every change. */
  readonly changed: () => void
  /** Called when the daemon is back after a loss of contact, as it may have been updated, and when the browser's clock proves wrong. */
  readonly returned: () => void
  /** Called when the daemon rejects the token. */
  readonly refused: () => void
}

/** All open incidents, page by page; `null` if a page cannot be had. */
async function openIncidents(options: RequestInit): Promise<readonly IncidentSummaryView[] | null> {
  const found: IncidentSummaryView[] = []
  let next: string | null = ''
  while (next !== null) {
    const answer: Response = await fetch(`/api/v1/incidents?open=true&limit=200${next}`, options)
    if (!answer.ok) return null
    const { incidents, next_cursor: cursor } = (await answer.json()) as IncidentListView
    found.push(...incidents)
    next = cursor === null ? null : `&cursor=${encodeURIComponent(cursor)}`
  }
  return found
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
