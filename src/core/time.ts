/** Milliseconds since the Unix epoch, UTC. */
export type UnixMs = number

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

const UNITS: readonly (readonly [label: string, ms: number])[] = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['min', MINUTE_MS],
  ['s', 1000],
]

/** A duration for people, with one unit, rounded down from 10 on: `850 ms`, `2.5 s`, `24 s`, `41 h`. */
export function humanDuration(ms: number): string {
  const size = Math.abs(ms)
  if (size < 1000) return `${Math.round(ms)} ms`
  // Larger units than seconds are used from 2 on, because "41 h" says more than "1 d".
  const unit = UNITS.find(([label, unitMs]) => size >= unitMs * (label === 's' ? 1 : 2)) ?? ['s', 1000]
  const count = ms / unit[1]
  const shown = Math.abs(count) < 10 ? Math.floor(count * 10) / 10 : Math.floor(count)
  return `${shown} ${unit[0]}`
}

/** Rounds to microseconds, the precision of all measurements. */
export function seconds(ms: number): number
export function seconds(ms: number | null): number | null
export function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1_000_000
}

const MS_OF = { ms: 1, s: 1000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, y: 365 * DAY_MS } as const
export const DURATION = /^(\d{1,15}(?:\.\d{1,6})?)(ms|s|m|h|d|y)$/

/** Milliseconds of `500ms`, `15s`, `2m`, `48h`, `90d` or `2y` (365 days each); `undefined` unless valid and above 0. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = DURATION.exec(text) ?? []
  if (count === undefined || unit === undefined) return undefined
  const ms = Math.round(Number(count) * MS_OF[unit as keyof typeof MS_OF])
  return Number.isSafeInteger(ms) && ms > 0 ? ms : undefined
}

/** Whether `date` (`2026-02-28`) is a day of the calendar. `Date.parse` reads 30 February as 2 March. */
export function isCalendarDay(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date)
}

export const LATEST_TIME = Date.UTC(9999, 11, 31)
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
