import type Database from 'better-sqlite3'
import { type AvailabilityReader, createAvailabilityReader } from './availability.ts'
import { createHistoryReader, type HistoryReader } from './history.ts'
import { createIncidentReader, type IncidentReader } from './incidents.ts'
import { createPollReader, type PollReader } from './polls.ts'

/** The questions that either thread can answer. */
export interface Reading extends IncidentReader {
  readonly history: HistoryReader
  readonly polls: PollReader
  readonly availability: AvailabilityReader
}

/** Each answer sees one state of the store: a roll-up in the middle of it would count polls twice, or not at all. */
export function createReading(db: Database.Database): Reading {
  return {
    history: db.transaction(createHistoryReader(db)),
    polls: db.transaction(createPollReader(db)),
    availability: db.transaction(createAvailabilityReader(db)),
    ...createIncidentReader(db),
  }
}
