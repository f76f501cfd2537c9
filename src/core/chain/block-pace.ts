import type { Head } from '../poll-result.ts'

/** How fast a chain makes its blocks, by the timestamps of the heads that its endpoints agreed on. */
export interface BlockClock {
  /** A new reference head. */
  take(head: Pick<Head, 'height' | 'timestamp'>): void
  /** `null` until enough blocks have been seen. */
  blockTimeMs(): number | null
}

/** Fewer blocks say little: one that was skipped would count for much. */
const FEWEST_BLOCKS = 8
/** What happened longer ago is another weather. */
const HEADS_KEPT = 64

export function createBlockClock(): BlockClock {
  const heads: Pick<Head, 'height' | 'timestamp'>[] = []
  return {
    take({ height, timestamp }) {
      const last = heads.at(-1)
      // Another branch, or a clock that was set: what was measured before is of no use.
      if (last !== undefined && (height <= last.height || timestamp < last.timestamp)) heads.length = 0
      heads.push({ height, timestamp })
      if (heads.length > HEADS_KEPT) heads.shift()
    },

    blockTimeMs() {
      const first = heads[0]
      const last = heads.at(-1)
      if (first === undefined || last === undefined) return null
      const blocks = last.height - first.height
      const ms = last.timestamp - first.timestamp
      return blocks < FEWEST_BLOCKS || ms <= 0 ? null : ms / blocks
    },
  }
}
