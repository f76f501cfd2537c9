import type { UnixMs } from '../core/time.ts'

const LATEST_TIME = Date.UTC(9999, 11, 31)
const DAY_MS = 86_400_000
let day = { at: Number.NaN, prefix: '' }

/**
 * Always a valid RFC 3339 time, even for an out-of-range timestamp of a node. Caches the date, because `toISOString`
 * takes four times as long and a status has ten timestamps per endpoint.
 */
export function time(ms: UnixMs): string {
  const at = Math.min(Math.max(Math.trunc(ms), 0), LATEST_TIME)
  const within = at % DAY_MS
  if (at - within !== day.at) day = { at: at - within, prefix: new Date(at).toISOString().slice(0, 11) }
  const seconds = Math.floor(within / 1000)
  const minutes = Math.floor(seconds / 60)
  const clock = `${TWO[Math.floor(minutes / 60)]}:${TWO[minutes % 60]}:${TWO[seconds % 60]}`
  return `${day.prefix}${clock}.${String(within % 1000).padStart(3, '0')}Z`
}

const TWO = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'))

export function timeOrNull(ms: UnixMs | null): string | null {
  return ms === null ? null : time(ms)
}
