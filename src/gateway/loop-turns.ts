import type { Clock, Timer } from '../clock.ts'
import { FairQueue } from '../core/fair-share.ts'

/**
 * Shares the event loop between callers. In one iteration of the loop only a few calls of each caller begin; the others
 * wait for a later one. So a caller that sends more than the process can forward delays itself, and neither other callers
 * nor polls.
 */
export class LoopTurns {
  readonly #waiting = new FairQueue<() => void>()
  /** Calls that began in this iteration, by caller. */
  readonly #begun = new Map<string | null, number>()
  readonly #callsOfOne: number
  readonly #callsPerTurn: number
  #total = 0
  #isCounting = false

  constructor(callsOfOne = CALLS_OF_ONE, callsPerTurn = CALLS_PER_TURN) {
    this.#callsOfOne = callsOfOne
    this.#callsPerTurn = callsPerTurn
  }

  /** Returns `null` if the call may begin at once, also if `maxWaiting` or more calls wait. */
  next(caller: string | null, maxWaiting = Number.POSITIVE_INFINITY): Promise<void> | null {
    // Not for the first half of a turn, because planning a turn for each request would cost 1 % of it.
    if (!this.#isCounting && this.#total >= this.#callsOfOne / 2) {
      this.#isCounting = true
      setImmediate(this.#nextTurn)
    }
    if (this.#total < this.#callsPerTurn && this.#mayBegin(caller)) {
      this.#begin(caller)
      return null
    }
    if (this.#waiting.size >= maxWaiting) return null
    return new Promise((resolve) => this.#waiting.add(caller, resolve))
  }

  readonly #mayBegin = (caller: string | null): boolean => (this.#begun.get(caller) ?? 0) < this.#callsOfOne

  #begin(caller: string | null): void {
    this.#total++
    this.#begun.set(caller, (this.#begun.get(caller) ?? 0) + 1)
  }

  readonly #nextTurn = (): void => {
    this.#begun.clear()
    this.#total = 0
    while (this.#total < this.#callsPerTurn) {
      const next = this.#waiting.next(this.#mayBegin)
      if (next === null) break
      this.#begin(next.caller)
      next.item()
    }
    this.#isCounting = this.#total > 0
    if (this.#isCounting) setImmediate(this.#nextTurn)
  }
}

/** With their answers, about two milliseconds of processor time. */
const CALLS_OF_ONE = 8
const CALLS_PER_TURN = 32

/**
 * Turns for slices of large answers, each of which takes up to a millisecond. A slice is what is received at once, or what is
 * scanned or written without a pause.
 */
export function turnsOfSlices(): LoopTurns {
  return new LoopTurns(SLICES_OF_ONE, SLICES_PER_TURN)
}

const SLICES_OF_ONE = 2
const SLICES_PER_TURN = 8

/**
 * In one iteration of the event loop only a few of these timers run, because thousands of calls may reach their deadline at
 * once. A timer that waits for its turn is no longer cancelled.
 */
export function pacedTimers(clock: Pick<Clock, 'now' | 'monotonic' | 'after'>) {
  const turns = new LoopTurns(CALLS_PER_TURN)
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (ms: number, task: () => void): Timer =>
      clock.after(ms, () => {
        const turn = turns.next(null)
        if (turn === null) task()
        else void turn.then(task)
      }),
  }
}
