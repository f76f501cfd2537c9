import type { Timer } from '../clock.ts'
import { type BatchSender, type BatchSenderDeps, createBatchSender } from './batch-sender.ts'
import type { StoreStatus } from './store.ts'
import type { FileEvents, StoreSizes } from './workers.ts'
import { createWriterConnection, type WriterConnection, type WriterConnectionDeps } from './writer-connection.ts'

/** The main thread's side of writing: the connection, the batches sent over it, and what is known of the file. */
export interface Writer extends Pick<BatchSender, 'wake' | 'flush'>, Pick<WriterConnection, 'call'> {
  /** Takes the lock and opens the file. Rejects with a StoreError where a person has to decide; retries after any other trouble. */
  open(): Promise<void>
  status(): StoreStatus
  /** A check has found damage. */
  damaged(): void
  /** A reader thread died. */
  threadDied(): void
  close(): Promise<void>
}

export type WriterDeps = Omit<WriterConnectionDeps, 'onDeath' | 'onFileEvents'> &
  Pick<BatchSenderDeps, 'queue' | 'onCommit'> & {
    /** The file may be damaged, and is too large to be checked at once. */
    readonly onWantsCheck: () => void
  }

const MEASURE_EVERY_MS = 10_000
const CLOSE_WITHIN_MS = 8000

export function createWriter(deps: WriterDeps): Writer {
  const { clock, log, queue, onWantsCheck } = deps
  let measureTimer: Timer | null = null
  let closed = false
  let threadRestarts = 0
  let integrityOk = true
  let clockDoubted = false
  let sizes: StoreSizes = { databaseBytes: null, filesystemFreeBytes: null }
  const connection = createWriterConnection({
    ...deps,
    onFileEvents,
    onDeath() {
      threadRestarts++
      sender.failed('other', 'thread-died')
    },
  })
  const sender = createBatchSender({ ...deps, connection, onFileEvents })

  function onFileEvents({ movedTo, wantsCheck, clock: verdict }: FileEvents): void {
    if (verdict === 'set-back') {
      log.warn({}, 'the store was ahead of the clock: its aggregated history is computed again from an earlier time')
    }
    if (verdict === 'doubted' && !clockDoubted) {
      log.warn({}, 'the clock is more than a day off its last run: nothing is deleted by age until a day has passed')
    }
    clockDoubted = verdict === null ? clockDoubted : verdict === 'doubted'
    if (movedTo !== null) {
      integrityOk = false
      log.error({}, 'the store was damaged: it was moved aside, and a new one created')
    }
    if (wantsCheck) onWantsCheck()
  }

  async function measure(): Promise<void> {
    measureTimer = null
    const reply = await connection.call('measure', { now: clock.now() })
    if (reply.ok) {
      sizes = reply.value
      onFileEvents(reply.value)
    } else if (sender.trouble === null && !closed) {
      sender.failed(reply.trouble, reply.code)
    }
    if (!closed) measureTimer = clock.after(MEASURE_EVERY_MS, () => void measure())
  }

  return {
    wake: sender.wake,
    flush: sender.flush,
    call: connection.call,

    async open() {
      const trouble = await connection.open()
      if (trouble !== null) sender.failed(trouble, 'open')
      void measure()
    },

    status: () => ({
      trouble: sender.trouble ?? (sender.isSlow ? 'busy' : null),
      rowsWritten: sender.rowsWritten,
      rowsDropped: queue.dropped,
      writeFailures: sender.writeFailures,
      queueRows: queue.rows,
      databaseBytes: sizes.databaseBytes,
      filesystemFreeBytes: sizes.filesystemFreeBytes,
      integrityOk,
      threadRestarts,
    }),

    damaged() {
      integrityOk = false
    },

    threadDied() {
      threadRestarts++
    },

    async close() {
      const abort = new AbortController()
      const ending = (async () => {
        await sender.flush()
        closed = true
        sender.stop()
        const reply = await connection.callRunning('close', null)
        if (reply?.ok === false) {
          log.warn({ trouble: reply.trouble, code: reply.code }, 'the store did not close cleanly')
        }
      })()
      // A disk that hangs must not keep the process from ending.
      await Promise.race([ending, clock.sleep(CLOSE_WITHIN_MS, abort.signal)])
      abort.abort()
      closed = true
      sender.stop()
      measureTimer?.cancel()
      await connection.end()
    },
  }
}
