import type { Head } from '../poll-result.ts'

export type BlockPace = ReturnType<typeof createBlockPace>

/** They may change. */
interface BlockPaceOptions {
  readonly blockTimeMs: number
  readonly lagBlocks: number
}

/** A claim of faster blocks is false or from another chain, unless the configured block time is below 500 ms. */
const FASTEST_BLOCK_MS = 250
/** How many times faster than usual blocks may come for a while. */
const PACE_MARGIN = 2
/** A single skipped block would distort the average of fewer blocks. */
const MIN_BLOCKS = 8
const HEADS_KEPT = 64

/** The measured pace of a chain's blocks, and how many blocks it can make in a given time. */
export function createBlockPace(options: BlockPaceOptions) {
  const heads: Pick<Head, 'height' | 'timestamp'>[] = []

  /** Average of the latest blocks, by the timestamps of the reference heads; `null` until `MIN_BLOCKS` were seen. */
  function measuredMs(): number | null {
    const first = heads[0]
    const last = heads.at(-1)
    if (first === undefined || last === undefined) return null
    const blocks = last.height - first.height
    const ms = last.timestamp - first.timestamp
    return blocks < MIN_BLOCKS || ms <= 0 ? null : ms / blocks
  }

  /** The smaller one of the measured and the configured block time. */
  function shortestMs(): number {
    const { blockTimeMs } = options
    return Math.min(blockTimeMs, measuredMs() ?? blockTimeMs)
  }

  return {
    add({ height, timestamp }: Pick<Head, 'height' | 'timestamp'>): void {
      const last = heads.at(-1)
      // After a reorganisation or a clock change, earlier heads would distort the average.
      if (last !== undefined && (height <= last.height || timestamp < last.timestamp)) heads.length = 0
      heads.push({ height, timestamp })
      if (heads.length > HEADS_KEPT) heads.shift()
    },
    measuredMs,
    shortestMs,
    /** Whether this chain can make this many blocks in this time. */
    isPlausible: (blocks: number, ms: number) => blocks < options.lagBlocks + (PACE_MARGIN * ms) / shortestMs(),
  }
}

/** Maximum number of blocks in this time. Allows for half the configured block time, because that may be wrong. */
export function maxBlocksIn(ms: number, blockTimeMs: number): number {
  return Math.max(0, ms) / Math.min(blockTimeMs / 2, FASTEST_BLOCK_MS)
}
