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
  readonly task: () => void
}

export function createFakeClock({ now = Date.UTC(2026, 0, 1), monotonic = 1000 } = {}): FakeClock {
  let wall: UnixMs = now
  let steady = monotonic
  /** The next one is the last. */
  const alarms: Alarm[] = []

  function pass(ms: number): void {
    wall += ms
    steady += ms
  }

  function after(delayMs: number, task: () => void): Timer {
    const alarm = { due: steady + Math.max(0, delayMs), task }
    // Of those that are due together, the first is the next.
    let at = 0
    for (let end = alarms.length; at < end; ) {
      const middle = (at + end) >> 1
      if ((alarms[middle]?.due ?? 0) > alarm.due) at = middle + 1
      else end = middle
    }
    alarms.splice(at, 0, alarm)
    return {
      cancel() {
        const place = alarms.lastIndexOf(alarm)
        if (place >= 0) alarms.splice(place, 1)
      },
    }
  }

  return {
    // As `Date.now` has it.
    now: () => Math.floor(wall),
    monotonic: () => steady,
    after,

    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal === undefined) return void after(ms, resolve)
        if (signal.aborted) return resolve()
        const done = () => {
          timer.cancel()
          signal.removeEventListener('abort', done)
          resolve()
        }
        const timer = after(ms, done)
        signal.addEventListener('abort', done)
      })
    },

    async advance(ms) {
      const end = steady + ms
      await settle()
      for (let alarm = alarms.at(-1); alarm !== undefined && alarm.due <= end; alarm = alarms.at(-1)) {
        alarms.pop()
        pass(Math.max(0, alarm.due - steady))
        alarm.task()
        await settle()
      }
      // A task, or what it settles, may have let time pass.
      pass(Math.max(0, end - steady))
    },

    stepWall(ms) {
      wall += ms
    },

    blockLoop: pass,
  }
}

/** After all promises that settle each other. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve)
  })
}
