import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { parentPort } from 'node:worker_threads'
import type Database from 'better-sqlite3'
import { systemClock } from '../clock.ts'
import { copyTo } from './backup.ts'
import { type ClockVerdict, createClockBelief } from './clock-belief.ts'
import { setMark } from './cursors.ts'
import { IN_MEMORY, isSound, moveAside, openDatabase, openReadOnly, setQuota } from './database.ts'
import type { Batch, FileNews, OpenAsk, Registration, StoreSizes, WriterCalls } from './messages.ts'
import { readMigrations } from './migrate.ts'
import { createReading, type Reading } from './reading.ts'
import { keepReserve, releaseReserve } from './reserve.ts'
import { createRetainer, type Retainer } from './retention.ts'
import { createRollUp, type RollUp } from './roll-up.ts'
import { StoreError, type StoreJob } from './store.ts'
import { serveThread } from './thread.ts'
import { troubleOf } from './trouble.ts'
import { createWriting, type Writing } from './writing.ts'

/** Owns the one connection that writes. Whatever goes wrong with the file is put right here, or told as trouble. */
interface Session {
  readonly db: Database.Database
  readonly inode: number | null
  readonly writing: Writing
  readonly rollUp: RollUp
  readonly retainer: Retainer
  readonly reading: Reading
}

const NO_NEWS: FileNews = { movedTo: null, wantsCheck: false, clock: null }

let wanted: OpenAsk | null = null
let session: Session | null = null
let news = NO_NEWS
/** Jobs run one after the other; batches are written between their steps. */
let lastJob: Promise<unknown> = Promise.resolve()
/** How often room had to be made: a job that was in the middle of something begins anew. */
let roomMade = 0
/** How often jobs were told to end: one that was asked for before goes no further. */
let jobsEnded = 0
let closing = false
const registered = new Map<number, Registration>()
/** The latest plan: a file begun anew must know it, too. */
let planned: Batch['events'] = []
/** The disk has failed to sync: until it does, nothing more is said to be written. */
let syncFailed = false

function opened(now: number): Session {
  if (session !== null) return session
  if (wanted === null) throw new Error('asked before it was opened')
  if (closing) throw new Error('asked after it was closed')
  const { path, retention, maxSizeBytes } = wanted
  const migrations = readMigrations()
  const open = () => openDatabase(path, migrations, maxSizeBytes)
  let file: ReturnType<typeof open>
  try {
    file = open()
  } catch (error) {
    if (troubleOf(error) !== 'corrupt' || path === IN_MEMORY) throw error
    news = { ...news, movedTo: moveAside(path, now) }
    file = open()
  }
  const { db, inode, wantsCheck } = file
  try {
    if (wantsCheck) news = { ...news, wantsCheck }
    const belief = createClockBelief(db, tellClock)
    const rollUp = createRollUp(db, belief)
    const writing = createWriting(db, rollUp)
    writing.register([...registered.values()])
    if (planned.length > 0) writing.write({ polls: new Float64Array(), events: planned })
    const retainer = createRetainer(db, retention, maxSizeBytes, belief)
    session = { db, inode, writing, rollUp, retainer, reading: createReading(db) }
    return session
  } catch (error) {
    db.close()
    throw error
  }
}

function drop(): void {
  const db = session?.db
  session = null
  try {
    db?.close()
  } catch {
    // What is broken may break once more while it is closed.
  }
}

/** Does what the trouble allows to be done; throws the error again where a second attempt is no use. */
function recover(error: unknown, now: number): void {
  if (wanted === null) throw error
  const { path } = wanted
  switch (troubleOf(error)) {
    case 'full':
      makeRoom(wanted, now)
      return
    case 'corrupt':
      drop()
      if (path !== IN_MEMORY && !isFileSound(path)) news = { ...news, movedTo: moveAside(path, now) }
      return
    case 'busy':
      throw error
    case 'read-only':
    case 'io':
    case 'other':
      if (path === IN_MEMORY) throw error
      drop()
      return
  }
}

function makeRoom({ path, maxSizeBytes }: OpenAsk, now: number): void {
  if (path !== IN_MEMORY) releaseReserve(path)
  const { db, rollUp, retainer } = opened(now)
  db.pragma('wal_checkpoint(TRUNCATE)')
  roomMade++
  // Polls can go when they are added up, and their sums take room before they give any.
  setQuota(db, Number.POSITIVE_INFINITY)
  try {
    asFarAsRoomGoes(rollUp.rollTo(now))
    if (retainer.makeRoom(now)) return
    asFarAsRoomGoes(rollUp.rollAll())
    retainer.makeRoom(now)
  } finally {
    setQuota(db, maxSizeBytes)
  }
}

function asFarAsRoomGoes(steps: Generator<void>): void {
  try {
    for (const _ of steps) continue
  } catch (error) {
    if (troubleOf(error) !== 'full') throw error
  }
}

function isFileSound(path: string): boolean {
  if (!existsSync(path)) return true
  try {
    const db = openReadOnly(path)
    try {
      return isSound(db)
    } finally {
      db.close()
    }
  } catch (error) {
    return troubleOf(error) !== 'corrupt'
  }
}

