import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { type BlockPace, maxBlocksIn } from './block-pace.ts'
import type { HeightTally } from './height-tally.ts'
import type { KnownHeads, SeenHead } from './known-heads.ts'

export type ReferenceHead = ReturnType<typeof createReferenceHead>

export interface ChainReference {
  readonly height: number
  readonly hash: string | null
  readonly timestamp: UnixMs | null
  readonly advancedAt: UnixMs
}

export interface ReferenceOptions {
  readonly heads: KnownHeads
  readonly pace: BlockPace
  /** They may change. */
  readonly options: {
    readonly blockTimeMs: number
    readonly lagBlocks: number
    readonly lagBlocksDown: number
    readonly stallMs: number
  }
}

interface AgreedHead extends ChainReference {
  /** The highest height since the last step back of more than `lagBlocks`. */
  readonly highest: number
  /** Two endpoints have reached this height, so it is not the claim of a single one. */
  readonly isConfirmed: boolean
}

/** This many endpoints with the same block decide: counting all ten thousand would be too slow. */
const ENOUGH_REPORTS = 16

/** Determines the reference head: the head that the endpoints of one chain agree on. */
export function createReferenceHead(deps: ReferenceOptions) {
  const { heads, pace, options } = deps
  const higherOfTwo = createTwoEndpointRule(deps)
  let current: AgreedHead | null = null
  let hasChanged = false
  /** An endpoint reported a different block at the reference height. */
  let isDisputed = false

  function setHeight(height: number, now: UnixMs): void {
    const confirmed = isConfirmed(height, now)
    const wasDisputed = isDisputed
    isDisputed = false
    if (current?.height === height && current.isConfirmed === confirmed) {
      if (!wasDisputed || (current.hash !== null && heads.isMostReported(height, current.hash))) return
    }
    const block = blockAt(height)
    // A small step back is jitter of a pool and does not lower `highest`.
    const fellBack = current !== null && height < current.highest - options.lagBlocks
    const advanced = current === null || height > current.highest
    current = {
      height,
      hash: block?.hash ?? null,
      timestamp: block?.timestamp ?? null,
      advancedAt: current === null || fellBack ? reachedAt(height, now) : advanced ? now : current.advancedAt,
      highest: current === null || advanced || fellBack ? height : current.highest,
      isConfirmed: confirmed,
    }
    if (advanced && block !== null) pace.add(block)
  }

  /**
   * When two endpoints at this height had reached it, or the only one: after a start or a step back, the chain may have been
   * there for longer than since our poll. Others may have caught up with it later.
   */
  function reachedAt(height: number, now: UnixMs): UnixMs {
    const times: UnixMs[] = []
    for (const { head, advancedAt } of heads.heads()) if (head.height === height) times.push(advancedAt)
    times.sort((a, b) => a - b)
    return times[1] ?? times[0] ?? now
  }

  /** Two endpoints are there, or one advanced from a confirmed height no faster than blocks can come. */
  function isConfirmed(height: number, now: UnixMs): boolean {
    if (heads.all.reached(height - options.lagBlocks) >= 2) return true
    return current?.isConfirmed === true && height <= highestPossible(current, now)
  }

  function highestPossible({ height, advancedAt }: AgreedHead, now: UnixMs): number {
    return height + options.lagBlocks + maxBlocksIn(now - advancedAt, options.blockTimeMs)
  }

  function agreedHeight(endpoints: Iterable<string>, heights: HeightTally, now: UnixMs): number | null {
    if (heights.size === 2) {
      const expected = current?.isConfirmed === true ? highestPossible(current, now) : 0
      return higherOfTwo([...endpoints], expected, now)
    }
    // Fewer than `lagBlocks` behind is not lagging: a few endpoints that are ahead never make the majority late.
    return heights.ofMajority(options.lagBlocks - 1)
  }

  /** The block that most endpoints report at this height. */
  function blockAt(height: number): Head | null {
    const reports = new Map<string, { head: Head; count: number }>()
    for (const { head } of heads.heads()) {
      if (head.height !== height) continue
      const same = reports.get(head.hash)
      if (same === undefined) reports.set(head.hash, { head, count: 1 })
      else same.count++
      if (reports.size === 1 && (same?.count ?? 0) >= ENOUGH_REPORTS) break
    }
    return [...reports.values()].sort((a, b) => b.count - a.count)[0]?.head ?? null
  }

  return {
    /** `null` until an endpoint has reported a head. */
    get current(): AgreedHead | null {
      return current
    },

    /** Call it when an endpoint reported a head, left or came back. `head`: the reported head, if any. */
    markChanged(head: Head | null): void {
      hasChanged = true
      isDisputed ||= head !== null && head.height === current?.height && head.hash !== current.hash
    },

    /**
     * Recent answers give the chain's present height, all known heads its past one. The higher one counts, but a single
     * endpoint that answers at present cannot claim more blocks than fit into the time since the last agreed head.
     */
    update(now: UnixMs): void {
      const areTwo = heads.recent.size === 2 || heads.all.size === 2
      // Two endpoints may claim more blocks as time passes; everything else changes only with a report.
      if (!hasChanged && !areTwo) return
      hasChanged = false
      const earlier = agreedHeight(heads.endpoints(), heads.all, now)
      if (earlier === null) {
        current = null
        return
      }
      const areAllRecent = heads.recent.size === heads.all.size
      const present = areAllRecent ? earlier : (agreedHeight(heads.recentEndpoints(), heads.recent, now) ?? earlier)
      const isPossible = heads.recent.size > 1 || current === null || present <= highestPossible(current, now)
      setHeight(present > earlier && isPossible ? present : earlier, now)
    },

    shift(ms: number): void {
      if (current !== null) current = { ...current, advancedAt: current.advancedAt + ms }
    },
  }
}

