import type { Clock } from '../clock.ts'
import type { UnixMs } from '../core/time.ts'

/** Keeps what happened to us minute by minute, so that a gap in the history of nodes explains itself. In memory, of this run. */
export interface MinuteStats {
  /** Nothing of ours ran for so long. */
  loopBlocked(ms: number): void
  /** A poll started so long after it was due. */
  pollLate(ms: number): void
  pollsSkipped(count: number): void
  /** The store took so long for a transaction. */
  committed(ms: number): void
  /** Reads what is kept count of elsewhere; comes every second or so. */
  sample(): void
  /** The oldest first; the last one is not over. `null` of a minute in which nothing ran. */
  minutes(): readonly (Minute | null)[]
  /** When the first of them began. */
  since(): UnixMs
}

/** The most of each in a minute, or how many. */
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
  readonly residentBytes: () => number
  /** Requests of callers of the gateway since the start, and how many nobody could answer. */
  readonly requests: () => { readonly requests: number; readonly failed: number }
}

export const MINUTE_MS = 60_000
const KEPT = 180

type Writable<T> = { -readonly [key in keyof T]: T[key] }

export function createMinuteStats({ clock, queueRows, residentBytes, requests }: MinuteStatsDeps): MinuteStats {
  const begun = clock.monotonic()
  const minutes = new Map<number, Writable<Minute>>()
  let counted = { requests: 0, failed: 0 }

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
        residentBytes: 0,
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
    loopBlocked(ms) {
      const minute = current()
      minute.loopLagMs = Math.max(minute.loopLagMs, ms)
    },
    pollLate(ms) {
      const minute = current()
      minute.pollLagMs = Math.max(minute.pollLagMs, ms)
    },
    pollsSkipped(count) {
      current().skips += count
    },
    committed(ms) {
      const minute = current()
      minute.commitMs = Math.max(minute.commitMs, ms)
    },
    sample() {
      const minute = current()
      minute.queueRows = Math.max(minute.queueRows, queueRows())
      minute.residentBytes = Math.max(minute.residentBytes, residentBytes())
      const now = requests()
      minute.requests += now.requests - counted.requests
      minute.failed += now.failed - counted.failed
      counted = now
    },
    minutes: () => Array.from({ length: nth() - first() + 1 }, (_, at) => minutes.get(first() + at) ?? null),
    since: () => clock.now() - (clock.monotonic() - begun) + first() * MINUTE_MS,
  }
}
