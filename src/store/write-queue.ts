import { type Batch, POLL_NUMBERS, type WriteEvent } from './messages.ts'

/**
 * What waits for the disk, in order, in batches of one transaction each. Bounded: the oldest polls give way. Of what an
 * endpoint must remember, and of an incident, only the latest waits, with the batch in which the latest polls are.
 */
export interface WriteQueue {
  /** The numbers of one poll; see POLL_NUMBERS. */
  pushPoll(numbers: readonly number[]): void
  pushEvent(event: WriteEvent): void
  /** The oldest batch, which takes nothing more from now on; `null` when there is none. The same one until `done`. */
  take(): Batch | null
  /** The batch taken last is on disk. */
  done(): void
  /** The batch taken last can never be written. */
  discard(): void
  /** Polls that wait. */
  readonly rows: number
  /** Polls and events that gave way. */
  readonly dropped: number
  readonly hasFullBatch: boolean
  /** Number of the newest batch that holds anything; batches are written in the order of their numbers. */
  readonly lastNumber: number
  /** Everything up to this batch is done. */
  readonly doneNumber: number
}

interface OpenBatch {
  readonly number: number
  polls: Float64Array
  rows: number
  events: PlacedEvent[]
  /** What `take` gave out. */
  given: Batch | null
}

interface PlacedEvent {
  readonly after: number
  readonly event: WriteEvent
}

interface SavedEvent {
  readonly number: number
  readonly after: number
  readonly event: Extract<WriteEvent, { kind: 'save-health' | 'save-incident' }>
}

export const BATCH_ROWS = 500
/** A stuck disk may keep so many events of a batch waiting. */
const BATCH_EVENTS = 2000

/** Incidents that wait for a stuck disk may hold so much; the oldest give way. */
const SAVED_CHARS = 32 * 1024 * 1024

export function createWriteQueue({ maxRows }: { readonly maxRows: number }): WriteQueue {
  const batches: OpenBatch[] = []
  let nextNumber = 1
  let doneNumber = 0
  let rows = 0
  let events = 0
  let dropped = 0
  let taken = false
  /** What is only kept as it stands now: by endpoint or incident, in the order in which they came. */
  const saved = new Map<string, SavedEvent>()
  let savedChars = 0
  /** Grown as needed and reused, for an idle daemon's sake. */
  let scratch = new Float64Array(BATCH_ROWS * POLL_NUMBERS)

  function tail(): OpenBatch {
    const last = batches.at(-1)
    const open = last !== undefined && !(taken && batches.length === 1)
    if (open && last.rows < BATCH_ROWS && last.events.length < BATCH_EVENTS) return last
    if (last !== undefined && rows + events >= maxRows) dropOldest()
    const batch = { number: nextNumber++, polls: scratch, rows: 0, events: [], given: null }
    scratch = new Float64Array(BATCH_ROWS * POLL_NUMBERS)
    batches.push(batch)
    return batch
  }

  /** Its polls are lost; its events still mean something, and go first in the next batch. */
  function dropOldest(): void {
    const at = taken ? 1 : 0
    const oldest = batches[at]
    const next = batches[at + 1]
    if (oldest === undefined || next === undefined) return
    const both = [...oldest.events.map(({ event }) => ({ after: 0, event })), ...next.events]
    next.events = newestOf(both)
    const lost = both.length - next.events.length
    dropped += oldest.rows + lost
    rows -= oldest.rows
    events -= lost
    batches.splice(at, 1)
  }

  function end(): void {
    const batch = batches.shift()
    taken = false
    if (batch === undefined) return
    rows -= batch.rows
    events -= batch.events.length
    doneNumber = batch.number
  }

  function keep(fresh: SavedEvent): void {
    const key = keyOf(fresh.event)
    forget(key)
    saved.set(key, fresh)
    savedChars += charsOf(fresh.event)
    // Endpoints are as many as there are. Incidents, of a disk that is stuck for weeks, are not.
    for (const [oldest, { event }] of saved) {
      if (savedChars <= SAVED_CHARS) break
      if (event.kind !== 'save-incident' || oldest === key) continue
      forget(oldest)
      dropped++
    }
  }

  function forget(key: string): void {
    const found = saved.get(key)
    if (found === undefined) return
    savedChars -= charsOf(found.event)
    saved.delete(key)
  }

  /** What waits for this batch, each after the polls that it came after. */
  function savedFor(batch: OpenBatch): PlacedEvent[] {
    const placed: PlacedEvent[] = []
    for (const [key, { number, after, event }] of saved) {
      if (number > batch.number) continue
      forget(key)
      placed.push({ after: number < batch.number ? 0 : after, event })
    }
    return placed
  }

  return {
    pushPoll(numbers) {
      const batch = tail()
      batch.polls.set(numbers, batch.rows * POLL_NUMBERS)
      batch.rows++
      rows++
    },
    pushEvent(event) {
      const batch = tail()
      if (event.kind === 'save-health' || event.kind === 'save-incident') {
        keep({ number: batch.number, after: batch.rows, event })
        return
      }
      batch.events.push({ after: batch.rows, event })
      events++
    },
    take() {
      const batch = batches[0]
      if (batch === undefined) return null
      taken = true
      batch.given ??= {
        polls: batch.polls.slice(0, batch.rows * POLL_NUMBERS),
        events: [...batch.events, ...savedFor(batch)].sort((a, b) => a.after - b.after),
      }
      return batch.given
    },
    done: end,
    discard() {
      const batch = batches[0]
      if (batch !== undefined) dropped += batch.rows + (batch.given ?? batch).events.length
      end()
    },
    get rows() {
      return rows
    },
    get dropped() {
      return dropped
    },
    get hasFullBatch() {
      const first = batches[0]
      return first !== undefined && (batches.length > 1 || first.rows >= BATCH_ROWS)
    },
    get lastNumber() {
      return batches.at(-1)?.number ?? doneNumber
    },
    get doneNumber() {
      return doneNumber
    },
  }
}

function keyOf(event: SavedEvent['event']): string {
  return event.kind === 'save-health' ? `endpoint ${event.endpoint}` : `incident ${event.id}`
}

function charsOf(event: SavedEvent['event']): number {
  return event.kind === 'save-health' ? 0 : event.row[6].length
}

/** Endpoints must be known by their numbers; of the rest the newest, as many as one batch may hold. */
function newestOf(events: readonly PlacedEvent[]): PlacedEvent[] {
  let tooMany = events.filter(({ event }) => event.kind !== 'register').length - BATCH_EVENTS
  return events.filter(({ event }) => event.kind === 'register' || tooMany-- <= 0)
}
