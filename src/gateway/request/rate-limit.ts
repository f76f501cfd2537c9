import type { Clock } from '../../clock.ts'

export interface RateLimit {
  readonly requests: number
  readonly perMs: number
}

/** A token bucket: `requests` at once, and as many again evenly over `perMs`. */
export interface Bucket {
  readonly limit: RateLimit
  /** 0 when `count` requests may go ahead, and are counted; else how many ms until they may. */
  take(count: number): number
  /** What was taken for nothing. */
  giveBack(count: number): void
}

export interface BucketDeps {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly limit: RateLimit
}

export function createBucket({ clock, limit }: BucketDeps): Bucket {
  const { requests, perMs } = limit
  const perToken = perMs / requests
  let tokens = requests
  let filledAt = clock.monotonic()

  return {
    limit,

    take(count) {
      const now = clock.monotonic()
      tokens = Math.min(requests, tokens + (now - filledAt) / perToken)
      filledAt = now
      // Fractions of a token are lost to rounding: who waited as long as was said must not come too early.
      if (tokens >= count - 1e-9) {
        tokens -= count
        return 0
      }
      return Math.max(1, Math.ceil((count - tokens) * perToken))
    },

    giveBack(count) {
      tokens = Math.min(requests, tokens + count)
    },
  }
}
