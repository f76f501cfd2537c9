/**
 * Memory for bytes that are forgotten as soon as they are sent on: pieces of one buffer, one after the other. A buffer for each is made
 * and cleared away at the cost of a system's and a collector's bookkeeping, which for a block is more than copying it.
 *
 * Whoever keeps such bytes for longer copies them: a piece holds all of its buffer.
 */
export function shortLived(length: number): Buffer {
  if (length > LONGEST_PIECE) return Buffer.allocUnsafe(length)
  if (used + length > BUFFER_BYTES) {
    buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
    used = 0
  }
  const piece = buffer.subarray(used, used + length)
  used += length
  return piece
}

/** A caller that does not read its answer holds one of these. */
const BUFFER_BYTES = 65_536
const LONGEST_PIECE = 16_384

let buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
let used = 0
