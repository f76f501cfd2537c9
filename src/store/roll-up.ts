import type Database from 'better-sqlite3'
import { addTime, intervalsOf, type TimeRange, withMaintenance } from '../core/verdict/availability.ts'
import { addPoll, type Bucket, mergeBucket, newBucket } from './bucket.ts'
import { blankCovered, carve } from './carve.ts'
import { createClockBelief } from './clock-belief.ts'
import { createReachReader, type Reach, readableRawFrom, rolledDaysTo, rolledHoursTo, setMark } from './cursors.ts'
import { createMaintainedTimes, onlyIn } from './maintained.ts'
import { createRawPolls, type HeldPoll, type Holds, hold } from './raw-polls.ts'
import { createTierTable } from './tier-table.ts'
import { DAY, FIVE_MINUTES, HOUR, HOURS_PER_DAY, LATE_MS, SLOT_MS, SLOTS_PER_HOUR, slotOf } from './tiers.ts'

/** Adds up polls to five minutes, those to hours, and those to days. */
export interface RollUp {
  /**
   * Everything that has ended by `now`, as a series of short transactions: the caller may write between two of them.
   * Done again after a crash it gives the same.
   */
  rollTo(now: number): Generator<void>
  /** Whatever there is, though it may lie in the future of a clock that was set back. */
  rollAll(): Generator<void>
  /** Polls of [from, to) were changed, or came late: does again what they touched. Runs inside the caller's transaction. */
  redo(endpointId: number, from: number, to: number): void
  /**
   * Other time is in maintenance than before. Where its borders lie within a bucket whose polls are gone, as much of the sum
   * goes as of the time. Runs inside the caller's transaction, after the new plan was written.
   */
  replan(endpointId: number, before: readonly TimeRange[], after: readonly TimeRange[]): void
}

/** Endpoints to a transaction. */
const CHUNK = 64

