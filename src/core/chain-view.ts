import type { Head } from './head.ts'
import { createHeightTally } from './height-tally.ts'
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
  /** `null` before the first head. */
  reference(now: UnixMs): ChainReference | null
  standing(endpoint: string, now: UnixMs): ChainStanding | null
  /** Nobody advances though endpoints answer: the chain's doing, not theirs. Cannot be told from a single endpoint. */
  halted(now: UnixMs): boolean
  /** What every endpoint was last seen at, to be kept over a restart. */
  seen(endpoint: string): SeenHead | null
  /** Puts back what was seen before a restart; it counts as old until the endpoint answers again. */
  restore(endpoint: string, seen: SeenHead): void
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
  let reference: ChainReference | null = null
  /** Whether anybody stands elsewhere than when the reference was last worked out. */
  let moved = false

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

  /** Who answers now says where the chain is; who was heard before says where it has been: it is the higher of the two. */
  function settle(now: UnixMs): void {
    dropSilent(now)
    // What two may claim grows with time; everything else changes only when somebody moves.
    if (!moved && recent.size !== 2 && known.size !== 2) return
    moved = false
    const height = Math.max(agreed(recent.keys(), recentHeights, now), agreed(known.keys(), knownHeights, now))
    if (height < 0) {
      reference = null
      return
    }
    if (reference?.height === height && reference.hash !== null) return
    const block = blockAt(height)
    reference = {
      height,
      hash: block?.hash ?? null,
      timestamp: block?.timestamp ?? null,
      advancedAt: reference !== null && height <= reference.height ? reference.advancedAt : now,
    }
  }

  /** -1 when there is nobody. */
  function agreed(endpoints: Iterable<string>, heights: typeof knownHeights, now: UnixMs): number {
    if (heights.size === 2) return ofTwo([...endpoints], now)
    // Within `lagBlocks` is not yet lagging: a few that are ahead of everybody never make a majority late.
    return heights.ofMajority(options.lagBlocks - 1) ?? -1
  }

  /** Two cannot outvote each other: the higher one is right unless it is further ahead than time allows. */
  function ofTwo(endpoints: readonly string[], now: UnixMs): number {
    const heads = endpoints.map((endpoint) => known.get(endpoint)?.head).filter((head) => head !== undefined)
    const [low, high] = heads.sort((a, b) => a.height - b.height)
    if (low === undefined || high === undefined) return low?.height ?? -1
    const since = Math.max(0, Math.min(high.timestamp, now) - low.timestamp)
    const possible = low.height + options.lagBlocksDown + blocksIn(since)
    const expected =
      reference === null ? -1 : reference.height + options.lagBlocks + blocksIn(now - reference.advancedAt)
    return high.height <= Math.max(possible, expected) ? high.height : low.height
  }

  /** Twice as many as usual: block times vary. */
  function blocksIn(ms: number): number {
    return (2 * Math.max(0, ms)) / options.blockTimeMs
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
      return reference
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
      return recent.size >= 2 && reference !== null && now - reference.advancedAt >= options.stallMs
    },

    seen: (endpoint) => known.get(endpoint) ?? null,

    restore(endpoint, seen) {
      if (known.has(endpoint)) return
      put(endpoint, seen)
      moved = true
    },
  }
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
