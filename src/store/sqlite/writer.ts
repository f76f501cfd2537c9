import { type Timer, within } from '../../clock.ts'
import type { UnixMs } from '../../core/time.ts'
import { type BatchSenderDeps, createBatchSender } from '../batch-sender.ts'
import type { Call, CommonOptions, Failed, Reply, Written } from '../engine.ts'
import { StoreError, type StoreStatus, type StoreTrouble } from '../store.ts'
import type { Batch, Registration } from '../write-events.ts'
import { IN_MEMORY } from './database.ts'
import {
  codeOf,
  type FileSystemType,
  fileSystemType,
  refusedAsReadOnly,
  refuseNetworkDisk,
  type StoreLock,
  takeLock,
  troubleOf,
} from './disk.ts'
import { type CallableWorker, type OnSpawn, spawnWorker } from './worker-calls.ts'
import type { FileEvents, StoreSizes } from './writer-session.ts'
import type { WriterCalls } from './writer-worker.ts'

/** The main thread's side of writing: the worker, the batches sent to it, and what is known of the file. */
export function createWriter(deps: WriterDeps) {
  const { clock, log, queue, onWantsCheck, onNewFile } = deps
  let measureTimer: Timer | null = null
  let closed = false
  let threadRestarts = 0
  let integrityOk = true
  let clockDoubted = false
  let sizes: StoreSizes = { databaseBytes: null, filesystemFreeBytes: null }
  const thread = createWriterThread(deps, onFileEvents, () => {
    threadRestarts++
    sender.failed('other', 'thread-died')
  })
  const sender = createBatchSender({ ...deps, write, probe: measure, isRejection })

  async function write(batch: Batch, now: UnixMs): Promise<Reply<Written>> {
    const reply = await thread.call('write', batch, now)
    if (reply.ok) onFileEvents(reply.value)
    return reply
  }

  function onFileEvents({ movedTo, isLost, wantsCheck, clock: verdict }: FileEvents): void {
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
    if (isLost) log.error({}, 'the store was deleted or replaced: a new one is used')
    if (movedTo !== null || isLost) onNewFile?.()
    if (wantsCheck) onWantsCheck()
  }

  async function measure() {
    const reply = await thread.call('measure', clock.now())
    if (!reply.ok) return reply
    const { databaseBytes, filesystemFreeBytes } = reply.value
    sizes = { databaseBytes, filesystemFreeBytes }
    onFileEvents(reply.value)
    return reply
  }

  async function keepMeasuring(): Promise<void> {
    const reply = await measure().catch(
      (error: unknown) => ({ ok: false, trouble: 'other', code: codeOf(error) }) as const,
    )
    if (closed) return
    if (!reply.ok && sender.trouble() === null) sender.failed(reply.trouble, reply.code)
    measureTimer = clock.after(MEASURE_EVERY_MS, () => void keepMeasuring())
  }

  return {
    wake: sender.wake,
    flush: sender.flush,
    call: thread.call,

    /** Takes the lock and opens the file; rejects with a StoreError if a person has to decide, else retries. */
    async open(): Promise<void> {
      const trouble = await thread.open()
      if (trouble !== null) sender.failed(trouble, 'open')
      void keepMeasuring()
    },

    status(): StoreStatus {
      const sending = sender.status()
      return {
        ...sending,
        ...sizes,
        rowsDropped: queue.dropped,
        queueRows: queue.rows,
        integrityOk,
        threadRestarts,
        remote: null,
      }
    },

    damaged(): void {
      integrityOk = false
    },

    threadDied(): void {
      threadRestarts++
    },

    async close(): Promise<void> {
      const ending = (async () => {
        await sender.flush()
        closed = true
        sender.stop()
        await thread.closeFile()
      })()
      // A disk that hangs must not keep the process from ending.
      await within(clock, CLOSE_WITHIN_MS, ending)
      closed = true
      sender.stop()
      measureTimer?.cancel()
      await thread.end()
    },
  }
}

export type Writer = ReturnType<typeof createWriter>

