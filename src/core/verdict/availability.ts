import type { UnixMs } from '../time.ts'
import type { State } from './condition.ts'

/** What was found at one moment, and for how long it may be believed. */
export interface TimedState {
  readonly at: UnixMs
  readonly state: State
  /** Neither lagging, stalled nor forked; counts where the state is up or degraded. */
  readonly fresh: boolean
  readonly holdMs: number
}

/** A stretch of one state: [from, to). */
export interface Interval {
  readonly from: UnixMs
  readonly to: UnixMs
  readonly state: State
  readonly fresh: boolean
}

/** A stretch of time: [from, until). */
export interface TimeRange {
  readonly from: UnixMs
  readonly until: UnixMs
}

/** How long each state was held within a stretch of time, in milliseconds. What is missing to the whole is unknown. */
export interface TimeParts {
  upMs: number
  degradedMs: number
  downMs: number
  maintenanceMs: number
  /** Part of the time up or degraded. */
  freshMs: number
}

/** Time-weighted shares of a window; see the contract's section 7. */
export interface Availability {
  /** (up + degraded) / (up + degraded + down); `null` when nothing was known. */
  readonly ratio: number | null
  /** Known time / window. */
  readonly coverage: number
  /** Time up and neither lagging, stalled nor forked / known time; `null` when nothing was known. */
  readonly fresh: number | null
}

export const AVAILABILITY_WINDOWS = { '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000, '90d': 7_776_000_000 }
export type AvailabilityWindow = keyof typeof AVAILABILITY_WINDOWS

/**
 * The states from `from` to `to`, without gaps or overlaps: a result holds until the next one or until its hold is over,
 * whichever is first, and the rest is unknown. `results` ascend in time and may start before `from`.
 */
export function* intervalsOf(results: Iterable<TimedState>, from: UnixMs, to: UnixMs): Generator<Interval> {
  let reached = from
  let previous: TimedState | null = null
  for (const result of results) {
    if (result.at >= to) break
    if (previous !== null) {
      const interval = held(previous, result.at, reached, to)
      if (interval !== null) {
        if (interval.from > reached) yield unknown(reached, interval.from)
        yield interval
        reached = interval.to
      }
    }
    previous = result
  }
  if (previous !== null) {
    const interval = held(previous, to, reached, to)
    if (interval !== null) {
      if (interval.from > reached) yield unknown(reached, interval.from)
      yield interval
      reached = interval.to
    }
  }
  if (reached < to) yield unknown(reached, to)
}

function held(result: TimedState, nextAt: UnixMs, from: UnixMs, to: UnixMs): Interval | null {
  const start = Math.max(from, result.at)
  const end = Math.min(to, nextAt, result.at + result.holdMs)
  return end > start ? { from: start, to: end, state: result.state, fresh: result.fresh } : null
}

function unknown(from: UnixMs, to: UnixMs): Interval {
  return { from, to, state: 'unknown', fresh: false }
}

/** As one list in the order of time, in which none overlaps or touches the next. */
export function mergeRanges(stretches: Iterable<TimeRange>): TimeRange[] {
  const united: TimeRange[] = []
  for (const { from, until } of [...stretches].sort((a, b) => a.from - b.from)) {
    if (!(until > from)) continue
    const last = united.at(-1)
    if (last !== undefined && from <= last.until)
      united[united.length - 1] = { ...last, until: Math.max(last.until, until) }
    else united.push({ from, until })
  }
  return united
}

/** How much of [from, to) the stretches cover; they are united. */
export function coveredMs(stretches: readonly TimeRange[], from: UnixMs, to: UnixMs): number {
  let ms = 0
  for (const stretch of stretches) ms += Math.max(0, Math.min(to, stretch.until) - Math.max(from, stretch.from))
  return ms
}

/**
 * The same intervals, but whatever lies in planned maintenance is just that, known before or not. `maintenance` is united. Both
 * go on in the order of time, so that each stretch is looked at once.
 */
export function* withMaintenance(
  intervals: Iterable<Interval>,
  maintenance: readonly TimeRange[],
): Generator<Interval> {
  let next = 0
  for (const interval of intervals) {
    let { from } = interval
    const { to } = interval
    while (from < to) {
      let stretch = maintenance[next]
      while (stretch !== undefined && stretch.until <= from) stretch = maintenance[++next]
      if (stretch === undefined || stretch.from >= to) {
        yield { ...interval, from }
        break
      }
      if (stretch.from > from) yield { ...interval, from, to: stretch.from }
      const start = Math.max(from, stretch.from)
      const end = Math.min(to, stretch.until)
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

/** Maintenance says nothing of the node either. */
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

/** Six digits, never rounded up: one second of downtime in ninety days must not read as 1. Both are whole numbers. */
export function flooredRatio(part: number, whole: number): number {
  if (whole <= 0) return 0
  const scaled = part * RATIO_DIGITS
  return (scaled - (scaled % whole)) / whole / RATIO_DIGITS
}

/**
 * What falls to the part [fromMs, toMs) of a stretch of `wholeMs` when nobody knows any more how its times lay in it: they are
 * spread evenly. However a stretch is cut, its portions sum to the whole, to the millisecond, and each to its own length with
 * what is unknown. Milliseconds are never rounded in favour of the node. Maintenance is no part of it: that is known exactly.
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
 * What falls to the first `ms` milliseconds. Time is split in two, and each half again: in that way every part grows with
 * `ms`, by as much as the others leave. Products stay below 2^53 for stretches up to a day.
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
