import type { Worker } from 'node:worker_threads'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { createBatchQueue } from './batches.ts'
import { IN_MEMORY } from './database.ts'
import { type FileSystemType, fileSystemType } from './disk.ts'
import { checkFile, type Integrity } from './integrity.ts'
import { createReader } from './reader.ts'
import type { Retention } from './retention.ts'
import type { Store } from './store.ts'
import { createStoreWrites } from './store-writes.ts'
import { createWriter } from './writer.ts'

/**
 * Opens the history. Rejects with a StoreError if a person has to decide: the store is in use, was written by a newer
 * version, or cannot be written at all. After any other trouble, which `status()` shows, opening is retried.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { path, retention, maxSizeBytes, clock, log, onSpawn } = options
  const closing = new AbortController()
  const queue = createBatchQueue({ maxRows: options.maxQueueRows ?? MAX_QUEUE_ROWS })
  const writes = createStoreWrites({ queue, wake: () => writer.wake(), log })
  const writer = createWriter({
    path,
    retention,
    maxSizeBytes,
    clock,
    log,
    queue,
    fileSystemType: options.fileSystemType ?? fileSystemType,
    registrations: writes.registrations,
    onCommit: options.onCommit ?? (() => undefined),
    onWantsCheck: () => void check(closing.signal),
    onSpawn,
  })
  const reader = createReader({ path, clock, log, writer, onSpawn })
  await writer.open()

  async function integrity(signal: AbortSignal): Promise<Integrity> {
    if (path !== IN_MEMORY) return checkFile(path, signal)
    const reply = await writer.call('check', null)
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
      const end = () => void writer.call('end-jobs', null)
      ended.addEventListener('abort', end, { once: true })
      const reply = await writer.call('job', { job, now })
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
  readonly onSpawn?: (worker: Worker) => void
}

/** 45 minutes of a thousand endpoints polled every 15 s, in 12 MB. */
const MAX_QUEUE_ROWS = 180_000
