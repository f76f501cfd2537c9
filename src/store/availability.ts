import type Database from 'better-sqlite3'
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
import { createReachReader, type Reach, readableRawFrom, rolledDaysTo, rolledHoursTo } from './cursors.ts'
import { createMaintainedTimes } from './maintained.ts'
import type { AvailabilityAnswer } from './messages.ts'
import type { PollRow } from './poll-row.ts'
import { createRawPolls, type HeldPoll, type Holds, hold } from './raw-polls.ts'
import { DAY, FIVE_MINUTES, HOUR, SLOT_MS, slotOf, type Tier } from './tiers.ts'

export type AvailabilityReader = (endpoints: readonly EndpointKey[], now: number) => AvailabilityAnswer

/**
 * The four windows of many endpoints, from the coarsest buckets that fit, and the polls that are not rolled up yet. Each ends
 * now. Where polls are left from its beginning it is as long as it is called, to the millisecond; otherwise it begins with the
 * first bucket that lies all within it, so that nothing is guessed: up to five minutes later while those are kept, up to an
 * hour later after that. All shares are of that time, and it is never longer than it is called.
 */
export function createAvailabilityReader(db: Database.Database): AvailabilityReader {
  const everyEndpoint = db.prepare('SELECT name, endpoint_id FROM endpoints').raw()
  const reachOf = createReachReader(db)
  const raw = createRawPolls(db)
  const maintained = createMaintainedTimes(db)
  const sums = Object.fromEntries(
    [FIVE_MINUTES, HOUR, DAY].map(({ table }) => [
      table,
      db
        .prepare(
          `SELECT total(up_ms), total(degraded_ms), total(down_ms), total(up_ms + degraded_ms - stale_ms)
           FROM ${table} WHERE endpoint_id = ? AND bucket >= ? AND bucket < ?`,
        )
        .raw(),
    ]),
  ) as Record<Tier['table'], Database.Statement>

  function addSum(tier: Tier, endpointId: number, from: number, to: number, parts: TimeParts): void {
    const row = sums[tier.table].get(endpointId, from / tier.widthMs, to / tier.widthMs)
    const [upMs, degradedMs, downMs, freshMs] = row as [number, number, number, number]
    // Maintenance is known from the plan, and is in none of the shares.
    mergeTime(parts, { upMs, degradedMs, downMs, maintenanceMs: 0, freshMs })
  }

  /** [from, to) must be rolled up, and begin and end on borders of five minutes. */
  function addRange(endpointId: number, from: number, to: number, reach: Reach, parts: TimeParts): void {
    let at = from
    while (at < to) {
      const step = nextStep(at, to, reach)
      addSum(step.tier, endpointId, at, step.end, parts)
      at = step.end
    }
  }

  /** The polls of the slots that are not rolled up, by endpoint, with the one that holds over into them. */
  function tails(endpointIds: ReadonlySet<number>, reach: Reach, now: number): Map<number, HeldPoll[]> {
    const found = new Map<number, HeldPoll[]>()
    const holdsOf = new Map<number, Holds>()
    for (const endpointId of endpointIds) {
      const holds = raw.holds(endpointId)
      holdsOf.set(endpointId, holds)
      const carried = raw.carriedInto(reach.rolledTo, endpointId, holds)
      found.set(endpointId, carried === null ? [] : [carried])
    }
    const first = Math.min(...endpointIds)
    const last = Math.max(...endpointIds)
    let slot = raw.nextSlot(reach.rolledTo)
    while (slot !== null && slot <= slotOf(now)) {
      for (const [endpointId, rows] of raw.bySlot(slot, first, last)) {
        const holds = holdsOf.get(endpointId)
        const tail = found.get(endpointId)
        if (holds === undefined || tail === undefined) continue
        for (const row of rows) tail.push(hold(row, holds))
      }
      slot = raw.nextSlot(slot + 1)
    }
    return found
  }

  /** Read once for all of them. */
  function createSlotReader(ids: ReadonlySet<number>): (slot: number) => Map<number, PollRow[]> {
    const read = new Map<number, Map<number, PollRow[]>>()
    return (slot) => {
      const rows = read.get(slot) ?? raw.bySlot(slot, Math.min(...ids), Math.max(...ids))
      read.set(slot, rows)
      return rows
    }
  }

  return (endpoints, now) => {
    const known = new Map(everyEndpoint.all() as [string, number][])
    const wanted = endpoints.flatMap((name) => {
      const endpointId = known.get(name)
      return endpointId === undefined ? [] : [{ name, endpointId }]
    })
    if (wanted.length === 0) return []
    const reach = reachOf()
    const ids = new Set(wanted.map(({ endpointId }) => endpointId))
    const rolledTo = Math.min(reach.rolledTo * SLOT_MS, slotOf(now) * SLOT_MS)
    const tailOf = tails(ids, { ...reach, rolledTo: slotOf(rolledTo) }, now)
    const polledIn = createSlotReader(ids)
    return wanted.map(({ name, endpointId }) => {
      const holds = raw.holds(endpointId)
      const tail = intervalsOf(tailOf.get(endpointId) ?? [], rolledTo, now)
      const intervals = [...withMaintenance(tail, maintained.between(endpointId, rolledTo, now))]
      const rawFrom = readableRawFrom(reach, holds.longestMs) * SLOT_MS
      const parts = noTime()
      let to = rolledTo
      const shares = WINDOWS.map(([window, ms]): [AvailabilityWindow, Availability] => {
        const from = beginningOf(now - ms, rawFrom, reach)
        // Each window goes on from the next smaller one, on the borders of slots.
        const border = Math.min(to, Math.ceil(from / SLOT_MS) * SLOT_MS)
        addRange(endpointId, border, to, reach, parts)
        to = border
        const all = { ...parts }
        if (from < border) {
          const slot = slotOf(from)
          const rows = polledIn(slot).get(endpointId) ?? []
          const carried = raw.carriedInto(slot, endpointId, holds)
          const first = rows.map((row) => hold(row, holds))
          const lead = intervalsOf(carried === null ? first : [carried, ...first], from, border)
          addIntervals(all, withMaintenance(lead, maintained.between(endpointId, from, border)), from)
        }
        addIntervals(all, intervals, from)
        return [window, availabilityOf(all, now - from)]
      })
      return [name, Object.fromEntries(shares) as Record<AvailabilityWindow, Availability>]
    })
  }
}

