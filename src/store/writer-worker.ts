import { parentPort } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { copyTo } from './backup.ts'
import { isSound } from './database.ts'
import { troubleOf } from './disk.ts'
import { readHandlers } from './queries.ts'
import { StoreError, type StoreJob } from './store.ts'
import { type OpenAsk, serveCalls, type WriterCalls } from './workers.ts'
import { createWriterSession, type OpenFile, type WriterSession } from './writer-session.ts'

let session: WriterSession | null = null
let openedAt = 0
/** Jobs run one after the other; batches are written between their steps. */
let lastJob: Promise<unknown> = Promise.resolve()
/** How often jobs were ended; every job requested before that stops after its current step. */
let jobsEnded = 0

/** Runs batches, jobs, and the queries of a store in memory on the only writing connection. */
if (parentPort !== null) {
  serveCalls<WriterCalls>(parentPort, {
    open,
    write({ batch, now }) {
      const writer = opened()
      writer.remember(batch)
      const written = writer.attempt(now, ({ statements }) => {
        const startedAt = systemClock.monotonic()
        const rows = statements.write(batch)
        return { rows, durationMs: systemClock.monotonic() - startedAt }
      })
      return { ...written, ...writer.takeEvents() }
    },
    job({ job, now }) {
      const endedBefore = jobsEnded
      const run = lastJob.then(() => runJob(job, now, endedBefore))
      lastJob = run.catch(() => undefined)
      return run
    },
    async 'end-jobs'() {
      await endJobs()
      return null
    },
    'saved-health': () => file().statements.savedHealth(),
    aliases: () => file().statements.aliases(),
    'last-runs': () => file().statements.lastRuns(),
    measure: ({ now }) => ({ ...opened().measure(now), ...opened().takeEvents() }),
    ...readHandlers((query) => query(file().queries)),
    async backup({ file: to }) {
      await copyTo(file().db, to)
      return null
    },
    check: () => isSound(file().db),
    async close() {
      await endJobs()
      session?.close()
      return null
    },
  })
}

function open(ask: OpenAsk): WriterCalls['open']['answer'] {
  openedAt = ask.now
  session = createWriterSession(ask)
  try {
    session.opened(ask.now)
    return { refusal: null, ...session.takeEvents() }
  } catch (error) {
    if (error instanceof StoreError) {
      return { refusal: { kind: error.kind, message: error.message }, ...session.takeEvents() }
    }
    if (troubleOf(error) !== 'full') throw error
    session.recover(error, ask.now)
    return { refusal: null, ...session.takeEvents() }
  }
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
      // The check has run in its own process; only its time is recorded here.
      return
  }
}

function endJobs(): Promise<unknown> {
  jobsEnded++
  return lastJob
}
