import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { createHeightTally, type HeightTally } from './height-tally.ts'

/** The last head of every endpoint of one chain, with one tally of all endpoints and one of the recent ones. */
export interface KnownHeads {
  /** Includes endpoints that no longer answer: a block that existed still exists without them. */
  readonly all: HeightTally
  readonly recent: HeightTally
  /** Since when only one endpoint answers; `null` if several do, or none. */
  readonly aloneSince: UnixMs | null
  endpoints(): Iterable<string>
  recentEndpoints(): Iterable<string>
  isRecent(endpoint: string): boolean
  seen(endpoint: string): SeenHead | undefined
  /** When its head was last read; after a restart, when its height last grew. */
  readAt(endpoint: string): UnixMs
  heads(): Iterable<SeenHead>
  /** Whether no other block of this height has more endpoints. Repeated calls for the same height are fast. */
  isMostReported(height: number, hash: string): boolean
  /** Returns whether the height grew above `highest`. */
  add(endpoint: string, head: Head, at: UnixMs): boolean
  /** Removes endpoints that have not answered for `recentMs` from `recent`, and returns them. */
  expire(now: UnixMs): readonly string[]
  forget(endpoint: string): boolean
  /** The endpoint is not in `recent` until it answers again. */
  restore(endpoint: string, seen: SeenHead): void
  shift(ms: number): void
}

/** The last head of one endpoint. Plain data: stored over a restart. */
export interface SeenHead {
  readonly head: Head
  /** The highest height since the last step back of more than the jitter of a pool. */
  readonly highest: number
  readonly advancedAt: UnixMs
}

export type HeadMove =
  | { readonly kind: 'first' | 'advanced' | 'same' }
  /** Another block at a height where it had one: the same height, or the parent of the next height. */
  | { readonly kind: 'reorged'; readonly height: number; readonly previousHash: string; readonly hash: string }
  | { readonly kind: 'regressed'; readonly blocks: number }

/** How an endpoint's head changed. */
export function moveOf(last: Head | undefined, head: Head): HeadMove {
  if (last === undefined) return { kind: 'first' }
  if (head.height < last.height) return { kind: 'regressed', blocks: last.height - head.height }
  if (head.height === last.height) {
    if (head.hash === last.hash) return { kind: 'same' }
    return { kind: 'reorged', height: head.height, previousHash: last.hash, hash: head.hash }
  }
  if (head.height === last.height + 1 && head.parentHash !== last.hash) {
    return { kind: 'reorged', height: last.height, previousHash: last.hash, hash: head.parentHash }
  }
  return { kind: 'advanced' }
}

/**
 * A linked list of the recent endpoints, oldest answer first. A `Map` would be slow with thousands of endpoints:
 * finding its first entry means skipping all deleted ones.
 */
interface Link {
  before: Link
  after: Link
}

interface KnownHead extends Link {
  readonly endpoint: string
  seen: SeenHead
  readAt: UnixMs | null
  /** `null` unless it answered recently. */
  answeredAt: UnixMs | null
}

