import type { Head } from './head.ts'
import { createHeightTally, type HeightTally } from './height-tally.ts'
import type { UnixMs } from './time.ts'

export interface ChainViewOptions {
  readonly blockTimeMs: number
  readonly lagBlocks: number
  readonly lagBlocksDown: number
  readonly stallMs: number
  /** An endpoint that has not answered for this long has no say in where the chain is now. */
  readonly recentMs: number
}

/** What an endpoint's new head is, beside its previous one. */
export type HeadMove =
  | { readonly kind: 'first' | 'advanced' | 'same' }
  /** Another block where it had one already: at the same height, or as the parent of the next. */
  | { readonly kind: 'reorged'; readonly height: number; readonly previousHash: string; readonly hash: string }
  | { readonly kind: 'regressed'; readonly blocks: number }

/** One endpoint's place on the chain. */
export interface ChainStanding {
  readonly head: Head
  /** When its height was last seen to grow. */
  readonly advancedAt: UnixMs
  /** Blocks behind the reference head, never negative. */
  readonly lagBlocks: number
  /** For how long the network had gone on without it; `null` when that is shorter than `stall`. */
  readonly stalledForMs: number | null
}

/** The head that the endpoints agree on. */
export interface ChainReference {
  readonly height: number
  readonly hash: string | null
  readonly timestamp: UnixMs | null
  /** When it was last seen to grow. */
  readonly advancedAt: UnixMs
}

/**
 * The recent heads of one chain (one shard) as its endpoints tell them, and where the chain really is.
 * Deterministic: time comes in with each head.
 */
export interface ChainView {
  take(endpoint: string, head: Head, at: UnixMs): HeadMove
  /** An endpoint that is gone, or serves another chain, has no say. */
  forget(endpoint: string): void
  /** `null` while nobody answers. */
  reference(now: UnixMs): ChainReference | null
  standing(endpoint: string, now: UnixMs): ChainStanding | null
  /** Nobody advances though endpoints answer: the chain's doing, not theirs. Cannot be told from a single endpoint. */
  halted(now: UnixMs): boolean
  /** What every endpoint was last seen at, to be kept over a restart. */
  seen(endpoint: string): SeenHead | null
  /** Puts back what was seen before. Without `answeredAt` it counts as old until the endpoint answers again. */
  restore(endpoint: string, seen: SeenHead, answeredAt?: UnixMs): void
  /** The wall clock was stepped by so much: what was remembered of it moves along, so that no time has passed. */
  shift(ms: number): void
}

export interface SeenHead {
  readonly head: Head
  /** The highest height since the last real step back; smaller steps are a pool's jitter. */
  readonly highest: number
  readonly advancedAt: UnixMs
}

