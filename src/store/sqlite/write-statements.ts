import type Database from 'better-sqlite3'
import { onlyIn, planFrom, rangesByEndpoint, replanned } from '../maintenance-plan.ts'
import { cursorsOf } from '../marks.ts'
import { POLL_NUMBERS, timeOf } from '../poll-columns.ts'
import { type ChangedTimes, noteChange } from '../recount.ts'
import { SLOT_MS } from '../resolution.ts'
import type { Batch, Registration, SavedHealthJson, WriteEvent } from '../write-events.ts'
import { createMaintenanceTable } from './history-tables.ts'
import { createMarkReader } from './marks.ts'
import { createPollWriter, type PollWriter } from './poll-table.ts'
import { createAliasReader, createRecordWriter } from './records.ts'
import type { RollUp } from './roll-up.ts'

export type WriteStatements = ReturnType<typeof createWriteStatements>

/** The statements of the connection that writes. */
export function createWriteStatements(db: Database.Database, rollUp: RollUp) {
  const endJob = db.prepare('INSERT OR REPLACE INTO jobs (job, ended_ms) VALUES (?, ?)')
  const allJobs = db.prepare('SELECT job, ended_ms FROM jobs').raw()
  const allSaved = db.prepare(
    'SELECT name AS endpoint, at_ms AS at, value AS json FROM saved_health JOIN endpoints USING (endpoint_id) ORDER BY endpoint_id',
  )
  const endpoints = createEndpointIds(db)
  const polls = createPollWriter(db)
  const writeEvent = createEventWriter(db, { endpoints, polls, rollUp })
  const marks = createMarkReader(db)

  /** Recounts changed times that are already aggregated; usually none, since polls come in the order of time. */
  function redoAggregated(changed: ChangedTimes): void {
    const openFrom = cursorsOf(marks()).rolledTo * SLOT_MS
    for (const [endpointId, { from, until }] of changed) {
      if (from < openFrom + SLOT_MS) rollUp.redo(endpointId, from, until)
    }
  }

  const write = db.transaction(({ polls: numbers, events }: Batch): number => {
    const rows = numbers.length / POLL_NUMBERS
    const changed: ChangedTimes = new Map()
    let nextEvent = 0
    for (let row = 0; row <= rows; row++) {
      for (let next = events[nextEvent]; next !== undefined && next.after <= row; next = events[++nextEvent]) {
        writeEvent(next.event, changed)
      }
      if (row === rows) break
      const from = row * POLL_NUMBERS
      const endpointId = endpoints.idOfIndex(numbers[from])
      if (endpointId === undefined) continue
      polls.add(numbers, from, endpointId)
      const at = timeOf(numbers, from)
      noteChange(changed, endpointId, at, at + 1)
    }
    redoAggregated(changed)
    return rows
  })

  return {
    register: db.transaction(endpoints.register).immediate,
    /** Writes the batch in one transaction and returns the number of its polls; repeating it changes nothing. */
    write: (batch: Batch): number => write.immediate(batch),
    savedHealth: (): readonly SavedHealthJson[] => allSaved.all() as SavedHealthJson[],
    aliases: createAliasReader(db),
    jobEnded: (job: string, at: number): void => void endJob.run(job, at),
    lastRuns: (): readonly (readonly [job: string, endedAt: number])[] => allJobs.all() as [string, number][],
  }
}

type EndpointIds = ReturnType<typeof createEndpointIds>

