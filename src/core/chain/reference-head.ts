import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { type BlockPace, maxBlocksIn } from './block-pace.ts'
import type { HeightTally } from './height-tally.ts'
import type { KnownHeads, SeenHead } from './known-heads.ts'

/** Works out the reference head: the height that the endpoints of one chain agree on. */
export interface ReferenceHead {
  /** `null` until an endpoint has reported a head. */
  readonly current: ChainReference | null
  /** An endpoint reported a head, left or came back. `head`: what it reported, if anything. */
  markChanged(head: Head | null): void
  /** `lastAdvanceAt`: when the height of any endpoint last grew. */
  update(now: UnixMs, lastAdvanceAt: UnixMs): void
  shift(ms: number): void
}

/** The head that the endpoints agree on. */
export interface ChainReference {
  readonly height: number
  readonly hash: string | null
  readonly timestamp: UnixMs | null
  /** When it last grew. */
  readonly advancedAt: UnixMs
}

export interface ReferenceOptions {
  readonly heads: KnownHeads
  readonly pace: BlockPace
  readonly blockTimeMs: number
  readonly lagBlocks: number
  readonly lagBlocksDown: number
  readonly stallMs: number
}

interface AgreedHead extends ChainReference {
  /** The highest height since the last real step back. */
  readonly highest: number
  /** Two endpoints have been at this height, so it is more than one endpoint's claim. */
  readonly isConfirmed: boolean
}

/** So many endpoints with the same block decide: to look at all ten thousand would be too slow. */
const ENOUGH_REPORTS = 16

export function createReferenceHead(options: ReferenceOptions): ReferenceHead {
  const { heads, pace, blockTimeMs, lagBlocks, lagBlocksDown } = options
  const higherOfTwo = createTwoEndpointRule(options)
  let current: AgreedHead | null = null
  let hasChanged = false
  /** An endpoint reported another block than the reference's at its height. */
  let isDisputed = false

  function setHeight(height: number, now: UnixMs, lastAdvanceAt: UnixMs): void {
    const confirmed = isConfirmed(height, now)
    const wasDisputed = isDisputed
    isDisputed = false
    if (current?.height === height && current.isConfirmed === confirmed) {
      if (!wasDisputed || (current.hash !== null && heads.isMostReported(height, current.hash))) return
    }
    const block = blockAt(height)
    // As with an endpoint, a small step back is jitter of a pool and does not lower the mark to beat.
    const fellBack = current !== null && height < current.highest - lagBlocks
    const advanced = current === null || height > current.highest
    current = {
      height,
      hash: block?.hash ?? null,
      timestamp: block?.timestamp ?? null,
      // After a start the chain has stood since its last known advance, not since our first look.
      advancedAt: current === null ? Math.min(now, lastAdvanceAt) : advanced ? now : current.advancedAt,
      highest: current === null || advanced || fellBack ? height : current.highest,
      isConfirmed: confirmed,
    }
    if (advanced && block !== null) pace.add(block)
  }

  /** Two endpoints are there; or one went on from where two were, no faster than blocks can come. */
  function isConfirmed(height: number, now: UnixMs): boolean {
    if (heads.all.reached(height - lagBlocks) >= 2) return true
    return current?.isConfirmed === true && height <= highestPossible(current, now)
  }

  function highestPossible({ height, advancedAt }: AgreedHead, now: UnixMs): number {
    return height + lagBlocks + maxBlocksIn(now - advancedAt, blockTimeMs)
  }

  function agreedHeight(endpoints: Iterable<string>, heights: HeightTally, now: UnixMs): number | null {
    if (heights.size === 2) {
      const expected = current?.isConfirmed === true ? highestPossible(current, now) : 0
      return higherOfTwo([...endpoints], expected, now)
    }
    // Within `lagBlocks` is not yet lagging: a few endpoints that are ahead never make a majority late.
    return heights.ofMajority(lagBlocks - 1)
  }

  /** The block that most endpoints have at this height. */
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
    get current() {
      return current
    },

    markChanged(head) {
      hasChanged = true
      isDisputed ||= head !== null && head.height === current?.height && head.hash !== current.hash
    },

    /**
     * The recent answers say where the chain is, all known heads say where it has been. The higher one counts, but the few
     * endpoints that answer at present cannot claim more blocks than fit into the time since.
     */
    update(now, lastAdvanceAt) {
      const areTwo = heads.recent.size === 2 || heads.all.size === 2
      // What two endpoints may claim grows with time; everything else changes only with a report.
      if (!hasChanged && !areTwo) return
      hasChanged = false
      const earlier = agreedHeight(heads.endpoints(), heads.all, now)
      if (earlier === null) {
        current = null
        return
      }
      const present = agreedHeight(heads.recentEndpoints(), heads.recent, now) ?? earlier
      const elapsedMs = now - (current?.advancedAt ?? lastAdvanceAt)
      const possible = earlier + lagBlocksDown + maxBlocksIn(elapsedMs, blockTimeMs)
      const height = present > earlier && present <= possible ? present : earlier
      setHeight(height, now, lastAdvanceAt)
    },

    shift(ms) {
      if (current !== null) current = { ...current, advancedAt: current.advancedAt + ms }
    },
  }
}

