import { createTask, parse } from 'node-cron'
import type { UnixMs } from '../core/time.ts'
import { createTimeZone, type WallMs } from './time-zone.ts'

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
