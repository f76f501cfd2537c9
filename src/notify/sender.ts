import type { Clock, Timer } from '../clock.ts'
import { MINUTE_MS } from '../core/time.ts'
import { type Delivered, errorOf } from './http-delivery.ts'
import type { Message, Notification, Result } from './notification.ts'
import type { Outbox } from './outbox.ts'

export type Sender = ReturnType<typeof createSender>

export interface SenderHealth {
  readonly failing: boolean
  readonly lastError: string | null
  readonly lastSentAt: number | null
  readonly lastFailedAt: number | null
}

const FIRST_DELAY_MS = 1000
/** With the timeout of an attempt, the next try comes within a minute of a recovery. */
const MAX_DELAY_MS = 45_000
const BREAKER_AFTER = 5
const EXPIRE_EVERY_MS = 60_000
const LOOK_AGAIN_MS = 1000
const STOP_GRACE_MS = 2000

/**
 * Sends what waits in one channel's outbox, one message at a time: at most `ratePerMinute`, with growing delays after
 * failures. A channel that keeps failing is tried with one message at a time (circuit breaker), at least every minute.
 */
export function createSender(deps: SenderDeps) {
  const { outbox, clock, random, onSettled } = deps
  const stopping = new AbortController()
  /** Monotonic starts of the latest attempts. */
  let attempts: number[] = []
  let failures = 0
  let pausedUntil = 0
  let expiredAt = Number.NEGATIVE_INFINITY
  let timer: Timer | null = null
  let running: Promise<void> | null = null
  let stopped = false
  /** Counts the receivers. */
  let receiver = 0
  let health: SenderHealth = { failing: false, lastError: null, lastSentAt: null, lastFailedAt: null }

  function backoff(count: number): number {
    return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(count - 1, 10)) * (0.5 + 0.5 * random())
  }

  /** When the next attempt may start, by the rate and the pause of the whole channel. */
  function freeAt(): number {
    const rate = deps.ratePerMinute()
    const oldest = attempts.at(-rate)
    return Math.max(pausedUntil, oldest === undefined ? 0 : oldest + MINUTE_MS)
  }

  function schedule(): void {
    timer?.cancel()
    timer = null
    if (stopped || outbox.isEmpty) return
    const mono = clock.monotonic()
    const free = freeAt()
    // Before that, nothing can be sent, whatever is due: looking at thousands that wait would be for nothing.
    // What waits for a valid lease may be sent as soon as it is renewed, which nothing else would notice.
    const at = free > mono ? free : (outbox.dueAt() ?? mono + LOOK_AGAIN_MS)
    timer = clock.after(Math.min(Math.max(0, at - mono), EXPIRE_EVERY_MS), wake)
  }

  function wake(): void {
    if (running !== null || stopped) return
    const mono = clock.monotonic()
    if (mono - expiredAt >= EXPIRE_EVERY_MS) {
      expiredAt = mono
      const expired = outbox.expire(clock.now(), mono)
      if (expired.length > 0) onSettled(expired, 'expired')
    }
    const message = mono < freeAt() ? null : outbox.take(clock.now(), mono)
    if (message === null) return schedule()
    timer?.cancel()
    attempts = [...attempts, mono].slice(-deps.ratePerMinute())
    running = send(message).finally(() => {
      running = null
      wake()
    })
  }

  async function send(message: Message): Promise<void> {
    const asked = receiver
    const delivered = await deps.send(message, stopping.signal)
    // The process ends: the notification is still waiting on disk.
    if (stopping.signal.aborted && delivered.result === 'retried') return
    const mono = clock.monotonic()
    const now = clock.now()
    if (delivered.result !== 'sent' && asked !== receiver) {
      // Another receiver has followed in the meantime.
      const again = { result: 'retried', error: delivered.error, delayMs: 0 } as const
      return onSettled(outbox.settle(message, again, now, mono), 'retried')
    }
    if (delivered.result === 'retried') {
      failures++
      const { retryAfterMs } = delivered
      const delayMs = Math.max(backoff(Math.max(failures, message.attempts + 1)), retryAfterMs ?? 0)
      if (failures >= BREAKER_AFTER || retryAfterMs !== null) pausedUntil = mono + delayMs
      note(delivered)
      onSettled(outbox.settle(message, { ...delivered, delayMs }, now, mono), 'retried')
      return
    }
    pausedUntil = 0
    if (failures >= BREAKER_AFTER) outbox.hurry(mono)
    failures = 0
    note(delivered)
    onSettled(outbox.settle(message, delivered, now, mono), delivered.result)
  }

  function note(delivered: Delivered): void {
    const now = clock.now()
    const before = health
    const lastError = errorOf(delivered)
    health = {
      failing: lastError !== null,
      lastError,
      lastSentAt: delivered.result === 'sent' ? now : before.lastSentAt,
      lastFailedAt: lastError === null ? before.lastFailedAt : now,
    }
    if (before.failing !== health.failing) deps.onHealth(health)
  }

  return {
    /** Call it when something new may be sent. */
    wake,
    /** Notes the outcome of a request that was not a message of the outbox. */
    note,
    /** Another receiver follows: tries it at once, whatever the one before has asked for. */
    startOver(): void {
      receiver++
      failures = 0
      pausedUntil = 0
      outbox.hurry(clock.monotonic())
      wake()
    },
    /** Resolves when the message in flight, if any, is settled. */
    settled: (): Promise<void> => running ?? Promise.resolve(),
    get health(): SenderHealth {
      return health
    },
    /** Starts nothing more, and resolves when nothing is in flight: after some seconds, that is aborted. */
    async stop(): Promise<void> {
      stopped = true
      timer?.cancel()
      const ended = new AbortController()
      const grace = clock.sleep(STOP_GRACE_MS, ended.signal).then(() => stopping.abort())
      await Promise.race([running, grace])
      ended.abort()
      await running
    },
  }
}

export interface SenderDeps {
  readonly outbox: Pick<Outbox, 'take' | 'settle' | 'expire' | 'dueAt' | 'hurry' | 'isEmpty'>
  readonly send: (message: Message, signal: AbortSignal) => Promise<Delivered>
  readonly ratePerMinute: () => number
  readonly clock: Clock
  /** From 0 to 1. */
  readonly random: () => number
  /** The notifications of an attempt, as they are now. */
  readonly onSettled: (notifications: readonly Notification[], result: Result) => void
  /** Called when it begins to fail, and when it works again. */
  readonly onHealth: (health: SenderHealth) => void
}