/** `highest` ignores steps back of at most `lagBlocks`: a pool that swings between two heights does not advance. */
export function createKnownHeads(options: { readonly lagBlocks: number; readonly recentMs: number }): KnownHeads {
  const known = new Map<string, KnownHead>()
  const all = createHeightTally()
  const recent = createHeightTally()
  const ends = createEnds()
  let aloneSince: UnixMs | null = null
  const recency = createRecency(options)
  /** Endpoints by hash, at the height of the last `isMostReported` call. */
  const counted = { height: -1, byHash: new Map<string, number>() }

  function count({ height, hash }: Head, by: 1 | -1): void {
    if (height !== counted.height) return
    const left = (counted.byHash.get(hash) ?? 0) + by
    if (left === 0) counted.byHash.delete(hash)
    else counted.byHash.set(hash, left)
  }

  function insert(endpoint: string, seen: SeenHead): KnownHead {
    const one: KnownHead = { endpoint, seen, readAt: null, answeredAt: null, before: ends, after: ends }
    known.set(endpoint, one)
    all.add(seen.head.height)
    count(seen.head, 1)
    return one
  }

  function setHead(one: KnownHead, seen: SeenHead): void {
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
  }

  function setAnswered(one: KnownHead, at: UnixMs): void {
    if (one.answeredAt === null) {
      recent.add(one.seen.head.height)
    } else unlink(one)
    one.answeredAt = at
    linkBefore(ends, one)
  }

  function setExpired(one: KnownHead): void {
    if (one.answeredAt === null) return
    one.answeredAt = null
    unlink(one)
    recent.remove(one.seen.head.height)
  }

  return {
    all,
    recent,
    get aloneSince() {
      return aloneSince
    },
    endpoints: () => known.keys(),
    *recentEndpoints() {
      for (let link = ends.after; link !== ends; link = link.after) yield (link as KnownHead).endpoint
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

    add(endpoint, head, at) {
      const one = known.get(endpoint)
      const before = one?.seen
      const advanced = before === undefined || head.height > before.highest
      const fellBack = before !== undefined && head.height < before.highest - options.lagBlocks
      const highest = fellBack || before === undefined ? head.height : Math.max(head.height, before.highest)
      const advancedAt = advanced ? at : before.advancedAt
      const isSame = head === before?.head && highest === before.highest && !advanced
      const seen = isSame ? before : { head, highest, advancedAt }
      const entry = one ?? insert(endpoint, seen)
      setHead(entry, seen)
      setAnswered(entry, at)
      entry.readAt = at
      aloneSince = recent.size > 1 ? null : (aloneSince ?? at)
      return advanced
    },

    expire(now) {
      const before = now - recency.msAt(now)
      if (!isOlder(ends.after, before)) return NONE
      const expired: string[] = []
      for (let link = ends.after; isOlder(link, before); link = ends.after) {
        setExpired(link)
        expired.push(link.endpoint)
      }
      return expired
    },

    forget(endpoint) {
      const one = known.get(endpoint)
      if (one === undefined) return false
      setExpired(one)
      all.remove(one.seen.head.height)
      count(one.seen.head, -1)
      known.delete(endpoint)
      return true
    },

    restore(endpoint, seen) {
      if (!known.has(endpoint)) insert(endpoint, seen)
    },

    shift(ms) {
      if (aloneSince !== null) aloneSince += ms
      recency.shift(ms)
      for (const one of known.values()) {
        one.seen = { ...one.seen, advancedAt: one.seen.advancedAt + ms }
        if (one.readAt !== null) one.readAt += ms
        if (one.answeredAt !== null) one.answeredAt += ms
      }
    },
  }

  /** The list's end is not an endpoint. */
  function isOlder(link: Link, before: UnixMs): link is KnownHead {
    return link !== ends && ((link as KnownHead).answeredAt ?? before) < before
  }
}

/**
 * When `recentMs` becomes shorter, the longer one holds until it has passed once: most endpoints were not polled at the new
 * pace yet.
 */
function createRecency(options: { readonly recentMs: number }) {
  let { recentMs } = options
  let longerUntil: UnixMs | null = null

  return {
    msAt(now: UnixMs): number {
      if (options.recentMs < recentMs && now < (longerUntil ??= now + recentMs)) return recentMs
      longerUntil = null
      recentMs = options.recentMs
      return recentMs
    },
    shift(ms: number): void {
      if (longerUntil !== null) longerUntil += ms
    },
  }
}

/** What half of all, or half of the recent endpoints have reached. No limit for two, as either may be right. */
export function reachedByHalf({ all, recent }: KnownHeads): number {
  const of = (tally: HeightTally) =>
    tally.size <= 2 ? Number.POSITIVE_INFINITY : (tally.reachedBy(Math.ceil(tally.size / 2)) ?? 0)
  return Math.max(of(all), of(recent))
}

const NONE: readonly string[] = Object.freeze([])

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
