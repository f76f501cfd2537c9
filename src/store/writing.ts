import type Database from 'better-sqlite3'
import type { TimeRange } from '../core/verdict/availability.ts'
import { createReachReader, markOf } from './cursors.ts'
import { createMaintainedTimes, onlyIn, replanned } from './maintained.ts'
import {
  type AliasRow,
  type Batch,
  POLL_NUMBERS,
  type Registration,
  type SavedHealthRow,
  type WriteEvent,
} from './messages.ts'
import { VERDICT_BITS } from './poll-row.ts'
import { createRawPolls } from './raw-polls.ts'
import type { RollUp } from './roll-up.ts'
import { DAY, SLOT_MS, slotOf } from './tiers.ts'

/** The statements of the writing connection. A batch is one transaction: all of it, or nothing. */
export interface Writing {
  register(registrations: readonly Registration[]): void
  /** How many polls were written. Written again, a batch changes nothing. */
  write(batch: Batch): number
  savedHealth(): readonly SavedHealthRow[]
  aliases(): readonly AliasRow[]
  jobEnded(job: string, at: number): void
  lastRuns(): readonly (readonly [string, number])[]
}

export function createWriting(db: Database.Database, rollUp: RollUp): Writing {
  const addEndpoint = db.prepare('INSERT INTO endpoints (name) VALUES (?) ON CONFLICT (name) DO NOTHING')
  const endpointIdOf = db.prepare('SELECT endpoint_id FROM endpoints WHERE name = ?').pluck()
  const latestHold = db.prepare('SELECT hold_ms FROM holds WHERE endpoint_id = ? ORDER BY from_ms DESC LIMIT 1').pluck()
  const forgetHolds = db.prepare('DELETE FROM holds WHERE endpoint_id = ? AND from_ms > max(0, ?)')
  const addHold = db.prepare('INSERT OR REPLACE INTO holds (endpoint_id, from_ms, hold_ms) VALUES (?, ?, ?)')
  const addPoll = db.prepare(
    `INSERT OR REPLACE INTO polls (endpoint_id, slot, offset_ms, outcome, latency_us, height, lag_blocks, heartbeat_lag_ms, contiguous_failures)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const amendSlot = db.prepare(
    `UPDATE polls SET outcome = (outcome & ~${VERDICT_BITS}) | ?
     WHERE slot = ? AND endpoint_id = ? AND offset_ms >= ? AND offset_ms < ?`,
  )
  const addHashChange = db.prepare(
    `INSERT OR REPLACE INTO hash_changes (at_ms, endpoint_id, shard, height, hash, previous_hash) VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const saveHealth = db.prepare(
    `INSERT INTO saved_health (endpoint_id, at_ms, value) VALUES (?, ?, ?)
     ON CONFLICT (endpoint_id) DO UPDATE SET at_ms = excluded.at_ms, value = excluded.value`,
  )
  const saveIncident = db.prepare(
    `INSERT INTO incidents (id, network, endpoint, opened_ms, closed_ms, absorbed, value) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET network = excluded.network, endpoint = excluded.endpoint, opened_ms = excluded.opened_ms,
       closed_ms = excluded.closed_ms, absorbed = excluded.absorbed, value = excluded.value`,
  )
  const saveAlias = db.prepare(
    `INSERT OR REPLACE INTO aliases (network, alias, target, endpoint, node_id, caller, at_ms, stale_ms, stale_reason)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const allAliases = db
    .prepare(
      `SELECT network, alias, target, endpoint, node_id, caller, at_ms, stale_ms, stale_reason FROM aliases
       ORDER BY network, alias`,
    )
    .raw()
  const addAdminCall = db.prepare(
    `INSERT OR REPLACE INTO admin_calls (at_ms, nth, network, caller, alias, target, endpoint, node_id, outcome)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const allSaved = db
    .prepare('SELECT name, at_ms, value FROM saved_health JOIN endpoints USING (endpoint_id) ORDER BY endpoint_id')
    .raw()
  const endJob = db.prepare(
    'INSERT INTO jobs (job, ended_ms) VALUES (?, ?) ON CONFLICT (job) DO UPDATE SET ended_ms = excluded.ended_ms',
  )
  const allJobs = db.prepare('SELECT job, ended_ms FROM jobs').raw()
  const reach = createReachReader(db)
  const { nextSlot } = createRawPolls(db)
  const maintained = createMaintainedTimes(db)
  /** From the numbers of this process to those of the file. */
  const ids: number[] = []

  function idOf(name: string): number {
    const known = endpointIdOf.get(name)
    if (typeof known === 'number') return known
    return Number(addEndpoint.run(name).lastInsertRowid)
  }

  function register(registrations: readonly Registration[]): void {
    for (const { index, endpoint, holdMs, at } of registrations) {
      const endpointId = idOf(endpoint)
      ids[index] = endpointId
      // Left by a clock that was ahead.
      forgetHolds.run(endpointId, at)
      const held = latestHold.get(endpointId)
      if (held === holdMs) continue
      // The first one holds for whatever is told of the time before.
      addHold.run(endpointId, held === undefined ? 0 : at, holdMs)
    }
  }

  /** Redoes what the new plan changes of the time that is added up already. */
  function plan({ at, periods }: Extract<WriteEvent, { kind: 'maintain' }>): void {
    const believed = markOf(db, 'clock_ms')
    // A clock that begins in 1970 must not call everything planned since then off.
    const cutAt = believed !== null && at < believed - DAY.widthMs ? Number.MAX_SAFE_INTEGER : at
    const planned = new Map<number, TimeRange[]>(maintained.endpointsAfter(cutAt).map((endpointId) => [endpointId, []]))
    for (const [endpoint, from, until] of periods) {
      if (!Number.isSafeInteger(from) || !Number.isSafeInteger(until) || from >= until) continue
      const endpointId = idOf(endpoint)
      const stretches = planned.get(endpointId) ?? []
      stretches.push({ from, until })
      planned.set(endpointId, stretches)
    }
    for (const [endpointId, stretches] of planned) {
      const from = stretches.reduce((earliest, stretch) => Math.min(earliest, stretch.from), cutAt)
      const before = maintained.between(endpointId, from - 1, Number.MAX_SAFE_INTEGER)
      const after = replanned(before, stretches, cutAt)
      if (onlyIn(before, after).length + onlyIn(after, before).length === 0) continue
      maintained.replace(endpointId, from, after)
      rollUp.replan(endpointId, before, after)
    }
  }

  function apply(event: WriteEvent, touched: Touched): void {
    switch (event.kind) {
      case 'register':
        register(event.registrations)
        return
      case 'amend': {
        const endpointId = ids[event.index]
        if (endpointId === undefined) return
        const last = slotOf(event.to - 1)
        for (let slot = nextSlot(slotOf(event.from)); slot !== null && slot <= last; slot = nextSlot(slot + 1)) {
          const start = slot * SLOT_MS
          amendSlot.run(event.verdict, slot, endpointId, event.from - start, event.to - start)
        }
        touch(touched, endpointId, event.from, event.to)
        return
      }
      case 'hash-change': {
        const endpointId = ids[event.index]
        if (endpointId === undefined) return
        addHashChange.run(event.at, endpointId, event.shard, event.height, event.hash, event.previousHash)
        return
      }
      case 'save-health':
        saveHealth.run(idOf(event.endpoint), event.at, event.json)
        return
      case 'save-incident':
        saveIncident.run(...event.row)
        return
      case 'save-alias':
        saveAlias.run(...event.row)
        return
      case 'admin-call':
        addAdminCall.run(...event.row)
        return
      case 'maintain':
        plan(event)
        return
    }
  }

  const write = db.transaction((batch: Batch): number => {
    const { polls, events } = batch
    const rows = polls.length / POLL_NUMBERS
    const touched: Touched = new Map()
    let nextEvent = 0
    for (let row = 0; row <= rows; row++) {
      for (let next = events[nextEvent]; next !== undefined && next.after <= row; next = events[++nextEvent]) {
        apply(next.event, touched)
      }
      if (row === rows) break
      const at = row * POLL_NUMBERS
      const endpointId = ids[polls[at] ?? -1]
      if (endpointId === undefined) continue
      const time = polls[at + 1] ?? 0
      const slot = slotOf(time)
      addPoll.run(
        endpointId,
        slot,
        time - slot * SLOT_MS,
        polls[at + 2],
        orNull(polls[at + 3]),
        orNull(polls[at + 4]),
        orNull(polls[at + 5]),
        orNull(polls[at + 6]),
        orNull(polls[at + 7]),
      )
      touch(touched, endpointId, time, time + 1)
    }
    redoRolledUp(touched)
    return rows
  })

  /** Polls come in the order of time, so as a rule nothing of this is rolled up yet. */
  function redoRolledUp(touched: Touched): void {
    const openFrom = reach().rolledTo * SLOT_MS
    for (const [endpointId, { from, to }] of touched) {
      if (from < openFrom + SLOT_MS) rollUp.redo(endpointId, from, to)
    }
  }

  return {
    register: db.transaction(register).immediate,
    write: (batch) => write.immediate(batch),
    savedHealth: () => allSaved.all() as [string, number, string][],
    aliases: () => allAliases.all() as unknown as AliasRow[],
    jobEnded: (job, at) => void endJob.run(job, at),
    lastRuns: () => allJobs.all() as [string, number][],
  }
}

/** By endpoint, the time in which something was written. */
type Touched = Map<number, { from: number; to: number }>

function touch(touched: Touched, endpointId: number, from: number, to: number): void {
  const span = touched.get(endpointId)
  if (span === undefined) touched.set(endpointId, { from, to })
  else {
    span.from = Math.min(span.from, from)
    span.to = Math.max(span.to, to)
  }
}

function orNull(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value
}
