/** The object ids of PostgreSQL's types. */
const INT8 = 20

const HEADER_BYTES = 20

/**
 * A parameter for `$n::bigint[]`, in PostgreSQL's binary format: the client would otherwise build and escape a text, which
 * costs ten times as much. NaN becomes NULL.
 */
export function bigintArray(length: number, valueAt: (at: number) => number): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + length * 12)
  let hasNull = 0
  let end = HEADER_BYTES
  for (let at = 0; at < length; at++) {
    const value = valueAt(at)
    if (Number.isNaN(value)) {
      hasNull = 1
      end = bytes.writeInt32BE(-1, end)
      continue
    }
    end = bytes.writeInt32BE(8, end)
    const high = Math.floor(value / 2 ** 32)
    end = bytes.writeInt32BE(high, end)
    end = bytes.writeUInt32BE(value - high * 2 ** 32, end)
  }
  bytes.writeInt32BE(length === 0 ? 0 : 1, 0)
  bytes.writeInt32BE(hasNull, 4)
  bytes.writeInt32BE(INT8, 8)
  bytes.writeInt32BE(length, 12)
  bytes.writeInt32BE(1, 16)
  return bytes.subarray(0, length === 0 ? 12 : end)
}

export const bigints = (values: readonly (number | null)[]): Buffer =>
  bigintArray(values.length, (at) => values[at] ?? Number.NaN)
