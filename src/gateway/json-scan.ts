import type { Scan } from './json-text.ts'

/** Returned instead of an offset: not JSON. */
export const MALFORMED = -1
/** Returned instead of an offset: nested deeper than allowed; the rest was not read. */
export const TOO_DEEP = -2
/** Start of a span if the object has the member more than once. */
export const TWICE = -3
/** Returned instead of an offset: interrupted at `scan.here`. */
const PAUSED = -4

const QUOTE = 34
const PLUS = 43
const COMMA = 44
const MINUS = 45
const POINT = 46
const ZERO = 48
const NINE = 57
const COLON = 58
const BRACKET = 91
const BACKSLASH = 92
const BRACKET_END = 93
const BRACE = 123
const BRACE_END = 125

/** Scanned in about a quarter of a millisecond. */
const SLICE_BYTES = 256 * 1024

/** The first offset from `at` on that is not whitespace. */
export function skipBlank({ bytes }: Scan, at: number): number {
  let here = at
  while (isBlank(bytes[here])) here++
  return here
}

function isBlank(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9
}

/**
 * The offset after the string whose opening quote is at `at`. Reading single bytes instead of four takes 6 µs longer
 * for a block of 11.8 KB, over 5 % of the request (bench/forward.ts).
 */
function skipString({ bytes, view }: Scan, at: number): number {
  let here = at + 1
  for (;;) {
    while (isPlain(view.getInt32(here))) here += 4
    let byte = bytes[here] as number
    while (byte !== QUOTE && byte !== BACKSLASH && byte >= 32) byte = bytes[++here] as number
    if (byte === QUOTE) return here + 1
    if (byte !== BACKSLASH) return MALFORMED
    here = skipEscape(bytes, here + 1)
    if (here < 0) return MALFORMED
  }
}

/** Whether none of four bytes is a quote, backslash or control character: the usual zero-byte bit test, three times. */
function isPlain(word: number): boolean {
  const quote = word ^ 0x22_22_22_22
  const backslash = word ^ 0x5c_5c_5c_5c
  const control = (word - 0x20_20_20_20) & ~word
  return (
    ((control | ((quote - 0x01_01_01_01) & ~quote) | ((backslash - 0x01_01_01_01) & ~backslash)) & 0x80_80_80_80) === 0
  )
}

/** The offset after the escape; `at` is the offset after the backslash. */
function skipEscape(bytes: Uint8Array, at: number): number {
  switch (bytes[at] as number) {
    case QUOTE:
    case BACKSLASH:
    case 47: // /
    case 98: // b
    case 102: // f
    case 110: // n
    case 114: // r
    case 116: // t
      return at + 1
    case 117: // u
      for (let digit = at + 1; digit <= at + 4; digit++) if (!isHex(bytes[digit] as number)) return MALFORMED
      return at + 5
  }
  return MALFORMED
}

function isHex(byte: number): boolean {
  const letter = byte | 32
  return isDigit(byte) || (letter >= 97 && letter <= 102)
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}

function skipNumber(bytes: Uint8Array, at: number): number {
  let here = bytes[at] === MINUS ? at + 1 : at
  if (bytes[here] === ZERO) here++
  else here = skipDigits(bytes, here)
  if (here > 0 && bytes[here] === POINT) here = skipDigits(bytes, here + 1)
  if (here > 0 && ((bytes[here] as number) | 32) === 101) {
    const sign = bytes[here + 1]
    here = skipDigits(bytes, sign === PLUS || sign === MINUS ? here + 2 : here + 1)
  }
  return here
}

/** `MALFORMED` if there is no digit. */
function skipDigits(bytes: Uint8Array, at: number): number {
  let here = at
  while (isDigit(bytes[here])) here++
  return here === at ? MALFORMED : here
}

const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')

/** A string, number, boolean or null. */
function skipScalar(scan: Scan, at: number): number {
  const { bytes } = scan
  switch (bytes[at] as number) {
    case QUOTE:
      return skipString(scan, at)
    case 116:
      return hasAt(bytes, at, TRUE) ? at + 4 : MALFORMED
    case 102:
      return hasAt(bytes, at, FALSE) ? at + 5 : MALFORMED
    case 110:
      return hasAt(bytes, at, NULL) ? at + 4 : MALFORMED
  }
  return skipNumber(bytes, at)
}

function hasAt(bytes: Uint8Array, at: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false
  return true
}

/** The offset after the value that begins exactly at `at`. The value may nest `maxDepth` levels. */
export function skipValue(scan: Scan, at: number, maxDepth: number): number {
  return skipValueFrom(scan, at, 0, maxDepth, scan.length)
}

