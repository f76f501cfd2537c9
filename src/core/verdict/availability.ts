import type { UnixMs } from '../time.ts'
import type { State } from './condition.ts'

/** The state found by one poll, and how long it holds. */
export interface TimedState {
  readonly at: UnixMs
  readonly state: State
  /** Neither lagging, stalled nor forked. Meaningful only if the state is up or degraded. */
  readonly fresh: boolean
  readonly holdMs: number
}

/** [from, to). */
export interface Interval {
  readonly from: UnixMs
  readonly to: UnixMs
  readonly state: State
  readonly fresh: boolean
}

/** [from, until). */
export interface TimeRange {
  readonly from: UnixMs
  readonly until: UnixMs
}

/** Time in each state within a period, in milliseconds. The rest of the period is unknown. */
export interface TimeParts {
  upMs: number
  degradedMs: number
  downMs: number
  maintenanceMs: number
  /** The fresh part of `upMs` and `degradedMs`. */
  freshMs: number
}

/** Shares of a window, by time. */
export interface Availability {
  /** (up + degraded) / (up + degraded + down); `null` if nothing is known. */
  readonly ratio: number | null
  /** Known time / window. */
  readonly coverage: number
  /** Fresh time (up or degraded, but neither lagging, stalled nor forked) / known time; `null` if nothing is known. */
  readonly fresh: number | null
}

