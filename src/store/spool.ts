import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Batch, Registration } from './batches.ts'
import { POLL_NUMBERS } from './poll-columns.ts'
import { makeDirectoryOf, takeLock, troubleOf } from './sqlite/disk.ts'
import { StoreError } from './store.ts'

/** Batches that wait in a file for a database that is away, in order. */
export interface Spool {
  /** Polls in it. */
  readonly rows: number
  readonly isEmpty: boolean
  /** Throws any error of the file. */
  add(batch: Batch, registrations: readonly Registration[]): void
  oldest(): Spooled | null
  remove(spooled: Spooled): void
  close(): void
}

export interface Spooled {
  readonly nth: number
  readonly batch: Batch
  /** The endpoints that its polls refer to. */
  readonly registrations: readonly Registration[]
}

export const spoolExists = (path: string): boolean => existsSync(path)

/** Throws a StoreError if a person has to decide. */
export function openSpool(path: string): Spool {
  makeDirectoryOf(path)
  const lock = takeLock(path)
  try {
    return createSpool(openFile(path), () => lock.release())
  } catch (error) {
    lock.release()
    if (error instanceof StoreError) throw error
    throw new StoreError('read-only', `${path}, which is to hold rows while the database is away: ${troubleOf(error)}`)
  }
}

function openFile(path: string): Database.Database {
  const db = new Database(path, { timeout: 250 })
  try {
    const isHistory = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'polls'").get() !== undefined
    if (isHistory) {
      const message = `${path} is a history in SQLite: choose another file, or copy it with heartline migrate-store first`
      throw new StoreError('foreign-database', message)
    }
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = NORMAL')
    db.exec(`CREATE TABLE IF NOT EXISTS batches (
      nth INTEGER PRIMARY KEY,
      rows INTEGER NOT NULL,
      polls BLOB NOT NULL,
      others TEXT NOT NULL
    ) STRICT`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** What is here waited for the database, also if it was queued just before that was known to be away. */
function waited({ after, event }: Batch['events'][number]): Batch['events'][number] {
  if (!('fence' in event) || event.fence === undefined) return { after, event }
  return { after, event: { ...event, fence: { ...event.fence, isAway: true } } }
}

function createSpool(db: Database.Database, onClose: () => void): Spool {
  const insert = db.prepare('INSERT INTO batches (rows, polls, others) VALUES (?, ?, ?)')
  const first = db.prepare('SELECT nth, polls, others FROM batches ORDER BY nth LIMIT 1')
  const remove = db.prepare('DELETE FROM batches WHERE nth = ? RETURNING rows').pluck()
  const total = db.prepare('SELECT total(rows) AS rows, count(*) AS batches FROM batches').get()
  let { rows, batches } = total as { rows: number; batches: number }

  return {
    get rows() {
      return rows
    },
    get isEmpty() {
      return batches === 0
    },
    add({ polls, events }, registrations) {
      const bytes = Buffer.from(polls.buffer, polls.byteOffset, polls.byteLength)
      insert.run(polls.length / POLL_NUMBERS, bytes, JSON.stringify({ events, registrations }))
      rows += polls.length / POLL_NUMBERS
      batches++
    },
    oldest() {
      const row = first.get() as { nth: number; polls: Buffer; others: string } | undefined
      if (row === undefined) return null
      const { events, registrations } = JSON.parse(row.others) as Pick<Batch, 'events'> & Omit<Spooled, 'nth' | 'batch'>
      const polls = new Float64Array(Uint8Array.from(row.polls).buffer)
      return { nth: row.nth, batch: { polls, events: events.map(waited) }, registrations }
    },
    remove({ nth }) {
      const gone = remove.get(nth)
      if (typeof gone !== 'number') return
      rows -= gone
      batches--
    },
    close() {
      db.close()
      onClose()
    },
  }
}
