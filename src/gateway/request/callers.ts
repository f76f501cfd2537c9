import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { createTokenBucket } from '../../core/token-bucket.ts'
import type { Secret } from '../../secret.ts'

export type Callers = ReturnType<typeof createCallers>

export interface CallerSettings {
  readonly name: string
  readonly endpointId: Secret
  readonly networks: readonly string[]
  readonly admin: boolean
  readonly rateLimit: RateLimit | null
  readonly methods: readonly string[]
  /** Origins whose pages may call from a browser; `*` is any. */
  readonly cors: readonly string[]
}

export interface RateLimit {
  readonly requests: number
  readonly perMs: number
}

/** An authenticated caller, without its id. */
export interface Caller {
  readonly name: string
  readonly networks: ReadonlySet<string>
  readonly admin: boolean
  readonly methods: readonly string[]
  readonly origins: ReadonlySet<string>
  readonly rateLimiter: RateLimiter | null
  readonly tally: CallerTally
}

/** Counts since the start, across reloads. */
export interface CallerTally {
  /** Each element of a batch counts. */
  requests: number
  /** Requests that the gateway answered with its own error. */
  rejected: number
}

/** Longer ids are cut before hashing, because no valid id is as long. */
const MAX_ID_LENGTH = 512

/**
 * The configured callers, found by `endpoint_id`. A salt per process prevents guesses with a chosen digest prefix, so the lookup does not reveal how close a guess is.
 * The comparison takes constant time.
 */
export function createCallers({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }) {
  const salt = randomBytes(16).toString('hex')
  const unmatched = randomBytes(32)
  let byDigest = new Map<string, { readonly digest: Buffer; readonly caller: Caller }>()
  /** Holds only valid ids, so that no wrong id is faster than another. Saves 4 µs per request. */
  let validIds = new Map<string, Caller>()
  let list: readonly Caller[] = []

  function digestOf(endpointId: string): Buffer {
    return hash('sha256', salt + endpointId, 'buffer')
  }

  return {
    /** Replaces all callers from the next request on. A caller that keeps its name and limit keeps its tokens. */
    configure(settings: readonly CallerSettings[]): void {
      const before = new Map(list.map((caller) => [caller.name, caller]))
      const entries = settings.map((of) => ({
        digest: digestOf(of.endpointId.reveal()),
        caller: callerOf(of, before.get(of.name), clock),
      }))
      validIds = new Map()
      byDigest = new Map(entries.map((entry) => [entry.digest.toString('latin1'), entry]))
      list = entries.map(({ caller }) => caller)
    },

    /** Takes the same time for every wrong id. */
    find(endpointId: string): Caller | null {
      const known = validIds.get(endpointId)
      if (known !== undefined) return known
      const digest = digestOf(endpointId.length > MAX_ID_LENGTH ? endpointId.slice(0, MAX_ID_LENGTH) : endpointId)
      const entry = byDigest.get(digest.toString('latin1'))
      const isEqual = timingSafeEqual(digest, entry?.digest ?? unmatched)
      if (!isEqual || entry === undefined) return null
      validIds.set(endpointId, entry.caller)
      return entry.caller
    },

    /** In the order of the configuration. */
    list: (): readonly Caller[] => list,
    /** The name under which a caller shares limited resources; `null` if it is the only one and may use everything. */
    shareOf: ({ name }: Caller): string | null => (list.length > 1 ? name : null),
  }
}

function callerOf(of: CallerSettings, before: Caller | undefined, clock: Pick<Clock, 'monotonic'>): Caller {
  const { name, networks, admin, methods, cors, rateLimit: limit } = of
  const old = before?.rateLimiter ?? null
  const isSame = limit !== null && old?.limit.requests === limit.requests && old.limit.perMs === limit.perMs
  return {
    name,
    networks: new Set(networks),
    admin,
    methods,
    origins: new Set(cors),
    rateLimiter: limit === null ? null : isSame ? old : createRateLimiter({ clock, limit }),
    tally: before?.tally ?? { requests: 0, rejected: 0 },
  }
}

type RateLimiter = ReturnType<typeof createRateLimiter>

interface RateLimiterDeps {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly limit: RateLimit
}

/** The rate limit of one caller: a token bucket of `requests`, refilled in `perMs`. */
export function createRateLimiter({ clock, limit }: RateLimiterDeps) {
  const { requests, perMs } = limit
  const bucket = createTokenBucket(requests, requests / perMs, clock.monotonic())

  return {
    limit,
    /** Returns 0 and counts the requests if they are admitted, else the milliseconds until they would be. */
    take(count: number): number {
      const waitMs = bucket.waitMs(count, clock.monotonic())
      if (waitMs > 0) return Math.max(1, Math.ceil(waitMs))
      bucket.take(count)
      return 0
    },
    /** Requests that were counted but not made. */
    giveBack: bucket.giveBack,
  }
}
