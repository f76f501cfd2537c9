import { FairShare } from '../core/fair-share.ts'

/**
 * Limits the connections to all origins together. Half of them are divided among the origins, so that calls to one origin
 * that hang do not take the connections to others; the other half is shared fairly between callers.
 */
export class ConnectionBudget {
  readonly #max: number
  readonly #shared: FairShare
  /** Every pool with idle connections, and some without. */
  readonly #idle = new Set<BudgetedPool>()
  /** Every pool with waiting requests, and some without; the one that was served longest ago comes first. */
  readonly #waiting = new Set<BudgetedPool>()
  #ownPerOrigin = Number.POSITIVE_INFINITY
  /** Idle connections included. */
  #open = 0

  constructor(max: number) {
    this.#max = max
    this.#shared = new FairShare(Math.ceil(max / 2))
  }

  divide(origins: number): void {
    this.#ownPerOrigin = Math.max(FEWEST_CONNECTIONS, Math.floor(this.#max / 2 / Math.max(1, origins)))
    for (const pool of Array.from(this.#waiting)) pool.serveWaiting()
  }

  /** Whether a caller may use another connection to an origin, of which `own` are in use from the origin's own part. */
  mayTake(own: number, caller: string | null): boolean {
    return own < this.#ownPerOrigin || this.#shared.mayTake(caller)
  }

  /** Takes without a check. Returns whether the connection counts against the origin's own part. */
  take(own: number, caller: string | null): boolean {
    if (own < this.#ownPerOrigin) return true
    this.#shared.take(caller)
    return false
  }

  /** Returns a connection from the shared half, which requests of all pools may wait for. */
  release(caller: string | null): void {
    this.#shared.release(caller)
    for (const pool of Array.from(this.#waiting)) {
      if (this.#shared.total >= this.#shared.max) return
      const before = this.#shared.total
      const isWaiting = pool.serveWaiting()
      if (!isWaiting || this.#shared.total > before) this.#waiting.delete(pool)
      if (isWaiting) this.#waiting.add(pool)
    }
  }

  addWaiting(pool: BudgetedPool): void {
    this.#waiting.add(pool)
  }

  addIdle(pool: BudgetedPool): void {
    this.#idle.add(pool)
  }

  /** A connection that is opened beyond the limit closes an idle one. */
  opened(): void {
    if (++this.#open <= this.#max) return
    for (const pool of this.#idle) {
      if (pool.closeOldest()) return
      this.#idle.delete(pool)
    }
  }

  closed(): void {
    this.#open--
  }
}

export interface BudgetedPool {
  /** Closes the longest idle connection. Returns false without one. */
  closeOldest(): boolean
  /** Returns whether requests still wait. */
  serveWaiting(): boolean
}

const FEWEST_CONNECTIONS = 2
