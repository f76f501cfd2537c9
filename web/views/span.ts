import type { Zone } from './format.ts'
import { endpointPath, type Route } from './route.ts'

/** The time that an endpoint's history is shown of, as its address says: a range up to now, or from one moment to another. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
  /** What is told apart; polls are told one by one where `isClose`. */
  readonly stepMs: number
  readonly range: Range | null
  readonly isClose: boolean
}

const MINUTE = 60_000
const HOUR = 3_600_000
const DAY = 86_400_000
export const RANGES = { '24h': DAY, '7d': 7 * DAY, '30d': 30 * DAY, '90d': 90 * DAY } as const
export type Range = keyof typeof RANGES
export const RANGE_NAMES = Object.keys(RANGES) as readonly Range[]

/** As many as there are pixels for on a phone. */
const MOST_STEPS = 400
const STEPS = [10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400].map((seconds) => seconds * 1000)
const SHORTEST = MINUTE
const LONGEST = 366 * DAY
/** An endpoint that is polled every fifteen seconds has 720 in this time. */
const CLOSE = 3 * HOUR
const ZOOM = 6

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
  // Steps begin where the clock strikes, so that those of now and of in a minute are the same ones.
  const first = Math.floor((nowMs - RANGES[range]) / stepMs) * stepMs
  return { fromMs: first, toMs: nowMs, stepMs, range, isClose: false }
}

/** Of one that has been watched for some hours only: all of that, and no long time of nothing before it. */
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

/** A sixth of it around a moment; `null` where that would be less than there is to see. */
export function closerPath(of: Endpoint, { fromMs, toMs }: Span, atMs: number): string | null {
  const widthMs = (toMs - fromMs) / ZOOM
  if (widthMs < SHORTEST) return null
  const from = Math.min(Math.max(fromMs, atMs - widthMs / 2), toMs - widthMs)
  return zoomPath(of, from, from + widthMs)
}

/** Six times as much around it, or the next longer range; `null` from the longest. */
export function widerPath(of: Endpoint, { fromMs, toMs, range }: Span, nowMs: number): string | null {
  if (range !== null) {
    const next = RANGE_NAMES[RANGE_NAMES.indexOf(range) + 1]
    return next === undefined ? null : rangePath(of, next)
  }
  const widthMs = Math.min((toMs - fromMs) * ZOOM, LONGEST)
  const to = Math.min(nowMs, (fromMs + toMs + widthMs) / 2)
  const fitting = RANGE_NAMES.find((name) => to === nowMs && RANGES[name] >= widthMs)
  return fitting === undefined || widthMs < RANGES['24h'] / 2 ? zoomPath(of, to - widthMs, to) : rangePath(of, fitting)
}

/** As much again before it, and after it where that has been. */
export function besidePaths(of: Endpoint, span: Span, nowMs: number): { earlier: string; later: string | null } {
  const { fromMs, toMs } = span
  const widthMs = toMs - fromMs
  const later = toMs >= nowMs - span.stepMs ? null : zoomPath(of, toMs, Math.min(nowMs, toMs + widthMs))
  return { earlier: zoomPath(of, fromMs - widthMs, fromMs), later }
}

export interface Part {
  readonly fromMs: number
  readonly toMs: number
  /** How it is called: by its day, or by the time that it begins. */
  readonly by: 'day' | 'time'
}

/** What it is made of, to look at closer: weeks, days, or parts of a day, as the clock of the reader has them. */
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

/** Round times along it, as the clock of the reader has them. */
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

/** Clocks that are put forward or back have days of 23 and 25 hours. */
function nextTick(tick: number, apartMs: number, zone: Zone): number {
  if (apartMs < DAY) return floorTo(tick + apartMs, Math.min(apartMs, HOUR), zone)
  return floorTo(tick + apartMs + DAY / 4, DAY, zone)
}
