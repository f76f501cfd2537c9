import type Database from 'better-sqlite3'
import {
  AVAILABILITY_WINDOWS,
  type Availability,
  type AvailabilityWindow,
  addTime,
  intervalsOf,
  mergeTime,
  noTime,
  shareOf,
  type TimeParts,
} from '../core/availability.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import { createReachReader, type Reach, rolledDaysTo, rolledHoursTo } from './marks.ts'
import type { AvailabilityAnswer } from './messages.ts'
import { createRawPolls, type HeldPoll, type Holds, hold } from './raw-polls.ts'
import { DAY, FIVE_MINUTES, HOUR, SLOT_MS, slotOf, type Tier } from './tiers.ts'

export type AvailabilityReader = (endpoints: readonly EndpointKey[], now: number) => AvailabilityAnswer

/** A window that ends now, and begins on a border of the buckets that are left: up to an hour longer than it is called. */
interface Window {
  readonly name: AvailabilityWindow
  readonly from: number
}

/** The four windows of many endpoints, from the coarsest buckets that fit, and the polls that are not rolled up yet. */
export function createAvailabilityReader(db: Database.Database): AvailabilityReader {
  const everyEndpoint = db.prepare('SELECT name, endpoint_id FROM endpoints').raw()
  const reachOf = createReachReader(db)
  const raw = createRawPolls(db)
  const sums = Object.fromEntries(
    [FIVE_MINUTES, HOUR, DAY].map(({ table }) => [
      table,
      db
        .prepare(
          `SELECT total(up_ms), total(degraded_ms), total(down_ms), total(maintenance_ms), total(up_ms + degraded_ms - stale_ms)
           FROM ${table} WHERE endpoint_id = ? AND bucket >= ? AND bucket < ?`,
        )
        .raw(),
    ]),
  ) as Record<Tier['table'], Database.Statement>

  function addSum(tier: Tier, endpointId: number, from: number, to: number, parts: TimeParts): void {
    const row = sums[tier.table].get(endpointId, from / tier.widthMs, to / tier.widthMs)
    const [upMs, degradedMs, downMs, maintenanceMs, freshMs] = row as [number, number, number, number, number]
    mergeTime(parts, { upMs, degradedMs, downMs, maintenanceMs, freshMs })
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

  return (endpoints, now) => {
    const known = new Map(everyEndpoint.all() as [string, number][])
    const wanted = endpoints.flatMap((name) => {
      const endpointId = known.get(name)
      return endpointId === undefined ? [] : [{ name, endpointId }]
    })
    if (wanted.length === 0) return []
    const reach = reachOf()
    const windows = windowsAt(now, reach)
    const rolledTo = Math.min(reach.rolledTo * SLOT_MS, slotOf(now) * SLOT_MS)
    const tailOf = tails(
      new Set(wanted.map(({ endpointId }) => endpointId)),
      { ...reach, rolledTo: slotOf(rolledTo) },
      now,
    )
    return wanted.map(({ name, endpointId }) => {
      const intervals = [...intervalsOf(tailOf.get(endpointId) ?? [], rolledTo, now)]
      const parts = noTime()
      let to = rolledTo
      const shares = windows.map((window): [AvailabilityWindow, Availability] => {
        // Each window goes on from the next smaller one.
        if (window.from < to) addRange(endpointId, window.from, to, reach, parts)
        to = Math.min(to, window.from)
        const all = { ...parts }
        for (const { from, to: end, state, fresh } of intervals) {
          const start = Math.max(from, window.from)
          if (start < end) addTime(all, state, fresh, end - start)
        }
        return [window.name, shareOf(all, now - window.from)]
      })
      return [name, Object.fromEntries(shares) as Record<AvailabilityWindow, Availability>]
    })
  }
}

function windowsAt(now: number, reach: Reach): Window[] {
  return Object.entries(AVAILABILITY_WINDOWS)
    .map(([name, ms]) => {
      const fine = ms === DAY.widthMs && now - ms >= reach.fiveMinutesFrom * SLOT_MS
      const gridMs = fine ? SLOT_MS : HOUR.widthMs
      return { name: name as AvailabilityWindow, from: Math.floor((now - ms) / gridMs) * gridMs }
    })
    .sort((a, b) => b.from - a.from)
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
