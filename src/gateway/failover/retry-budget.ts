/** Second attempts as a share of the requests: when everything fails at once, retries must not double the load. */
export interface RetryBudget {
  /** A request came in. */
  earn(now: number): void
  /** Whether one more attempt is within the budget; if so, it is spent. */
  spend(now: number): boolean
}

export interface RetryBudgetOptions {
  /** Attempts beyond the first, for each request. */
  readonly share: number
  /** That many are allowed in each window however few requests there are, so that single failures are always retried. */
  readonly floor: number
}

const WINDOW_MS = 10_000
const SLICES = 10
const SLICE_MS = WINDOW_MS / SLICES

/** Over the last ten seconds, second by second; times are on the monotonic clock. */
export function createRetryBudget({ share, floor }: RetryBudgetOptions): RetryBudget {
  const requests = new Float64Array(SLICES)
  const retries = new Float64Array(SLICES)
  let slice = 0
  let earned = 0
  let spent = 0

  function move(now: number): number {
    const current = Math.floor(now / SLICE_MS)
    if (current === slice) return current % SLICES
    const gone = Math.min(current - slice, SLICES)
    for (let step = 1; step <= gone; step++) {
      const at = (slice + step) % SLICES
      earned -= requests[at] as number
      spent -= retries[at] as number
      requests[at] = 0
      retries[at] = 0
    }
    // After a longer pause every slice was cleared, whichever they were.
    slice = current
    return current % SLICES
  }

  return {
    earn(now) {
      const at = move(now)
      requests[at] = (requests[at] as number) + 1
      earned++
    },
    spend(now) {
      const at = move(now)
      if (spent + 1 > Math.max(floor, share * earned)) return false
      retries[at] = (retries[at] as number) + 1
      spent++
      return true
    },
  }
}
