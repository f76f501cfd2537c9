import type Database from 'better-sqlite3'
import { addTime, intervalsOf } from '../core/availability.ts'
import {
  addPoll,
  BUCKET_COLUMNS,
  type Bucket,
  type BucketCells,
  bucketOf,
  cellsOf,
  isEmpty,
  mergeBucket,
  newBucket,
} from './bucket.ts'
import { createReachReader, type Reach, readableRawFrom, rolledDaysTo, rolledHoursTo, setMark } from './marks.ts'
import { createRawPolls, type HeldPoll, hold } from './raw-polls.ts'
import { DAY, FIVE_MINUTES, HOUR, HOURS_PER_DAY, SLOT_MS, SLOTS_PER_HOUR, slotOf, type Tier } from './tiers.ts'

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
}

/** A poll is stored when it has ended, under the time of its start: so long a slot is left open for it. */
const LATE_MS = 30_000
/** Endpoints to a transaction. */
const CHUNK = 64

export function createRollUp(db: Database.Database): RollUp {
  const raw = createRawPolls(db)
  const reach = createReachReader(db)
  const fiveMinutes = createTierTable(db, FIVE_MINUTES)
  const hours = createTierTable(db, HOUR)
  const days = createTierTable(db, DAY)
  const everyId = db.prepare('SELECT endpoint_id FROM endpoints ORDER BY endpoint_id').pluck()
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()
  const lastSlot = db.prepare('SELECT max(slot) FROM polls').pluck()
  /** The slot that `rollTo` is at: a poll that comes late for a part of it which is done must be counted in as well. */
  let rolling: number | null = null

  function rollHour(endpointId: number, hour: number): void {
    const first = hour * SLOTS_PER_HOUR
    hours.put(endpointId, hour, merged(fiveMinutes.between(endpointId, first, first + SLOTS_PER_HOUR)))
  }

  function rollDay(endpointId: number, day: number): void {
    const first = day * HOURS_PER_DAY
    days.put(endpointId, day, merged(hours.between(endpointId, first, first + HOURS_PER_DAY)))
  }

  function* rollSlot(slot: number): Generator<void> {
    const ids = everyId.all() as number[]
    const chunks: number[][] = []
    for (let at = 0; at < ids.length; at += CHUNK) chunks.push(ids.slice(at, at + CHUNK))
    const inTransaction = (each: (endpointId: number) => void, chunk: number[]) =>
      db.transaction(() => chunk.forEach(each)).immediate()

    for (const chunk of chunks) {
      db.transaction(() => {
        const polls = raw.bySlot(slot, chunk[0] ?? 0, chunk.at(-1) ?? 0)
        for (const endpointId of chunk) {
          const holds = raw.holds(endpointId)
          const rows = (polls.get(endpointId) ?? []).map((row) => hold(row, holds))
          fiveMinutes.put(endpointId, slot, sumOf(raw.carriedInto(slot, endpointId, holds), rows, slot))
        }
      }).immediate()
      yield
    }
    if ((slot + 1) % SLOTS_PER_HOUR !== 0) return
    const hour = Math.floor(slot / SLOTS_PER_HOUR)
    for (const chunk of chunks) {
      inTransaction((endpointId) => rollHour(endpointId, hour), chunk)
      yield
    }
    if ((hour + 1) % HOURS_PER_DAY !== 0) return
    const day = Math.floor(hour / HOURS_PER_DAY)
    for (const chunk of chunks) {
      inTransaction((endpointId) => rollDay(endpointId, day), chunk)
      yield
    }
  }

  /** Where there is something to do: nothing polled means nothing to add up, however long it was. */
  function nextBusySlot(slot: number, end: number): number {
    const holdSlots = Math.ceil(((longestHold.get() as number | null) ?? 0) / SLOT_MS)
    const polled = raw.nextSlot(slot - holdSlots - 1)
    if (polled === null) return end
    return Math.min(end, Math.max(slot, polled))
  }

  function redoCoarser(endpointId: number, first: number, last: number, now: Reach): void {
    const lastHour = Math.min(Math.floor(last / SLOTS_PER_HOUR), rollingOr(rolledHoursTo(now), SLOTS_PER_HOUR))
    for (let hour = Math.floor(first / SLOTS_PER_HOUR); hour <= lastHour; hour++) rollHour(endpointId, hour)
    const slotsPerDay = SLOTS_PER_HOUR * HOURS_PER_DAY
    const lastDay = Math.min(Math.floor(last / slotsPerDay), rollingOr(rolledDaysTo(now), slotsPerDay))
    for (let day = Math.floor(first / slotsPerDay); day <= lastDay; day++) rollDay(endpointId, day)
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
    const ids = everyId.all() as number[]
    const hour = Math.floor(from / SLOTS_PER_HOUR)
    const day = Math.floor(hour / HOURS_PER_DAY)
    if (from % SLOTS_PER_HOUR !== 0 && (hour + 1) * SLOTS_PER_HOUR <= to) {
      db.transaction(() => ids.forEach((endpointId) => rollHour(endpointId, hour))).immediate()
      yield
    }
    if (from % (SLOTS_PER_HOUR * HOURS_PER_DAY) !== 0 && (day + 1) * HOURS_PER_DAY * SLOTS_PER_HOUR <= to) {
      db.transaction(() => ids.forEach((endpointId) => rollDay(endpointId, day))).immediate()
      yield
    }
  }

  function rollTo(now: number): Generator<void> {
    return rollSlots(slotOf(now - LATE_MS))
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

  return {
    rollTo,
    rollAll: () => rollSlots(((lastSlot.get() as number | null) ?? -1) + 1),

    redo(endpointId, from, to) {
      const now = reach()
      const holds = raw.holds(endpointId)
      const lastDone = Math.max(now.rolledTo - 1, rolling ?? 0)
      const first = Math.max(slotOf(from), readableRawFrom(now, holds.longestMs))
      const last = Math.min(slotOf(to + holds.longestMs), lastDone)
      if (last < first) return
      for (let slot = first; slot <= last; slot++) {
        const rows = raw.inSlot(slot, endpointId, holds)
        fiveMinutes.put(endpointId, slot, sumOf(raw.carriedInto(slot, endpointId, holds), rows, slot))
      }
      redoCoarser(endpointId, first, last, now)
    },
  }
}

function sumOf(carried: HeldPoll | null, rows: readonly HeldPoll[], slot: number): Bucket {
  const bucket = newBucket()
  for (const row of rows) addPoll(bucket, row)
  const results = carried === null ? rows : [carried, ...rows]
  for (const { from, to, state, fresh } of intervalsOf(results, slot * SLOT_MS, (slot + 1) * SLOT_MS)) {
    addTime(bucket, state, fresh, to - from)
  }
  return bucket
}

function merged(buckets: readonly Bucket[]): Bucket {
  const sum = newBucket()
  for (const bucket of buckets) mergeBucket(sum, bucket)
  return sum
}

interface TierTable {
  /** Buckets in which nothing was seen have no row. */
  put(endpointId: number, at: number, bucket: Bucket): void
  between(endpointId: number, first: number, end: number): Bucket[]
}

function createTierTable(db: Database.Database, { table }: Tier): TierTable {
  const columns = BUCKET_COLUMNS.join(', ')
  const marks = BUCKET_COLUMNS.map(() => '?').join(', ')
  const replace = db.prepare(
    `INSERT OR REPLACE INTO ${table} (endpoint_id, bucket, ${columns}) VALUES (?, ?, ${marks})`,
  )
  const remove = db.prepare(`DELETE FROM ${table} WHERE endpoint_id = ? AND bucket = ?`)
  const select = db
    .prepare(`SELECT ${columns} FROM ${table} WHERE endpoint_id = ? AND bucket >= ? AND bucket < ? ORDER BY bucket`)
    .raw()
  return {
    put(endpointId, at, bucket) {
      if (isEmpty(bucket)) remove.run(endpointId, at)
      else replace.run(endpointId, at, ...cellsOf(bucket))
    },
    between: (endpointId, first, end) => (select.all(endpointId, first, end) as BucketCells[]).map(bucketOf),
  }
}
