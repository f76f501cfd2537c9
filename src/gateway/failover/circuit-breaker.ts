/**
 * Keeps requests away from an endpoint that keeps failing, before polls confirm it. Closed, it counts failures; open, it lets no
 * request through for a while; half-open, one request tests the endpoint. Times are on the monotonic clock.
 */
export function createCircuitBreaker(): CircuitBreaker {
  /** The last ten attempts as bits, the latest lowest: 1 failed. */
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

  return {
    allows(now) {
      if (openUntil === null) return true
      return now >= openUntil && (testedAt === null || now - testedAt >= TEST_MS)
    },
    begin(now) {
      if (openUntil !== null && now >= openUntil) testedAt = now
    },
    succeed() {
      if (openUntil !== null) return close()
      recent = (recent << 1) & ALL_RECENT
      // Only lasting health resets the time: an endpoint that fails again and again is avoided for longer and longer.
      if (answersInARow < WINDOW) answersInARow++
      else openMs = FIRST_OPEN_MS
    },
    fail(now) {
      answersInARow = 0
      if (openUntil !== null) {
        // Requests that were sent before it opened have been counted.
        if (testedAt === null) return false
        open(now)
        return true
      }
      recent = ((recent << 1) | 1) & ALL_RECENT
      if (bitsIn(recent) < TOO_MANY_FAILURES) return false
      open(now)
      return true
    },
    ignore() {
      testedAt = null
    },
    close,
    state(now) {
      if (openUntil === null) return 'closed'
      return now >= openUntil ? 'half-open' : 'open'
    },
  }
}

export interface CircuitBreaker {
  /** Whether a request may be sent. */
  allows(now: number): boolean
  begin(now: number): void
  /** It was answered, whatever the answer. */
  succeed(): void
  /** It failed through the endpoint's fault. Returns whether this opened the breaker. */
  fail(now: number): boolean
  /** It ended in a way that says nothing about the endpoint: the caller left, or resources on this side ran out. */
  ignore(): void
  /** A poll found the endpoint healthy. */
  close(): void
  state(now: number): 'closed' | 'open' | 'half-open'
}

function bitsIn(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}

/** Attempts that are looked at. Two failures in a row may be chance, half of ten are not. */
const WINDOW = 10
const ALL_RECENT = (1 << WINDOW) - 1
const TOO_MANY_FAILURES = 5
const FIRST_OPEN_MS = 10_000
const LONGEST_OPEN_MS = 300_000
/** After this, a test without result no longer keeps other requests out. */
const TEST_MS = 15_000
