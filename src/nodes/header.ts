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

let lastText = ''
let lastTime: UnixMs | null = null

/** Reads an HTTP date; `null` for anything else. Caches the last one: many nodes respond within the same second. */
export function readHttpDate(text: string | null): UnixMs | null {
  if (text === null) return null
  if (text === lastText) return lastTime
  const at = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  lastText = text
  lastTime = Number.isFinite(at) ? at : null
  return lastTime
}

/** Reads Retry-After (seconds or date) as milliseconds, never negative; `null` if absent or invalid. */
export function readRetryAfter(text: string | null, now: UnixMs): number | null {
  if (text === null) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const at = readHttpDate(text)
  return at === null ? null : Math.max(0, at - now)
}
