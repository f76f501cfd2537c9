import type { Head } from '../core/poll-result.ts'

export type RecentBlocks = ReturnType<typeof createRecentBlocks>

/** Two blocks, each in the formats of two node implementations. */
const KEPT_BLOCKS = 4

/** The largest block without its transactions has about 100 kB; longer texts are not cached. */
const MAX_BYTES = 131_072

/**
 * Caches the heads of recent blocks by the JSON text of the block: all nodes of a network send the same block byte for
 * byte. Comparing bytes saves decoding and parsing, and the garbage of both.
 */
export function createRecentBlocks() {
  const texts: Buffer[] = []
  const heads: Head[] = []
  let oldest = 0
  return {
    find: (text: Buffer): Head | undefined => heads[texts.findIndex((kept) => kept.equals(text))],
    /** `text` must be a complete JSON value, and `head` must depend on nothing else. */
    keep(text: Buffer, head: Head): void {
      if (text.length > MAX_BYTES) return
      // A copy, so that the rest of what the socket read is not kept.
      texts[oldest] = Buffer.from(text)
      heads[oldest] = head
      oldest = (oldest + 1) % KEPT_BLOCKS
    },
  }
}

const ENVELOPE_START = '{"jsonrpc":"2.0",'
const RESULT = '"result":'
const RESULT_FIRST = `${ENVELOPE_START}${RESULT}`
const LINE_FEED = 10
const BRACE_END = 125

/**
 * The text of `result` in a response whose id directly precedes or follows it; `null` for other forms. If this text is
 * one JSON value, it is the result, and the response has no other members than the version and this id.
 */
export function resultText(body: Buffer, id: number): Buffer | null {
  const end = body.at(-1) === LINE_FEED ? body.length - 2 : body.length - 1
  if (body[end] !== BRACE_END) return null
  const idFirst = `${ENVELOPE_START}"id":${id},${RESULT}`
  if (holds(body, 0, idFirst)) return between(body, idFirst.length, end)
  const idLast = `,"id":${id}`
  return holds(body, 0, RESULT_FIRST) && holds(body, end - idLast.length, idLast)
    ? between(body, RESULT_FIRST.length, end - idLast.length)
    : null
}

/** `ascii` must have ASCII characters only. */
function holds(body: Buffer, at: number, ascii: string): boolean {
  return body.toString('latin1', at, at + ascii.length) === ascii
}

function between(body: Buffer, start: number, end: number): Buffer | null {
  return end > start ? body.subarray(start, end) : null
}
