import type { Clock, Timer } from '../clock.ts'
import type { Secret } from '../secret.ts'
import type { HttpDelivery } from './http-delivery.ts'

const LOOK_AGAIN_MS = 1000

/** A dead man's ping: requests a URL while Heartline does its work, so that an outside service notices when it stops. */
export function createHeartbeat({ clock, http, works }: HeartbeatDeps) {
  const stopping = new AbortController()
  let target: { readonly url: Secret; readonly everyMs: number } | null = null
  let timer: Timer | null = null
  let started = false
  let isSending = false
  let status: { lastSentAt: number | null; lastError: string | null } = { lastSentAt: null, lastError: null }

  function schedule(mostMs = Number.POSITIVE_INFINITY): void {
    timer?.cancel()
    timer = target === null || !started ? null : clock.after(Math.min(target.everyMs, mostMs), beat)
  }

  function beat(): void {
    // After a start, or a moment of trouble, the service would else wait for an interval more.
    if (!works()) return schedule(LOOK_AGAIN_MS)
    schedule()
    if (target === null || isSending) return
    isSending = true
    const request = { method: 'GET', url: target.url, headers: {}, body: '' } as const
    void http.send(request, stopping.signal).then((delivered) => {
      isSending = false
      status =
        delivered.result === 'sent'
          ? { lastSentAt: clock.now(), lastError: null }
          : { ...status, lastError: delivered.error }
    })
  }

  return {
    /** `null` for none. */
    configure(next: { readonly url: Secret; readonly everyMs: number } | null): void {
      const isOnTime = target?.everyMs === next?.everyMs
      target = next
      // Otherwise frequent reloads would postpone it again and again.
      if (!isOnTime) schedule()
    },
    start(): void {
      started = true
      beat()
    },
    stop(): void {
      started = false
      timer?.cancel()
      stopping.abort()
    },
    status: () => status,
  }
}

export interface HeartbeatDeps {
  readonly clock: Pick<Clock, 'now' | 'after'>
  readonly http: Pick<HttpDelivery, 'send'>
  readonly works: () => boolean
}
