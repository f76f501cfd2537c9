import { createAggregator } from '../aggregate.ts'
import { cursorsOf, type Marks } from '../marks.ts'
import { DAY, FINER, HOURS_PER_DAY, LATE_MS, SLOT_MS, SLOTS_PER_HOUR, slotOf } from '../resolution.ts'
import type { Database } from './database.ts'
import { loadTables } from './loaded-tables.ts'
import { lockAlone, readMarks, setMarks } from './marks.ts'
import { firstPollAt } from './polls.ts'
import type { Query } from './sessions.ts'

/** Endpoints per transaction, during which no poll is written; computing them keeps the event loop for some 10 ms. */
const CHUNK = 50

/** Aggregates polls to five minutes, five minutes to hours, and hours to days: each a series of short transactions. */
export function createRollUp({ query, transaction }: Pick<Database, 'query' | 'transaction'>) {
  /** Aggregates everything that has ended by `now`. Repeating it after a crash gives the same result. */
  async function rollTo(now: number, signal: AbortSignal): Promise<void> {
    const end = slotOf(now - LATE_MS)
    let slot = cursorsOf(await readMarks(query)).rolledTo
    while (slot < end && !signal.aborted) {
      const busy = await nextBusySlot(slot, end)
      if (busy > slot) {
        // The idle time completes hours and days that contain earlier polls.
        await completeIdle(slot, busy, signal)
        slot = signal.aborted ? slot : await skipIdle(slot, busy, end)
      } else {
        await rollSlot(slot, signal)
        if (!signal.aborted) await setMarks(query, [['rolled_to', ++slot]])
      }
    }
  }

  /** The first slot from `slot` on, up to `end`, that has something to aggregate. */
  async function nextBusySlot(slot: number, end: number, run: Query = query): Promise<number> {
    const from = slot === 0 ? 0 : slot - (await holdSlots(run)) - 1
    const polled = await firstPollAt(run, slot === 0 ? -DAY.widthMs : from * SLOT_MS, end * SLOT_MS)
    return polled === null ? end : Math.min(end, Math.max(slot, slotOf(polled)))
  }

  async function rollSlot(slot: number, signal: AbortSignal): Promise<void> {
    // From here on, the writer of a poll of this slot counts it.
    await transaction(async (run) => {
      await lockAlone(run)
      await setMarks(run, [['rolling', slot]])
    })
    const [from, until] = [slot * SLOT_MS, (slot + 1) * SLOT_MS]
    const start = from - (await holdSlots(query)) * SLOT_MS
    const ids = await query<{ id: number }>(
      'SELECT DISTINCT endpoint_id AS id FROM polls WHERE at_ms >= $1 AND at_ms < $2 ORDER BY 1',
      [start, until],
    )
    await inChunks(ids, signal, async (run, endpointIds, marks) => {
      const range = { from, until }
      const tables = await loadTables(run, { endpointIds, marks, polls: [range], maintenance: range })
      const { fiveMinutes } = createAggregator(tables)
      for (const endpointId of endpointIds) {
        const holds = tables.polls.holds(endpointId)
        fiveMinutes(endpointId, slot, tables.polls.inSlot(slot, endpointId, holds), holds)
      }
      await tables.flush(run)
    })
    if ((slot + 1) % SLOTS_PER_HOUR !== 0 || signal.aborted) return
    const hour = Math.floor(slot / SLOTS_PER_HOUR)
    await rollCoarser('hours', hour, signal)
    if ((hour + 1) % HOURS_PER_DAY === 0) await rollCoarser('days', Math.floor(hour / HOURS_PER_DAY), signal)
  }

  async function rollCoarser(table: keyof typeof FINER, at: number, signal: AbortSignal): Promise<void> {
    const { table: finer, parts } = FINER[table]
    const [first, end] = [at * parts, (at + 1) * parts] as const
    const ids = await query<{ id: number }>(
      `SELECT DISTINCT endpoint_id AS id FROM ${finer} WHERE bucket >= $1 AND bucket < $2 ORDER BY 1`,
      [first, end],
    )
    await inChunks(ids, signal, async (run, endpointIds, marks) => {
      const tables = await loadTables(run, { endpointIds, marks, buckets: { [finer]: [first, end] } })
      for (const endpointId of endpointIds) createAggregator(tables).coarser(table, endpointId, at)
      await tables.flush(run)
    })
  }

  async function inChunks(
    rows: readonly { readonly id: number }[],
    signal: AbortSignal,
    work: (run: Query, endpointIds: readonly number[], marks: Marks) => Promise<void>,
  ): Promise<void> {
    for (let at = 0; at < rows.length && !signal.aborted; at += CHUNK) {
      const endpointIds = rows.slice(at, at + CHUNK).map(({ id }) => id)
      await transaction(async (run) => work(run, endpointIds, await lockAlone(run)))
    }
  }

  async function completeIdle(from: number, to: number, signal: AbortSignal): Promise<void> {
    const hour = Math.floor(from / SLOTS_PER_HOUR)
    const day = Math.floor(hour / HOURS_PER_DAY)
    const hourEnd = (hour + 1) * SLOTS_PER_HOUR
    const dayEnd = (day + 1) * HOURS_PER_DAY * SLOTS_PER_HOUR
    // Until the cursor moves, a poll that arrives late for this time must be counted too.
    if (from % SLOTS_PER_HOUR !== 0 && hourEnd <= to) {
      await setMarks(query, [['rolling', hourEnd - 1]])
      await rollCoarser('hours', hour, signal)
    }
    if (from % (SLOTS_PER_HOUR * HOURS_PER_DAY) !== 0 && dayEnd <= to) {
      await setMarks(query, [['rolling', dayEnd - 1]])
      await rollCoarser('days', day, signal)
    }
  }

  /** A poll that arrived late may have ended the idle time in the meantime. */
  function skipIdle(from: number, to: number, end: number): Promise<number> {
    return transaction(async (run) => {
      await lockAlone(run)
      const busy = Math.min(to, await nextBusySlot(from, end, run))
      if (busy > from) await setMarks(run, [['rolled_to', busy]])
      return busy
    })
  }

  return { rollTo }
}

/** The longest time, in slots, that any result holds. */
export async function holdSlots(query: Query): Promise<number> {
  const [row] = await query<{ longest: number | null }>('SELECT max(hold_ms) AS longest FROM holds')
  return Math.ceil((row?.longest ?? 0) / SLOT_MS)
}
