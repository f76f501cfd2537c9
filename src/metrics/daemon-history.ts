import type { Clock } from '../clock.ts'
import type { SkipReason } from '../core/poll-result.ts'
import { MINUTE_MS, type UnixMs } from '../core/time.ts'

/** Keeps the daemon's figures of the last three hours, by minute. */
export function createMinuteStats({ clock, queueRows, residentBytes, requests }: MinuteStatsDeps) {
  const begun = clock.monotonic()
  const minutes = new Map<number, Writable<Minute>>()
  let counted = { requests: 0, failed: 0 }
  let resident = residentBytes() ?? 0

  function nth(): number {
    return Math.floor((clock.monotonic() - begun) / MINUTE_MS)
  }

  function current(): Writable<Minute> {
    const at = nth()
    let minute = minutes.get(at)
    if (minute === undefined) {
      minute = {
        loopLagMs: 0,
        pollLagMs: 0,
        skips: 0,
        commitMs: 0,
        queueRows: 0,
        residentBytes: resident,
        requests: 0,
        failed: 0,
      }
      minutes.set(at, minute)
      for (const old of minutes.keys()) if (old <= at - KEPT) minutes.delete(old)
    }
    return minute
  }

  function first(): number {
    return Math.max(0, nth() - KEPT + 1)
  }

  return {
    loopBlocked(ms: number): void {
      const minute = current()
      minute.loopLagMs = Math.max(minute.loopLagMs, ms)
    },
    pollLate(ms: number): void {
      const minute = current()
      minute.pollLagMs = Math.max(minute.pollLagMs, ms)
    },
    pollsSkipped(reason: SkipReason, count: number): void {
      // Nodes ask for fewer polls: that is no fault of Heartline's.
      if (reason !== 'rate-limited') current().skips += count
    },
    committed(ms: number): void {
      const minute = current()
      minute.commitMs = Math.max(minute.commitMs, ms)
    },
    /** Reads figures kept by other parts; called once a second. */
    sample(): void {
      const minute = current()
      minute.queueRows = Math.max(minute.queueRows, queueRows())
      resident = residentBytes() ?? resident
      minute.residentBytes = Math.max(minute.residentBytes, resident)
      const now = requests()
      minute.requests += now.requests - counted.requests
      minute.failed += now.failed - counted.failed
      counted = now
    },
    /** At the latest sample. */
    residentBytes: (): number => resident,
    /** Oldest first; the last minute is incomplete. `null` for a minute without figures. */
    minutes: (): readonly (Minute | null)[] =>
      Array.from({ length: nth() - first() + 1 }, (_, at) => minutes.get(first() + at) ?? null),
    /** Start of the first minute. */
    since: (): UnixMs => clock.now() - (clock.monotonic() - begun) + first() * MINUTE_MS,
  }
}

/** Maximum, or count, of each figure in a minute. */
export interface Minute {
  readonly loopLagMs: number
  readonly pollLagMs: number
  readonly skips: number
  readonly commitMs: number
  readonly queueRows: number
  readonly residentBytes: number
  readonly requests: number
  readonly failed: number
}

export interface MinuteStatsDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly queueRows: () => number
  /** `null` when it cannot be read. */
  readonly residentBytes: () => number | null
  /** Requests to the gateway since the start, and how many of them failed. */
  readonly requests: () => { readonly requests: number; readonly failed: number }
}

const KEPT = 180

type Writable<T> = { -readonly [key in keyof T]: T[key] }

export type MinuteStats = ReturnType<typeof createMinuteStats>
