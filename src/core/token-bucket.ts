/** A fraction of a token that is lost to rounding must not make a caller wait again. */
const ROUNDING = 1e-9

/** A token bucket: holds up to `capacity` tokens and gains `perMs` tokens per millisecond. Callers pass the time. */
export function createTokenBucket(initialCapacity: number, initialPerMs: number, now: number) {
  let capacity = initialCapacity
  let perMs = initialPerMs
  let tokens = capacity
  let filledAt = now

  function fill(at: number): void {
    tokens = Math.min(capacity, tokens + perMs * (at - filledAt))
    filledAt = at
  }

  return {
    /** Keeps the present tokens, up to the new capacity. */
    configure(newCapacity: number, newPerMs: number, at: number): void {
      fill(at)
      capacity = newCapacity
      perMs = newPerMs
    },
    /** Milliseconds until `count` tokens are available; 0 if they are. */
    waitMs(count: number, at: number): number {
      fill(at)
      return tokens >= count - ROUNDING ? 0 : (count - tokens) / perMs
    },
    /** Takes tokens without a check: call `waitMs` first. */
    take(count: number): void {
      tokens -= count
    },
    giveBack(count: number): void {
      tokens = Math.min(capacity, tokens + count)
    },
  }
}
