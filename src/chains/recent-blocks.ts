import type { Head } from '../core/poll-result.ts'

/**
 * The heads of the blocks that were read last, by the whole text that they were read from. The nodes of a network answer
 * with the same block, byte for byte, and reading one costs more than all else in a poll: the same text is the same head.
 */
export interface RecentBlocks {
  find(text: string): Head | undefined
  /** `text` is a whole JSON value, and nothing but it decided what `head` is. */
  keep(text: string, head: Head): void
}

/** Two blocks, as two makes of node write them. */
const KEPT = 4

/** The fullest block without its transactions is some 100 kB: whatever is longer is read each time. */
const LONGEST_TEXT = 131_072

export function createRecentBlocks(): RecentBlocks {
  const texts: string[] = []
  const heads: Head[] = []
  let oldest = 0
  return {
    find: (text) => heads[texts.indexOf(text)],
    keep(text, head) {
      if (text.length > LONGEST_TEXT) return
      texts[oldest] = text
      heads[oldest] = head
      oldest = (oldest + 1) % KEPT
    },
  }
}
