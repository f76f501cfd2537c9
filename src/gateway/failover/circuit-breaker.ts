/**
 * Stops requests to a failing endpoint before polls confirm the failure. Closed: counts failures. Open: blocks requests
 * for a while. Half-open: one request tests the endpoint. Times are on the monotonic clock.
 */
export function createCircuitBreaker() {
  /** The last ten attempts as bits, the latest in the lowest bit; 1 means failed. */
  let recent = 0
  let openUntil: number | null = null
  let openMs = FIRST_OPEN_MS
  let testedAt: number | null = null
  let answersInARow = 0

  function open(now: number): void {
    openUntil = now + openMs
    openMs = Math.min(openMs * 2, LONGEST_OPEN_MS)
    testedAt = null
    recent = 0
  }

  function close(): void {
    openUntil = null
    testedAt = null
    recent = 0
    answersInARow = 0
  }

  function allows(now: number): boolean {
    if (openUntil === null) return true
    return now >= openUntil && (testedAt === null || now - testedAt >= TEST_MS)
  }

  return {
    allows,
    begin(now: number): void {
      if (openUntil !== null && allows(now)) testedAt = now
    },
    /** The request was answered, with any answer. */
    succeed(): void {
      if (openUntil !== null) return close()
      recent = (recent << 1) & ALL_RECENT
      // Only a full window of successes resets the open time, so a flapping endpoint is avoided for longer and longer.
      if (answersInARow < WINDOW) answersInARow++
      else openMs = FIRST_OPEN_MS
    },
    /** The request that began then failed through the endpoint's fault. Returns whether this opened the breaker. */
    fail(now: number, began: number): boolean {
      answersInARow = 0
      if (openUntil !== null) {
        // Only the test counts: requests sent before the breaker opened were counted already.
        if (began !== testedAt) return false
        open(now)
        return true
      }
      recent = ((recent << 1) | 1) & ALL_RECENT
      if (bitsIn(recent) < TOO_MANY_FAILURES) return false
      open(now)
      return true
    },
    /** The end of the request says nothing about the endpoint: the caller left, or local resources ran out. */
    ignore(began: number): void {
      if (began === testedAt) testedAt = null
    },
    /** A poll found the endpoint healthy. */
    close,
    state(now: number): 'closed' | 'open' | 'half-open' {
      if (openUntil === null) return 'closed'
      return now >= openUntil ? 'half-open' : 'open'
    },
  }
}

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>

function bitsIn(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}

/** Number of attempts considered. Two failures in a row may be chance, five of ten are not. */
const WINDOW = 10
const ALL_RECENT = (1 << WINDOW) - 1
const TOO_MANY_FAILURES = 5
const FIRST_OPEN_MS = 10_000
const LONGEST_OPEN_MS = 300_000
/** After this time, a test without result no longer blocks other requests. */
const TEST_MS = 15_000