/**
 * Two endpoints cannot outvote each other, so the higher one is right unless its lead is impossible: in the time since
 * the lower one's poll if that read a current block, otherwise in the time between both blocks. Leads below
 * `lagBlocksDown` are always believed. `expected` is the height that the chain can have reached since both agreed.
 */
function createTwoEndpointRule({ heads, pace, options }: ReferenceOptions) {
  /** The highest height that both have reached. */
  let common = 0

  /**
   * Whether its block was younger than `lagBlocks` blocks when read. Endpoints that have stalled, or dropped blocks
   * that both had, are not current. The timestamp may be in the future, so its distance counts either way.
   */
  function isCurrent({ head, advancedAt }: SeenHead, readAt: UnixMs): boolean {
    const { lagBlocks, stallMs } = options
    const stoodMs = readAt - advancedAt
    const ageMs = Math.max(Math.abs(readAt - head.timestamp), stoodMs)
    return head.height >= common - lagBlocks && ageMs < lagBlocks * pace.shortestMs() && stoodMs < stallMs
  }

  return ([first = '', second = '']: readonly string[], expected: number, now: UnixMs): number | null => {
    const { lagBlocksDown, blockTimeMs } = options
    const [one, other] = [heads.seen(first), heads.seen(second)]
    if (one === undefined || other === undefined) return (one ?? other)?.head.height ?? null
    const isInOrder = one.head.height <= other.head.height
    const [low, high] = isInOrder ? [one, other] : [other, one]
    const readAt = heads.readAt(isInOrder ? first : second)
    const [lower, higher] = [low.head.height, high.head.height]
    common = higher < common ? lower : Math.max(common, lower)
    // A current block is not late, whatever the other endpoint claims. Small leads are believed: clocks may be wrong.
    if (isCurrent(low, readAt) && higher >= lower + lagBlocksDown)
      return pace.isPlausible(higher - lower, now - readAt) ? higher : lower
    // The block was made no later than when its height was first seen, even if its timestamp is later.
    const madeAt = Math.min(low.head.timestamp, low.advancedAt)
    const elapsedMs = Math.min(high.head.timestamp, now) - madeAt
    const possible = lower + lagBlocksDown + maxBlocksIn(elapsedMs, blockTimeMs)
    return higher <= Math.max(possible, expected) ? higher : lower
  }
}