export interface SqliteOptions extends CommonOptions {
  /** A file, whose directory is made if it is missing, or `:memory:`. */
  readonly path: string
  /** For tests, which have no network disk. */
  readonly fileSystemType?: FileSystemType
  /** Called when a new file has taken the place of one that was damaged or deleted: it lacks what was saved before. */
  readonly onNewFile?: () => void
  /** For tests, which kill threads. */
  readonly onSpawn?: OnSpawn
}

export interface WriterDeps extends SqliteOptions, Pick<BatchSenderDeps, 'queue'> {
  /** The endpoints registered now, which a new worker must know. */
  readonly registrations: () => readonly Registration[]
  /** Called when the file may be damaged and is too large to check at once. */
  readonly onWantsCheck: () => void
}

const MEASURE_EVERY_MS = 10_000
const CLOSE_WITHIN_MS = 8000

/** The writer worker: takes the lock, starts the worker and opens the file, again after each trouble. */
function createWriterThread(deps: WriterDeps, onFileEvents: (events: FileEvents) => void, onDeath: () => void) {
  const { path, retention, maxSizeBytes, clock, log, registrations, onSpawn } = deps
  let lock: StoreLock | null = null
  let worker: CallableWorker<WriterCalls> | null = null
  let opening: Promise<StoreTrouble | null> | null = null
  let refusal: StoreError | null = null
  /** Whether the worker's death is logged and no worker has opened the file since. */
  let deathLogged = false

  /** Resolves to `null` when the worker can be called. */
  function ready(): Promise<StoreTrouble | null> {
    if (worker !== null && opening === null) return Promise.resolve(null)
    opening ??= openWorker().finally(() => {
      opening = null
    })
    return opening
  }

  async function openWorker(): Promise<StoreTrouble | null> {
    const notLocked = troubleIn(() => {
      if (path !== IN_MEMORY) lock ??= takeLock(path)
    })
    if (notLocked !== null) return notLocked
    const spawned = spawnWorker<WriterCalls>({ name: 'writer-worker', onDeath: died, onSpawn })
    worker = spawned
    const ask = { path, retention, maxSizeBytes, registrations: registrations(), now: clock.now() }
    const reply = await spawned.call('open', ask)
    if (!reply.ok) return reply.trouble
    deathLogged = false
    onFileEvents(reply.value)
    if (reply.value.refusal === null) return null
    refusal = new StoreError(reply.value.refusal.kind, reply.value.refusal.message)
    return 'other'
  }

  function died(code: string): void {
    worker = null
    if (!deathLogged) log.error({ code }, 'the writer thread of the store died and is started again')
    deathLogged = true
    onDeath()
  }

  /** `null` if the step succeeds; a refusal is remembered. */
  function troubleIn(step: () => void): StoreTrouble | null {
    try {
      step()
      return null
    } catch (error) {
      if (!(error instanceof StoreError)) return troubleOf(error)
      refusal = error
      return 'busy'
    }
  }

  async function end(): Promise<void> {
    await worker?.end()
    lock?.release()
    lock = null
  }

  const call: Call<WriterCalls> = async (kind, ...asked) => {
    const notReady = await ready()
    if (notReady !== null || worker === null) return { ok: false, trouble: notReady ?? 'other', code: 'open' }
    return worker.call(kind, ...asked)
  }

  return {
    call,
    end,

    /** The first opening: rejects with a StoreError if a person has to decide, else resolves to the trouble. */
    async open(): Promise<StoreTrouble | null> {
      const unfit = troubleIn(() => {
        if (path !== IN_MEMORY) refuseNetworkDisk(path, deps.fileSystemType ?? fileSystemType)
      })
      const notReady = unfit ?? (await ready())
      // At the start, a person is there to fix a read-only disk; later, it is trouble that may pass.
      if (notReady === 'read-only') refusal ??= refusedAsReadOnly(path)
      if (refusal === null) return notReady
      await end()
      throw refusal
    },

    async closeFile(): Promise<void> {
      const reply = await worker?.call('close')
      if (reply?.ok === false) log.warn({ trouble: reply.trouble, code: reply.code }, 'the store did not close cleanly')
    },
  }
}

/** A thread that could not open the file never saw the batch. */
function isRejection({ trouble, code }: Failed): boolean {
  return trouble === 'other' && code !== 'open'
}
