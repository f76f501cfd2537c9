import type Database from 'better-sqlite3'
import type { EndpointKey } from '../../core/endpoint.ts'
import type { UnixMs } from '../../core/time.ts'
import { type AvailabilityReader, createAvailabilityReader } from '../availability.ts'
import { createHistoryReader, type HistoryReader } from '../history.ts'
import type { HistoryQuery, IncidentQuery, NotificationQuery, PollsQuery, SilenceQuery } from '../store.ts'
import { createHistoryTables } from './history-tables.ts'
import { createIncidentReader, type IncidentReader } from './incidents.ts'
import { createNoteReader, type NoteReader } from './notes.ts'
import { createNotificationReader, type NotificationReader } from './notifications.ts'
import { createPollReader, type PollReader } from './poll-table.ts'
import { createSilenceReader, type SilenceReader } from './silences.ts'

/** The queries that a store answers. */
export interface Queries extends IncidentReader, NotificationReader, SilenceReader, NoteReader {
  readonly history: HistoryReader
  readonly polls: PollReader
  readonly availability: AvailabilityReader
}

/** Each query reads one snapshot: in the middle of a roll-up, polls would be counted twice or not at all. */
export function createQueries(db: Database.Database): Queries {
  const tables = createHistoryTables(db)
  const idOf = db.prepare('SELECT endpoint_id FROM endpoints WHERE name = ?').pluck()
  const ids = db.prepare('SELECT name, endpoint_id FROM endpoints').raw()
  return {
    history: db.transaction(createHistoryReader(tables, (name) => idOf.get(name) as number | undefined)),
    polls: db.transaction(createPollReader(db)),
    availability: db.transaction(createAvailabilityReader(tables, () => ids.all() as [string, number][])),
    ...createIncidentReader(db),
    ...createNotificationReader(db),
    ...createSilenceReader(db),
    ...createNoteReader(db),
  }
}

/** Handles the calls that only read; `answer` runs a query on an open store. */
export function readHandlers(answer: <T>(query: (queries: Queries) => T) => T) {
  return {
    history: (query: HistoryQuery, now: UnixMs) => answer(({ history }) => history(query, now)),
    polls: (query: PollsQuery) => answer(({ polls }) => polls(query)),
    availability: (endpoints: readonly EndpointKey[], now: UnixMs) =>
      answer(({ availability }) => availability(endpoints, now)),
    incidents: (query: IncidentQuery) => answer(({ incidents }) => incidents(query)),
    incident: (id: string) => answer(({ incident }) => incident(id)),
    notifications: (query: NotificationQuery) => answer(({ notifications }) => notifications(query)),
    silences: (query: SilenceQuery) => answer(({ silences }) => silences(query)),
    notes: (incidents: readonly string[]) => answer(({ notes }) => notes(incidents)),
  }
}
