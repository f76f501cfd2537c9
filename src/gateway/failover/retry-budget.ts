/**
 * Limits retries to a share of the requests of the last ten seconds, so that they do not double the load when
 * everything fails. Times are on the monotonic clock.
 */
export function createRetryBudget({ share, floor }: RetryBudgetOptions) {
  const requests = new Float64Array(SLICES)
  const retries = new Float64Array(SLICES)
  let slice = 0
  let earned = 0
  let spent = 0

  /** Clears expired slices and returns the index of the current one. */
  function advance(now: number): number {
    const current = Math.floor(now / SLICE_MS)
    const expired = Math.min(current - slice, SLICES)
    for (let step = 1; step <= expired; step++) {
      const at = (slice + step) % SLICES
      earned -= requests[at] as number
      spent -= retries[at] as number
      requests[at] = 0
      retries[at] = 0
    }
    slice = current
    return current % SLICES
  }

  return {
    earn(now: number): void {
      const at = advance(now)
      requests[at] = (requests[at] as number) + 1
      earned++
    },
    /** Whether the budget allows one more retry; if so, counts it. */
    spend(now: number): boolean {
      const at = advance(now)
      if (spent + 1 > Math.max(floor, share * earned)) return false
      retries[at] = (retries[at] as number) + 1
      spent++
      return true
    },
  }
}

export type RetryBudget = ReturnType<typeof createRetryBudget>

interface RetryBudgetOptions {
  /** Retries for each request. */
  readonly share: number
  /** Minimum number of retries, so that single failures are always retried. */
  readonly floor: number
}

const SLICES = 10
const SLICE_MS = 1000
