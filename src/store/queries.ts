import type Database from 'better-sqlite3'
import { type AvailabilityReader, createAvailabilityReader } from './availability.ts'
import { createHistoryReader, type HistoryReader } from './history.ts'
import { createIncidentReader, type IncidentReader } from './incidents.ts'
import { createPollReader, type PollReader } from './poll-table.ts'
import type { Handlers, ReadCalls } from './workers.ts'

/** The queries that a store answers. */
export interface Queries extends IncidentReader {
  readonly history: HistoryReader
  readonly polls: PollReader
  readonly availability: AvailabilityReader
}

/** Each query reads one snapshot: in the middle of a roll-up, polls would be counted twice or not at all. */
export function createQueries(db: Database.Database): Queries {
  return {
    history: db.transaction(createHistoryReader(db)),
    polls: db.transaction(createPollReader(db)),
    availability: db.transaction(createAvailabilityReader(db)),
    ...createIncidentReader(db),
  }
}

/** Handles the calls that only read; `answer` runs a query on an open store. */
export function readHandlers(answer: <T>(query: (queries: Queries) => T) => T): Handlers<Omit<ReadCalls, 'backup'>> {
  return {
    history: ({ query, now }) => answer(({ history }) => history(query, now)),
    polls: ({ query }) => answer(({ polls }) => polls(query)),
    availability: ({ endpoints, now }) => answer(({ availability }) => availability(endpoints, now)),
    incidents: ({ query }) => answer(({ incidents }) => incidents(query)),
    incident: ({ id }) => answer(({ incident }) => incident(id)),
  }
}
