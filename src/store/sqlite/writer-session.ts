import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type Database from 'better-sqlite3'
import type { UnixMs } from '../../core/time.ts'
import type { ClockVerdict } from '../clock-trust.ts'
import type { CommonOptions, QueryCalls } from '../engine.ts'
import { readMigrations, SQLITE_MIGRATIONS } from '../migrations.ts'
import type { StoreStatus } from '../store.ts'
import type { Batch, Registration } from '../write-events.ts'
import { createTrustedClock } from './clock-trust.ts'
import { IN_MEMORY, integrityOf, moveAside, openDatabase, setQuota } from './database.ts'
import { keepReserve, releaseReserve, troubleOf } from './disk.ts'
import { createMarkWriter } from './marks.ts'
import { createQueries } from './queries.ts'
import { createRetainer, type Retainer } from './retainer.ts'
import { createRollUp, type RollUp } from './roll-up.ts'
import { createWriteStatements, type WriteStatements } from './write-statements.ts'

export interface OpenAsk extends Pick<CommonOptions, 'retention' | 'maxSizeBytes'> {
  readonly path: string
  readonly registrations: readonly Registration[]
  readonly now: UnixMs
}

export interface FileEvents {
  /** Where the damaged file was moved before a new one was created; `null` if none was. */
  readonly movedTo: string | null
  /** Whether the file was deleted or replaced while it was open. */
  readonly isLost: boolean
  /** Whether the file may be damaged, and is too large to check at once. */
  readonly wantsCheck: boolean
  /** The last job's verdict; `null` if there was none. */
  readonly clock: ClockVerdict | null
}

export type StoreSizes = Pick<StoreStatus, 'databaseBytes' | 'filesystemFreeBytes'>

export interface OpenFile {
  readonly db: Database.Database
  readonly inode: number | null
  readonly statements: WriteStatements
  readonly rollUp: RollUp
  readonly retainer: Retainer
  readonly queries: QueryCalls
}

const NO_EVENTS: FileEvents = { movedTo: null, isLost: false, wantsCheck: false, clock: null }

export type WriterSession = ReturnType<typeof createWriterSession>

/** Owns the only writing connection: opens the file, and repairs or reports its troubles. */
export function createWriterSession(ask: OpenAsk) {
  const { path, maxSizeBytes } = ask
  let file: OpenFile | null = null
  let events = NO_EVENTS
  let roomMade = 0
  let closed = false
  /** Whether the disk failed to sync: nothing is reported as written until a sync succeeds. */
  let syncFailed = false
  const registered = new Map<number, Registration>()
  let latestPlan: Batch['events'] = []
  remember({ events: [{ after: 0, event: { kind: 'register', registrations: ask.registrations } }] })

  /** Keeps the events that a new file needs if this one has to be replaced. */
  function remember(batch: Pick<Batch, 'events'>): void {
    for (const { event } of batch.events) {
      if (event.kind === 'maintain') latestPlan = [{ after: 0, event }]
      if (event.kind !== 'register') continue
      for (const registration of event.registrations) registered.set(registration.index, registration)
    }
  }

  function opened(now: number): OpenFile {
    if (file !== null) return file
    if (closed) throw new Error('called after it was closed')
    const fresh = openFile(ask, now, note)
    try {
      fresh.statements.register([...registered.values()])
      if (latestPlan.length > 0) fresh.statements.write({ polls: new Float64Array(), events: latestPlan })
    } catch (error) {
      fresh.db.close()
      throw error
    }
    file = fresh
    return file
  }

  function note(fresh: Partial<FileEvents>): void {
    // A job asks for the clock's verdict twice; the second time nothing is left to set back.
    events = { ...events, ...fresh, clock: events.clock === 'set-back' ? 'set-back' : (fresh.clock ?? events.clock) }
  }

  function drop(isLost = false): void {
    const db = file?.db
    file = null
    if (isLost) note({ isLost })
    try {
      db?.close()
    } catch {
      // Closing a broken database may fail once more.
    }
  }

  /** Repairs the cause of the error; throws the error again if a second attempt is useless. */
  function recover(error: unknown, now: number): void {
    switch (troubleOf(error)) {
      case 'full':
        if (path !== IN_MEMORY) releaseReserve(path)
        roomMade++
        makeRoom(opened(now), maxSizeBytes, now)
        return
      case 'corrupt':
        drop()
        if (path !== IN_MEMORY && integrityOf(path) === 'damaged') note({ movedTo: moveAside(path, now) })
        return
      case 'busy':
      case 'unreachable':
        throw error
      case 'read-only':
      case 'io':
      case 'other':
        if (path === IN_MEMORY) throw error
        drop()
        return
    }
  }

  /**
   * A commit does not wait for the disk, and SQLite hides errors of its own checkpoints. This checkpoint reveals a disk
   * that accepts writes but cannot keep them; it also bounds what a power cut can lose.
   */
  function sync({ db }: OpenFile): void {
    try {
      db.pragma('wal_checkpoint(PASSIVE)')
    } catch (error) {
      // The next checkpoint meets any other trouble again, and the next write meets a full disk.
      if (troubleOf(error) !== 'io') return
      syncFailed = true
      throw error
    }
    if (!syncFailed) return
    syncFailed = false
    // The kernel reports a failed fsync once, and may have dropped the unwritten data, so the file must be checked.
    note({ wantsCheck: true })
  }

  function runOn<T>(now: number, step: (file: OpenFile) => T): T {
    const current = opened(now)
    if (syncFailed) sync(current)
    return step(current)
  }

  return {
    opened,
    recover,
    remember,
    /** How often polls were deleted to make room; a job in progress then starts again. */
    roomMade: () => roomMade,

    /** Runs the step on the open file; after trouble that can be repaired, runs it once more. */
    attempt<T>(now: number, step: (file: OpenFile) => T): T {
      try {
        return runOn(now, step)
      } catch (error) {
        recover(error, now)
        return runOn(now, step)
      }
    },

    measure(now: number): StoreSizes {
      if (path === IN_MEMORY) return { databaseBytes: null, filesystemFreeBytes: null }
      // A file that was deleted or replaced would still accept writes, and lose them all when this process ends.
      if (file !== null && (!existsSync(path) || statSync(path).ino !== file.inode)) drop(true)
      sync(opened(now))
      const sizes = sizesOf(path)
      keepReserve(path, sizes.filesystemFreeBytes)
      return sizes
    },

    takeEvents(): FileEvents {
      const taken = events
      events = NO_EVENTS
      return taken
    },

    /** Nothing is opened again afterwards. */
    close(): void {
      closed = true
      if (file === null) return
      const { db } = file
      try {
        db.pragma('optimize')
        createMarkWriter(db)([['clean', 1]])
        db.pragma('wal_checkpoint(TRUNCATE)')
      } finally {
        drop()
      }
    },
  }
}

