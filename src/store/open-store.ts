import type { Clock } from '../clock.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import type { Log } from '../log.ts'
import {
  type BatchQueue,
  createBatchQueue,
  type NotificationJson,
  type Registration,
  type WriteEvent,
} from './batches.ts'
import { outcomeOf } from './poll-columns.ts'
import type { Retention } from './retention.ts'
import { IN_MEMORY } from './sqlite/database.ts'
import { type FileSystemType, fileSystemType } from './sqlite/disk.ts'
import { checkFile, type Integrity } from './sqlite/integrity.ts'
import { createReader } from './sqlite/reader.ts'
import type { OnSpawn } from './sqlite/worker-calls.ts'
import { createWriter } from './sqlite/writer.ts'
import type { IncidentRecord, NotificationRecord, Store } from './store.ts'

/**
 * Opens the history. Rejects with a StoreError if a person has to decide: the store is in use, was written by a newer
 * version, or cannot be written at all. After any other trouble, which `status()` shows, opening is retried.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { path, log, onSpawn } = options
  const closing = new AbortController()
  const queue = createBatchQueue({ maxRows: options.maxQueueRows ?? MAX_QUEUE_ROWS })
  const writes = createWrites(queue, () => writer.wake(), log)
  const writer = createWriter({
    fileSystemType,
    onCommit: () => undefined,
    ...options,
    queue,
    registrations: writes.registrations,
    onWantsCheck: () => void check(closing.signal),
    onSpawn,
  })
  const reader = createReader({ ...options, writer, onSpawn })
  await writer.open()

  async function integrity(signal: AbortSignal): Promise<Integrity> {
    if (path !== IN_MEMORY) return checkFile(path, signal)
    const reply = await writer.call('check')
    return reply.ok ? (reply.value ? 'sound' : 'damaged') : 'unreadable'
  }

  async function check(signal: AbortSignal): Promise<boolean> {
    const found = await integrity(signal)
    if (found === 'damaged') {
      writer.damaged()
      log.error({}, 'the store is damaged: the parts that can be read stay in use')
    }
    return found === 'sound'
  }

  return {
    ...writes.methods,
    ...reader.methods,
    flush: writer.flush,

    async run(job, now, signal) {
      const ended = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal])
      if (ended.aborted || (job === 'integrity' && !(await check(ended)))) return false
      const end = () => void writer.call('end-jobs')
      ended.addEventListener('abort', end, { once: true })
      const reply = await writer.call('job', job, now)
      ended.removeEventListener('abort', end)
      if (!reply.ok) log.warn({ job, trouble: reply.trouble, code: reply.code }, 'a job of the store failed')
      return reply.ok && reply.value
    },

    status() {
      const status = writer.status()
      return { ...status, rowsDropped: status.rowsDropped + writes.dropped }
    },

    async close() {
      closing.abort()
      // Only the last connection to close can remove the WAL, and only the writer may write.
      await reader.end()
      await writer.close()
    },
  }
}

export interface StoreOptions {
  /** A file, whose directory is made if it is missing, or `:memory:`. */
  readonly path: string
  readonly retention: Retention
  readonly maxSizeBytes: number
  readonly clock: Clock
  readonly log: Log
  /** Called for every batch that is on disk. */
  readonly onCommit?: (commit: { readonly rows: number; readonly durationMs: number }) => void
  /** Maximum number of polls that wait for a disk that does not accept them. */
  readonly maxQueueRows?: number
  /** For tests, which have no network disk. */
  readonly fileSystemType?: FileSystemType
  /** For tests, which kill threads. */
  readonly onSpawn?: OnSpawn
}

/** 45 minutes of a thousand endpoints polled every 15 s, in 12 MB. */
const MAX_QUEUE_ROWS = 180_000

/** The store's write methods: each queues its write, and none waits, throws or blocks. */
function createWrites(queue: BatchQueue, wake: () => void, log: Log) {
  const registered = new Map<EndpointKey, Registration>()
  let dropped = 0

  function push(event: WriteEvent): void {
    queue.pushEvent(event)
    wake()
  }

  /** `null` if unregistered, since it is then unknown how long the endpoint's results hold. */
  function indexOf(endpoint: EndpointKey): number | null {
    const found = registered.get(endpoint)
    if (found !== undefined) return found.index
    if (dropped++ === 0) log.error({ endpoint }, 'a poll of an unregistered endpoint is not stored')
    return null
  }

  const methods = {
    register(endpoints, at) {
      const registrations = endpoints.map(({ endpoint, holdMs }) => {
        const index = registered.get(endpoint)?.index ?? registered.size
        const registration = { index, endpoint, holdMs: Math.round(holdMs), at: Math.floor(at) }
        registered.set(endpoint, registration)
        return registration
      })
      push({ kind: 'register', registrations })
    },

    poll(record) {
      const index = indexOf(record.endpoint)
      if (index === null || !Number.isFinite(record.at)) return
      queue.pushPoll(index, record)
      wake()
    },

    amend(endpoint, from, to, state, fresh) {
      const index = indexOf(endpoint)
      if (index === null || !(to > from)) return
      const verdict = outcomeOf(state, fresh, null)
      push({ kind: 'amend', index, from: Math.floor(from), to: Math.ceil(to), verdict })
    },

    hashChange({ endpoint, at, ...change }) {
      const index = indexOf(endpoint)
      if (index !== null) push({ kind: 'hash-change', index, at: Math.floor(at), ...change })
    },

    saveHealth({ endpoint, at, value }) {
      push({ kind: 'save-health', endpoint, at: Math.floor(at), json: JSON.stringify(value) ?? 'null' })
    },

    saveIncident(
      { value, openedAt, closedAt, ...incident }: IncidentRecord,
      notifications: readonly NotificationRecord[] = [],
    ) {
      const times = { openedAt: Math.floor(openedAt), closedAt: closedAt === null ? null : Math.floor(closedAt) }
      push({
        kind: 'save-incident',
        incident: { ...incident, ...times, json: JSON.stringify(value) ?? 'null' },
        notifications: notifications.map(asJson),
      })
    },

    saveNotification: (notification) => push({ kind: 'save-notification', notification: asJson(notification) }),

    saveSilence(silence) {
      const times = { from: Math.floor(silence.from), until: Math.floor(silence.until) }
      push({ kind: 'save-silence', silence: { ...silence, ...times } })
    },

    saveNote: (note) => push({ kind: 'save-note', note: { ...note, at: Math.floor(note.at) } }),

    saveAlias(alias) {
      const stale = alias.stale === null ? null : { ...alias.stale, at: Math.floor(alias.stale.at) }
      push({ kind: 'save-alias', alias: { ...alias, at: Math.floor(alias.at), stale } })
    },

    adminCall: (call) => push({ kind: 'admin-call', call: { ...call, at: Math.floor(call.at) } }),

    maintain(periods, at) {
      const whole = periods.map(({ endpoint, from, until }) => {
        return { endpoint, from: Math.floor(from), until: Math.floor(until) }
      })
      push({ kind: 'maintain', at: Math.floor(at), periods: whole })
    },
  } satisfies Partial<Store>

  return {
    methods,
    registrations: () => [...registered.values()],
    /** Number of writes for endpoints that were never registered. */
    get dropped() {
      return dropped
    },
  }
}

function asJson({ value, createdAt, ...notification }: NotificationRecord): NotificationJson {
  return { ...notification, createdAt: Math.floor(createdAt), json: JSON.stringify(value) ?? 'null' }
}
