import { createTask, parse } from 'node-cron'
import type { UnixMs } from '../core/time.ts'

/** The moments at which a cron pattern begins something. */
export interface Recurrence {
  /** The first ones of (after, until], in the order of time; at most `most`. */
  first(...range: Range): readonly UnixMs[]
  /** The latest ones of (after, until], in the order of time; at most `most`. */
  latest(...range: Range): readonly UnixMs[]
}

type Range = readonly [after: UnixMs, until: UnixMs, most: number]

const DAY_MS = 86_400_000
const HOURS_A_DAY = 24

/**
 * node-cron reads the pattern and says which days it means; both day fields must match, where both are given. It can only
 * tell the times of such a day from the machine's own clock, and takes now the first and now the second of two equal times
 * when clocks are put back: that part is done here. A pattern for every hour is for every hour that passes, so that it also
 * begins in the hour that comes twice. Throws where node-cron's `validate` says no.
 */
export function createRecurrence(pattern: string, timeZone: string): Recurrence {
  const zone = createTimeZone(timeZone)
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(pattern)
  const onDays = createTask(`* * * ${dayOfMonth.join()} ${month.join()} ${dayOfWeek.join()}`, () => {}, {
    timezone: 'UTC',
  })
  // It is asked, never started: node-cron need not keep it.
  void onDays.destroy()
  const hours = ascending(hour)
  const minutes = ascending(minute)
  const seconds = ascending(second)
  const times = hours.flatMap((h) => minutes.flatMap((m) => seconds.map((s) => ((h * 60 + m) * 60 + s) * 1000)))
  const everyHour = hours.length === HOURS_A_DAY
  const months = new Set(month)

  function isOn(midnight: WallMs): boolean {
    const date = new Date(midnight)
    return months.has(date.getUTCMonth() + 1) && onDays.match(date)
  }

  /** Adds the starts of one day; after `most` in all it may stop. `step`: forward or backward in time. */
  function addDay(starts: UnixMs[], midnight: WallMs, [after, until, most]: Range, step: 1 | -1): void {
    if (!isOn(midnight)) return
    const day = zone.day(midnight)
    const add = (at: UnixMs | null) => {
      if (at !== null && at > after && at <= until) starts.push(at)
    }
    for (let at = step === 1 ? 0 : times.length - 1; at >= 0 && at < times.length; at += step) {
      // Where the clock is changed, the order of its times is not that of time.
      if (starts.length >= most && !day.changes) return
      const wall = midnight + (times[at] as number)
      add(day.first(wall))
      if (everyHour) add(day.again(wall))
    }
  }

  const midnightOf = (at: UnixMs): WallMs => Math.floor((at + zone.offsetAt(at)) / DAY_MS) * DAY_MS

  return {
    first(...range) {
      const [after, until, most] = range
      const starts: UnixMs[] = []
      // A day's times may be moved into the next one.
      const last = midnightOf(until)
      for (let day = midnightOf(after) - DAY_MS; day <= last && starts.length < most; day += DAY_MS) {
        addDay(starts, day, range, 1)
      }
      return ascending(starts).slice(0, most)
    },

    latest(...range) {
      const [after, until, most] = range
      const starts: UnixMs[] = []
      const first = midnightOf(after) - DAY_MS
      for (let day = midnightOf(until); day >= first && starts.length < most; day -= DAY_MS) {
        addDay(starts, day, range, -1)
      }
      return ascending(starts).slice(-most)
    },
  }
}

/** Each once: a pattern may name a number twice, and a time that does not exist may be moved to one that does. */
function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b)
}

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
