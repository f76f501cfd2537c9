import type Database from 'better-sqlite3'
import { createAggregator } from '../aggregate.ts'
import { hold, nextBusySlot } from '../history-tables.ts'
import { createRecount } from '../recount.ts'
import { FINER, HOURS_PER_DAY, LATE_MS, SLOTS_PER_HOUR, slotOf } from '../resolution.ts'
import { createTrustedClock } from './clock-trust.ts'
import { createHistoryTables } from './history-tables.ts'
import { createMarkWriter } from './marks.ts'

/** Endpoints per transaction. */
const CHUNK = 64

/** Aggregates polls to five minutes, five minutes to hours, and hours to days. */
export function createRollUp(db: Database.Database, trustedClock = createTrustedClock(db)) {
  const tables = createHistoryTables(db)
  const { cursors, polls, buckets, holdSlots } = tables
  const aggregator = createAggregator(tables)
  const setMarks = createMarkWriter(db)
  const lastSlot = db.prepare('SELECT max(slot) FROM polls').pluck()
  /** The slot in progress: a poll that arrives late for its finished part must be counted too. */
  let rolling: number | null = null

  function* rollSlots(end: number): Generator<void> {
    const from = cursors().rolledTo
    // Before the very first roll-up, time starts with the first poll.
    let slot = from === 0 ? (polls.nextSlot(0) ?? end) : from
    try {
      while (slot < end) {
        const busy = nextBusySlot(tables, slot, end)
        if (busy > slot) {
          // The idle time completes hours and days that contain earlier polls.
          yield* completeIdle(slot, busy)
          slot = skipIdle(slot, busy, end)
          rolling = null
        } else {
          rolling = slot
          yield* rollSlot(slot)
          slot++
          setMarks([['rolled_to', slot]])
          rolling = null
        }
        yield
      }
    } finally {
      rolling = null
    }
  }

  function* rollSlot(slot: number): Generator<void> {
    // Only endpoints whose polls can reach into the slot are read.
    for (const chunk of chunksOf(polls.endpointsIn(slot - holdSlots(), slot))) {
      db.transaction(() => {
        const rowsOf = polls.bySlot(slot, chunk[0] ?? 0, chunk.at(-1) ?? 0)
        for (const endpointId of chunk) {
          const holds = polls.holds(endpointId)
          const rows = (rowsOf.get(endpointId) ?? []).map((row) => hold(row, holds))
          aggregator.fiveMinutes(endpointId, slot, rows, holds)
        }
      }).immediate()
      yield
    }
    if ((slot + 1) % SLOTS_PER_HOUR !== 0) return
    const hour = Math.floor(slot / SLOTS_PER_HOUR)
    yield* rollCoarser('hours', hour)
    if ((hour + 1) % HOURS_PER_DAY !== 0) return
    yield* rollCoarser('days', Math.floor(hour / HOURS_PER_DAY))
  }

  function* rollCoarser(table: keyof typeof FINER, at: number): Generator<void> {
    const { table: finer, parts } = FINER[table]
    for (const chunk of chunksOf(buckets[finer].endpointsIn(at * parts, (at + 1) * parts))) {
      db.transaction(() => {
        for (const endpointId of chunk) aggregator.coarser(table, endpointId, at)
      }).immediate()
      yield
    }
  }

  /** A poll that arrived late may have ended the idle time in the meantime. */
  function skipIdle(from: number, to: number, end: number): number {
    return db
      .transaction(() => {
        const busy = Math.min(to, nextBusySlot(tables, from, end))
        if (busy > from) setMarks([['rolled_to', busy]])
        return busy
      })
      .immediate()
  }

  function* completeIdle(from: number, to: number): Generator<void> {
    const hour = Math.floor(from / SLOTS_PER_HOUR)
    const day = Math.floor(hour / HOURS_PER_DAY)
    // Until the cursor moves, a poll that arrives late for this time must be counted too.
    rolling = (hour + 1) * SLOTS_PER_HOUR - 1
    if (from % SLOTS_PER_HOUR !== 0 && (hour + 1) * SLOTS_PER_HOUR <= to) yield* rollCoarser('hours', hour)
    rolling = (day + 1) * HOURS_PER_DAY * SLOTS_PER_HOUR - 1
    const completesDay = (day + 1) * HOURS_PER_DAY * SLOTS_PER_HOUR <= to
    if (from % (SLOTS_PER_HOUR * HOURS_PER_DAY) !== 0 && completesDay) yield* rollCoarser('days', day)
  }

  return {
    /**
     * Aggregates everything that has ended by `now`, in short transactions; the caller may write between two of them.
     * Repeating it after a crash gives the same result.
     */
    *rollTo(now: number): Generator<void> {
      trustedClock.judge(now)
      yield* rollSlots(slotOf(now - LATE_MS))
    },
    /** Aggregates everything stored, including polls in the future of a clock that was set back. */
    rollAll: (): Generator<void> => rollSlots(((lastSlot.get() as number | null) ?? -1) + 1),
    ...createRecount(tables, () => rolling),
  }
}

export type RollUp = ReturnType<typeof createRollUp>

function chunksOf(ids: readonly number[]): number[][] {
  const chunks: number[][] = []
  for (let at = 0; at < ids.length; at += CHUNK) chunks.push(ids.slice(at, at + CHUNK))
  return chunks
}
