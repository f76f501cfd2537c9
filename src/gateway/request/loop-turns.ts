import type { Clock } from '../../clock.ts'
import { FairQueue } from '../../core/fair-share.ts'

/**
 * Shares the event loop between callers. In one iteration of the loop only a few calls begin, more after a long one; the others
 * wait for a later one, served one caller after the other. So a caller that sends more than the process can forward delays itself,
 * and neither other callers nor polls.
 */
export class LoopTurns {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #waiting = new FairQueue<() => void>()
  #left = CALLS_PER_TURN
  #isCounting = false
  #turnBeganAt = 0

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Returns `null` if the call may begin at once, also if `maxWaiting` or more calls wait. */
  next(caller: string | null, maxWaiting = Number.POSITIVE_INFINITY): Promise<void> | null {
    // Not for the first half of a turn, because planning a turn for each request would cost 1 % of it.
    if (!this.#isCounting && this.#left <= CALLS_PER_TURN / 2) {
      this.#isCounting = true
      this.#turnBeganAt = this.#clock.monotonic()
      setImmediate(this.#nextTurn)
    }
    if (this.#left > 0) {
      this.#left--
      return null
    }
    if (this.#waiting.size >= maxWaiting) return null
    return new Promise((resolve) => this.#waiting.add(caller, resolve))
  }

  readonly #nextTurn = (): void => {
    const now = this.#clock.monotonic()
    const due = Math.floor((now - this.#turnBeganAt) * CALLS_PER_MS)
    this.#turnBeganAt = now
    this.#left = Math.min(MAX_CALLS_PER_TURN, Math.max(CALLS_PER_TURN, due))
    for (; this.#left > 0; this.#left--) {
      const next = this.#waiting.next(anyCaller)
      if (next === null) break
      next.item()
    }
    this.#left = Math.min(this.#left, CALLS_PER_TURN)
    this.#isCounting = this.#left < CALLS_PER_TURN
    if (this.#isCounting) setImmediate(this.#nextTurn)
  }
}

const anyCaller = () => true

/** With their answers, about two milliseconds of processor time. */
const CALLS_PER_TURN = 8
/** Where other work makes turns long, calls get about half of the time. */
const CALLS_PER_MS = 2
const MAX_CALLS_PER_TURN = 64
