import type { Clock } from '../../clock.ts'
import { maxBlocksIn } from '../../core/chain/block-pace.ts'
import type { Shard } from '../../core/network.ts'
import type { Board } from '../../state/board.ts'

/** Estimates which endpoints of a network have reached a height, from polls, answers and the time since then. */
export function createUpstreamHeights({ network, board, clock }: UpstreamHeightsDeps) {
  /** When the reference head last changed, by shard; on the monotonic clock. */
  const references = new Map<Shard, { readonly height: number; readonly at: number }>()

  function referenceMoved(): void {
    for (const { shard, height } of board.network(network)?.standing.heads ?? []) {
      if (references.get(shard)?.height !== height) references.set(shard, { height, at: clock.monotonic() })
    }
  }

  function ceiling(shard: Shard): number {
    const standing = board.network(network)?.standing
    const reference = references.get(shard)
    if (standing === undefined || reference === undefined) return Number.POSITIVE_INFINITY
    const { blockTimeMs, thresholds } = standing.network
    const blocks = maxBlocksIn(clock.monotonic() - reference.at, blockTimeMs)
    return reference.height + blocks + thresholds.lagBlocks + SLACK_BLOCKS
  }

  function blockTimeMs(shard: Shard): number {
    const standing = board.network(network)?.standing
    const measured = standing?.heads.find((head) => head.shard === shard)?.blockTimeMs
    return Math.max(1, measured ?? standing?.network.blockTimeMs ?? Number.POSITIVE_INFINITY)
  }

  referenceMoved()

  return {
    /** The highest plausible height by now. A higher claim is false or belongs to another chain. */
    ceiling,
    /** Must be called when a reference head may have changed. */
    referenceMoved,
    /** Whether an endpoint has reached this height. */
    comparedTo(shard: Shard, wanted: number): (heights: KnownHeights) => HeightStanding {
      const highest = ceiling(shard)
      const pace = blockTimeMs(shard)
      const now = clock.monotonic()
      return (heights) => {
        const height = heights.of(shard)
        if (height > highest) return BEHIND
        if (height >= wanted) return REACHED
        return heights.expected(shard, now, pace) >= wanted ? LIKELY : BEHIND
      }
    },
  }
}

export type UpstreamHeights = ReturnType<typeof createUpstreamHeights>

/** `LIKELY`: at the chain's pace, the endpoint should have reached the height by now. */
export type HeightStanding = typeof REACHED | typeof LIKELY | typeof BEHIND
export const REACHED = 0
const LIKELY = 1
export const BEHIND = 2

interface UpstreamHeightsDeps {
  readonly network: string
  readonly board: Board
  readonly clock: Pick<Clock, 'monotonic'>
}

/** The latest known height of one endpoint on each shard, from its newest poll or answer. Times are monotonic. */
export class KnownHeights {
  readonly #byShard = new Map<Shard, { height: number; at: number }>()

  /** Records the head that the endpoint reported, even if it is lower than before. */
  set(shard: Shard, height: number, at: number): void {
    const known = this.#byShard.get(shard)
    if (known === undefined) this.#byShard.set(shard, { height, at })
    else {
      known.height = height
      known.at = at
    }
  }

  /** Records that the endpoint has this block, and possibly later ones. */
  raise(shard: Shard, height: number, at: number): void {
    if (height > this.of(shard)) this.set(shard, height, at)
  }

  /** Records the head that a poll begun at `readAt` found. */
  setPolled(shard: Shard, height: number, readAt: number): void {
    const known = this.#byShard.get(shard)
    if (known === undefined || readAt >= known.at || height > known.height) this.set(shard, height, readAt)
  }

  /** -1 if unknown. */
  of(shard: Shard): number {
    return this.#byShard.get(shard)?.height ?? -1
  }

  /** The height expected by now at the chain's pace. */
  expected(shard: Shard, now: number, blockTimeMs: number): number {
    const known = this.#byShard.get(shard)
    return known === undefined ? -1 : known.height + Math.max(0, now - known.at) / blockTimeMs
  }
}

const SLACK_BLOCKS = 5
