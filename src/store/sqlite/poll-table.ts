import type Database from 'better-sqlite3'
import type { UnixMs } from '../../core/time.ts'
import { type HistoryTables, hold, holdsOf, type PollTable } from '../history-tables.ts'
import { columnValues, POLL_COLUMNS, type PollCells, type PollRow, rowOf, VERDICT_BITS } from '../poll-columns.ts'
import { SLOT_MS, slotOf } from '../resolution.ts'
import type { PollsQuery, StoredPoll } from '../store.ts'

const COLUMNS = POLL_COLUMNS.join(', ')

export function createPollTable(db: Database.Database) {
  const longestHold = db.prepare('SELECT coalesce(max(hold_ms), 0) FROM holds').pluck()
  const selectHolds = db.prepare('SELECT from_ms, hold_ms FROM holds WHERE endpoint_id = ? ORDER BY from_ms').raw()
  const pollsIn = db.prepare(`SELECT ${COLUMNS} FROM polls WHERE slot = ? AND endpoint_id = ? ORDER BY offset_ms`).raw()
  const lastIn = db
    .prepare(`SELECT ${COLUMNS} FROM polls WHERE slot = ? AND endpoint_id = ? ORDER BY offset_ms DESC LIMIT 1`)
    .raw()
  const pollsOfMany = db
    .prepare(
      `SELECT ${COLUMNS}, endpoint_id FROM polls WHERE slot = ? AND endpoint_id BETWEEN ? AND ? ORDER BY endpoint_id, offset_ms`,
    )
    .raw()
  // Jumps along the key from endpoint to endpoint, past the other polls of each.
  const idsIn = db
    .prepare(
      `WITH RECURSIVE ids (id) AS (
         SELECT min(endpoint_id) FROM polls WHERE slot = @slot
         UNION ALL
         SELECT (SELECT min(endpoint_id) FROM polls WHERE slot = @slot AND endpoint_id > id) FROM ids WHERE id IS NOT NULL
       )
       SELECT id FROM ids WHERE id IS NOT NULL`,
    )
    .pluck()
  const nextSlot = createSlotFinder(db)

  return {
    longestHoldMs: () => longestHold.get() as number,

    holds: (endpointId) => holdsOf(selectHolds.all(endpointId) as [number, number][]),

    carriedInto(slot, endpointId, holds) {
      const start = slot * SLOT_MS
      for (let before = slot - 1; before >= slotOf(start - holds.longestMs); before--) {
        const cells = lastIn.get(before, endpointId) as PollCells | undefined
        if (cells !== undefined) return hold(rowOf(cells), holds)
      }
      return null
    },

    inSlot(slot, endpointId, holds) {
      return (pollsIn.all(slot, endpointId) as PollCells[]).map((cells) => hold(rowOf(cells), holds))
    },

    bySlot(slot, firstId, lastId) {
      const found = new Map<number, PollRow[]>()
      for (const cells of pollsOfMany.all(slot, firstId, lastId) as [...PollCells, number][]) {
        const endpointId = cells[POLL_COLUMNS.length] as number
        const rows = found.get(endpointId)
        if (rows === undefined) found.set(endpointId, [rowOf(cells)])
        else rows.push(rowOf(cells))
      }
      return found
    },

    /** The endpoints that have polls in any of the slots [first, last], ascending. */
    endpointsIn(first: number, last: number): number[] {
      const ids = new Set<number>()
      for (let slot = nextSlot(first); slot !== null && slot <= last; slot = nextSlot(slot + 1)) {
        for (const id of idsIn.all({ slot }) as number[]) ids.add(id)
      }
      return [...ids].sort((a, b) => a - b)
    },

    nextSlot,
  } satisfies PollTable & Record<string, unknown>
}

/** Finds the first slot at or after `slot` that has any poll; `null` if there is none. */
function createSlotFinder(db: Database.Database): (slot: number) => number | null {
  const firstFrom = db.prepare('SELECT slot FROM polls WHERE slot >= ? ORDER BY slot LIMIT 1').pluck()
  return (slot) => (firstFrom.get(slot) as number | undefined) ?? null
}

export type PollWriter = ReturnType<typeof createPollWriter>

export function createPollWriter(db: Database.Database) {
  const add = db.prepare(
    `INSERT OR REPLACE INTO polls (${COLUMNS}, endpoint_id) VALUES (${POLL_COLUMNS.map(() => '?').join(', ')}, ?)`,
  )
  const amendSlot = db.prepare(
    `UPDATE polls SET outcome = (outcome & ~${VERDICT_BITS}) | ?
     WHERE slot = ? AND endpoint_id = ? AND offset_ms >= ? AND offset_ms < ?`,
  )
  const nextSlot = createSlotFinder(db)

  return {
    /** Adds the poll whose numbers begin at `from`; see POLL_NUMBERS. */
    add: (polls: Float64Array, from: number, endpointId: number) =>
      void add.run(...columnValues(polls, from), endpointId),
    amend(endpointId: number, from: UnixMs, to: UnixMs, verdict: number): void {
      const last = slotOf(to - 1)
      for (let slot = nextSlot(slotOf(from)); slot !== null && slot <= last; slot = nextSlot(slot + 1)) {
        const start = slot * SLOT_MS
        amendSlot.run(verdict, slot, endpointId, from - start, to - start)
      }
    },
  }
}

export function createPollReader(
  { cursors, polls }: Pick<HistoryTables, 'cursors' | 'polls'>,
  endpointIdOf: (name: string) => number | undefined,
) {
  return ({ endpoint, from, to, limit }: PollsQuery): StoredPoll[] => {
    const endpointId = endpointIdOf(endpoint)
    if (endpointId === undefined) return []
    const holds = polls.holds(endpointId)
    const found: StoredPoll[] = []
    // Earlier slots are being deleted: some of their polls may be gone already.
    const first = Math.max(slotOf(from), cursors().rawFrom)
    for (let slot = polls.nextSlot(first); slot !== null && slot <= slotOf(to - 1); slot = polls.nextSlot(slot + 1)) {
      for (const { latencyUs, holdMs: _, ...poll } of polls.inSlot(slot, endpointId, holds)) {
        if (poll.at < from || poll.at >= to) continue
        if (found.length >= limit) return found
        found.push({ ...poll, latencyMs: latencyUs === null ? null : latencyUs / 1000 })
      }
    }
    return found
  }
}
