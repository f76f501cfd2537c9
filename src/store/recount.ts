import { coveredMs, portionOf, type TimeRange } from '../core/verdict/availability.ts'
import { createAggregator } from './aggregate.ts'
import { newBucket } from './bucket.ts'
import { type BucketTable, type HistoryTables, nextBusySlot } from './history-tables.ts'
import { onlyIn } from './maintenance-plan.ts'
import {
  type Cursors,
  DAY,
  FIVE_MINUTES,
  HOUR,
  HOURS_PER_DAY,
  type Resolution,
  readableRawFrom,
  rolledDaysTo,
  rolledHoursTo,
  SLOT_MS,
  SLOTS_PER_HOUR,
  slotOf,
} from './resolution.ts'

/** By endpoint, the time in which something was written. */
export type ChangedTimes = Map<number, TimeRange>

export function noteChange(changed: ChangedTimes, endpoint: number, from: number, until: number): void {
  const known = changed.get(endpoint)
  const range = { from: Math.min(from, known?.from ?? from), until: Math.max(until, known?.until ?? until) }
  changed.set(endpoint, range)
}

/**
 * Corrects buckets that are aggregated already, in the caller's transaction. `rolling`: the slot that a roll-up has begun;
 * `null` between two slots.
 */
export function createRecount(tables: HistoryTables, rolling: () => number | null) {
  const { polls, buckets, cursors } = tables
  const aggregator = createAggregator(tables)

  /** Recounts the buckets affected by polls in [from, to) that were changed or arrived late. */
  function redo(endpointId: number, from: number, to: number): void {
    const now = cursors()
    const holds = polls.holds(endpointId)
    const first = Math.max(slotOf(from), readableRawFrom(now, holds.longestMs))
    const last = Math.min(slotOf(to + holds.longestMs), lastSlotDone(now))
    if (last < first) return
    const redone: number[] = []
    const next = (slot: number) => nextBusySlot(tables, slot, last + 1)
    for (let slot = next(first); slot <= last; slot = next(slot + 1)) {
      aggregator.fiveMinutes(endpointId, slot, polls.inSlot(slot, endpointId, holds), holds)
      redone.push(slot)
    }
    redoCoarser(endpointId, redone, [], now)
  }

  function redoCoarser(endpointId: number, slots: readonly number[], hoursDone: readonly number[], now: Cursors): void {
    const lastHour = lastDone(rolledHoursTo(now), SLOTS_PER_HOUR)
    const lastDay = lastDone(rolledDaysTo(now), SLOTS_PER_HOUR * HOURS_PER_DAY)
    const hours = new Set(slots.map((slot) => Math.floor(slot / SLOTS_PER_HOUR)))
    for (const hour of hours) if (hour <= lastHour) aggregator.coarser('hours', endpointId, hour)
    const days = new Set([...hours, ...hoursDone].map((hour) => Math.floor(hour / HOURS_PER_DAY)))
    for (const day of days) if (day <= lastDay) aggregator.coarser('days', endpointId, day)
  }

  function lastSlotDone(now: Cursors): number {
    return Math.max(now.rolledTo - 1, rolling() ?? 0)
  }

  /** The last coarse bucket that is done, or in progress with the slot that completes it. */
  function lastDone(rolledTo: number, slotsPerBucket: number): number {
    const slot = rolling()
    return slot !== null && (slot + 1) % slotsPerBucket === 0 ? Math.floor(slot / slotsPerBucket) : rolledTo - 1
  }

  return {
    redo,

    /**
     * Applies a changed maintenance plan, which is already written. A bucket that is only partly in maintenance and
     * whose polls are gone loses the same share as its time.
     */
    replan(endpointId: number, before: readonly TimeRange[], after: readonly TimeRange[]): void {
      const change = { endpointId, before, after }
      for (const { from, until } of onlyIn(before, after)) redo(endpointId, from, until)
      const added = onlyIn(after, before)
      for (const range of added) {
        blankCovered(buckets.five_minutes, FIVE_MINUTES, change, range)
        blankCovered(buckets.hours, HOUR, change, range)
        blankCovered(buckets.days, DAY, change, range)
      }
      // The remaining buckets are those in which maintenance begins or ends.
      const now = cursors()
      const holds = polls.holds(endpointId)
      const rawFrom = readableRawFrom(now, holds.longestMs)
      const slots = edgesOf(added, SLOT_MS).filter((slot) => slot >= now.fiveMinutesFrom && slot <= lastSlotDone(now))
      for (const slot of slots) {
        if (slot >= rawFrom) aggregator.fiveMinutes(endpointId, slot, polls.inSlot(slot, endpointId, holds), holds)
        else shrinkBucket(buckets.five_minutes, FIVE_MINUTES, change, slot)
      }
      const older = edgesOf(added, HOUR.widthMs).filter((hour) => hour * SLOTS_PER_HOUR < now.fiveMinutesFrom)
      for (const hour of older) shrinkBucket(buckets.hours, HOUR, change, hour)
      redoCoarser(endpointId, slots, older, now)
    },
  }
}

interface PlanChange {
  readonly endpointId: number
  readonly before: readonly TimeRange[]
  readonly after: readonly TimeRange[]
}

function edgesOf(ranges: readonly TimeRange[], widthMs: number): number[] {
  const borders = ranges.flatMap(({ from, until }) => [from, until - 1])
  return [...new Set(borders.map((at) => Math.floor(at / widthMs)))]
}

/** Blanks buckets that now lie entirely in maintenance, without reading their polls. */
function blankCovered(
  table: BucketTable,
  { widthMs }: Resolution,
  { endpointId, after }: PlanChange,
  added: TimeRange,
): void {
  const whole = after.find(({ from, until }) => from <= added.from && added.until <= until) ?? added
  const first = Math.max(Math.floor(added.from / widthMs), Math.ceil(whole.from / widthMs))
  const end = Math.min(Math.ceil(added.until / widthMs), Math.floor(whole.until / widthMs))
  if (first < end) table.blank(endpointId, first, end)
}

/**
 * Takes new maintenance out of a bucket whose polls are gone, assuming that its states are spread evenly over the time
 * outside maintenance. Call it once for each change of the plan.
 */
function shrinkBucket(
  table: BucketTable,
  { widthMs }: Resolution,
  { endpointId, before, after }: PlanChange,
  at: number,
): void {
  const bucket = table.between(endpointId, at, at + 1).get(at)
  const [from, to] = [at * widthMs, (at + 1) * widthMs]
  const openMs = widthMs - coveredMs(before, from, to)
  const leftMs = widthMs - coveredMs(after, from, to)
  if (bucket === undefined || leftMs >= openMs) return
  table.put(endpointId, at, { ...newBucket(), ...bucket, ...portionOf(bucket, 0, leftMs, openMs) })
}