function createEndpointIds(db: Database.Database) {
  const add = db.prepare('INSERT INTO endpoints (name) VALUES (?) ON CONFLICT (name) DO NOTHING')
  const find = db.prepare('SELECT endpoint_id FROM endpoints WHERE name = ?').pluck()
  const latestHold = db.prepare('SELECT hold_ms FROM holds WHERE endpoint_id = ? ORDER BY from_ms DESC LIMIT 1').pluck()
  const deleteHolds = db.prepare('DELETE FROM holds WHERE endpoint_id = ? AND from_ms > max(0, ?)')
  const addHold = db.prepare('INSERT OR REPLACE INTO holds (endpoint_id, from_ms, hold_ms) VALUES (?, ?, ?)')
  const ids: number[] = []

  function idOf(name: string): number {
    const known = find.get(name)
    return typeof known === 'number' ? known : Number(add.run(name).lastInsertRowid)
  }

  return {
    idOf,
    /** The id of the endpoint with this index in this process; `undefined` if it was not registered. */
    idOfIndex: (index = -1): number | undefined => ids[index],

    register(registrations: readonly Registration[]): void {
      for (const { index, endpoint, holdMs, at } of registrations) {
        const endpointId = idOf(endpoint)
        ids[index] = endpointId
        // Rows in the future were written while the clock was ahead.
        deleteHolds.run(endpointId, at)
        const latest = latestHold.get(endpointId)
        // The first one also applies to polls from before the registration.
        if (latest !== holdMs) addHold.run(endpointId, latest === undefined ? 0 : at, holdMs)
      }
    },
  }
}

interface EventWriterDeps {
  readonly endpoints: EndpointIds
  readonly polls: PollWriter
  readonly rollUp: RollUp
}

function createEventWriter(db: Database.Database, { endpoints, polls, rollUp }: EventWriterDeps) {
  const addHashChange = db.prepare(
    'INSERT OR REPLACE INTO hash_changes (at_ms, endpoint_id, shard, height, hash, previous_hash) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const saveHealth = db.prepare('INSERT OR REPLACE INTO saved_health (endpoint_id, at_ms, value) VALUES (?, ?, ?)')
  const saveRecord = createRecordWriter(db)
  const plan = createPlanWriter(db, endpoints, rollUp)

  return (event: WriteEvent, changed: ChangedTimes): void => {
    switch (event.kind) {
      case 'register':
        endpoints.register(event.registrations)
        return
      case 'amend': {
        const endpointId = endpoints.idOfIndex(event.index)
        if (endpointId === undefined) return
        polls.amend(endpointId, event.from, event.to, event.verdict)
        noteChange(changed, endpointId, event.from, event.to)
        return
      }
      case 'hash-change': {
        const endpointId = endpoints.idOfIndex(event.index)
        if (endpointId === undefined) return
        addHashChange.run(event.at, endpointId, event.shard ?? -1, event.height, event.hash, event.previousHash)
        return
      }
      case 'save-health':
        saveHealth.run(endpoints.idOf(event.endpoint), event.at, event.json)
        return
      case 'save-incident':
      case 'save-notification':
      case 'save-silence':
      case 'save-note':
      case 'save-alias':
      case 'admin-call':
        return saveRecord(event)
      case 'maintain':
        return plan(event)
      case 'merged':
        // Only the places of a cluster find anything together, and they share a database.
        return
    }
  }
}

/** Stores a maintenance plan, and corrects the aggregated time that it changes. */
function createPlanWriter(db: Database.Database, endpoints: EndpointIds, rollUp: RollUp) {
  const maintenance = createMaintenanceTable(db)
  const marks = createMarkReader(db)

  return ({ at, periods }: Extract<WriteEvent, { kind: 'maintain' }>): void => {
    const cutAt = planFrom(at, marks())
    const planned = rangesByEndpoint(periods, maintenance.endpointsAfter(cutAt), endpoints.idOf)
    for (const [endpointId, stretches] of planned) {
      const from = stretches.reduce((earliest, stretch) => Math.min(earliest, stretch.from), cutAt)
      const before = maintenance.between(endpointId, from - 1, Number.MAX_SAFE_INTEGER)
      const after = replanned(before, stretches, cutAt)
      if (onlyIn(before, after).length + onlyIn(after, before).length === 0) continue
      maintenance.replace(endpointId, from, after)
      rollUp.replan(endpointId, before, after)
    }
  }
}