export const AVAILABILITY_WINDOWS = { '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000, '90d': 7_776_000_000 }
export type AvailabilityWindow = keyof typeof AVAILABILITY_WINDOWS

/**
 * The states from `from` to `to`, without gaps or overlaps: a result holds for `holdMs`, but not beyond the next
 * result; the rest is unknown. `results` ascend in time and may start before `from`.
 */
export function* intervalsOf(results: Iterable<TimedState>, from: UnixMs, to: UnixMs): Generator<Interval> {
  let reached = from
  let previous: TimedState | null = null

  function* holdUntil(nextAt: UnixMs): Generator<Interval> {
    if (previous === null) return
    const { at, state, fresh, holdMs } = previous
    const start = Math.max(reached, at)
    const end = Math.min(nextAt, at + holdMs)
    if (end <= start) return
    if (start > reached) yield unknown(reached, start)
    yield { from: start, to: end, state, fresh }
    reached = end
  }

  for (const result of results) {
    if (result.at >= to) break
    yield* holdUntil(result.at)
    previous = result
  }
  yield* holdUntil(to)
  if (reached < to) yield unknown(reached, to)
}

function unknown(from: UnixMs, to: UnixMs): Interval {
  return { from, to, state: 'unknown', fresh: false }
}

/** Sorted and merged: ranges neither overlap nor touch. */
export function mergeRanges(ranges: Iterable<TimeRange>): TimeRange[] {
  const united: TimeRange[] = []
  for (const { from, until } of [...ranges].sort((a, b) => a.from - b.from)) {
    if (!(until > from)) continue
    const last = united.at(-1)
    if (last !== undefined && from <= last.until)
      united[united.length - 1] = { ...last, until: Math.max(last.until, until) }
    else united.push({ from, until })
  }
  return united
}

/** How much of [from, to) the merged ranges cover. */
export function coveredMs(ranges: readonly TimeRange[], from: UnixMs, to: UnixMs): number {
  let ms = 0
  for (const range of ranges) ms += Math.max(0, Math.min(to, range.until) - Math.max(from, range.from))
  return ms
}

/**
 * Replaces the states within planned maintenance. `maintenance` is merged, and both inputs ascend in time, so each
 * range is visited once.
 */
export function* withMaintenance(
  intervals: Iterable<Interval>,
  maintenance: readonly TimeRange[],
): Generator<Interval> {
  if (maintenance.length === 0) return yield* intervals
  let next = 0
  for (const interval of intervals) {
    let { from } = interval
    const { to } = interval
    while (from < to) {
      let range = maintenance[next]
      while (range !== undefined && range.until <= from) range = maintenance[++next]
      if (range === undefined || range.from >= to) {
        yield { ...interval, from }
        break
      }
      if (range.from > from) yield { ...interval, from, to: range.from }
      const start = Math.max(from, range.from)
      const end = Math.min(to, range.until)
      yield { from: start, to: end, state: 'maintenance', fresh: false }
      from = end
    }
  }
}

export function noTime(): TimeParts {
  return { upMs: 0, degradedMs: 0, downMs: 0, maintenanceMs: 0, freshMs: 0 }
}

export function addTime(parts: TimeParts, state: State, fresh: boolean, ms: number): void {
  switch (state) {
    case 'up':
      parts.upMs += ms
      if (fresh) parts.freshMs += ms
      return
    case 'degraded':
      parts.degradedMs += ms
      if (fresh) parts.freshMs += ms
      return
    case 'down':
      parts.downMs += ms
      return
    case 'maintenance':
      parts.maintenanceMs += ms
      return
    case 'unknown':
      return
  }
}

export function mergeTime(into: TimeParts, from: TimeParts): void {
  into.upMs += from.upMs
  into.degradedMs += from.degradedMs
  into.downMs += from.downMs
  into.maintenanceMs += from.maintenanceMs
  into.freshMs += from.freshMs
}

/** Excludes maintenance, which says nothing about the node. */
export function knownMs(parts: TimeParts): number {
  return parts.upMs + parts.degradedMs + parts.downMs
}

export function availabilityOf(parts: TimeParts, windowMs: number): Availability {
  const known = knownMs(parts)
  return {
    ratio: known === 0 ? null : flooredRatio(parts.upMs + parts.degradedMs, known),
    coverage: flooredRatio(Math.min(known, windowMs), windowMs),
    fresh: known === 0 ? null : flooredRatio(parts.freshMs, known),
  }
}

const RATIO_DIGITS = 1e6

/** Whole numbers in, six digits out, rounded down: one second of downtime in ninety days must not read as 1. */
export function flooredRatio(part: number, whole: number): number {
  if (whole <= 0) return 0
  const scaled = part * RATIO_DIGITS
  return (scaled - (scaled % whole)) / whole / RATIO_DIGITS
}

/**
 * The part [fromMs, toMs) of a period of `wholeMs`, spread evenly because the order of states is no longer known.
 * Adjacent portions sum to the whole exactly, and rounding never favours the node. Excludes maintenance, whose times
 * are known.
 */
export function portionOf(parts: TimeParts, fromMs: number, toMs: number, wholeMs: number): TimeParts {
  const portion = noTime()
  if (wholeMs <= 0) return portion
  const before = firstPart(parts, fromMs, wholeMs)
  mergeTime(portion, firstPart(parts, toMs, wholeMs))
  portion.upMs -= before.upMs
  portion.degradedMs -= before.degradedMs
  portion.downMs -= before.downMs
  portion.freshMs -= before.freshMs
  return portion
}

/**
 * The first `ms` milliseconds of a period. Splits known time into good and bad, and good time into up and degraded, so
 * that every part grows with `ms`. Products stay below 2^53 for periods up to a day.
 */
function firstPart(parts: TimeParts, ms: number, wholeMs: number): TimeParts {
  const share = (of: number, part: number, whole: number) => (whole === 0 ? 0 : Math.floor((of * part) / whole))
  const good = parts.upMs + parts.degradedMs
  const knownPart = share(ms, knownMs(parts), wholeMs)
  const goodPart = share(knownPart, good, knownMs(parts))
  const upMs = share(goodPart, parts.upMs, good)
  return {
    upMs,
    degradedMs: goodPart - upMs,
    downMs: knownPart - goodPart,
    maintenanceMs: 0,
    freshMs: share(goodPart, parts.freshMs, good),
  }
}
