import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { createBlockClock } from './block-pace.ts'
import type { HeightTally } from './height-tally.ts'
import type { KnownHeads, SeenHead } from './known-heads.ts'

/** The head that the endpoints agree on. */
export interface ChainReference {
  readonly height: number
  readonly hash: string | null
  readonly timestamp: UnixMs | null
  /** When it was last seen to grow. */
  readonly advancedAt: UnixMs
}

export interface ReferenceOptions {
  readonly heads: KnownHeads
  readonly blockTimeMs: number
  readonly lagBlocks: number
  readonly lagBlocksDown: number
  readonly stallMs: number
}

/** Works out the reference head: where the endpoints of one chain agree that it is. */
export interface ReferenceHead {
  /** `null` until somebody has told a head. */
  readonly current: ChainReference | null
  /** Somebody stands elsewhere than when it was last worked out. `head`: what was told, if anything. */
  markChanged(head: Head | null): void
  /** `lastAdvanceAt`: when anybody's height was last seen to grow. */
  update(now: UnixMs, lastAdvanceAt: UnixMs): void
  /** So many blocks in so much time are no more than this chain may have made. */
  isPlausible(blocks: number, ms: number): boolean
  /** From block to block, as measured; `null` until enough have been seen. */
  blockTimeMs(): number | null
  /** The shorter of the measured and the configured one. */
  paceMs(): number
  shift(ms: number): void
}

/** No chain makes blocks faster than this: a claim of more is a lie, or another chain. */
export const FASTEST_BLOCK_MS = 250

/** Blocks may come this much faster than usual for a while. */
const PACE_MARGIN = 2

/** Endpoints of one mind that are asked before the rest is taken as agreeing: the walk must not cost more with ten thousand. */
const ENOUGH_VOTES = 16

interface Agreed extends ChainReference {
  /** The highest height since the last real step back. */
  readonly highest: number
  /** More than one endpoint has stood there: it is no single one's claim. */
  readonly vouched: boolean
}

