/**
 * Keeps traffic away from an endpoint that keeps failing, before the polls confirm it. Closed, it counts; open, it lets nobody
 * through for a while; then one request tries. Times are on the monotonic clock.
 */
export interface CircuitBreaker {
  /** Whether a request may be sent. */
  allows(now: number): boolean
  /** One is being sent. */
  begin(now: number): void
  /** It was answered, whatever the answer. */
  succeed(): void
  /** It failed by the endpoint's fault; whether this opened the breaker. */
  fail(now: number): boolean
  /** It came to nothing that says anything of the endpoint: the caller left, or we were out of resources. */
  ignore(): void
  /** A poll found the endpoint well. */
  close(): void
  state(now: number): 'closed' | 'open' | 'half-open'
}

/** Of the last attempts so many failed: two in a row may be chance, half of ten is none. */
const LOOK_BACK = 10
const TOO_MANY = 5

const FIRST_OPEN_MS = 10_000
const LONGEST_OPEN_MS = 300_000

/** A trial that nobody heard of again does not keep all others out for ever. */
const TRIAL_MS = 15_000

export function createCircuitBreaker(): CircuitBreaker {
  /** The last ten as bits, the latest lowest: 1 failed. */
  let last = 0
  let openUntil: number | null = null
  let openMs = FIRST_OPEN_MS
  let triedAt: number | null = null

  function open(now: number): void {
    openUntil = now + openMs
    openMs = Math.min(openMs * 2, LONGEST_OPEN_MS)
    triedAt = null
    last = 0
  }

  function close(): void {
    openUntil = null
    triedAt = null
    last = 0
    answered = 0
  }

  /** In a row, since it was last closed. */
  let answered = 0

  return {
    allows(now) {
      if (openUntil === null) return true
      return now >= openUntil && (triedAt === null || now - triedAt >= TRIAL_MS)
    },
    begin(now) {
      if (openUntil !== null && now >= openUntil) triedAt = now
    },
    succeed() {
      if (openUntil !== null) return close()
      last = (last << 1) & WINDOW
      // Only lasting health ends the doubling: one that is opened at every turn stays away for longer and longer.
      if (answered < LOOK_BACK) answered++
      else openMs = FIRST_OPEN_MS
    },
    fail(now) {
      answered = 0
      if (openUntil !== null) {
        // The trial failed; those that were sent before it opened have been counted.
        if (triedAt === null) return false
        open(now)
        return true
      }
      last = ((last << 1) | 1) & WINDOW
      if (ones(last) < TOO_MANY) return false
      open(now)
      return true
    },
    ignore() {
      triedAt = null
    },
    close,
    state(now) {
      if (openUntil === null) return 'closed'
      return now >= openUntil ? 'half-open' : 'open'
    },
  }
}

const WINDOW = (1 << LOOK_BACK) - 1

function ones(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}
