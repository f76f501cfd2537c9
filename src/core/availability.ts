import type { State } from './condition.ts'
import type { UnixMs } from './time.ts'

/** What was found at one moment, and for how long it may be believed. */
export interface HeldResult {
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
export function* intervalsOf(results: Iterable<HeldResult>, from: UnixMs, to: UnixMs): Generator<Interval> {
  let reached = from
  let previous: HeldResult | null = null
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

function held(result: HeldResult, nextAt: UnixMs, from: UnixMs, to: UnixMs): Interval | null {
  const start = Math.max(from, result.at)
  const end = Math.min(to, nextAt, result.at + result.holdMs)
  return end > start ? { from: start, to: end, state: result.state, fresh: result.fresh } : null
}

function unknown(from: UnixMs, to: UnixMs): Interval {
  return { from, to, state: 'unknown', fresh: false }
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

export function shareOf(parts: TimeParts, windowMs: number): Availability {
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
 * What falls to `ms` milliseconds of a stretch of `wholeMs`, when nobody knows any more how its parts lay in it: the same
 * shares. Milliseconds lost to rounding go to the largest part, so that known and unknown time still sum to `ms`.
 */
export function portionOf(parts: TimeParts, ms: number, wholeMs: number): TimeParts {
  const cut = (part: number) => Math.floor((part * ms) / wholeMs)
  const unknownMs = wholeMs - knownMs(parts) - parts.maintenanceMs
  const portion: TimeParts = {
    upMs: cut(parts.upMs),
    degradedMs: cut(parts.degradedMs),
    downMs: cut(parts.downMs),
    maintenanceMs: cut(parts.maintenanceMs),
    freshMs: cut(parts.freshMs),
  }
  const lostMs = ms - knownMs(portion) - portion.maintenanceMs - cut(unknownMs)
  const most = Math.max(parts.upMs, parts.degradedMs, parts.downMs, parts.maintenanceMs, unknownMs)
  if (parts.upMs === most) portion.upMs += lostMs
  else if (parts.degradedMs === most) portion.degradedMs += lostMs
  else if (parts.downMs === most) portion.downMs += lostMs
  else if (parts.maintenanceMs === most) portion.maintenanceMs += lostMs
  return portion
}