/** The smallest first. */
const WINDOWS = (Object.entries(AVAILABILITY_WINDOWS) as [AvailabilityWindow, number][]).sort((a, b) => a[1] - b[1])

/** From when on it is known exactly what was when. */
function beginningOf(wanted: number, rawFromMs: number, reach: Reach): number {
  if (wanted >= rawFromMs) return wanted
  const gridMs = wanted >= reach.fiveMinutesFrom * SLOT_MS ? SLOT_MS : HOUR.widthMs
  return Math.ceil(wanted / gridMs) * gridMs
}

function addIntervals(parts: TimeParts, intervals: Iterable<Interval>, since: number): void {
  for (const { from, to, state, fresh } of intervals) {
    const start = Math.max(from, since)
    if (start < to) addTime(parts, state, fresh, to - start)
  }
}

function nextStep(at: number, to: number, reach: Reach): { tier: Tier; end: number } {
  const daysEnd = Math.floor(Math.min(to, rolledDaysTo(reach) * DAY.widthMs) / DAY.widthMs) * DAY.widthMs
  if (at % DAY.widthMs === 0 && at < daysEnd) return { tier: DAY, end: daysEnd }
  const hoursEnd = Math.floor(Math.min(to, rolledHoursTo(reach) * HOUR.widthMs) / HOUR.widthMs) * HOUR.widthMs
  const nextDay = (Math.floor(at / DAY.widthMs) + 1) * DAY.widthMs
  if (at % HOUR.widthMs === 0 && at < hoursEnd) return { tier: HOUR, end: Math.min(hoursEnd, nextDay) }
  const nextHour = (Math.floor(at / HOUR.widthMs) + 1) * HOUR.widthMs
  return { tier: FIVE_MINUTES, end: Math.min(to, nextHour) }
}