function tellClock(verdict: ClockVerdict): void {
  // A job asks twice, and the second time nothing is left to be set back.
  if (news.clock !== 'set-back') news = { ...news, clock: verdict }
}

function takeNews(): FileNews {
  const told = news
  news = NO_NEWS
  return told
}

function write(batch: Batch, now: number): { rows: number; durationMs: number } {
  for (const { event } of batch.events) {
    if (event.kind === 'maintain') planned = [{ after: 0, event }]
    if (event.kind !== 'register') continue
    for (const registration of event.registrations) registered.set(registration.index, registration)
  }
  const attempt = () => {
    const { db, writing } = opened(now)
    if (syncFailed) sync(db)
    const startedAt = systemClock.monotonic()
    const rows = writing.write(batch)
    return { rows, durationMs: systemClock.monotonic() - startedAt }
  }
  try {
    return attempt()
  } catch (error) {
    recover(error, now)
    return attempt()
  }
}

function* steps(job: StoreJob, { db, rollUp, retainer }: Session, now: number): Generator<void> {
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
      // Reads the whole file, which the reading side does; here is only noted that it was done.
      return
  }
}

async function runJob(job: StoreJob, now: number, begunAfter: number): Promise<boolean> {
  const attempt = async (): Promise<boolean> => {
    if (jobsEnded !== begunAfter) return false
    const current = opened(now)
    const begunAt = roomMade
    for (const _ of steps(job, current, now)) {
      await breath()
      if (jobsEnded !== begunAfter) return false
      if (roomMade !== begunAt) return attempt()
    }
    current.writing.jobEnded(job, now)
    return true
  }
  try {
    return await attempt()
  } catch (error) {
    recover(error, now)
    return attempt()
  }
}

/** Lets a batch in. */
function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * A commit does not wait for the disk, and SQLite keeps to itself what goes wrong when it checkpoints: here a disk that takes
 * writes and cannot keep them is seen. It is also what a power cut can cost at most.
 */
function sync(db: Database.Database): void {
  try {
    db.pragma('wal_checkpoint(PASSIVE)')
  } catch (error) {
    // Whatever else it was, there will be another one; a full disk is met by the next write.
    if (troubleOf(error) !== 'io') return
    syncFailed = true
    throw error
  }
  if (!syncFailed) return
  syncFailed = false
  // The kernel tells of a failed fsync once, and may have dropped what it could not write: somebody has to look.
  news = { ...news, wantsCheck: true }
}

function measure(now: number): StoreSizes {
  if (wanted === null || wanted.path === IN_MEMORY) return { databaseBytes: null, filesystemFreeBytes: null }
  const { path } = wanted
  // A file that was deleted or replaced would be written to for ever, and lost with the process.
  if (session !== null && (!existsSync(path) || statSync(path).ino !== session.inode)) drop()
  sync(opened(now).db)
  const { bavail, bsize } = statfsSync(dirname(path))
  const filesystemFreeBytes = bavail * bsize
  keepReserve(path, filesystemFreeBytes)
  const wal = `${path}-wal`
  const databaseBytes = statSync(path).size + (existsSync(wal) ? statSync(wal).size : 0)
  return { databaseBytes, filesystemFreeBytes }
}

function endJobs(): Promise<unknown> {
  jobsEnded++
  return lastJob
}

async function close(): Promise<void> {
  await endJobs()
  closing = true
  if (session === null) return
  const { db } = session
  try {
    db.pragma('optimize')
    setMark(db, 'clean', 1)
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    drop()
  }
}

const current = () => opened(wanted?.now ?? 0)

if (parentPort !== null) {
  serveThread<WriterCalls>(parentPort, {
    open(ask) {
      wanted = ask
      for (const registration of ask.registrations) registered.set(registration.index, registration)
      try {
        opened(ask.now)
        return { refusal: null, ...takeNews() }
      } catch (error) {
        if (error instanceof StoreError) return { refusal: { kind: error.kind, message: error.message }, ...NO_NEWS }
        if (troubleOf(error) !== 'full') throw error
        recover(error, ask.now)
        return { refusal: null, ...takeNews() }
      }
    },
    write: ({ batch, now }) => ({ ...write(batch, now), ...takeNews() }),
    job({ job, now }) {
      const begunAfter = jobsEnded
      const run = lastJob.then(() => runJob(job, now, begunAfter))
      lastJob = run.catch(() => undefined)
      return run
    },
    async 'end-jobs'() {
      await endJobs()
      return null
    },
    'saved-health': () => current().writing.savedHealth(),
    aliases: () => current().writing.aliases(),
    'last-runs': () => current().writing.lastRuns(),
    measure: ({ now }) => ({ ...measure(now), ...takeNews() }),
    history: ({ query, now }) => current().reading.history(query, now),
    polls: ({ query }) => current().reading.polls(query),
    availability: ({ endpoints, now }) => current().reading.availability(endpoints, now),
    incidents: ({ query }) => current().reading.incidents(query),
    incident: ({ id }) => current().reading.incident(id),
    async backup({ file }) {
      await copyTo(current().db, file)
      return null
    },
    check: () => isSound(current().db),
    async close() {
      await close()
      return null
    },
  })
}
