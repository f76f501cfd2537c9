import type { Clock, Timer } from '../../src/clock.ts'
import type { UnixMs } from '../../src/core/time.ts'

export interface FakeClock extends Clock {
  /** Lets time pass: runs what falls due, in order, each with the promises that it settles. */
  advance(ms: number): Promise<void>
  /** Sets the wall clock forward or back; the monotonic clock and its timers do not notice. */
  stepWall(ms: number): void
  /** What a blocked event loop does: time passes, no timer runs. They run late, with the next `advance`. */
  blockLoop(ms: number): void
}

interface Alarm {
  readonly due: number
  readonly order: number
  readonly task: () => void
}

export function createFakeClock({ now = Date.UTC(2026, 0, 1), monotonic = 1000 } = {}): FakeClock {
  let wall: UnixMs = now
  let steady = monotonic
  let order = 0
  const alarms = new Set<Alarm>()

  function pass(ms: number): void {
    wall += ms
    steady += ms
  }

  function next(): Alarm | undefined {
    let first: Alarm | undefined
    for (const alarm of alarms) {
      if (first === undefined || alarm.due < first.due || (alarm.due === first.due && alarm.order < first.order))
        first = alarm
    }
    return first
  }

  function after(delayMs: number, task: () => void): Timer {
    const alarm = { due: steady + Math.max(0, delayMs), order: order++, task }
    alarms.add(alarm)
    return { cancel: () => void alarms.delete(alarm) }
  }

  return {
    // As `Date.now` has it.
    now: () => Math.floor(wall),
    monotonic: () => steady,
    after,

    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const done = () => {
          timer.cancel()
          signal?.removeEventListener('abort', done)
          resolve()
        }
        const timer = after(ms, done)
        signal?.addEventListener('abort', done, { once: true })
      })
    },

    async advance(ms) {
      const end = steady + ms
      await settle()
      for (let alarm = next(); alarm !== undefined && alarm.due <= end; alarm = next()) {
        alarms.delete(alarm)
        pass(Math.max(0, alarm.due - steady))
        alarm.task()
        await settle()
      }
      pass(end - steady)
    },

    stepWall(ms) {
      wall += ms
    },

    blockLoop: pass,
  }
}

/** Promises that settle each other take a turn each. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await Promise.resolve()
}
