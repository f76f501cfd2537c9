import type Database from 'better-sqlite3'
import type { UnixMs } from '../core/time.ts'
import type { TimedState } from '../core/verdict/availability.ts'
import { POLL_COLUMNS, type PollCells, type PollRow, rowOf } from './poll-row.ts'
import { SLOT_MS, slotOf } from './tiers.ts'

/** How long results of one endpoint hold, over the time that it was configured. */
export interface Holds {
  at(time: UnixMs): number
  readonly longestMs: number
}

export type HeldPoll = PollRow & TimedState

/** Reads raw polls, of one endpoint or of many, together with how long each of them holds. */
export interface RawPolls {
  holds(endpointId: number): Holds
  /** The poll whose result may still hold when the slot begins; `null` when there is none. */
  carriedInto(slot: number, endpointId: number, holds: Holds): HeldPoll | null
  /** In the order of time. */
  inSlot(slot: number, endpointId: number, holds: Holds): HeldPoll[]
  /** Of the endpoints [firstId, lastId]. */
  bySlot(slot: number, firstId: number, lastId: number): Map<number, PollRow[]>
  /** Who has polls in any of the slots [first, last], ascending. */
  endpointsIn(first: number, last: number): number[]
  /** The first slot from `slot` on that has a poll of anybody; `null` when there is none. */
  nextSlot(slot: number): number | null
}

const NEVER: Holds = { at: () => 0, longestMs: 0 }

export function createRawPolls(db: Database.Database): RawPolls {
  const holdsOf = db.prepare('SELECT from_ms, hold_ms FROM holds WHERE endpoint_id = ? ORDER BY from_ms').raw()
  const pollsIn = db
    .prepare(`SELECT ${POLL_COLUMNS} FROM polls WHERE slot = ? AND endpoint_id = ? ORDER BY offset_ms`)
    .raw()
  const lastIn = db
    .prepare(`SELECT ${POLL_COLUMNS} FROM polls WHERE slot = ? AND endpoint_id = ? ORDER BY offset_ms DESC LIMIT 1`)
    .raw()
  const pollsOfMany = db
    .prepare(
      `SELECT ${POLL_COLUMNS}, endpoint_id FROM polls WHERE slot = ? AND endpoint_id BETWEEN ? AND ? ORDER BY endpoint_id, offset_ms`,
    )
    .raw()
  // From one to the next by the key: polls of the same endpoint are passed over.
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
  const firstSlotFrom = db.prepare('SELECT slot FROM polls WHERE slot >= ? ORDER BY slot LIMIT 1').pluck()

  function nextSlot(slot: number): number | null {
    const found = firstSlotFrom.get(slot)
    return typeof found === 'number' ? found : null
  }

  return {
    holds(endpointId) {
      const rows = holdsOf.all(endpointId) as [number, number][]
      const [only] = rows
      if (only === undefined) return NEVER
      if (rows.length === 1) return { at: () => only[1], longestMs: only[1] }
      const longestMs = Math.max(...rows.map(([, holdMs]) => holdMs))
      return { at: (time) => (rows.findLast(([from]) => from <= time) ?? only)[1], longestMs }
    },

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
        const endpointId = cells[8]
        const rows = found.get(endpointId)
        const row = rowOf(cells as unknown as PollCells)
        if (rows === undefined) found.set(endpointId, [row])
        else rows.push(row)
      }
      return found
    },

    endpointsIn(first, last) {
      const ids = new Set<number>()
      for (let slot = nextSlot(first); slot !== null && slot <= last; slot = nextSlot(slot + 1)) {
        for (const id of idsIn.all({ slot }) as number[]) ids.add(id)
      }
      return [...ids].sort((a, b) => a - b)
    },

    nextSlot,
  }
}

export function hold(row: PollRow, holds: Holds): HeldPoll {
  return { ...row, holdMs: holds.at(row.at) }
}
