import type { Head } from '../core/poll-result.ts'

/**
 * Caches the heads of recent blocks by the JSON text of the block: all nodes of a network send the same block byte for
 * byte, and parsing it costs more than the rest of a poll.
 */
export interface RecentBlocks {
  find(text: string): Head | undefined
  /** `text` must be a complete JSON value, and `head` must depend on nothing else. */
  keep(text: string, head: Head): void
}

/** Two blocks, each in the formats of two node implementations. */
const KEPT_BLOCKS = 4

/** The largest block without its transactions has about 100 kB; longer texts are not cached. */
const MAX_CHARACTERS = 131_072

export function createRecentBlocks(): RecentBlocks {
  const texts: string[] = []
  const heads: Head[] = []
  let oldest = 0
  return {
    find: (text) => heads[texts.indexOf(text)],
    keep(text, head) {
      if (text.length > MAX_CHARACTERS) return
      texts[oldest] = text
      heads[oldest] = head
      oldest = (oldest + 1) % KEPT_BLOCKS
    },
  }
}

const ENVELOPE_START = '{"jsonrpc":"2.0",'
const RESULT = '"result":'

/**
 * The text of `result` in a response whose id directly precedes or follows it; `null` for other forms. If this text is
 * one JSON value, it is the result, and the response has no other members than the version and this id.
 */
export function resultText(body: string, id: number): string | null {
  if (!body.startsWith(ENVELOPE_START)) return null
  const end = body.endsWith('}\n') ? body.length - 2 : body.endsWith('}') ? body.length - 1 : -1
  const idFirst = `"id":${id},${RESULT}`
  if (body.startsWith(idFirst, ENVELOPE_START.length)) return between(body, ENVELOPE_START.length + idFirst.length, end)
  const idLast = `,"id":${id}`
  return body.startsWith(RESULT, ENVELOPE_START.length) && body.endsWith(idLast, end)
    ? between(body, ENVELOPE_START.length + RESULT.length, end - idLast.length)
    : null
}

function between(body: string, start: number, end: number): string | null {
  return end > start ? body.slice(start, end) : null
}
