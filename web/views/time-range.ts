import type { Zone } from './format.ts'
import { endpointPath, type Route } from './route.ts'

/** The time range that an address asks for; the last day by default. */
export function spanOf({ query }: Pick<Route, 'query'>, nowMs: number): Span {
  const fromMs = secondsOf(query.from)
  const toMs = Math.min(secondsOf(query.to), nowMs)
  const widthMs = toMs - fromMs
  if (widthMs >= SHORTEST && widthMs <= LONGEST) {
    const stepMs = stepOf(widthMs)
    return { fromMs, toMs, stepMs, range: null, isClose: widthMs <= CLOSE }
  }
  const range = RANGE_NAMES.find((name) => name === query.range) ?? '24h'
  const stepMs = stepOf(RANGES[range])
  // Steps start at round times, so that they stay the same while time goes on.
  const first = Math.floor((nowMs - RANGES[range]) / stepMs) * stepMs
  return { fromMs: first, toMs: nowMs, stepMs, range, isClose: RANGES[range] <= CLOSE }
}

/** The shown time range of an endpoint's history, from its address: a named range up to now, or from one moment to another. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
  /** The length of one step. Single polls are shown if `isClose`. */
  readonly stepMs: number
  readonly range: Range | null
  readonly isClose: boolean
}

const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 86_400_000
export const RANGES = {
  '1h': HOUR,
  '6h': 6 * HOUR,
  '24h': DAY,
  '7d': 7 * DAY,
  '30d': 30 * DAY,
  '90d': 90 * DAY,
} as const
export type Range = keyof typeof RANGES
export const RANGE_NAMES = Object.keys(RANGES) as readonly Range[]

/** Ranges with availability figures. */
export const AVAILABILITY_RANGES = ['24h', '7d', '30d', '90d'] as const satisfies readonly Range[]

const SHORTEST = MINUTE
const LONGEST = 366 * DAY

/** Why `spanOf` cannot show the range from one moment to another, both in seconds as in an address. */
export function problemOf(from: number, to: number, nowMs: number): string {
  if (!(to > from)) return 'The range ends before it begins.'
  if (from * 1000 > nowMs) return 'The range begins in the future.'
  return 'A range is at least a minute and at most a year long.'
}

/** About the number of pixels of a phone. */
const MOST_STEPS = 400
const STEPS = [10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400].map((seconds) => seconds * 1000)
/** An endpoint that is polled every 15 s has 720 polls in this time. */
const CLOSE = 3 * HOUR
const ZOOM = 6

/** The range of a new endpoint: since its first poll. */
export function spanSince(firstMs: number, nowMs: number): Span {
  const fromMs = Math.floor(Math.min(firstMs, nowMs - 5 * MINUTE) / MINUTE) * MINUTE
  const widthMs = nowMs - fromMs
  return { fromMs, toMs: nowMs, stepMs: stepOf(widthMs), range: null, isClose: widthMs <= CLOSE }
}

function secondsOf(text: string | undefined): number {
  return text !== undefined && /^\d{1,11}$/.test(text) ? Number(text) * 1000 : Number.NaN
}

function stepOf(widthMs: number): number {
  return STEPS.find((step) => widthMs / step <= MOST_STEPS) ?? DAY
}

export interface Endpoint {
  readonly network: string
  readonly endpoint: string
}

export function rangePath({ network, endpoint }: Endpoint, range: Range): string {
  return `${endpointPath(network, endpoint)}?range=${range}`
}

export function zoomPath({ network, endpoint }: Endpoint, fromMs: number, toMs: number): string {
  return `${endpointPath(network, endpoint)}?from=${Math.floor(fromMs / 1000)}&to=${Math.ceil(toMs / 1000)}`
}

/** A sixth of the range around a moment; `null` if that would be too short. */
export function closerPath(of: Endpoint, { fromMs, toMs }: Span, atMs: number): string | null {
  const widthMs = (toMs - fromMs) / ZOOM
  if (widthMs < SHORTEST) return null
  const from = Math.min(Math.max(fromMs, atMs - widthMs / 2), toMs - widthMs)
  return zoomPath(of, from, from + widthMs)
}

