import { encodePoll, POLL_NUMBERS } from './poll-columns.ts'
import type { PollRecord } from './store.ts'
import type { Batch, NotificationJson, SaveIncident, SaveNotification, WriteEvent } from './write-events.ts'

/** A batch is written in one transaction when it has this many polls, or when its oldest write has waited this long. */
export const BATCH_ROWS = 500
export const BATCH_WAIT_MS = 250
/** Maximum number of events of one batch that wait while the disk is stuck. */
const BATCH_EVENTS = 2000
/** Maximum size of the incidents with their notifications, as JSON, that wait while the disk is stuck; the oldest are dropped. */
const MAX_INCIDENT_CHARS = 32 * 1024 * 1024

/**
 * A bounded queue of writes, in order, in batches of one transaction each; the oldest polls are dropped first. Only the
 * latest version of an endpoint's saved health, of an incident, a notification or a silence waits, in the batch of the polls before it.
 */
export interface BatchQueue {
  pushPoll(index: number, record: PollRecord): void
  pushEvent(event: WriteEvent): void
  /** The oldest batch, closed for new writes; `null` if there is none. The same one until `done` or `discard`. */
  take(): Batch | null
  /** The batch taken last is on disk. */
  done(): void
  /** The batch taken last can never be written. */
  discard(): void
  /** Number of waiting polls. */
  readonly rows: number
  /** Number of dropped polls and events. */
  readonly dropped: number
  readonly hasFullBatch: boolean
  /** Number of the newest batch that is not empty; batches are written in the order of their numbers. */
  readonly lastNumber: number
  /** All batches up to this number are done. */
  readonly doneNumber: number
}

interface OpenBatch {
  readonly number: number
  polls: Float64Array
  rows: number
  events: PlacedEvent[]
  taken: Batch | null
}

type PlacedEvent = Batch['events'][number]

interface SavedEvent extends PlacedEvent {
  readonly number: number
  readonly event: Extract<WriteEvent, { kind: 'save-health' | 'save-incident' | 'save-notification' | 'save-silence' }>
}

export function createBatchQueue({ maxRows }: { readonly maxRows: number }): BatchQueue {
  const batches: OpenBatch[] = []
  let nextNumber = 1
  let doneNumber = 0
  let rows = 0
  let events = 0
  let dropped = 0
  let writing = false
  /** Events of which only the latest is written, by what they are about, oldest first. */
  const saved = new Map<string, SavedEvent>()
  let incidentChars = 0

  function tail(): OpenBatch {
    const last = batches.at(-1)
    const open = last !== undefined && !(writing && batches.length === 1)
    if (open && last.rows < BATCH_ROWS && last.events.length < BATCH_EVENTS) return last
    if (last !== undefined && rows + events >= maxRows) dropOldest()
    const polls = new Float64Array(BATCH_ROWS * POLL_NUMBERS)
    const batch = { number: nextNumber++, polls, rows: 0, events: [], taken: null }
    batches.push(batch)
    return batch
  }

  /** Drops the polls of the oldest batch; its events are still needed and move to the next batch. */
  function dropOldest(): void {
    const at = writing ? 1 : 0
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
    writing = false
    if (batch === undefined) return
    rows -= batch.rows
    events -= batch.events.length
    doneNumber = batch.number
  }

  function save(fresh: SavedEvent): void {
    const key = keyOf(fresh.event)
    forget(key)
    saved.set(key, fresh)
    incidentChars += charsOf(fresh.event)
    // Saved health is bounded by the number of endpoints, silences by what people do; incidents are not, if a disk is stuck for weeks.
    for (const [oldest, { event }] of saved) {
      if (incidentChars <= MAX_INCIDENT_CHARS) break
      if (event.kind === 'save-health' || event.kind === 'save-silence' || oldest === key) continue
      forget(oldest)
      dropped++
    }
  }

  /** Adds to an incident that waits what its earlier version would have written. */
  function withEarlier(event: SaveIncident): SaveIncident {
    const earlier = saved.get(keyOf(event))?.event
    if (earlier?.kind !== 'save-incident' || earlier.notifications.length === 0) return event
    return { ...event, notifications: latestOf([...earlier.notifications, ...event.notifications]) }
  }

  /** A notification waits with its incident, because it must not be written before it. */
  function saveNotification(batch: OpenBatch, event: SaveNotification): void {
    const waiting = saved.get(`incident ${event.notification.incident}`)
    if (waiting?.event.kind !== 'save-incident') return save({ number: batch.number, after: batch.rows, event })
    const notifications = latestOf([...waiting.event.notifications, event.notification])
    const together: SavedEvent = { ...waiting, event: { ...waiting.event, notifications } }
    incidentChars += charsOf(together.event) - charsOf(waiting.event)
    saved.set(keyOf(together.event), together)
  }

  function forget(key: string): void {
    const found = saved.get(key)
    if (found === undefined) return
    incidentChars -= charsOf(found.event)
    saved.delete(key)
  }

  /** The saved events of this batch and of earlier ones, each after the polls that came before it. */
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
    pushPoll(index, record) {
      const batch = tail()
      encodePoll(batch.polls, batch.rows * POLL_NUMBERS, index, record)
      batch.rows++
      rows++
    },
    pushEvent(event) {
      const batch = tail()
      const place = { number: batch.number, after: batch.rows }
      if (event.kind === 'save-health' || event.kind === 'save-silence') return save({ ...place, event })
      if (event.kind === 'save-incident') return save({ ...place, event: withEarlier(event) })
      if (event.kind === 'save-notification') return saveNotification(batch, event)
      batch.events.push({ after: batch.rows, event })
      events++
    },
    take() {
      const batch = batches[0]
      if (batch === undefined) return null
      writing = true
      batch.taken ??= {
        polls: batch.polls.slice(0, batch.rows * POLL_NUMBERS),
        events: [...batch.events, ...savedFor(batch)].sort((a, b) => a.after - b.after),
      }
      return batch.taken
    },
    done: end,
    discard() {
      const batch = batches[0]
      if (batch !== undefined) dropped += batch.rows + (batch.taken ?? batch).events.length
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
  switch (event.kind) {
    case 'save-health':
      return `endpoint ${event.endpoint}`
    case 'save-incident':
      return `incident ${event.incident.id}`
    case 'save-notification':
      return `notification ${event.notification.id}`
    case 'save-silence':
      return `silence ${event.silence.id}`
  }
}

function charsOf(event: SavedEvent['event']): number {
  switch (event.kind) {
    case 'save-health':
    case 'save-silence':
      return 0
    case 'save-incident':
      return event.notifications.reduce((sum, { json }) => sum + json.length, event.incident.json.length)
    case 'save-notification':
      return event.notification.json.length
  }
}

/** The latest version of each, in the order of their first ones. */
function latestOf(notifications: readonly NotificationJson[]): NotificationJson[] {
  return [...new Map(notifications.map((notification) => [notification.id, notification])).values()]
}

/** Keeps every registration, because polls refer to it, and the newest other events that one batch may hold. */
function newestOf(events: readonly PlacedEvent[]): PlacedEvent[] {
  let tooMany = events.filter(({ event }) => event.kind !== 'register').length - BATCH_EVENTS
  return events.filter(({ event }) => event.kind === 'register' || tooMany-- <= 0)
}
