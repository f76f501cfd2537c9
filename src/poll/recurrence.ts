import { createTask, parse } from 'node-cron'
import { DAY_MS, HOUR_MS, type UnixMs } from '../core/time.ts'

/**
 * Computes the start times of a cron pattern in a time zone (docs/decisions/0017). node-cron parses the pattern and
 * matches days; if both day fields are given, both must match. An hourly pattern also begins in the repeated hour when
 * the clock is put back. Throws for a pattern that node-cron's `validate` rejects.
 */
export function createRecurrence(pattern: string, timeZone: string) {
  const zone = createTimeZone(timeZone)
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(pattern)
  const onDays = createTask(`* * * ${dayOfMonth.join()} ${month.join()} ${dayOfWeek.join()}`, () => {}, {
    timezone: 'UTC',
  })
  // Only `match` is used: the task never runs.
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

  /** Adds the starts of one day, and may stop at `most`. `step`: forward or backward in time. */
  function addDay(starts: UnixMs[], midnight: WallMs, [after, until, most]: Range, step: 1 | -1): void {
    if (!isOn(midnight)) return
    const day = zone.day(midnight)
    const add = (at: UnixMs | null) => {
      if (at !== null && at > after && at <= until) starts.push(at)
    }
    for (let at = step === 1 ? 0 : times.length - 1; at >= 0 && at < times.length; at += step) {
      // On a day on which the clock is changed, times of day are not in the order of time.
      if (starts.length >= most && !day.changes) return
      const wall = midnight + (times[at] as number)
      add(day.first(wall))
      if (everyHour) add(day.again(wall))
    }
  }

  const midnightOf = (at: UnixMs): WallMs => Math.floor((at + zone.offsetAt(at)) / DAY_MS) * DAY_MS

  return {
    /** The first start times in (after, until], in the order of time; at most `most`. */
    first(...range: Range): readonly UnixMs[] {
      const [after, until, most] = range
      const starts: UnixMs[] = []
      // Skipped times of a day can move into the next one.
      const last = midnightOf(until)
      for (let day = midnightOf(after) - DAY_MS; day <= last && starts.length < most; day += DAY_MS) {
        addDay(starts, day, range, 1)
      }
      return ascending(starts).slice(0, most)
    },

    /** The latest start times in (after, until], in the order of time; at most `most`. */
    latest(...range: Range): readonly UnixMs[] {
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

export type Recurrence = ReturnType<typeof createRecurrence>

type Range = readonly [after: UnixMs, until: UnixMs, most: number]

const HOURS_A_DAY = 24

/** Removes duplicates: a pattern can name a number twice, and a skipped time can move to another one. */
function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b)
}

/** The time on a wall clock, as if that clock showed UTC. */
type WallMs = number

interface DayTimes {
  /** Whether the clock is changed on this day, or within half a day of it. */
  readonly changes: boolean
  /**
   * When the clock shows this time, by RFC 5545, section 3.3.5: the first of two moments; for a skipped time, the
   * moment at which the clock would have shown it without the change.
   */
  first(wall: WallMs): UnixMs
  /** The second moment at which the clock shows this time, after it was put back; `null` if there is none. */
  again(wall: WallMs): UnixMs | null
}

const SECOND_MS = 1000
/** Offsets from UTC range from +14 to -12 hours. */
const MOST_AHEAD_MS = 14 * HOUR_MS
const DAY_AND_MOST_BEHIND_MS = 36 * HOUR_MS

function createTimeZone(name: string) {
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

  /** The first second in (from, to] whose offset differs from the one at `from`. */
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
    /** Local time minus UTC. */
    offsetAt,

    /** Converts times of the day that begins at this midnight to moments. */
    day(midnight: WallMs): DayTimes {
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
