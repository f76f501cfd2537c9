import type { EndpointKey } from '../core/endpoint.ts'
import {
  AVAILABILITY_WINDOWS,
  type Availability,
  type AvailabilityWindow,
  addTime,
  availabilityOf,
  type Interval,
  intervalsOf,
  mergeTime,
  noTime,
  type TimeParts,
  withMaintenance,
} from '../core/verdict/availability.ts'
import { type HeldPoll, type HistoryTables, type Holds, hold } from './history-tables.ts'
import type { PollRow } from './poll-columns.ts'
import {
  type Cursors,
  DAY,
  FIVE_MINUTES,
  HOUR,
  type Resolution,
  readableRawFrom,
  rolledDaysTo,
  rolledHoursTo,
  SLOT_MS,
  slotOf,
} from './resolution.ts'

export type AvailabilityRow = readonly [EndpointKey, Readonly<Record<AvailabilityWindow, Availability>>]

/**
 * Computes all windows of many endpoints, from the coarsest buckets that fit and from polls that are not aggregated
 * yet. `Store.availability` says where a window begins.
 */
export function createAvailabilityReader(
  tables: HistoryTables,
  everyEndpoint: () => Iterable<readonly [name: string, endpointId: number]>,
) {
  const { polls, maintenance, buckets } = tables

  /** [from, to) must be aggregated, and begin and end on slot borders. */
  function addRange(endpointId: number, from: number, to: number, cursors: Cursors, parts: TimeParts): void {
    let at = from
    while (at < to) {
      const { resolution, end } = nextStep(at, to, cursors)
      const { table, widthMs } = resolution
      mergeTime(parts, buckets[table].sum(endpointId, at / widthMs, end / widthMs))
      at = end
    }
  }

  /** The polls of slots that are not aggregated yet, by endpoint, with the earlier poll whose result still holds. */
  function recentPolls(endpointIds: ReadonlySet<number>, cursors: Cursors, now: number): Map<number, HeldPoll[]> {
    const found = new Map<number, HeldPoll[]>()
    const holdsOf = new Map<number, Holds>()
    for (const endpointId of endpointIds) {
      const holds = polls.holds(endpointId)
      holdsOf.set(endpointId, holds)
      const carried = polls.carriedInto(cursors.rolledTo, endpointId, holds)
      found.set(endpointId, carried === null ? [] : [carried])
    }
    const first = Math.min(...endpointIds)
    const last = Math.max(...endpointIds)
    let slot = polls.nextSlot(cursors.rolledTo)
    while (slot !== null && slot <= slotOf(now)) {
      for (const [endpointId, rows] of polls.bySlot(slot, first, last)) {
        const holds = holdsOf.get(endpointId)
        const recent = found.get(endpointId)
        if (holds === undefined || recent === undefined) continue
        for (const row of rows) recent.push(hold(row, holds))
      }
      slot = polls.nextSlot(slot + 1)
    }
    return found
  }

  /** Reads each slot once for all endpoints. */
  function createSlotReader(ids: ReadonlySet<number>): (slot: number) => Map<number, PollRow[]> {
    const read = new Map<number, Map<number, PollRow[]>>()
    return (slot) => {
      const rows = read.get(slot) ?? polls.bySlot(slot, Math.min(...ids), Math.max(...ids))
      read.set(slot, rows)
      return rows
    }
  }

  return (endpoints: readonly EndpointKey[], now: number): readonly AvailabilityRow[] => {
    const known = new Map(everyEndpoint())
    const wanted = endpoints.flatMap((name) => {
      const endpointId = known.get(name)
      return endpointId === undefined ? [] : [{ name, endpointId }]
    })
    if (wanted.length === 0) return []
    const cursors = tables.cursors()
    const ids = new Set(wanted.map(({ endpointId }) => endpointId))
    const rolledTo = Math.min(cursors.rolledTo * SLOT_MS, slotOf(now) * SLOT_MS)
    const recentOf = recentPolls(ids, { ...cursors, rolledTo: slotOf(rolledTo) }, now)
    const polledIn = createSlotReader(ids)
    return wanted.map(({ name, endpointId }) => {
      const holds = polls.holds(endpointId)
      const recent = intervalsOf(recentOf.get(endpointId) ?? [], rolledTo, now)
      const intervals = [...withMaintenance(recent, maintenance.between(endpointId, rolledTo, now))]
      const rawFrom = readableRawFrom(cursors, holds.longestMs) * SLOT_MS
      const parts = noTime()
      let to = rolledTo
      const shares = WINDOWS.map(([window, ms]): [AvailabilityWindow, Availability] => {
        const from = beginningOf(now - ms, rawFrom, cursors)
        // Each window extends the next smaller one, from slot border to slot border.
        const border = Math.min(to, Math.ceil(from / SLOT_MS) * SLOT_MS)
        addRange(endpointId, border, to, cursors, parts)
        to = border
        const all = { ...parts }
        if (from < border) {
          const slot = slotOf(from)
          const rows = polledIn(slot).get(endpointId) ?? []
          const carried = polls.carriedInto(slot, endpointId, holds)
          const first = rows.map((row) => hold(row, holds))
          const lead = intervalsOf(carried === null ? first : [carried, ...first], from, border)
          addIntervals(all, withMaintenance(lead, maintenance.between(endpointId, from, border)), from)
        }
        addIntervals(all, intervals, from)
        return [window, availabilityOf(all, now - from)]
      })
      return [name, Object.fromEntries(shares) as Record<AvailabilityWindow, Availability>]
    })
  }
}

/** Shortest first. */
const WINDOWS = (Object.entries(AVAILABILITY_WINDOWS) as [AvailabilityWindow, number][]).sort((a, b) => a[1] - b[1])

/** The first time at or after `wanted` from which the stored history is exact. */
function beginningOf(wanted: number, rawFromMs: number, cursors: Cursors): number {
  if (wanted >= rawFromMs) return wanted
  const gridMs = wanted >= cursors.fiveMinutesFrom * SLOT_MS ? SLOT_MS : HOUR.widthMs
  return Math.ceil(wanted / gridMs) * gridMs
}

function addIntervals(parts: TimeParts, intervals: Iterable<Interval>, since: number): void {
  for (const { from, to, state, fresh } of intervals) {
    const start = Math.max(from, since)
    if (start < to) addTime(parts, state, fresh, to - start)
  }
}

function nextStep(at: number, to: number, cursors: Cursors): { resolution: Resolution; end: number } {
  const daysEnd = Math.floor(Math.min(to, rolledDaysTo(cursors) * DAY.widthMs) / DAY.widthMs) * DAY.widthMs
  if (at % DAY.widthMs === 0 && at < daysEnd) return { resolution: DAY, end: daysEnd }
  const hoursEnd = Math.floor(Math.min(to, rolledHoursTo(cursors) * HOUR.widthMs) / HOUR.widthMs) * HOUR.widthMs
  const nextDay = (Math.floor(at / DAY.widthMs) + 1) * DAY.widthMs
  if (at % HOUR.widthMs === 0 && at < hoursEnd) return { resolution: HOUR, end: Math.min(hoursEnd, nextDay) }
  const nextHour = (Math.floor(at / HOUR.widthMs) + 1) * HOUR.widthMs
  return { resolution: FIVE_MINUTES, end: Math.min(to, nextHour) }
}