export function createReferenceHead({
  heads,
  blockTimeMs,
  lagBlocks,
  lagBlocksDown,
  stallMs,
}: ReferenceOptions): ReferenceHead {
  const blockClock = createBlockClock()
  let current: Agreed | null = null
  /** The highest height that both had, where there are two. */
  let common = 0
  let hasMoved = false
  /** The heads' `changes` when it was last worked out; `null` where the answer depends on the time as well. */
  let settledAt: number | null = null
  /** Another block than the reference's was told at its height. */
  let disputed = false

  function refer(height: number, now: UnixMs, lastAdvanceAt: UnixMs): void {
    const vouched = isVouched(height, now)
    if (current?.height === height && current.vouched === vouched) {
      const stays = !disputed || (current.hash !== null && heads.isMostReported(height, current.hash))
      if (stays) {
        disputed = false
        return
      }
    }
    disputed = false
    const block = blockAt(height)
    // As with an endpoint, a swing back by a pool's jitter is no new mark to beat.
    const fellBack = current !== null && height < current.highest - lagBlocks
    const advanced = current === null || height > current.highest
    current = {
      height,
      hash: block?.hash ?? null,
      timestamp: block?.timestamp ?? null,
      // After a start the chain stands since it was last seen to advance, not since we look again.
      advancedAt: current === null ? Math.min(now, lastAdvanceAt) : advanced ? now : current.advancedAt,
      highest: current === null || advanced || fellBack ? height : current.highest,
      vouched,
    }
    if (advanced && block !== null) blockClock.take(block)
  }

  /** Two endpoints stand there; or one has gone on from where two stood, no faster than blocks can come. */
  function isVouched(height: number, now: UnixMs): boolean {
    if (heads.all.reached(height - lagBlocks) >= 2) return true
    return current?.vouched === true && height <= reachable(current, now)
  }

  function reachable({ height, advancedAt }: Agreed, now: UnixMs): number {
    return height + lagBlocks + blocksIn(now - advancedAt)
  }

  function agreed(endpoints: Iterable<string>, heights: HeightTally, now: UnixMs): number | null {
    if (heights.size === 2) return ofTwo([...endpoints], now)
    // Within `lagBlocks` is not yet lagging: a few that are ahead of everybody never make a majority late.
    return heights.ofMajority(lagBlocks - 1)
  }

  /**
   * Two cannot outvote each other: the higher one is right unless it is further ahead than time allows. With `lag_blocks_down` 100:
   *
   * | the lower one's block    | the higher one is ahead by    | right is                                                        |
   * |--------------------------|-------------------------------|-----------------------------------------------------------------|
   * | any                      | less than 100                 | the higher: it may be, and the other is at worst degraded       |
   * | young, still advancing   | 100 or more                   | the lower, unless that many fit into the time since it was read |
   * | old, or standing         | what fits between both blocks | the higher: a node that syncs, 41 hours behind                  |
   * | old, or standing         | more than that                | the lower: a liar a billion ahead                               |
   */
  function ofTwo(endpoints: readonly string[], now: UnixMs): number | null {
    const [low, high] = endpoints
      .flatMap((endpoint): LastSeen[] => {
        const seen = heads.seen(endpoint)
        return seen === undefined ? [] : [{ ...seen, readAt: heads.readAt(endpoint) }]
      })
      .sort((a, b) => a.head.height - b.head.height)
    if (low === undefined || high === undefined) return low?.head.height ?? null
    const [lower, higher] = [low.head.height, high.head.height]
    common = higher < common ? lower : Math.max(common, lower)
    // So young a block is not late, whatever another one claims. Where it claims little it is believed: clocks may be wrong.
    if (isCurrent(low) && higher >= lower + lagBlocksDown)
      return fits(higher - lower, now - low.readAt) ? higher : lower
    const possible = lower + lagBlocksDown + blocksIn(Math.min(high.head.timestamp, now) - mintedBy(low))
    const expected = current?.vouched === true ? reachable(current, now) : 0
    return higher <= Math.max(possible, expected) ? higher : lower
  }

  /**
   * When it was asked its block was younger than what makes one late: it cannot have been late by the chain's own pace, whatever
   * another one says. Unless blocks are lost that both had, or it has stood for as long as makes one stalled. A block from the
   * future tells no age.
   */
  function isCurrent({ head, readAt, advancedAt }: LastSeen): boolean {
    const stoodMs = readAt - advancedAt
    const ageMs = Math.max(Math.abs(readAt - head.timestamp), stoodMs)
    return head.height >= common - lagBlocks && ageMs < lagBlocks * paceMs() && stoodMs < stallMs
  }

  function paceMs(): number {
    return Math.min(blockTimeMs, blockClock.blockTimeMs() ?? blockTimeMs)
  }

  function fits(blocks: number, ms: number): boolean {
    return blocks < lagBlocks + (PACE_MARGIN * ms) / paceMs()
  }

  /** At most: the configured block time may be another chain's. */
  function blocksIn(ms: number): number {
    return Math.max(0, ms) / Math.min(blockTimeMs / 2, FASTEST_BLOCK_MS)
  }

  /** The block that most endpoints have at this height. */
  function blockAt(height: number): Head | null {
    const votes = new Map<string, { head: Head; count: number }>()
    for (const { head } of heads.heads()) {
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
    get current() {
      return current
    },

    markChanged(head) {
      hasMoved = true
      disputed ||= head !== null && head.height === current?.height && head.hash !== current.hash
    },

    /**
     * Who answers now says where the chain is; who was heard before says where it has been: it is the higher of the two, but
     * the few that are heard just now cannot claim more blocks than fit into the time since.
     */
    update(now, lastAdvanceAt) {
      // What two may claim grows with time; everything else changes only when somebody moves.
      if (!hasMoved && heads.recent.size !== 2 && heads.all.size !== 2) return
      hasMoved = false
      const areTwo = heads.recent.size === 2 || heads.all.size === 2
      if (settledAt === heads.changes && !disputed && !areTwo) return
      settledAt = null
      const been = agreed(heads.endpoints(), heads.all, now)
      if (been === null) {
        current = null
        return
      }
      const is = agreed(heads.recentEndpoints(), heads.recent, now) ?? been
      const possible = been + lagBlocksDown + blocksIn(now - (current?.advancedAt ?? lastAdvanceAt))
      const height = is > been && is <= possible ? is : been
      refer(height, now, lastAdvanceAt)
      const isTimeless = is <= been + lagBlocksDown && heads.all.reached(height - lagBlocks) >= 2
      if (isTimeless) settledAt = heads.changes
    },

    isPlausible: fits,
    blockTimeMs: () => blockClock.blockTimeMs(),
    paceMs,

    shift(ms) {
      if (current !== null) current = { ...current, advancedAt: current.advancedAt + ms }
    },
  }
}

interface LastSeen extends SeenHead {
  readonly readAt: UnixMs
}

/** A block is no younger than its height was seen, whatever it is dated later. */
function mintedBy({ head, advancedAt }: SeenHead): UnixMs {
  return Math.min(head.timestamp, advancedAt)
}
