import type { Clock } from '../../clock.ts'
import { FairQueue, FairShare } from '../../core/fair-share.ts'

/**
 * Draws and compresses views one at a time, one client after the other, and in at most a quarter of the time, or a tenth while
 * many wait: a view of many endpoints takes milliseconds, and its address can be varied without end.
 */
export class DrawingTurns {
  readonly #clock: Pick<Clock, 'monotonic' | 'after'>
  readonly #waiting = new FairQueue<(mayBegin: true) => void>()
  readonly #places = new FairShare(MOST_WAITING)
  #restsUntil = 0
  #isBusy = false
  #isPlanned = false

  constructor(clock: Pick<Clock, 'monotonic' | 'after'>) {
    this.#clock = clock
  }

  /**
   * `null` if too many wait already, or too many of this client, or if it left (`signal`). `client`: by address; `null` for one that
   * always may. Data is loaded before the turn, because the store may be slow, but not without a place.
   */
  async draw<Data, T>(
    client: string | null,
    load: () => Promise<Data>,
    work: (data: Data) => Promise<T>,
    signal: AbortSignal | null = null,
  ): Promise<T | null> {
    if (signal?.aborted === true || (client !== null && !this.#places.mayTake(client))) return null
    this.#places.take(client)
    try {
      const data = await load()
      return (await this.#turn(client, signal)) ? await this.#work(() => work(data)) : null
    } finally {
      this.#places.release(client)
    }
  }

  /** Whether the client is still there when its turn comes. */
  #turn(client: string | null, signal: AbortSignal | null): Promise<boolean> | boolean {
    if (signal?.aborted === true) return false
    if (!this.#isBusy && this.#waiting.size === 0 && this.#clock.monotonic() >= this.#restsUntil) {
      this.#isBusy = true
      return true
    }
    return new Promise<boolean>((resolve) => {
      this.#waiting.add(client, resolve)
      signal?.addEventListener('abort', () => this.#waiting.delete(resolve) && resolve(false))
      this.#plan()
    })
  }

  async #work<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = this.#clock.monotonic()
    try {
      return await work()
    } finally {
      const endedAt = this.#clock.monotonic()
      const rest = this.#waiting.size > CROWD ? REST_IN_CROWD : REST_PER_DRAWING
      this.#restsUntil = endedAt + rest * (endedAt - startedAt)
      this.#isBusy = false
      this.#plan()
    }
  }

  #plan(): void {
    if (this.#isBusy || this.#isPlanned || this.#waiting.size === 0) return
    this.#isPlanned = true
    this.#clock.after(this.#restsUntil - this.#clock.monotonic(), () => {
      this.#isPlanned = false
      const next = this.#waiting.next(() => true)
      if (next === null) return
      // Until the work ends, which begins in a later microtask.
      this.#isBusy = true
      next.item(true)
    })
  }
}

/** After a view was drawn, drawing pauses for this many times as long. */
const REST_PER_DRAWING = 3
/** The same while more than `CROWD` requests wait: this many people do not open a page at once, a flood does. */
const REST_IN_CROWD = 9
const CROWD = 16
/** Requests that wait to be drawn; half of them by one client. */
const MOST_WAITING = 256
