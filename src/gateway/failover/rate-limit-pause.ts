/** The pause after a node rate-limited the gateway (status 429, or an error that says so), by its Retry-After if it sent one. */
export class RateLimitPause {
  #until = Number.NEGATIVE_INFINITY
  #nextPauseMs = FIRST_PAUSE_MS
  #isSetByNode = false

  begin(retryAfterMs: number | null, now: number): void {
    if (retryAfterMs !== null) {
      const until = now + Math.min(retryAfterMs, LONGEST_PAUSE_MS)
      // In place of a guess, but requests in flight may say less than the first one did.
      this.#until = this.isTold(now) ? Math.max(this.#until, until) : until
      this.#isSetByNode = true
      return
    }
    // Requests in flight at the first rejection are rejected as well; this must not double the pause.
    if (now < this.#until) return
    this.#until = now + this.#nextPauseMs
    this.#isSetByNode = false
    this.#nextPauseMs = Math.min(this.#nextPauseMs * 2, LONGEST_OWN_PAUSE_MS)
  }

  /** Called when the node answered. */
  reset(): void {
    this.#nextPauseMs = FIRST_PAUSE_MS
  }

  /** 0 if there is no pause. */
  remainingMs(now: number): number {
    return Math.max(0, this.#until - now)
  }

  /** Whether the node itself said for how long. */
  isTold(now: number): boolean {
    return this.#isSetByNode && now < this.#until
  }

  /** Whether one request may test the limit: only if the gateway guessed the length of the pause. */
  mayTest(now: number, inFlight: number): boolean {
    return this.remainingMs(now) === 0 || (!this.isTold(now) && inFlight === 0)
  }
}

const FIRST_PAUSE_MS = 1000
const LONGEST_OWN_PAUSE_MS = 60_000
/** Caps Retry-After, because some providers send the seconds until midnight. */
const LONGEST_PAUSE_MS = 300_000
