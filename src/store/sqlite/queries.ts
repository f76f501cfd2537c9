import type Database from 'better-sqlite3'
import { createAvailabilityReader } from '../availability.ts'
import type { QueryCalls } from '../engine.ts'
import { createHistoryReader } from '../history.ts'
import { createHistoryTables } from './history-tables.ts'
import { createPollReader } from './poll-table.ts'
import { createRecordQueries } from './record-queries.ts'

/** Each query reads one snapshot: in the middle of a roll-up, polls would be counted twice or not at all. */
export function createQueries(db: Database.Database): QueryCalls {
  const tables = createHistoryTables(db)
  const idByName = db.prepare('SELECT endpoint_id FROM endpoints WHERE name = ?').pluck()
  const idOf = (name: string) => idByName.get(name) as number | undefined
  const ids = db.prepare('SELECT name, endpoint_id FROM endpoints').raw()
  return {
    history: db.transaction(createHistoryReader(tables, idOf)),
    polls: db.transaction(createPollReader(tables, idOf)),
    availability: db.transaction(createAvailabilityReader(tables, () => ids.all() as [string, number][])),
    ...createRecordQueries(db),
  }
}

/** Handles the calls that only read; `answer` runs a query on an open store. */
export function readHandlers(answer: <T>(query: (queries: QueryCalls) => T) => T): QueryCalls {
  return {
    history: (query, now) => answer(({ history }) => history(query, now)),
    polls: (query) => answer(({ polls }) => polls(query)),
    availability: (endpoints, now) => answer(({ availability }) => availability(endpoints, now)),
    incidents: (query) => answer(({ incidents }) => incidents(query)),
    incident: (id) => answer(({ incident }) => incident(id)),
    notifications: (query) => answer(({ notifications }) => notifications(query)),
    silences: (query) => answer(({ silences }) => silences(query)),
    notes: (incidents) => answer(({ notes }) => notes(incidents)),
  }
}
