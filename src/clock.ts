import type { UnixMs } from './core/time.ts'

export interface Timer {
  cancel(): void
}

/** The only way to time: tests pass one that they drive by hand. */
export interface Clock {
  /** Wall clock; may be stepped by people and NTP. */
  now(): UnixMs
  /** Milliseconds since an arbitrary start, with a fraction; never stepped. */
  monotonic(): number
  /** Runs `task` once, `delayMs` from now on the monotonic clock. Does not keep the process alive by itself. */
  after(delayMs: number, task: () => void): Timer
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** setTimeout takes 32 bits of milliseconds: 24.8 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS))
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, Math.min(Math.max(0, ms), LONGEST_TIMER_MS))
      signal?.addEventListener('abort', done, { once: true })
    })
  },
}

/** The same clock, but an error in a timer's task goes to `onError`: it must not end the process. */
export function guardedClock(clock: Clock, onError: (error: unknown) => void): Clock {
  return {
    ...clock,
    after: (delayMs, task) =>
      clock.after(delayMs, () => {
        try {
          task()
        } catch (error) {
          onError(error)
        }
      }),
  }
}

/** Runs `task` every `everyMs`. An error in one run does not prevent the next. */
export function repeat(clock: Pick<Clock, 'after'>, everyMs: number, task: () => void): Timer {
  let timer = clock.after(everyMs, run)
  function run(): void {
    timer = clock.after(everyMs, run)
    task()
  }
  return { cancel: () => timer.cancel() }
}
