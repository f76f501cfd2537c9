import type { UnixMs } from '../core/time.ts'

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/
const DAY_MS = 86_400_000

/**
 * A time that a node wrote (RFC 3339 with up to nine decimals). `null` for anything else, for Go's zero time (year 1), and for
 * what no honest clock of the node's can have meant: before 1970, or more than a day ahead of us.
 */
export function readTimestamp(value: unknown, now: UnixMs): UnixMs | null {
  if (typeof value !== 'string') return null
  const at = readUtc(value) ?? (RFC3339.test(value) ? Date.parse(value) : Number.NaN)
  return at >= 0 && at <= now + DAY_MS ? at : null
}

const DASH = 45
const DOT = 46
const COLON = 58
const UPPER_T = 84
const UPPER_Z = 90

/** The form that Go writes in UTC, at a third of the price: a health reply holds a dozen of them. `null`: read it the long way. */
function readUtc(text: string): UnixMs | null {
  const last = text.length - 1
  if (text.charCodeAt(4) !== DASH || text.charCodeAt(7) !== DASH || text.charCodeAt(10) !== UPPER_T) return null
  if (text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON || text.charCodeAt(last) !== UPPER_Z) return null
  const ms = readDecimals(text, last)
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 7)
  const day = digits(text, 8, 10)
  const hour = digits(text, 11, 13)
  const minute = digits(text, 14, 16)
  const second = digits(text, 17, 19)
  const plain = ms >= 0 && year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 31
  return plain && hour < 24 && minute < 60 && second < 60
    ? Date.UTC(year, month - 1, day, hour, minute, second, ms)
    : null
}

/** Milliseconds of the decimals between the seconds and the end, cut and not rounded, as Date.parse has it. */
function readDecimals(text: string, end: number): number {
  if (end === 19) return 0
  if (text.charCodeAt(19) !== DOT || end < 21 || end > 29) return Number.NaN
  const all = digits(text, 20, end)
  return end <= 23 ? all * 10 ** (23 - end) : Math.floor(all / 10 ** (end - 23))
}

/** NaN where one of them is no digit. */
function digits(text: string, start: number, end: number): number {
  let value = 0
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - 48
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN
  }
  return value
}
