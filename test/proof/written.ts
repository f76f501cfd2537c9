import type Database from 'better-sqlite3'
import { readMigrations, SQLITE_MIGRATIONS } from '../../src/store/migrations.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { troubleOf } from '../../src/store/sqlite/disk.ts'
import type { IncidentRecord, PollRecord } from '../../src/store/store.ts'

/** What the children write, and what must be found of it: poll number n is at START + n seconds, n = 0, 1, 2 … */
export const WRITTEN_ENDPOINT = 'ethereum/own-1'
export const START = Date.UTC(2026, 10, 20)
export const RETENTION = { rawMs: 2 * 86_400_000, fiveMinutesMs: 30 * 86_400_000, hourMs: 730 * 86_400_000 }
export const UNLIMITED = 2 ** 40
export const ROWS_IN_BATCH = 20

export function pollAt(number: number): PollRecord {
  return {
    endpoint: WRITTEN_ENDPOINT,
    at: START + number * 1000,
    state: 'up',
    fresh: true,
    latencyMs: 10 + (number % 100),
    height: 24_000_000 + number,
    lagBlocks: 0,
    heartbeatLagMs: null,
    contiguousFailures: null,
    failure: null,
  }
}

/** One for each batch, named after its last poll. */
export function incidentAt(number: number): IncidentRecord {
  const openedAt = START + number * 1000
  return {
    id: `incident-${number}`,
    network: 'ethereum',
    endpoint: 'own-1',
    openedAt,
    closedAt: null,
    absorbed: false,
    value: number,
  }
}

export interface Written {
  /** It opens, and integrity_check finds nothing. */
  readonly sound: boolean
  /** So many polls are there. */
  readonly polls: number
  /** They are the first ones, whole batches of them, each with its incident, and the last with what its endpoint was to remember. */
  readonly whole: boolean
}

/** What is in a store that only those children wrote. Opened as a daemon would open it, with no more than that to put right. */
export function readWritten(path: string): Written {
  let db: Database.Database
  try {
    db = openDatabase(path, readMigrations(SQLITE_MIGRATIONS), UNLIMITED).db
  } catch (error) {
    if (troubleOf(error) === 'corrupt') return { sound: false, polls: 0, whole: false }
    throw error
  }
  const at = 'slot * 300000 + offset_ms'
  const [polls, least, most] = db.prepare(`SELECT count(*), min(${at}), max(${at}) FROM polls`).raw().get() as number[]
  const remembered = db.prepare<[], string>('SELECT value FROM saved_health').pluck().get()
  const incidents = db.prepare('SELECT count(*) FROM incidents').pluck().get()
  const sound = db.pragma('integrity_check', { simple: true }) === 'ok'
  db.close()
  if (polls === undefined || polls === 0) return { sound, polls: 0, whole: remembered === undefined && incidents === 0 }
  const first = least === START && most === START + (polls - 1) * 1000
  const whole = incidents === polls / ROWS_IN_BATCH && Number(remembered) === polls - 1
  return { sound, polls, whole: first && whole }
}

/** The last whole number of a side file that a child wrote; -1 when there is none. */
export function lastAcknowledged(side: string): number {
  const [, ...numbers] = side
    .slice(0, side.lastIndexOf('\n') + 1)
    .trimEnd()
    .split('\n')
  return Number(numbers.at(-1) ?? -1)
}
