/** Go prints U+00B5 for micro, and reads U+03BC as well. */
const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  '\u00b5s': 1e-3,
  '\u03bcs': 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

const PART = /(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y

/** 2^63 ns, about 292 years: as much as Go can mean. */
const LONGEST_MS = 2 ** 63 / 1e6
const LONGEST_TEXT = 64

/** What Go's `time.Duration` prints (`1h2m3.5s`, `293.098ms`, `0s`), in milliseconds; `null` for anything else. */
export function parseGoDuration(text: string): number | null {
  if (text === '0') return 0
  const negative = text.startsWith('-')
  const start = negative || text.startsWith('+') ? 1 : 0
  if (text.length === start || text.length > LONGEST_TEXT) return null
  let ms = 0
  for (PART.lastIndex = start; PART.lastIndex < text.length; ) {
    const part = PART.exec(text)
    if (part === null) return null
    ms += Number(part[1]) * (UNIT_MS[part[2] ?? ''] ?? Number.NaN)
  }
  if (ms > LONGEST_MS) return null
  return negative ? -ms : ms
}