export function createRollUp(db: Database.Database, belief = createClockBelief(db)): RollUp {
  const raw = createRawPolls(db)
  const maintained = createMaintainedTimes(db)
  const reach = createReachReader(db)
  const fiveMinutes = createTierTable(db, FIVE_MINUTES)
  const hours = createTierTable(db, HOUR)
  const days = createTierTable(db, DAY)
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()
  const lastSlot = db.prepare('SELECT max(slot) FROM polls').pluck()
  /** The slot that `rollTo` is at: a poll that comes late for a part of it which is done must be counted in as well. */
  let rolling: number | null = null

  function holdSlots(): number {
    return Math.ceil(((longestHold.get() as number | null) ?? 0) / SLOT_MS)
  }

  function rollSlotOf(endpointId: number, slot: number, rows: readonly HeldPoll[], holds: Holds): void {
    const carried = raw.carriedInto(slot, endpointId, holds)
    const [start, end] = [slot * SLOT_MS, (slot + 1) * SLOT_MS]
    const bucket = newBucket()
    for (const row of rows) addPoll(bucket, row)
    const intervals = intervalsOf(carried === null ? rows : [carried, ...rows], start, end)
    for (const { from, to, state, fresh } of withMaintenance(intervals, maintained.between(endpointId, start, end))) {
      // Maintenance is known from the plan, exactly; here it is only left out.
      if (state !== 'maintenance') addTime(bucket, state, fresh, to - from)
    }
    fiveMinutes.put(endpointId, slot, bucket)
  }

  function rollHour(endpointId: number, hour: number): void {
    const first = hour * SLOTS_PER_HOUR
    hours.put(endpointId, hour, merged(fiveMinutes.between(endpointId, first, first + SLOTS_PER_HOUR).values()))
  }

  function rollDay(endpointId: number, day: number): void {
    const first = day * HOURS_PER_DAY
    days.put(endpointId, day, merged(hours.between(endpointId, first, first + HOURS_PER_DAY).values()))
  }

  function* rollSlot(slot: number): Generator<void> {
    // Those that are no longer polled cost nothing.
    for (const chunk of chunksOf(raw.endpointsIn(slot - holdSlots(), slot))) {
      db.transaction(() => {
        const polls = raw.bySlot(slot, chunk[0] ?? 0, chunk.at(-1) ?? 0)
        for (const endpointId of chunk) {
          const holds = raw.holds(endpointId)
          const rows = (polls.get(endpointId) ?? []).map((row) => hold(row, holds))
          rollSlotOf(endpointId, slot, rows, holds)
        }
      }).immediate()
      yield
    }
    if ((slot + 1) % SLOTS_PER_HOUR !== 0) return
    const hour = Math.floor(slot / SLOTS_PER_HOUR)
    yield* inTransactions(fiveMinutes.endpointsIn(slot + 1 - SLOTS_PER_HOUR, slot + 1), (id) => rollHour(id, hour))
    if ((hour + 1) % HOURS_PER_DAY !== 0) return
    const day = Math.floor(hour / HOURS_PER_DAY)
    yield* inTransactions(hours.endpointsIn(hour + 1 - HOURS_PER_DAY, hour + 1), (id) => rollDay(id, day))
  }

  function* inTransactions(ids: readonly number[], each: (endpointId: number) => void): Generator<void> {
    for (const chunk of chunksOf(ids)) {
      db.transaction(() => chunk.forEach(each)).immediate()
      yield
    }
  }

  /** Where there is something to do: nothing polled means nothing to add up, however long it was. */
  function nextBusySlot(slot: number, end: number): number {
    const polled = raw.nextSlot(slot - holdSlots() - 1)
    if (polled === null) return end
    return Math.min(end, Math.max(slot, polled))
  }

  function redoCoarser(endpointId: number, slots: readonly number[], hoursDone: readonly number[], now: Reach): void {
    const lastHour = rollingOr(rolledHoursTo(now), SLOTS_PER_HOUR)
    const lastDay = rollingOr(rolledDaysTo(now), SLOTS_PER_HOUR * HOURS_PER_DAY)
    const hoursDue = new Set(slots.map((slot) => Math.floor(slot / SLOTS_PER_HOUR)))
    for (const hour of hoursDue) if (hour <= lastHour) rollHour(endpointId, hour)
    const daysDue = new Set([...hoursDue, ...hoursDone].map((hour) => Math.floor(hour / HOURS_PER_DAY)))
    for (const day of daysDue) if (day <= lastDay) rollDay(endpointId, day)
  }

  /** The last bucket that is done, or perhaps just being done. */
  function rollingOr(rolledTo: number, slots: number): number {
    return rolling !== null && (rolling + 1) % slots === 0 ? Math.floor(rolling / slots) : rolledTo - 1
  }

  /** A poll may have come late for the idle time; then it is not idle any more. */
  function skipIdle(from: number, to: number, end: number): number {
    return db
      .transaction(() => {
        const busy = Math.min(to, nextBusySlot(from, end))
        if (busy > from) setMark(db, 'rolled_to', busy)
        return busy
      })
      .immediate()
  }

  function* completeIdle(from: number, to: number): Generator<void> {
    const hour = Math.floor(from / SLOTS_PER_HOUR)
    const day = Math.floor(hour / HOURS_PER_DAY)
    // As long as this is not noted a poll that comes late for it must be counted in.
    rolling = (hour + 1) * SLOTS_PER_HOUR - 1
    if (from % SLOTS_PER_HOUR !== 0 && (hour + 1) * SLOTS_PER_HOUR <= to) {
      const first = hour * SLOTS_PER_HOUR
      yield* inTransactions(fiveMinutes.endpointsIn(first, first + SLOTS_PER_HOUR), (id) => rollHour(id, hour))
    }
    rolling = (day + 1) * HOURS_PER_DAY * SLOTS_PER_HOUR - 1
    if (from % (SLOTS_PER_HOUR * HOURS_PER_DAY) !== 0 && (day + 1) * HOURS_PER_DAY * SLOTS_PER_HOUR <= to) {
      const first = day * HOURS_PER_DAY
      yield* inTransactions(hours.endpointsIn(first, first + HOURS_PER_DAY), (id) => rollDay(id, day))
    }
  }

  function* rollTo(now: number): Generator<void> {
    belief.judge(now)
    yield* rollSlots(slotOf(now - LATE_MS))
  }

  function* rollSlots(end: number): Generator<void> {
    const from = reach().rolledTo
    // Before the first roll-up of all, time starts with the first poll.
    let slot = from === 0 ? (raw.nextSlot(0) ?? end) : from
    try {
      while (slot < end) {
        const busy = nextBusySlot(slot, end)
        if (busy > slot) {
          // The hours and days that the idle time completes hold what was polled before it.
          yield* completeIdle(slot, busy)
          slot = skipIdle(slot, busy, end)
          rolling = null
        } else {
          rolling = slot
          yield* rollSlot(slot)
          slot++
          db.transaction(() => setMark(db, 'rolled_to', slot)).immediate()
          rolling = null
        }
        yield
      }
    } finally {
      rolling = null
    }
  }

  function lastDone(now: Reach): number {
    return Math.max(now.rolledTo - 1, rolling ?? 0)
  }

  function redo(endpointId: number, from: number, to: number): void {
    const now = reach()
    const holds = raw.holds(endpointId)
    const first = Math.max(slotOf(from), readableRawFrom(now, holds.longestMs))
    const last = Math.min(slotOf(to + holds.longestMs), lastDone(now))
    if (last < first) return
    const redone: number[] = []
    for (let slot = nextBusySlot(first, last + 1); slot <= last; slot = nextBusySlot(slot + 1, last + 1)) {
      rollSlotOf(endpointId, slot, raw.inSlot(slot, endpointId, holds), holds)
      redone.push(slot)
    }
    redoCoarser(endpointId, redone, [], now)
  }

  return {
    rollTo,
    rollAll: () => rollSlots(((lastSlot.get() as number | null) ?? -1) + 1),

    redo,

    replan(endpointId, before, after) {
      const change = { endpointId, before, after }
      for (const { from, until } of onlyIn(before, after)) redo(endpointId, from, until)
      const added = onlyIn(after, before)
      for (const stretch of added) {
        blankCovered(fiveMinutes, FIVE_MINUTES, change, stretch)
        blankCovered(hours, HOUR, change, stretch)
        blankCovered(days, DAY, change, stretch)
      }
      // The rest is where they begin and end.
      const now = reach()
      const holds = raw.holds(endpointId)
      const rawFrom = readableRawFrom(now, holds.longestMs)
      const slots = edgesOf(added, SLOT_MS).filter((slot) => slot >= now.fiveMinutesFrom && slot <= lastDone(now))
      for (const slot of slots) {
        if (slot >= rawFrom) rollSlotOf(endpointId, slot, raw.inSlot(slot, endpointId, holds), holds)
        else carve(fiveMinutes, FIVE_MINUTES, change, slot)
      }
      const older = edgesOf(added, HOUR.widthMs).filter((hour) => hour * SLOTS_PER_HOUR < now.fiveMinutesFrom)
      for (const hour of older) carve(hours, HOUR, change, hour)
      redoCoarser(endpointId, slots, older, now)
    },
  }
}

/** The buckets in which the stretches begin and end. */
function edgesOf(stretches: readonly TimeRange[], widthMs: number): number[] {
  const borders = stretches.flatMap(({ from, until }) => [from, until - 1])
  return [...new Set(borders.map((at) => Math.floor(at / widthMs)))]
}

function chunksOf(ids: readonly number[]): number[][] {
  const chunks: number[][] = []
  for (let at = 0; at < ids.length; at += CHUNK) chunks.push(ids.slice(at, at + CHUNK))
  return chunks
}

function merged(buckets: Iterable<Bucket>): Bucket {
  const sum = newBucket()
  for (const bucket of buckets) mergeBucket(sum, bucket)
  return sum
}
