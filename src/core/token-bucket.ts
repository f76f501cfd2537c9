/** A token bucket: holds up to `capacity` tokens and gains `perMs` tokens per millisecond. Callers pass the time. */
export interface TokenBucket {
  /** Keeps the present tokens, up to the new capacity. */
  configure(capacity: number, perMs: number, now: number): void
  /** Milliseconds until `count` tokens are available; 0 if they are. */
  waitMs(count: number, now: number): number
  /** Takes tokens without a check: call `waitMs` first. */
  take(count: number): void
  giveBack(count: number): void
}

/** A fraction of a token that is lost to rounding must not make a caller wait again. */
const ROUNDING = 1e-9

export function createTokenBucket(initialCapacity: number, initialPerMs: number, now: number): TokenBucket {
  let capacity = initialCapacity
  let perMs = initialPerMs
  let tokens = capacity
  let filledAt = now

  function fill(at: number): void {
    tokens = Math.min(capacity, tokens + perMs * (at - filledAt))
    filledAt = at
  }

  return {
    configure(newCapacity, newPerMs, at) {
      fill(at)
      capacity = newCapacity
      perMs = newPerMs
    },
    waitMs(count, at) {
      fill(at)
      return tokens >= count - ROUNDING ? 0 : (count - tokens) / perMs
    },
    take(count) {
      tokens -= count
    },
    giveBack(count) {
      tokens = Math.min(capacity, tokens + count)
    },
  }
}