/** Six times the range, or the next longer named range; `null` for the longest. */
export function widerPath(of: Endpoint, { fromMs, toMs, range }: Span, nowMs: number): string | null {
  if (range !== null) {
    const next = RANGE_NAMES[RANGE_NAMES.indexOf(range) + 1]
    return next === undefined ? null : rangePath(of, next)
  }
  const widthMs = Math.min((toMs - fromMs) * ZOOM, LONGEST)
  const to = Math.min(nowMs, (fromMs + toMs + widthMs) / 2)
  const fitting = RANGE_NAMES.find((name) => to === nowMs && RANGES[name] >= widthMs)
  return fitting === undefined || (fitting === '24h' && widthMs < DAY / 2)
    ? zoomPath(of, to - widthMs, to)
    : rangePath(of, fitting)
}

/** The ranges of equal length before and after; `null` if the latter is in the future. */
export function besidePaths(of: Endpoint, span: Span, nowMs: number): { earlier: string; later: string | null } {
  const { fromMs, toMs } = span
  const widthMs = toMs - fromMs
  const later = toMs >= nowMs - span.stepMs ? null : zoomPath(of, toMs, Math.min(nowMs, toMs + widthMs))
  return { earlier: zoomPath(of, fromMs - widthMs, fromMs), later }
}

/** The range of equal length up to now; `null` if it is shown. */
export function nowPath(of: Endpoint, { fromMs, toMs, stepMs }: Span, nowMs: number): string | null {
  return toMs >= nowMs - stepMs ? null : zoomPath(of, nowMs - (toMs - fromMs), nowMs)
}

export interface Part {
  readonly fromMs: number
  readonly toMs: number
  /** Labelled with its day, or with its start time. */
  readonly by: 'day' | 'time'
}

/** Parts of the range to zoom into: weeks, days, or parts of a day in the chosen time zone. */
export function partsOf({ fromMs, toMs }: Span, zone: Zone): readonly Part[] {
  const widthMs = toMs - fromMs
  const by = widthMs > 1.5 * DAY ? 'day' : 'time'
  const each = widthMs > 14 * DAY ? 7 * DAY : widthMs > 1.5 * DAY ? DAY : widthMs > 6 * HOUR ? 3 * HOUR : HOUR / 2
  if (widthMs <= HOUR) return []
  const parts: Part[] = []
  let at = floorTo(fromMs, each, zone)
  while (at < toMs) {
    const next = nextTick(at, each, zone)
    parts.push({ fromMs: Math.max(at, fromMs), toMs: Math.min(next, toMs), by })
    at = next
  }
  return parts.filter((part) => part.toMs - part.fromMs >= SHORTEST)
}

function floorTo(ms: number, width: number, zone: Zone): number {
  const offset = zone === 'utc' ? 0 : -new Date(ms).getTimezoneOffset() * MINUTE
  return Math.floor((ms + offset) / Math.min(width, DAY)) * Math.min(width, DAY) - offset
}

const TICKS = [1, 2, 5, 10, 30, 60, 180, 360, 720, 1440, 2880, 5760, 20_160, 86_400].map((minutes) => minutes * MINUTE)
const MOST_TICKS = 9

/** Round times in the chosen time zone. */
export function ticksOf(
  { fromMs, toMs }: Pick<Span, 'fromMs' | 'toMs'>,
  zone: Zone,
): { readonly apartMs: number; readonly at: readonly number[] } {
  const apartMs = TICKS.find((tick) => (toMs - fromMs) / tick <= MOST_TICKS) ?? 60 * DAY
  const at: number[] = []
  for (let tick = floorTo(fromMs, apartMs, zone); tick <= toMs; tick = nextTick(tick, apartMs, zone)) {
    if (tick >= fromMs) at.push(tick)
  }
  return { apartMs, at }
}

/** Daylight saving time has days of 23 and 25 hours. */
function nextTick(tick: number, apartMs: number, zone: Zone): number {
  if (apartMs < DAY) return floorTo(tick + apartMs, Math.min(apartMs, HOUR), zone)
  return floorTo(tick + apartMs + DAY / 4, DAY, zone)
}
