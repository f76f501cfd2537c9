import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { POLL_NUMBERS } from './poll-columns.ts'
import { followLinks, takeLock, troubleOf } from './sqlite/disk.ts'
import { isHistory } from './sqlite/migrate.ts'
import { StoreError } from './store.ts'
import type { Batch, Registration } from './write-events.ts'

export type Spool = ReturnType<typeof createSpool>

export interface Spooled {
  /** Of the latest batch in it. */
  readonly nth: number
  readonly batches: number
  readonly batch: Batch
  /** The endpoints that its polls refer to, or that it registers. */
  readonly registrations: readonly Registration[]
}

/** Throws a StoreError if a person has to decide. */
export function openSpool(path: string): Spool {
  try {
    return openLocked(followLinks(path))
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new StoreError('bad-spool', `${path}, which is to hold rows while the database is away: ${troubleOf(error)}`)
  }
}

function openLocked(path: string): Spool {
  const lock = takeLock(path)
  try {
    return createSpool(path, () => lock.release())
  } catch (error) {
    lock.release()
    throw error
  }
}

function openFile(path: string): Database.Database {
  const db = new Database(path, { timeout: 250 })
  try {
    if (isHistory(db)) {
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

interface Row {
  readonly nth: number
  readonly polls: Buffer
  readonly others: string
}

function spooledOf(row: Row): Spooled {
  const { events, registrations } = JSON.parse(row.others) as Pick<Batch, 'events'> & Omit<Spooled, 'nth' | 'batch'>
  const polls = new Float64Array(Uint8Array.from(row.polls).buffer)
  return { nth: row.nth, batches: 1, batch: { polls, events: events.map(waited) }, registrations }
}

/** `null` if they are of different runs, which refer to different endpoints by the same index. */
function join(earlier: Spooled, later: Spooled): Spooled | null {
  const known = new Map(earlier.registrations.map((one) => [one.index, one]))
  for (const one of later.registrations) {
    const other = known.get(one.index) ?? one
    if (other.endpoint !== one.endpoint || other.token !== one.token) return null
    known.set(one.index, one)
  }
  const polls = new Float64Array(earlier.batch.polls.length + later.batch.polls.length)
  polls.set(earlier.batch.polls)
  polls.set(later.batch.polls, earlier.batch.polls.length)
  const before = earlier.batch.polls.length / POLL_NUMBERS
  const moved = later.batch.events.map(({ after, event }) => ({ after: before + after, event }))
  const batch = { polls, events: [...earlier.batch.events, ...moved] }
  return { nth: later.nth, batches: earlier.batches + 1, batch, registrations: [...known.values()] }
}

/** A file of this size is replaced by a new one once it is empty, because SQLite's files do not shrink. */
const LARGE_PAGES = 4096

/** Batches that wait in a file for a database that is away, in order. */
function createSpool(path: string, onClose: () => void) {
  /** `null`: it is made when it is needed. */
  let file: ReturnType<typeof fileAt> | null = fileAt(path)
  let { rows, batches } = file.total.get() as { rows: number; batches: number }
  /** The batches up to here are removed, although the file could not be written. */
  let removedTo = 0

  const opened = () => (file ??= fileAt(path))

  function startAnew(): void {
    // Throws before the file is closed if it may not be deleted.
    rmSync(path)
    file?.db.close()
    file = null
    for (const part of ['-wal', '-shm']) rmSync(`${path}${part}`, { force: true })
    removedTo = 0
  }

  return {
    /** Polls in it. */
    get rows(): number {
      return rows
    },
    get isEmpty(): boolean {
      return batches === 0
    },
    /** Throws any error of the file. */
    add({ polls, events }: Batch, registrations: readonly Registration[]): void {
      const bytes = Buffer.from(polls.buffer, polls.byteOffset, polls.byteLength)
      opened().insert.run(rowsOf(polls), bytes, JSON.stringify({ events, registrations }))
      rows += rowsOf(polls)
      batches++
    },
    /**
     * The oldest batches as one, so that a distant database catches up: of about this many polls and events, but at least
     * one batch. `null` if there is none.
     */
    oldest(atMost: number): Spooled | null {
      let joined: Spooled | null = null
      if (batches === 0) return null
      for (const row of opened().after.iterate(removedTo) as IterableIterator<Row>) {
        const next: Spooled | null = joined === null ? spooledOf(row) : join(joined, spooledOf(row))
        if (next === null) break
        joined = next
        if (rowsOf(next.batch.polls) + next.batch.events.length >= atMost) break
      }
      return joined
    },
    /** Also succeeds if the file cannot be written, as on a full disk. */
    remove(spooled: Spooled): void {
      rows -= rowsOf(spooled.batch.polls)
      batches -= spooled.batches
      try {
        opened().remove.run(spooled.nth)
        removedTo = 0
      } catch {
        removedTo = spooled.nth
      }
      if (batches > 0) return
      // Batches that stay in the file would be written after later ones when the daemon starts again.
      if (removedTo > 0 || (opened().pages.get() as number) > LARGE_PAGES) startAnew()
    },
    close(): void {
      file?.db.close()
      onClose()
    },
  }
}

const rowsOf = (polls: Float64Array): number => polls.length / POLL_NUMBERS

function fileAt(path: string) {
  const db = openFile(path)
  return {
    db,
    insert: db.prepare('INSERT INTO batches (rows, polls, others) VALUES (?, ?, ?)'),
    after: db.prepare('SELECT nth, polls, others FROM batches WHERE nth > ? ORDER BY nth'),
    remove: db.prepare('DELETE FROM batches WHERE nth <= ?'),
    total: db.prepare('SELECT total(rows) AS rows, count(*) AS batches FROM batches'),
    pages: db.prepare('PRAGMA page_count').pluck(),
  }
}