interface LastReport extends SeenHead {
  readonly readAt: UnixMs
}

/**
 * Two endpoints cannot outvote each other: the higher one is right unless it is further ahead than time allows. `expected` is the
 * height that the chain can have reached since both agreed. With `lag_blocks_down` 100:
 *
 * | the lower one's block    | the higher one is ahead by    | right is                                                          |
 * |--------------------------|-------------------------------|-------------------------------------------------------------------|
 * | any                      | less than 100                 | the higher: it may be, and the other is at worst degraded         |
 * | young, still advancing   | 100 or more                   | the lower, unless so many blocks fit into the time since its poll |
 * | old, or standing         | what fits between both blocks | the higher: the other one syncs, 41 hours behind                  |
 * | old, or standing         | more than that                | the lower: the other one lies, a billion blocks ahead             |
 */
function createTwoEndpointRule({ heads, pace, blockTimeMs, lagBlocks, lagBlocksDown, stallMs }: ReferenceOptions) {
  /** The highest height that both had. */
  let common = 0

  /**
   * Its block was younger than `lagBlocks` blocks when it was read, so it was not late by the chain's own pace. It does not count
   * if blocks that both had are gone or if it has stalled. The age of a block from the future is unknown.
   */
  function isCurrent({ head, readAt, advancedAt }: LastReport): boolean {
    const stoodMs = readAt - advancedAt
    const ageMs = Math.max(Math.abs(readAt - head.timestamp), stoodMs)
    return head.height >= common - lagBlocks && ageMs < lagBlocks * pace.shortestMs() && stoodMs < stallMs
  }

  return (endpoints: readonly string[], expected: number, now: UnixMs): number | null => {
    const [low, high] = endpoints
      .flatMap((endpoint): LastReport[] => {
        const seen = heads.seen(endpoint)
        return seen === undefined ? [] : [{ ...seen, readAt: heads.readAt(endpoint) }]
      })
      .sort((a, b) => a.head.height - b.head.height)
    if (low === undefined || high === undefined) return low?.head.height ?? null
    const [lower, higher] = [low.head.height, high.head.height]
    common = higher < common ? lower : Math.max(common, lower)
    // A block so young is not late, whatever the other endpoint claims. A small claim is believed: clocks may be wrong.
    if (isCurrent(low) && higher >= lower + lagBlocksDown)
      return pace.isPlausible(higher - lower, now - low.readAt) ? higher : lower
    // A block was made when its height was first seen at the latest, even if its timestamp is later.
    const madeAt = Math.min(low.head.timestamp, low.advancedAt)
    const elapsedMs = Math.min(high.head.timestamp, now) - madeAt
    const possible = lower + lagBlocksDown + maxBlocksIn(elapsedMs, blockTimeMs)
    return higher <= Math.max(possible, expected) ? higher : lower
  }
}
