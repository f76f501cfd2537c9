/** How many polls may be started now: what keeps a crowd that is due at once from starting at once. */
export interface StartRate {
  /** So many starts come in per millisecond; what has come in stays. */
  configure(perMs: number, now: number): void
  /** Adds what has come in since the last time. */
  fill(now: number): void
  spend(): void
  /** One may be started from 1 on. */
  readonly left: number
  /** When one may be started; `now` if that is so already. */
  readyAt(now: number): number
}

/** How many may start at once, whatever the pace. */
const SMALLEST_BURST = 8
/** At a fast pace, as many as come in within this time. */
const BURST_MS = 50

export function createStartRate(): StartRate {
  let perMs = 0
  let left = SMALLEST_BURST
  let filledAt = 0

  function fill(now: number): void {
    left = Math.min(Math.max(SMALLEST_BURST, perMs * BURST_MS), left + perMs * (now - filledAt))
    filledAt = now
  }

  return {
    configure(pace, now) {
      fill(now)
      perMs = pace
    },
    fill,
    spend() {
      left -= 1
    },
    get left() {
      return left
    },
    readyAt: (now) => (left < 1 && perMs > 0 ? now + (1 - left) / perMs : now),
  }
}