export function createChainView(options: ChainViewOptions): ChainView {
  /** The last head of every endpoint, also of those that are silent now: blocks that were there do not go away. */
  const known = new Map<string, SeenHead>()
  const knownHeights = createHeightTally()
  /** Who answered recently, and when; the longest silent first. */
  const recent = new Map<string, UnixMs>()
  const recentHeights = createHeightTally()
  let reference: Reference | null = null
  /** When anybody's height was last seen to grow. */
  let lastAdvanceAt = Number.NEGATIVE_INFINITY
  /** Whether anybody stands elsewhere than when the reference was last worked out. */
  let moved = false
  /** Whether another block than the reference's was told at its height. */
  let disputed = false

  function silence(endpoint: string): void {
    const seen = known.get(endpoint)
    if (!recent.delete(endpoint) || seen === undefined) return
    recentHeights.remove(seen.head.height)
    moved = true
  }

  function dropSilent(now: UnixMs): void {
    for (const [endpoint, at] of recent) {
      if (now - at <= options.recentMs) return
      silence(endpoint)
    }
  }

  function put(endpoint: string, seen: SeenHead): void {
    const before = known.get(endpoint)
    if (before !== undefined) knownHeights.remove(before.head.height)
    known.set(endpoint, seen)
    knownHeights.add(seen.head.height)
  }

  /**
   * Who answers now says where the chain is; who was heard before says where it has been: it is the higher of the two, but
   * the few that are heard just now cannot claim more blocks than fit into the time since.
   */
  function settle(now: UnixMs): void {
    dropSilent(now)
    // What two may claim grows with time; everything else changes only when somebody moves.
    if (!moved && recent.size !== 2 && known.size !== 2) return
    moved = false
    const been = agreed(known.keys(), knownHeights, now)
    if (been === null) {
      reference = null
      return
    }
    const is = agreed(recent.keys(), recentHeights, now) ?? been
    const possible = been + options.lagBlocksDown + blocksIn(now - (reference?.advancedAt ?? lastAdvanceAt))
    const height = is > been && is <= possible ? is : been
    refer(height, now)
  }

  function refer(height: number, now: UnixMs): void {
    const vouched = isVouched(height, now)
    if (reference?.height === height && reference.vouched === vouched && !disputed) return
    disputed = false
    const block = blockAt(height)
    // As with an endpoint, a swing back by a pool's jitter is no new mark to beat.
    const fellBack = reference !== null && height < reference.highest - options.lagBlocks
    const advanced = reference === null || height > reference.highest
    reference = {
      height,
      hash: block?.hash ?? null,
      timestamp: block?.timestamp ?? null,
      advancedAt: reference === null || advanced ? now : reference.advancedAt,
      highest: reference === null || advanced || fellBack ? height : reference.highest,
      vouched,
    }
  }

  /** Two endpoints stand there; or one has gone on from where two stood, no faster than blocks can come. */
  function isVouched(height: number, now: UnixMs): boolean {
    if (knownHeights.reached(height - options.lagBlocks) >= 2) return true
    return reference?.vouched === true && height <= reachable(reference, now)
  }

  function reachable({ height, advancedAt }: Reference, now: UnixMs): number {
    return height + options.lagBlocks + blocksIn(now - advancedAt)
  }

  function agreed(endpoints: Iterable<string>, heights: HeightTally, now: UnixMs): number | null {
    if (heights.size === 2) return ofTwo([...endpoints], now)
    // Within `lagBlocks` is not yet lagging: a few that are ahead of everybody never make a majority late.
    return heights.ofMajority(options.lagBlocks - 1)
  }

  /** Two cannot outvote each other: the higher one is right unless it is further ahead than time allows. */
  function ofTwo(endpoints: readonly string[], now: UnixMs): number | null {
    const heads = endpoints.map((endpoint) => known.get(endpoint)?.head).filter((head) => head !== undefined)
    const [low, high] = heads.sort((a, b) => a.height - b.height)
    if (low === undefined || high === undefined) return low?.height ?? null
    const apartMs = Math.min(high.timestamp, now) - low.timestamp
    const possible = low.height + options.lagBlocksDown + blocksIn(apartMs)
    const expected = reference?.vouched === true ? reachable(reference, now) : 0
    return high.height <= Math.max(possible, expected) ? high.height : low.height
  }

  /** At most: the configured block time may be another chain's. */
  function blocksIn(ms: number): number {
    return Math.max(0, ms) / Math.min(options.blockTimeMs / 2, FASTEST_BLOCK_MS)
  }

  /** The block that most endpoints have at this height. */
  function blockAt(height: number): Head | null {
    const votes = new Map<string, { head: Head; count: number }>()
    for (const { head } of known.values()) {
      if (head.height !== height) continue
      const vote = votes.get(head.hash)
      if (vote === undefined) votes.set(head.hash, { head, count: 1 })
      else vote.count++
      if (votes.size === 1 && (votes.get(head.hash)?.count ?? 0) >= ENOUGH_VOTES) break
    }
    const winner = [...votes.values()].sort((a, b) => b.count - a.count)[0]
    return winner?.head ?? null
  }

  return {
    take(endpoint, head, at) {
      const before = known.get(endpoint)
      const move = moveOf(before, head)
      // A step back by no more than a pool's jitter keeps the mark, so that swinging between two heights is no advance.
      const fellBack = before !== undefined && head.height < before.highest - options.lagBlocks
      const advanced = before === undefined || head.height > before.highest
      silence(endpoint)
      put(endpoint, {
        head,
        highest: fellBack ? head.height : Math.max(head.height, before?.highest ?? head.height),
        advancedAt: advanced ? at : before.advancedAt,
      })
      recent.set(endpoint, at)
      recentHeights.add(head.height)
      moved = true
      if (advanced) lastAdvanceAt = Math.max(lastAdvanceAt, at)
      disputed ||= head.height === reference?.height && head.hash !== reference.hash
      settle(at)
      return move
    },

    forget(endpoint) {
      const seen = known.get(endpoint)
      if (seen === undefined) return
      silence(endpoint)
      knownHeights.remove(seen.head.height)
      known.delete(endpoint)
      moved = true
    },

    reference(now) {
      settle(now)
      return recent.size === 0 ? null : reference
    },

    standing(endpoint, now) {
      const seen = known.get(endpoint)
      settle(now)
      if (seen === undefined || reference === null) return null
      const behindMs = reference.advancedAt - seen.advancedAt
      const behind = reference.height > seen.head.height
      return {
        head: seen.head,
        advancedAt: seen.advancedAt,
        lagBlocks: Math.max(0, reference.height - seen.head.height),
        stalledForMs: behind && behindMs >= options.stallMs ? now - seen.advancedAt : null,
      }
    },

    halted(now) {
      settle(now)
      const latest = Math.max(reference?.advancedAt ?? now, lastAdvanceAt)
      return recent.size >= 2 && now - latest >= options.stallMs
    },

    seen: (endpoint) => known.get(endpoint) ?? null,

    restore(endpoint, seen, answeredAt) {
      if (known.has(endpoint)) return
      put(endpoint, seen)
      moved = true
      lastAdvanceAt = Math.max(lastAdvanceAt, seen.advancedAt)
      if (answeredAt === undefined) return
      recent.set(endpoint, answeredAt)
      recentHeights.add(seen.head.height)
    },

    shift(ms) {
      for (const [endpoint, seen] of known) known.set(endpoint, { ...seen, advancedAt: seen.advancedAt + ms })
      for (const [endpoint, at] of recent) recent.set(endpoint, at + ms)
      lastAdvanceAt += ms
      if (reference !== null) reference = { ...reference, advancedAt: reference.advancedAt + ms }
    },
  }
}

/** No chain makes blocks faster than this: a claim of more is a lie, or another chain. */
const FASTEST_BLOCK_MS = 250

interface Reference extends ChainReference {
  /** The highest height since the last real step back. */
  readonly highest: number
  /** More than one endpoint has stood there: it is no single one's claim. */
  readonly vouched: boolean
}

/** Endpoints of one mind that are asked before the rest is taken as agreeing: the walk must not cost more with ten thousand. */
const ENOUGH_VOTES = 16

function moveOf(before: SeenHead | undefined, head: Head): HeadMove {
  if (before === undefined) return { kind: 'first' }
  const last = before.head
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
