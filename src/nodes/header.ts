import type { UnixMs } from '../core/time.ts'

/** The first value of a header; `null` if absent. `headers` alternates names and values; `name` is in lower case. */
export function headerOf(headers: readonly Buffer[], name: string): string | null {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const found = headers[at] as Buffer
    if (found.length === name.length && found.toString('latin1').toLowerCase() === name) {
      return (headers[at + 1] as Buffer).toString('latin1')
    }
  }
  return null
}

const HTTP_DATE = /^[A-Z][a-z]{2,8},? \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/

/** Reads an HTTP date; `null` for anything else. */
export function readHttpDate(text: string | null): UnixMs | null {
  const at = text !== null && HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(at) ? at : null
}

/** Who names a later time gets one request an hour. */
const LONGEST_RETRY_AFTER_MS = 3_600_000

/** Reads Retry-After (seconds or date) as milliseconds, from 0 to an hour; `null` if absent or invalid. */
export function readRetryAfter(text: string | null, now: UnixMs): number | null {
  if (text === null) return null
  const at = /^\d{1,9}$/.test(text) ? now + Number(text) * 1000 : readHttpDate(text)
  return at === null ? null : Math.min(Math.max(0, at - now), LONGEST_RETRY_AFTER_MS)
}
