import { existsSync } from 'node:fs'
import { type Timer, within } from '../../clock.ts'
import type { Secret } from '../../secret.ts'
import { createBatchQueue } from '../batch-queue.ts'
import { createBatchSender } from '../batch-sender.ts'
import type { Call, CommonOptions, Handlers } from '../engine.ts'
import { createReads, Unreadable } from '../reads.ts'
import { openSpool, type Spool } from '../spool.ts'
import { type Store, StoreError, type StoreJob } from '../store.ts'
import { createWrites } from '../writes.ts'
import { createDatabase, type Database } from './database.ts'
import { createCall, createGate, type Gate, isRejection } from './gate.ts'
import { createJobs } from './jobs.ts'
import { createQueries } from './queries.ts'
import { sizeOf } from './retainer.ts'
import type { ClusterRights, SharedStore } from './shared-store.ts'
import { createSpooledWriter } from './spooled-writer.ts'

/**
 * The history in PostgreSQL. Rejects with a StoreError if a person has to decide. A server that refuses the connection is
 * waited for only if there is a spool from an earlier run.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store & { readonly shared: SharedStore }> {
  const { url, path, clock, log } = options
  const isAlone = options.cluster === null
  const database = await createDatabase({ url, clock, isAlone })
  const gate = createGate(database, isAlone, log)
  let spool: Spool | null = null
  try {
    const hasSpool = path !== null && existsSync(path)
    await gate.open().catch((error: unknown) => {
      if (!(hasSpool && error instanceof StoreError && error.kind === 'unreachable')) throw error
      log.warn({}, 'PostgreSQL cannot be reached: rows wait in the spool until it can')
    })
    spool = path === null ? null : openSpool(path)
  } catch (error) {
    await database.close()
    throw error
  }
  return assemble(options, database, gate, spool)
}

export interface PostgresOptions extends CommonOptions {
  readonly url: Secret
  /** Where rows wait while PostgreSQL is away; `null` for memory. */
  readonly path: string | null
  /** `null` for a daemon alone. */
  readonly cluster: ClusterRights | null
}

const CLOSE_WITHIN_MS = 8000
const MEASURE_EVERY_MS = 60_000

function assemble(options: PostgresOptions, database: Database, gate: Gate, spool: Spool | null) {
  const { clock, log, cluster } = options
  const closing = new AbortController()
  const queue = createBatchQueue({ maxRows: options.maxQueueRows })
  const fencing = cluster === null ? null : { ...cluster, now: clock.now, isAway: () => writer.isAway() }
  const writes = createWrites(queue, () => sender.wake(), log, fencing)
  const call = createCall(database, gate)
  const writer = createSpooledWriter({ ...options, database, gate, spool })
  const sender = createBatchSender({
    queue,
    write: writer.write,
    probe: () => call(() => database.query('SELECT 1')),
    isRejection,
    clock,
    log,
    onCommit: () => undefined,
  })
  const queries = createQueries(database, cluster?.vantage ?? null)
  const read = ((kind: keyof typeof queries, ...asked: never[]) =>
    call(() => (queries[kind] as (...all: never[]) => Promise<unknown>)(...asked))) as unknown as Call<Handlers>
  const jobs = createJobs({ ...options, database, signal: closing.signal })
  let hasEarlier = spool !== null && !spool.isEmpty
  function isReplayed(): boolean {
    hasEarlier &&= spool !== null && !spool.isEmpty
    return !hasEarlier
  }
  let databaseBytes: number | null = null
  let timer: Timer | null = null

  async function keepMeasuring(): Promise<void> {
    const reply = await call(() => sizeOf(database.query))
    if (closing.signal.aborted) return
    if (reply.ok) databaseBytes = reply.value
    timer = clock.after(MEASURE_EVERY_MS, () => void keepMeasuring())
  }
  void keepMeasuring()

  async function end(): Promise<void> {
    await sender.flush()
    sender.stop()
    await writer.stop()
    if (!database.reachable) database.abandon()
    await database.close()
  }

  const reads = createReads({ read, readState: read, clock, log })
  const store: Store & { readonly shared: SharedStore } = {
    ...writes.methods,
    ...reads,
    certain: after(isReplayed, reads.certain),
    flush: sender.flush,
    shared: {
      database,
      replayed: writer.replay,
      isReplaying: () => !isReplayed(),
      merged: writes.merged,
      changesAfter: queries.changesAfter,
    },

    async run(job: StoreJob, now, signal) {
      const reply = await call(() => jobs.run(job, now, signal))
      if (!reply.ok) log.warn({ job, trouble: reply.trouble, code: reply.code }, 'a job of the store failed')
      return reply.ok && reply.value
    },

    status() {
      const sending = sender.status()
      const { reachable, since } = database
      // A write that was under way when the server began to hang.
      const isHanging = !reachable && sending.trouble === 'busy'
      return {
        ...sending,
        trouble: isHanging ? 'unreachable' : (sending.trouble ?? writer.trouble()),
        rowsWritten: writer.rowsWritten(),
        rowsDropped: queue.dropped + writes.dropped + writer.rowsDropped(),
        queueRows: queue.rows,
        databaseBytes,
        filesystemFreeBytes: null,
        integrityOk: true,
        threadRestarts: 0,
        remote: { reachable, since, spoolRows: spool?.rows ?? 0, rowsRefused: writer.rowsRefused() },
      }
    },

    async close() {
      closing.abort()
      timer?.cancel()
      const closed = end()
      await within(clock, CLOSE_WITHIN_MS, closed)
      // A database that hangs must not keep the process from ending: what it has not confirmed goes to the spool.
      database.abandon()
      await within(clock, CLOSE_WITHIN_MS, closed)
      spool?.close()
    },
  }
  return store
}

type Certain = Store['certain']

/** They reject until the database has what an earlier run has put aside. */
function after(isReplayed: () => boolean, reads: Certain): Certain {
  function once<Asked extends unknown[], T>(read: (...asked: Asked) => Promise<T>) {
    return async (...asked: Asked): Promise<T> => {
      if (!isReplayed()) throw new Unreadable('what an earlier run has put aside', 'spool')
      return read(...asked)
    }
  }
  return {
    savedHealth: once(reads.savedHealth),
    aliases: once(reads.aliases),
    incidents: once(reads.incidents),
    notifications: once(reads.notifications),
    silences: once(reads.silences),
  }
}
