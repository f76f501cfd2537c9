import type { Clock } from '../../clock.ts'
import { createTokenBucket } from '../../core/token-bucket.ts'

/** The rate limit of one caller: a token bucket of `requests`, refilled in `perMs`. */
export function createBucket({ clock, limit }: BucketDeps): Bucket {
  const { requests, perMs } = limit
  const bucket = createTokenBucket(requests, requests / perMs, clock.monotonic())

  return {
    limit,
    take(count) {
      const waitMs = bucket.waitMs(count, clock.monotonic())
      if (waitMs > 0) return Math.max(1, Math.ceil(waitMs))
      bucket.take(count)
      return 0
    },
    giveBack: (count) => bucket.giveBack(count),
  }
}

export interface RateLimit {
  readonly requests: number
  readonly perMs: number
}

export interface BucketDeps {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly limit: RateLimit
}

export interface Bucket {
  readonly limit: RateLimit
  /** 0 when `count` requests are admitted, and counted; else how many ms until they would be. */
  take(count: number): number
  /** Requests that were counted, but not made. */
  giveBack(count: number): void
}
