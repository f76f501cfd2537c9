/**
 * Memory for bytes that are forgotten as soon as they are sent on: pieces of one buffer, one after the other. A buffer for each is made
 * and cleared away at the cost of a system's and a collector's bookkeeping, which for a block is more than copying it.
 *
 * Whoever keeps such bytes for longer copies them: a piece holds all of its buffer.
 */
export function shortLived(length: number): Buffer {
  if (length > LONGEST_PIECE) return Buffer.allocUnsafe(length)
  if (length < SHORTEST_PIECE) return shortPiece(length)
  if (current.used + length > BUFFER_BYTES) current = spare.pop() ?? createBlock()
  const { memory, starts, isOut, used } = current
  starts.push(used)
  isOut.push(true)
  current.out++
  current.used = used + length
  return memory.subarray(used, used + length)
}

/** Not worth any bookkeeping: hundreds share one buffer. */
function shortPiece(length: number): Buffer {
  if (shortUsed + length > BUFFER_BYTES) {
    shortMemory = Buffer.allocUnsafeSlow(BUFFER_BYTES)
    shortUsed = 0
  }
  const piece = shortMemory.subarray(shortUsed, shortUsed + length)
  shortUsed += length
  return piece
}

/**
 * Nobody reads these bytes any more, nor will: their place is used again when all others in the same buffer are given back too. Any
 * part of a piece stands for all of it. What is never given back is the collector's, which for blocks at full load took a fifth of all
 * processor time.
 */
export function giveBack(bytes: Buffer): void {
  const block = blocks.get(bytes.buffer)
  if (block === undefined) return
  const piece = pieceAt(block.starts, bytes.byteOffset)
  // Given back before.
  if (block.isOut[piece] !== true) return
  block.isOut[piece] = false
  if (--block.out > 0) return
  block.used = 0
  block.starts.length = 0
  block.isOut.length = 0
  if (block !== current && spare.length < MOST_SPARE) spare.push(block)
}

/** Several have them now, and nobody knows who is the last: they are the collector's, whoever gives them back. */
export function shareShortLived(bytes: Buffer): void {
  blocks.delete(bytes.buffer)
}

interface Block {
  readonly memory: Buffer
  used: number
  /** Where each piece begins, in rising order. */
  readonly starts: number[]
  /** Not given back yet. */
  readonly isOut: boolean[]
  out: number
}

/** A caller that does not read its answer holds one of these. */
const BUFFER_BYTES = 65_536
/** What is longer has memory of its own. */
export const LONGEST_PIECE = 16_384
const SHORTEST_PIECE = 2048
/** As many as are in use at once where hundreds of answers are under way. */
const MOST_SPARE = 64

const blocks = new WeakMap<ArrayBufferLike, Block>()
const spare: Block[] = []
let current = createBlock()
let shortMemory = Buffer.allocUnsafeSlow(BUFFER_BYTES)
let shortUsed = 0

function createBlock(): Block {
  const memory = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  const block: Block = { memory, used: 0, starts: [], isOut: [], out: 0 }
  blocks.set(memory.buffer, block)
  return block
}

/** The last that begins at or before `offset`. */
function pieceAt(starts: readonly number[], offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] as number) <= offset) low = middle
    else high = middle - 1
  }
  return low
}
