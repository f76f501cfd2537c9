import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Secret } from '../../secret.ts'
import { type Bucket, createBucket, type RateLimit } from './rate-limit.ts'

/** A caller as configured. */
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

/** A caller whose endpoint_id was right. Its id is not in here. */
export interface Caller {
  readonly name: string
  readonly networks: ReadonlySet<string>
  readonly admin: boolean
  readonly methods: readonly string[]
  readonly origins: ReadonlySet<string>
  readonly bucket: Bucket | null
  readonly tally: CallerTally
}

/** Since the start; goes on over reloads. */
export interface CallerTally {
  /** Each element of a batch counts. */
  requests: number
  /** Those of them, and whole requests, to which the gateway itself said no. */
  rejected: number
}

export interface Callers {
  /** The new whole set, for every request from now on. Who keeps its name and its limit goes on with what is left of it. */
  configure(settings: readonly CallerSettings[]): void
  /** Whose id this is. What is wrong takes the same work whatever is wrong with it; what is right is known again without. */
  find(endpointId: string): Caller | null
  /** In the order of the configuration. */
  list(): readonly Caller[]
}

interface Known {
  readonly digest: Buffer
  readonly caller: Caller
}

/** Longer than any id can be: an attacker's megabyte is not worth a digest. */
const LONGEST_ID = 512

/**
 * Nobody can choose what the digest of a guess begins with, since it is salted anew in every process: that it is looked up in a
 * table tells nothing of how near a guess is, and the comparison itself takes the same time for all.
 */
export function createCallers({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }): Callers {
  const salt = randomBytes(16).toString('hex')
  const nobody: Known = { digest: randomBytes(32), caller: nobodyIs() }
  let byDigest = new Map<string, Known>()
  /** Ids that were right: only those, so that what is wrong is never faster than anything else that is wrong. */
  let recognised = new Map<string, Caller>()
  let list: readonly Caller[] = []

  function digestOf(endpointId: string): Buffer {
    return hash('sha256', salt + endpointId, 'buffer')
  }

  return {
    configure(settings) {
      const before = new Map(list.map((caller) => [caller.name, caller]))
      const known = settings.map((of) => ({
        digest: digestOf(of.endpointId.reveal()),
        caller: callerOf(of, before.get(of.name), clock),
      }))
      recognised = new Map()
      byDigest = new Map(known.map((one) => [one.digest.toString('latin1'), one]))
      list = known.map(({ caller }) => caller)
    },

    find(endpointId) {
      // Looked up by a hash that is salted as well: one that is nearly right is found no sooner than any other.
      const before = recognised.get(endpointId)
      if (before !== undefined) return before
      const digest = digestOf(endpointId.length > LONGEST_ID ? endpointId.slice(0, LONGEST_ID) : endpointId)
      const found = byDigest.get(digest.toString('latin1')) ?? nobody
      const isRight = timingSafeEqual(digest, found.digest)
      if (!isRight || found === nobody) return null
      recognised.set(endpointId, found.caller)
      return found.caller
    },

    list: () => list,
  }
}

function callerOf(of: CallerSettings, before: Caller | undefined, clock: Pick<Clock, 'monotonic'>): Caller {
  const { name, networks, admin, methods, cors, rateLimit: limit } = of
  const old = before?.bucket ?? null
  const isSame = limit !== null && old?.limit.requests === limit.requests && old.limit.perMs === limit.perMs
  return {
    name,
    networks: new Set(networks),
    admin,
    methods,
    origins: new Set(cors),
    bucket: limit === null ? null : isSame ? old : createBucket({ clock, limit }),
    tally: before?.tally ?? { requests: 0, rejected: 0 },
  }
}

function nobodyIs(): Caller {
  const tally = { requests: 0, rejected: 0 }
  return { name: '', networks: new Set(), admin: false, methods: [], origins: new Set(), bucket: null, tally }
}