/** Begins a value at depth 0, or continues one; interrupts it between two values after `pauseAt`. */
function skipValueFrom(scan: Scan, at: number, startDepth: number, maxDepth: number, pauseAt: number): number {
  const { bytes, ends } = scan
  let depth = startDepth
  let here = at
  for (;;) {
    if (here > pauseAt) {
      scan.here = here
      scan.depth = depth
      return PAUSED
    }
    const byte = bytes[here]
    if (byte === BRACE || byte === BRACKET) {
      if (++depth > maxDepth) return TOO_DEEP
      const end = byte === BRACE ? BRACE_END : BRACKET_END
      ends[depth] = end
      here = skipBlank(scan, here + 1)
      if (bytes[here] !== end) {
        if (end === BRACE_END) here = skipName(scan, here)
        if (here < 0) return MALFORMED
        continue
      }
      // An empty container is closed below.
    } else {
      here = byte === QUOTE ? skipString(scan, here) : skipScalar(scan, here)
      if (here < 0) return MALFORMED
    }
    for (;;) {
      if (depth === 0) return here
      here = skipBlank(scan, here)
      const end = ends[depth]
      if (bytes[here] === COMMA) {
        here = skipBlank(scan, here + 1)
        if (end === BRACE_END) here = skipName(scan, here)
        if (here < 0) return MALFORMED
        break
      }
      if (bytes[here] !== end) return MALFORMED
      depth--
      here++
    }
  }
}

/** The offset of the value of the member whose name is at `at`. */
function skipName(scan: Scan, at: number): number {
  if (scan.bytes[at] !== QUOTE) return MALFORMED
  const after = skipString(scan, at)
  if (after < 0) return MALFORMED
  const colon = skipBlank(scan, after)
  return scan.bytes[colon] === COLON ? skipBlank(scan, colon + 1) : MALFORMED
}

/**
 * The offset after the object at `at`. `spans[2 * i]` and `spans[2 * i + 1]` get start and end of the value of
 * `names[i]`, or 0 if it is missing; the last element gets the number of other members. Escaped names are compared
 * unescaped.
 */
export function scanObject(
  scan: Scan,
  at: number,
  names: readonly Buffer[],
  spans: Int32Array,
  maxDepth: number,
): number {
  return scanInSlices(scan, at, names, spans, maxDepth, scan.length).next().value as number
}

/** Work that others may interrupt where it yields. */
export type Slices<Result> = Generator<undefined, Result, void>

/** As `scanObject`. Yields after each slice of a large text; only a long string is not interrupted. */
export function* scanInSlices(
  scan: Scan,
  at: number,
  names: readonly Buffer[],
  spans: Int32Array,
  maxDepth: number,
  sliceBytes = SLICE_BYTES,
): Slices<number> {
  const { bytes } = scan
  spans.fill(0)
  if (maxDepth < 1) return TOO_DEEP
  let here = skipBlank(scan, at + 1)
  if (bytes[here] === BRACE_END) return here + 1
  for (;;) {
    const name = here
    here = skipName(scan, here)
    if (here < 0) return MALFORMED
    const which = nameAt(scan, name, names)
    const start = here
    here = skipValueFrom(scan, start, 0, maxDepth - 1, start + sliceBytes)
    while (here === PAUSED) {
      yield
      here = skipValueFrom(scan, scan.here, scan.depth, maxDepth - 1, scan.here + sliceBytes)
    }
    if (here < 0) return here
    if (which === -1) spans[2 * names.length] = (spans[2 * names.length] as number) + 1
    else if (spans[2 * which] === 0) {
      spans[2 * which] = start
      spans[2 * which + 1] = here
    } else spans[2 * which] = TWICE
    here = skipBlank(scan, here)
    if (bytes[here] === BRACE_END) return here + 1
    if (bytes[here] !== COMMA) return MALFORMED
    here = skipBlank(scan, here + 1)
  }
}

/** The index in `names` of the member name whose opening quote is at `at`; -1 if it is not listed. */
function nameAt(scan: Scan, at: number, names: readonly Buffer[]): number {
  const { bytes } = scan
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as Buffer
    if (hasAt(bytes, at + 1, name) && bytes[at + 1 + name.length] === QUOTE) return i
  }
  for (let here = at + 1; bytes[here] !== QUOTE; here++) {
    if (bytes[here] === BACKSLASH) return escapedNameAt(scan, at, names)
  }
  return -1
}

function escapedNameAt(scan: Scan, at: number, names: readonly Buffer[]): number {
  const text = readString(scan.bytes, at, skipString(scan, at))
  return names.findIndex((name) => name.toString('latin1') === text)
}

/** The value of the well-formed string between the quotes at `start` and before `end`. */
export function readString(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}
