import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import type { QueryCalls } from '../../src/store/engine.ts'
import { openStore, type StoreOptions } from '../../src/store/open-store.ts'
import { createBatchWriter } from '../../src/store/postgres/batch-writer.ts'
import { openDatabase } from '../../src/store/postgres/migrate.ts'
import { createPartitions } from '../../src/store/postgres/partitions.ts'
import { createQueries } from '../../src/store/postgres/queries.ts'
import { createRetainer, sizeOf } from '../../src/store/postgres/retainer.ts'
import { createRollUp } from '../../src/store/postgres/roll-up.ts'
import type { Retention } from '../../src/store/retention.ts'
import { createRetainer as createFileRetainer } from '../../src/store/sqlite/retainer.ts'
import type { Batch, Registration } from '../../src/store/write-events.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { benchOn, finish, lines, type OpenedStore, opened, RETENTION, temporaryDirectory } from './setting.ts'

/** One of the places where the history can be, each of which must pass the same tests. */
export interface Engine {
  readonly name: string
  /** Opens a new store, closed after the test. */
  open(options?: Partial<Omit<StoreOptions, 'path' | 'url'>>): Promise<Pick<OpenedStore, 'store' | 'log'>>
  /** The parts of a new store, without its queue and its threads. */
  bench(retention?: Retention): Promise<Parts>
}

export interface Parts {
  write(batch: Batch): Promise<void>
  rollUp(now: number): Promise<void>
  /** Above `maxSizeBytes`, the oldest polls are deleted early. */
  retain(now: number, maxSizeBytes?: number): Promise<void>
  /** Bytes in use. */
  size(): Promise<number>
  readonly read: {
    readonly [K in keyof QueryCalls]: (...asked: Parameters<QueryCalls[K]>) => Promise<ReturnType<QueryCalls[K]>>
  }
  /** Empties it, for the next run of a property. */
  clear(): Promise<void>
}

const HUGE = 10 * 1024 ** 3

/** Call it once in a file: it has one PostgreSQL for all its tests. */
export function everyEngine(): readonly Engine[] {
  let server: PostgresServer | undefined
  const isThere = hasPostgres()
  beforeAll(async () => {
    if (isThere) server = await startPostgres()
  })
  afterAll(() => server?.remove())
  const postgres: Engine = {
    name: 'in PostgreSQL',
    open: async (options) => openPostgres((await server?.createDatabase()) ?? '', options),
    bench: async (retention) => benchOnPostgres((await server?.createDatabase()) ?? '', retention),
  }
  const sqlite = (name: string, path: () => string): Engine => ({
    name,
    open: (options) => opened({ ...options, path: path() }),
    bench: async (retention) => benchOnSqlite(path(), retention),
  })
  return [
    sqlite('on disk', () => join(temporaryDirectory(), 'data', 'store.db')),
    sqlite('in memory', () => ':memory:'),
    ...(isThere ? [postgres] : []),
  ]
}

export async function openPostgres(url: string, options: Partial<StoreOptions> = {}) {
  const log = lines()
  const store = await openStore({
    path: null,
    retention: RETENTION,
    maxSizeBytes: HUGE,
    clock: systemClock,
    log,
    ...options,
    url: new Secret(url),
  })
  let closed: Promise<void> | null = null
  const { close } = store
  store.close = () => {
    closed ??= close()
    return closed
  }
  onTestFinished(() => store.close())
  return { store, log }
}

function benchOnSqlite(path: string, retention = RETENTION): Parts {
  let bench = benchOn(path, retention)
  onTestFinished(() => void bench.db.close())
  return {
    write: async (batch) => void bench.writing.write(batch),
    rollUp: async (now) => finish(bench.rollUp.rollTo(now)),
    retain: async (now, maxSizeBytes = HUGE) => finish(createFileRetainer(bench.db, retention, maxSizeBytes).pass(now)),
    async size() {
      const [pages, free, bytes] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
        Number(bench.db.pragma(name, { simple: true })),
      ) as [number, number, number]
      return (pages - free) * bytes
    },
    read: new Proxy({} as Parts['read'], {
      get:
        (_, kind: keyof QueryCalls) =>
        async (...asked: never[]) =>
          (bench.reading[kind] as (...all: never[]) => unknown)(...asked),
    }),
    async clear() {
      bench.db.close()
      bench = benchOn(path, retention)
    },
  }
}

async function benchOnPostgres(url: string, retention = RETENTION): Promise<Parts> {
  const database = await openDatabase({ url: new Secret(url), clock: systemClock })
  onTestFinished(() => database.close())
  const partitions = createPartitions(database)
  const signal = new AbortController().signal
  const rollUp = createRollUp(database)
  const newRetainer = (maxSizeBytes: number) =>
    createRetainer({ database, partitions, retention, maxSizeBytes, log: lines() })
  const newWriter = () => createBatchWriter({ database, partitions, vantageId: async () => 0, cluster: null })
  let writer = newWriter()
  let registered = new Map<number, Registration>()
  return {
    write: async (batch) => void (await writer.write(batch, registered)),
    async rollUp(now) {
      await newRetainer(HUGE).judge(now)
      await rollUp.rollTo(now, signal)
    },
    size: () => sizeOf(database.query),
    async retain(now, maxSizeBytes = HUGE) {
      const retainer = newRetainer(maxSizeBytes)
      const verdict = await retainer.judge(now)
      await retainer.pass(now, verdict !== 'doubted', signal)
    },
    read: createQueries(database, null),
    async clear() {
      await database.query(
        'TRUNCATE endpoints, holds, polls, five_minutes, hours, days, maintenance, marks, saved_health, jobs, incidents',
      )
      writer = newWriter()
      registered = new Map()
    },
  }
}
