import type { UnixMs } from '../core/time.ts'

/** What a wall clock shows, as milliseconds since the epoch would be if it were in UTC. */
export type WallMs = number

/** One time zone's wall clock. */
export interface TimeZone {
  /** What the clock shows at this moment, minus UTC. */
  offsetAt(at: UnixMs): number
  /** Turns times of the day that begins at this midnight into moments. */
  day(midnight: WallMs): DayTimes
}

export interface DayTimes {
  /** Whether the clock is put forward or back, on this day or beside it. */
  readonly changes: boolean
  /**
   * When the clock shows this time: by RFC 5545 section 3.3.5 the first of two times, and where the clock was put forward over
   * it, the moment at which it would have shown it.
   */
  first(wall: WallMs): UnixMs
  /** The second time that the clock shows it, having been put back; `null` where it does not. */
  again(wall: WallMs): UnixMs | null
}

const SECOND_MS = 1000
const HOUR_MS = 3_600_000
/** From the zone furthest ahead of UTC to the one furthest behind. */
const MOST_AHEAD_MS = 14 * HOUR_MS
const DAY_AND_MOST_BEHIND_MS = 36 * HOUR_MS

export function createTimeZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })

  function offsetAt(at: UnixMs): number {
    const shown = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 }
    for (const { type, value } of format.formatToParts(at)) if (type in shown) shown[type as 'year'] = Number(value)
    const wall = Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute, shown.second)
    return wall - Math.floor(at / SECOND_MS) * SECOND_MS
  }

  /** The first second of (from, to] with another offset than at `from`. */
  function changeBetween(from: UnixMs, to: UnixMs, before: number): UnixMs {
    let low = from
    let high = to
    while (high - low > SECOND_MS) {
      const middle = low + Math.floor((high - low) / 2 / SECOND_MS) * SECOND_MS
      if (offsetAt(middle) === before) low = middle
      else high = middle
    }
    return high
  }

  return {
    offsetAt,

    day(midnight) {
      const from = midnight - MOST_AHEAD_MS
      const to = midnight + DAY_AND_MOST_BEHIND_MS
      const before = offsetAt(from)
      const after = offsetAt(to)
      if (before === after) return { changes: false, first: (wall) => wall - before, again: () => null }
      // No zone changes its clock twice within two days.
      const change = changeBetween(from, to, before)
      const latest = change + Math.max(before, after)
      return {
        changes: true,
        first: (wall) => wall - (wall < latest ? before : after),
        again: (wall) => (wall >= change + after && wall < change + before ? wall - after : null),
      }
    },
  }
}
