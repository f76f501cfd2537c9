import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'

/** Reads again when that is due, once for all who ask. While it fails, what was read before serves for a while. */
export function createKeptReading<T>({ what, read, everyMs, clock, log }: KeptReadingDeps<T>) {
  let last: { readonly value: T; readonly at: number } | null = null
  let reading: Promise<T> | null = null

  async function readAgain(): Promise<T> {
    try {
      const value = await read()
      last = { value, at: clock.monotonic() }
      return value
    } catch (error) {
      log.warn({ error: error instanceof Error ? error.name : 'unknown' }, `${what} could not be read`)
      throw error
    }
  }

  function notOlderThan(ms: number): T | null {
    return last !== null && clock.monotonic() - last.at < ms ? last.value : null
  }

  /** Rejects if reading fails and what was read before is too old. */
  async function current(): Promise<T> {
    const fresh = notOlderThan(everyMs)
    if (fresh !== null) return fresh
    reading ??= readAgain().finally(() => {
      reading = null
    })
    try {
      return await reading
    } catch (error) {
      const kept = notOlderThan(everyMs * LONGEST_KEPT)
      if (kept === null) throw error
      return kept
    }
  }

  return {
    current,
    /** What was read last; `null` if it is too old. Starts a new read if one is due. */
    latest(): T | null {
      const kept = notOlderThan(everyMs * LONGEST_KEPT)
      // Failures are logged, and `current` reports them to its callers.
      current().catch(() => {})
      return kept
    },
  }
}

interface KeptReadingDeps<T> {
  /** In the plural, for the log. */
  readonly what: string
  readonly read: () => Promise<T>
  readonly everyMs: number
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
}

/** In reads that were due: an older past would be drawn as if it ended now. */
const LONGEST_KEPT = 5
