import { parentPort } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import type { UnixMs } from '../../core/time.ts'
import { StoreError, type StoreJob } from '../store.ts'
import type { Batch } from '../write-events.ts'
import { troubleOf } from './disk.ts'
import { isSound } from './integrity.ts'
import { readHandlers } from './queries.ts'
import { serveCalls } from './worker-calls.ts'
import { createWriterSession, type OpenAsk, type OpenFile, type WriterSession } from './writer-session.ts'

let session: WriterSession | null = null
let openedAt = 0
/** Jobs run one after the other; batches are written between their steps. */
let lastJob: Promise<unknown> = Promise.resolve()
/** How often jobs were ended; every job requested before that stops after its current step. */
let jobsEnded = 0

/** Runs batches, jobs, and the queries of a store in memory on the only writing connection. */
const handlers = {
  /** Must be the first call. A refusal is final; after trouble every later call tries to open again. */
  open(ask: OpenAsk) {
    openedAt = ask.now
    session = createWriterSession(ask)
    return { refusal: refusalOf(session, ask.now), ...session.takeEvents() }
  },
  write(batch: Batch, now: UnixMs) {
    const writer = opened()
    writer.remember(batch)
    const written = writer.attempt(now, ({ statements }) => {
      const startedAt = systemClock.monotonic()
      const rows = statements.write(batch)
      return { rows, durationMs: systemClock.monotonic() - startedAt }
    })
    return { ...written, ...writer.takeEvents() }
  },
  /** Whether the job was completed. `integrity` only records the time of a check made elsewhere. */
  job(job: StoreJob, now: UnixMs): Promise<boolean> {
    const endedBefore = jobsEnded
    const run = lastJob.then(() => runJob(job, now, endedBefore))
    lastJob = run.catch(() => undefined)
    return run
  },
  /** Stops the running job and the waiting jobs, each after its current step. */
  'end-jobs': endJobs,
  'saved-health': () => file().statements.savedHealth(),
  aliases: () => file().statements.aliases(),
  'last-runs': () => file().statements.lastRuns(),
  /** Also checks that the file is still the one that was opened, and keeps the reserve. */
  measure: (now: UnixMs) => ({ ...opened().measure(now), ...opened().takeEvents() }),
  ...readHandlers((query) => query(file().queries)),
  /** Whether quick_check finds nothing. Only for a store in memory: a file is checked elsewhere. */
  check: () => isSound(file().db),
  /** Ends the jobs first, and opens nothing afterwards. */
  async close() {
    await endJobs()
    session?.close()
  },
}

export type WriterCalls = typeof handlers

serveCalls(parentPort, handlers)

function refusalOf(writer: WriterSession, now: UnixMs) {
  try {
    writer.opened(now)
  } catch (error) {
    if (error instanceof StoreError) return { kind: error.kind, message: error.message }
    if (troubleOf(error) !== 'full') throw error
    writer.recover(error, now)
  }
  return null
}

function opened(): WriterSession {
  if (session === null) throw new Error('called before it was opened')
  return session
}

function file(): OpenFile {
  return opened().opened(openedAt)
}

async function runJob(job: StoreJob, now: number, endedBefore: number): Promise<boolean> {
  const writer = opened()
  const attempt = async (): Promise<boolean> => {
    if (jobsEnded !== endedBefore) return false
    const current = writer.opened(now)
    const roomMadeBefore = writer.roomMade()
    for (const _ of steps(job, current, now)) {
      // Lets a batch be written.
      await new Promise((resolve) => setImmediate(resolve))
      if (jobsEnded !== endedBefore) return false
      if (writer.roomMade() !== roomMadeBefore) return attempt()
    }
    current.statements.jobEnded(job, now)
    return true
  }
  try {
    return await attempt()
  } catch (error) {
    writer.recover(error, now)
    return attempt()
  }
}

function* steps(job: StoreJob, { db, rollUp, retainer }: OpenFile, now: number): Generator<void> {
  switch (job) {
    case 'roll-up':
      yield* rollUp.rollTo(now)
      return
    case 'retention':
      yield* rollUp.rollTo(now)
      yield* retainer.pass(now)
      return
    case 'optimise':
      db.pragma('optimize = 0x10002')
      return
    case 'integrity':
      // The check has run elsewhere; only its time is recorded here.
      return
  }
}

async function endJobs(): Promise<void> {
  jobsEnded++
  await lastJob
}
