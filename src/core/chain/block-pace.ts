import type { Head } from '../poll-result.ts'

/** How fast a chain makes blocks: measured from its reference heads, and how many blocks are possible in a given time. */
export interface BlockPace {
  /** Takes a new reference head. */
  add(head: Pick<Head, 'height' | 'timestamp'>): void
  /** The average block time of the latest blocks; `null` until enough blocks were seen. */
  measuredMs(): number | null
  /** The shorter of the measured and the configured block time. */
  shortestMs(): number
  /** Whether this chain may have made so many blocks in so much time. */
  isPlausible(blocks: number, ms: number): boolean
}

export interface BlockPaceOptions {
  readonly blockTimeMs: number
  readonly lagBlocks: number
}

/** No chain makes blocks faster: a higher claim is false, or comes from another chain. */
const FASTEST_BLOCK_MS = 250
/** Blocks may come this much faster than usual for a while. */
const PACE_MARGIN = 2
/** With fewer blocks a single skipped one would distort the average. */
const MIN_BLOCKS = 8
/** Older heads say nothing about the present pace. */
const HEADS_KEPT = 64

export function createBlockPace({ blockTimeMs, lagBlocks }: BlockPaceOptions): BlockPace {
  const heads: Pick<Head, 'height' | 'timestamp'>[] = []

  function measuredMs(): number | null {
    const first = heads[0]
    const last = heads.at(-1)
    if (first === undefined || last === undefined) return null
    const blocks = last.height - first.height
    const ms = last.timestamp - first.timestamp
    return blocks < MIN_BLOCKS || ms <= 0 ? null : ms / blocks
  }

  function shortestMs(): number {
    return Math.min(blockTimeMs, measuredMs() ?? blockTimeMs)
  }

  return {
    add({ height, timestamp }) {
      const last = heads.at(-1)
      // After a change of branch or of a clock the earlier heads are of no use.
      if (last !== undefined && (height <= last.height || timestamp < last.timestamp)) heads.length = 0
      heads.push({ height, timestamp })
      if (heads.length > HEADS_KEPT) heads.shift()
    },
    measuredMs,
    shortestMs,
    isPlausible: (blocks, ms) => blocks < lagBlocks + (PACE_MARGIN * ms) / shortestMs(),
  }
}

/** The most blocks that any chain can make in this time. Half the configured block time is allowed for: it may be wrong. */
export function maxBlocksIn(ms: number, blockTimeMs: number): number {
  return Math.max(0, ms) / Math.min(blockTimeMs / 2, FASTEST_BLOCK_MS)
}
