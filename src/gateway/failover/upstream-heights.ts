import type { Clock } from '../../clock.ts'
import type { Shard } from '../../core/network.ts'
import type { Board } from '../../state/board.ts'
import type { Upstream } from './upstream.ts'

/** Who has a height, by what is known of the endpoints and of the chain: polls tell it now and then, time passes in between. */
export interface UpstreamHeights {
  /** Where endpoints stand beside this height. */
  places(shard: Shard, wanted: number): { of(upstream: Upstream): HeightStanding }
  /** No endpoint can be as high as that: it is a lie, or another chain. */
  ceiling(shard: Shard): number
  /** The reference head may be another. */
  moved(): void
}

/** It has it; at the chain's pace it will by now; it has not, as far as anybody knows. */
export type HeightStanding = typeof THERE | typeof LIKELY | typeof BEHIND
export const THERE = 0
const LIKELY = 1
export const BEHIND = 2

export interface UpstreamHeightsDeps {
  readonly network: string
  readonly board: Board
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
}

/** Faster no chain makes blocks: what core/chain/chain-view.ts allows as well. */
const FASTEST_BLOCK_MS = 250
const SLACK_BLOCKS = 5

export function createUpstreamHeights({ network, board, clock }: UpstreamHeightsDeps): UpstreamHeights {
  /** When the reference head was last seen to be another, by shard; on the monotonic clock. */
  const references = new Map<Shard, { readonly height: number; readonly at: number }>()

  function moved(): void {
    for (const { shard, height } of board.network(network)?.standing.heads ?? []) {
      if (references.get(shard)?.height !== height) references.set(shard, { height, at: clock.monotonic() })
    }
  }

  function ceiling(shard: Shard): number {
    const standing = board.network(network)?.standing
    const reference = references.get(shard)
    if (standing === undefined || reference === undefined) return Number.POSITIVE_INFINITY
    const { blockTimeMs, thresholds } = standing.network
    const blocks = (clock.monotonic() - reference.at) / Math.min(blockTimeMs / 2, FASTEST_BLOCK_MS)
    return reference.height + blocks + thresholds.lagBlocks + SLACK_BLOCKS
  }

  function blockTimeMs(shard: Shard): number {
    const standing = board.network(network)?.standing
    const measured = standing?.heads.find((head) => head.shard === shard)?.blockTimeMs
    return Math.max(1, measured ?? standing?.network.blockTimeMs ?? Number.POSITIVE_INFINITY)
  }

  moved()

  return {
    ceiling,
    moved,
    places(shard, wanted) {
      const highest = ceiling(shard)
      const pace = blockTimeMs(shard)
      const now = clock.now()
      return {
        of(upstream) {
          const height = upstream.height(shard)
          if (height > highest) return BEHIND
          if (height >= wanted) return THERE
          return upstream.expectedHeight(shard, now, pace) >= wanted ? LIKELY : BEHIND
        },
      }
    },
  }
}
