import type { IncidentListView, IncidentSummaryView, StatusEventView, StatusView } from '../src/http/views.ts'
import { applyEvent, applyIncident } from './model.ts'

/** How well the page hears the daemon. */
export type Contact =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live'; readonly by: 'events' | 'polling' }
  | { readonly kind: 'stale'; readonly forSeconds: number }

export interface Live {
  /** `null` until the daemon has answered once. */
  readonly status: StatusView | null
  /** Open ones, the newest first. */
  readonly incidents: readonly IncidentSummaryView[]
  readonly contact: Contact
  /**
   * The daemon's clock, as far as the last message tells it: a reader's wrong clock makes no age wrong. It stands still
   * while the page is stale: nobody knows whether what was so then is so still.
   */
  readonly nowMs: number
}

/** The daemon says something every five seconds; twice that in silence, and nothing here may look live. */
const STALE_AFTER_MS = 10_000
const POLL_EVERY_MS = 5000
/** While polling: how often events are tried again. */
const RETRY_EVENTS_MS = 30_000

/** Follows the daemon by server-sent events, and by polling where those do not get through. `changed` is called for every news. */
export function follow(changed: () => void): { look(): Live } {
  let status: StatusView | null = null
  let incidents: readonly IncidentSummaryView[] = []
  let heardAt: number | null = null
  const startedAt = performance.now()
  let daemonAhead = 0
  let by: 'events' | 'polling' = 'events'
  let etag: string | null = null
  let polling: number | undefined
  let source: EventSource | null = null

  function heard(next: StatusView | null, generatedAt: string | null): void {
    heardAt = performance.now()
    if (generatedAt !== null) daemonAhead = Date.parse(generatedAt) - Date.now()
    if (next !== null) status = next
    changed()
  }

  function listen(): void {
    source?.close()
    source = new EventSource('/api/v1/events')
    source.addEventListener('status', ({ data }) => {
      const event = JSON.parse(data) as StatusEventView
      stopPolling()
      // What is open follows a complete one.
      if (event.complete) incidents = []
      heard(applyEvent(status, event), event.generated_at)
    })
    source.addEventListener('incident', ({ data }) => {
      incidents = applyIncident(incidents, JSON.parse(data) as IncidentSummaryView)
      changed()
    })
    source.addEventListener('error', () => {
      startPolling()
      // The browser tries again by itself unless it was answered with an error.
      if (source?.readyState === EventSource.CLOSED) setTimeout(listen, RETRY_EVENTS_MS)
    })
  }

  function startPolling(): void {
    if (polling !== undefined) return
    polling = window.setInterval(poll, POLL_EVERY_MS)
    void poll()
  }

  function stopPolling(): void {
    by = 'events'
    window.clearInterval(polling)
    polling = undefined
  }

  async function poll(): Promise<void> {
    try {
      const headers: Record<string, string> = etag === null ? {} : { 'if-none-match': etag }
      const answer = await fetch('/api/v1/status', { headers, signal: AbortSignal.timeout(POLL_EVERY_MS) })
      if (polling === undefined) return
      by = 'polling'
      void pollIncidents()
      if (answer.status === 304) return heard(null, null)
      if (!answer.ok) return
      etag = answer.headers.get('etag')
      const next = (await answer.json()) as StatusView
      heard(next, next.generated_at)
    } catch {
      // No contact: the lamp says so, from the time of the last message on.
    }
  }

  async function pollIncidents(): Promise<void> {
    try {
      const answer = await fetch('/api/v1/incidents?open=true', { signal: AbortSignal.timeout(POLL_EVERY_MS) })
      if (polling === undefined || !answer.ok) return
      const list = (await answer.json()) as IncidentListView
      incidents = list.incidents
      changed()
    } catch {
      // As with the status.
    }
  }

  listen()
  return {
    look() {
      const silentMs = performance.now() - (heardAt ?? startedAt)
      const contact: Contact =
        silentMs > STALE_AFTER_MS
          ? { kind: 'stale', forSeconds: silentMs / 1000 }
          : heardAt === null
            ? { kind: 'connecting' }
            : { kind: 'live', by }
      const stoodStillMs = contact.kind === 'stale' ? silentMs : 0
      return { status, incidents, contact, nowMs: Date.now() + daemonAhead - stoodStillMs }
    },
  }
}
