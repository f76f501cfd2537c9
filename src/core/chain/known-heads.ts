import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { createHeightTally, type HeightTally } from './height-tally.ts'

/** The last head of one endpoint, as it is kept over a restart. */
export interface SeenHead {
  readonly head: Head
  /** The highest height since the last real step back; smaller steps are a pool's jitter. */
  readonly highest: number
  /** When its height was last seen to grow. */
  readonly advancedAt: UnixMs
}

/** The last head of every endpoint of one chain: of those that answer now, and of those that are silent. */
export interface KnownHeads {
  /** Everybody's: blocks that were there do not go away with who told them. */
  readonly all: HeightTally
  /** Of those that answered recently. */
  readonly recent: HeightTally
  /** Grows whenever somebody stands elsewhere, comes or falls silent: while it is the same, so are both tallies. */
  readonly changes: number
  endpoints(): Iterable<string>
  recentEndpoints(): Iterable<string>
  isRecent(endpoint: string): boolean
  seen(endpoint: string): SeenHead | undefined
  /** When it last told its head; at the latest when that last grew. */
  readAt(endpoint: string): UnixMs
  heads(): Iterable<SeenHead>
  /** Whether no more stand at another block of its height. Asked of one height again and again it looks at nobody. */
  isMostReported(height: number, hash: string): boolean
  /** Whether its height grew, beyond a pool's jitter. */
  take(endpoint: string, head: Head, at: UnixMs): boolean
  /** Those that have not answered since then fall silent; who they are. */
  expire(before: UnixMs): readonly string[]
  forget(endpoint: string): boolean
  /** Without `answeredAt` it counts as silent until it answers again. */
  restore(endpoint: string, seen: SeenHead, answeredAt?: UnixMs): void
  shift(ms: number): void
}

/**
 * Those that answer now are a list, the longest silent first: everybody goes to its end at every poll, and the first of a `Map` of
 * thousands from which as much is deleted is found only behind all that was.
 */
interface Link {
  before: Link
  after: Link
}

interface Known extends Link {
  readonly endpoint: string
  seen: SeenHead
  readAt: UnixMs | null
  /** `null` while it is silent. */
  answeredAt: UnixMs | null
}

/** A step back by no more than `jitterBlocks` keeps the mark to beat, so that swinging between two heights is no advance. */
export function createKnownHeads(jitterBlocks: number): KnownHeads {
  const known = new Map<string, Known>()
  const all = createHeightTally()
  const recent = createHeightTally()
  const ends = createEnds()
  let changes = 0
  /** How many stand at which block, of the height that was asked for last. */
  const counted = { height: -1, byHash: new Map<string, number>() }

  function count({ height, hash }: Head, by: 1 | -1): void {
    if (height !== counted.height) return
    const left = (counted.byHash.get(hash) ?? 0) + by
    if (left === 0) counted.byHash.delete(hash)
    else counted.byHash.set(hash, left)
  }

  function add(endpoint: string, seen: SeenHead): Known {
    const one: Known = { endpoint, seen, readAt: null, answeredAt: null, before: ends, after: ends }
    known.set(endpoint, one)
    all.add(seen.head.height)
    count(seen.head, 1)
    changes++
    return one
  }

  function stand(one: Known, seen: SeenHead): void {
    const { height, hash } = one.seen.head
    if (height !== seen.head.height || hash !== seen.head.hash) {
      count(one.seen.head, -1)
      count(seen.head, 1)
    }
    one.seen = seen
    if (height === seen.head.height) return
    all.remove(height)
    all.add(seen.head.height)
    if (one.answeredAt !== null) {
      recent.remove(height)
      recent.add(seen.head.height)
    }
    changes++
  }

  function answer(one: Known, at: UnixMs): void {
    if (one.answeredAt === null) {
      recent.add(one.seen.head.height)
      changes++
    } else unlink(one)
    one.answeredAt = at
    linkBefore(ends, one)
  }

  function fallSilent(one: Known): void {
    if (one.answeredAt === null) return
    one.answeredAt = null
    unlink(one)
    recent.remove(one.seen.head.height)
    changes++
  }

  return {
    all,
    recent,
    get changes() {
      return changes
    },
    endpoints: () => known.keys(),
    *recentEndpoints() {
      for (let link = ends.after; link !== ends; link = link.after) yield (link as Known).endpoint
    },
    isRecent: (endpoint) => (known.get(endpoint)?.answeredAt ?? null) !== null,
    seen: (endpoint) => known.get(endpoint)?.seen,
    readAt(endpoint) {
      const one = known.get(endpoint)
      return one?.readAt ?? one?.seen.advancedAt ?? 0
    },
    *heads() {
      for (const { seen } of known.values()) yield seen
    },

    isMostReported(height, hash) {
      if (counted.height !== height) {
        counted.height = height
        counted.byHash.clear()
        for (const { seen } of known.values()) count(seen.head, 1)
      }
      const most = counted.byHash.get(hash) ?? 0
      for (const [other, standing] of counted.byHash) if (other !== hash && standing > most) return false
      return most > 0
    },

    take(endpoint, head, at) {
      const one = known.get(endpoint)
      const before = one?.seen
      const advanced = before === undefined || head.height > before.highest
      const fellBack = before !== undefined && head.height < before.highest - jitterBlocks
      const highest = fellBack || before === undefined ? head.height : Math.max(head.height, before.highest)
      const advancedAt = advanced ? at : before.advancedAt
      const isSame = head === before?.head && highest === before.highest && !advanced
      const seen = isSame ? before : { head, highest, advancedAt }
      const told = one ?? add(endpoint, seen)
      stand(told, seen)
      answer(told, at)
      told.readAt = at
      return advanced
    },

    expire(before) {
      if (!isSilent(ends.after, before)) return NOBODY
      const silenced: string[] = []
      for (let link = ends.after; isSilent(link, before); link = ends.after) {
        fallSilent(link)
        silenced.push(link.endpoint)
      }
      return silenced
    },

    forget(endpoint) {
      const one = known.get(endpoint)
      if (one === undefined) return false
      fallSilent(one)
      all.remove(one.seen.head.height)
      count(one.seen.head, -1)
      known.delete(endpoint)
      changes++
      return true
    },

    restore(endpoint, seen, answered) {
      if (known.has(endpoint)) return
      const one = add(endpoint, seen)
      if (answered !== undefined) answer(one, answered)
    },

    shift(ms) {
      for (const one of known.values()) {
        one.seen = { ...one.seen, advancedAt: one.seen.advancedAt + ms }
        if (one.readAt !== null) one.readAt += ms
        if (one.answeredAt !== null) one.answeredAt += ms
      }
    },
  }

  /** Only the list's ends are no endpoint. */
  function isSilent(link: Link, before: UnixMs): link is Known {
    return link !== ends && ((link as Known).answeredAt ?? before) < before
  }
}

const NOBODY: readonly string[] = Object.freeze([])

function createEnds(): Link {
  const ends = {} as Link
  ends.before = ends
  ends.after = ends
  return ends
}

function unlink(link: Link): void {
  link.before.after = link.after
  link.after.before = link.before
}

function linkBefore(next: Link, link: Link): void {
  link.before = next.before
  link.after = next
  next.before.after = link
  next.before = link
}
