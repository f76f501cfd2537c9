import { stat } from 'node:fs/promises'
import { createBatchQueue } from '../batch-queue.ts'
import type { Store } from '../store.ts'
import { createWrites } from '../writes.ts'
import { IN_MEMORY } from './database.ts'
import { followLinks } from './disk.ts'
import { checkFile, FEW_BYTES, type Integrity } from './integrity.ts'
import { createReader } from './reader.ts'
import { createWriter, type SqliteOptions } from './writer.ts'

/**
 * The history in one SQLite file. Rejects with a StoreError if a person has to decide: the store is in use, was written by a newer
 * version, or cannot be written at all. After any other trouble, which `status()` shows, opening is retried.
 */
export async function openSqliteStore(given: SqliteOptions): Promise<Store> {
  const path = given.path === IN_MEMORY ? IN_MEMORY : followLinks(given.path)
  const options = { ...given, path }
  const { log } = options
  const closing = new AbortController()
  const queue = createBatchQueue({ maxRows: options.maxQueueRows })
  const writes = createWrites(queue, () => writer.wake(), log)
  const writer = createWriter({
    ...options,
    queue,
    registrations: writes.registrations,
    onWantsCheck: () => void check(closing.signal),
  })
  const reader = createReader({ ...options, writer })
  await writer.open()

  async function integrity(signal: AbortSignal): Promise<Integrity> {
    if (path !== IN_MEMORY && (await sizeOf(path)) + (await sizeOf(`${path}-wal`)) > FEW_BYTES)
      return checkFile(path, signal)
    const reply = await reader.check()
    if (signal.aborted) return 'ended'
    if (reply.ok) return reply.value ? 'sound' : 'damaged'
    return reply.trouble === 'corrupt' ? 'damaged' : 'unreadable'
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

/** A file that is not there has none. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}
