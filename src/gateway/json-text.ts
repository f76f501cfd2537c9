/** JSON text in memory, for the scanners of `json-scan.ts`, which validate it and locate members without building values. */
export interface Scan {
  /** The text followed by zero bytes, which are invalid in JSON and therefore stop every scan. */
  readonly bytes: Buffer
  /** The same memory, for reading four bytes at a time. */
  readonly view: DataView
  /** The closing bracket of each open container, by depth. */
  readonly ends: Uint8Array
  readonly length: number
  /** Where, and how deep, an interrupted value is continued. */
  here: number
  depth: number
}

/** The largest `maxDepth` that a caller may pass. */
export const DEEPEST = 4096

const SCRATCH_BYTES = 64 * 1024
const ZERO_BYTES = 4
const scratch = allocate(SCRATCH_BYTES)

/**
 * Copies `text` and appends zero bytes, unless it is large and followed by some. The scan of a small text is valid only until
 * the next call.
 */
export function openScan(text: Uint8Array): Scan {
  const bytes = text.length + ZERO_BYTES
  if (bytes > SCRATCH_BYTES && endsWithZeros(text)) {
    return scanOf(text.buffer as ArrayBuffer, text.byteOffset, text.length)
  }
  const scan = bytes <= SCRATCH_BYTES ? scratch : allocate(bytes)
  scan.bytes.set(text)
  scan.bytes.fill(0, text.length, bytes)
  scan.length = text.length
  return scan
}

function endsWithZeros({ buffer, byteOffset, length }: Uint8Array): boolean {
  const end = byteOffset + length
  if (end + ZERO_BYTES > buffer.byteLength) return false
  return new Uint8Array(buffer, end, ZERO_BYTES).every((byte) => byte === 0)
}

function allocate(size: number): Scan & { length: number } {
  return scanOf(new ArrayBuffer(size), 0, 0)
}

function scanOf(memory: ArrayBuffer, offset: number, length: number): Scan & { length: number } {
  const bytes = Buffer.from(memory, offset)
  const view = new DataView(memory, offset)
  return { bytes, view, ends: new Uint8Array(DEEPEST + 1), length, here: 0, depth: 0 }
}
