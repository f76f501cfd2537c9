import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type Database from 'better-sqlite3'
import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { Log } from '../../src/log.ts'
import type { QueryCalls } from '../../src/store/engine.ts'
import { readMigrations, SQLITE_MIGRATIONS } from '../../src/store/migrations.ts'
import { openStore, type StoreOptions } from '../../src/store/open-store.ts'
import { encodePoll, POLL_NUMBERS } from '../../src/store/poll-columns.ts'
import { type Retention } from '../../src/store/retention.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { createQueries } from '../../src/store/sqlite/queries.ts'
import { createRetainer, type Retainer } from '../../src/store/sqlite/retainer.ts'
import { createRollUp, type RollUp } from '../../src/store/sqlite/roll-up.ts'
import { createWriteStatements, type WriteStatements } from '../../src/store/sqlite/write-statements.ts'
import type { PollRecord, Store } from '../../src/store/store.ts'
import type { WriteEvent } from '../../src/store/write-events.ts'

export const DAY_MS = 86_400_000
export const HOUR_MS = 3_600_000
/** Ninety minutes before a day ends: a test of some hours passes borders of all widths. */
export const BASE = Date.UTC(2026, 10, 20, 22, 30)
export const RETENTION: Retention = { rawMs: 2 * DAY_MS, fiveMinutesMs: 30 * DAY_MS, hourMs: 730 * DAY_MS }
export const HOLD_MS = 30_000

/** A new directory, removed after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'heartline-store-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export interface Lines extends Log {
  readonly lines: string[]
}

export function lines(): Lines {
  const messages: string[] = []
  const log = (_fields: object, message: string) => void messages.push(message)
  return { lines: messages, debug: log, info: log, warn: log, error: log }
}

export interface OpenedStore {
  readonly store: Store
  readonly log: Lines
  readonly workers: Worker[]
}

/** `whenDone` is given what closes it. */
export async function opened(
  options: Partial<StoreOptions> & { path: string; clock?: Clock },
  whenDone: (close: () => Promise<void>) => void = onTestFinished,
): Promise<OpenedStore> {
  const log = lines()
  const workers: Worker[] = []
  const store = await openStore({
    retention: RETENTION,
    maxSizeBytes: 10 * 1024 ** 3,
    clock: systemClock,
    log,
    onSpawn: (worker) => workers.push(worker),
    ...options,
  })
  let closed: Promise<void> | null = null
  const close = store.close
  Object.assign(store, {
    close: () => {
      closed ??= close()
      return closed
    },
  })
  whenDone(() => store.close())
  return { store, log, workers }
}

export function pollOf(at: number, wanted: Partial<PollRecord> = {}): PollRecord {
  return {
    endpoint: 'ethereum/own-1',
    at,
    state: 'up',
    fresh: true,
    latencyMs: 12.5,
    height: 24_000_000,
    lagBlocks: 0,
    heartbeatLagMs: null,
    contiguousFailures: null,
    failure: null,
    ...wanted,
  }
}

/** The parts of the writer thread, on this thread. */
export interface Bench {
  readonly db: Database.Database
  readonly writing: WriteStatements
  readonly rollUp: RollUp
  readonly retainer: Retainer
  readonly reading: QueryCalls
}

export function benchOn(path = ':memory:', retention = RETENTION, maxSizeBytes = 10 * 1024 ** 3): Bench {
  const { db } = openDatabase(path, readMigrations(SQLITE_MIGRATIONS), maxSizeBytes)
  const rollUp = createRollUp(db)
  return {
    db,
    rollUp,
    writing: createWriteStatements(db, rollUp),
    retainer: createRetainer(db, retention, maxSizeBytes),
    reading: createQueries(db),
  }
}

export function batchOf(records: readonly (PollRecord & { index?: number })[], events: readonly WriteEvent[] = []) {
  const polls = new Float64Array(records.length * POLL_NUMBERS)
  for (const [at, record] of records.entries()) encodePoll(polls, at * POLL_NUMBERS, record.index ?? 0, record)
  return { polls, events: events.map((event) => ({ after: records.length, event })) }
}

export function finish(steps: Generator<void>): void {
  for (const _ of steps) continue
}