function openFile(
  { path, retention, maxSizeBytes }: OpenAsk,
  now: number,
  note: (events: Partial<FileEvents>) => void,
): OpenFile {
  const migrations = readMigrations(SQLITE_MIGRATIONS)
  const open = () => openDatabase(path, migrations, maxSizeBytes)
  let database: ReturnType<typeof open>
  try {
    database = open()
  } catch (error) {
    if (troubleOf(error) !== 'corrupt' || path === IN_MEMORY) throw error
    note({ movedTo: moveAside(path, now) })
    database = open()
  }
  const { db, inode, wantsCheck } = database
  try {
    if (wantsCheck) note({ wantsCheck })
    const trustedClock = createTrustedClock(db, (clock) => note({ clock }))
    const rollUp = createRollUp(db, trustedClock)
    const statements = createWriteStatements(db, rollUp)
    const retainer = createRetainer(db, retention, maxSizeBytes, trustedClock)
    return { db, inode, statements, rollUp, retainer, queries: createQueries(db) }
  } catch (error) {
    db.close()
    throw error
  }
}

function sizesOf(path: string) {
  const { bavail, bsize } = statfsSync(dirname(path))
  const wal = `${path}-wal`
  const databaseBytes = statSync(path).size + (existsSync(wal) ? statSync(wal).size : 0)
  return { databaseBytes, filesystemFreeBytes: bavail * bsize }
}

function makeRoom({ db, rollUp, retainer }: OpenFile, maxSizeBytes: number, now: number): void {
  db.pragma('wal_checkpoint(TRUNCATE)')
  // Polls can be deleted only after they are aggregated, and the aggregates need room first.
  setQuota(db, Number.POSITIVE_INFINITY)
  try {
    runUntilFull(rollUp.rollTo(now))
    if (retainer.makeRoom(now)) return
    runUntilFull(rollUp.rollAll())
    retainer.makeRoom(now)
  } finally {
    setQuota(db, maxSizeBytes)
  }
}

function runUntilFull(steps: Generator<void>): void {
  try {
    for (const _ of steps) continue
  } catch (error) {
    if (troubleOf(error) !== 'full') throw error
  }
}
