import type { UnixMs } from './core/time.ts'

export interface Timer {
  cancel(): void
}

/** The only source of time, so that tests can drive it. */
export interface Clock {
  /** Wall clock, which users and NTP may step. */
  now(): UnixMs
  /** Milliseconds since an arbitrary start, with a fraction; never stepped. */
  monotonic(): number
  /** Runs `task` once after `delayMs` (monotonic). The timer does not keep the process alive. */
  after(delayMs: number, task: () => void): Timer
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: CancelSignal): Promise<void>
}

/** The part of AbortSignal that waits use, so that a cheaper implementation can replace it. */
export interface CancelSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', task: () => void): void
  removeEventListener(type: 'abort', task: () => void): void
}

/** setTimeout stores the delay as a signed 32-bit integer: at most 24.8 days. */
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
      signal?.addEventListener('abort', done)
    })
  },
}

/** Wraps a clock so that an error in a timer's task goes to `onError` instead of ending the process. */
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

/** Resolves with the work, or after `ms` with `undefined`: what hangs must not keep the caller. */
export async function within<T>(clock: Pick<Clock, 'sleep'>, ms: number, work: Promise<T>): Promise<T | undefined> {
  const ended = new AbortController()
  try {
    return await Promise.race([work, clock.sleep(ms, ended.signal).then(() => undefined)])
  } finally {
    ended.abort()
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
