import type { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../clock.ts'
import type { Log } from '../log.ts'
import { IN_MEMORY } from './database.ts'
import { type FileSystemType, refusedAsReadOnly, refuseNetworkDisk } from './file-system.ts'
import { type StoreLock, takeLock } from './lock.ts'
import type { FileNews, Registration, Reply, Retention, WriterCalls } from './messages.ts'
import { STORE_TROUBLES, StoreError, type StoreStatus, type StoreTrouble } from './store.ts'
import { spawnThread, type Thread } from './thread.ts'
import { troubleOf } from './trouble.ts'
import type { WriteQueue } from './write-queue.ts'

export interface WriterDeps {
  readonly path: string
  readonly retention: Retention
  readonly maxSizeBytes: number
  readonly clock: Clock
  readonly log: Log
  readonly queue: WriteQueue
  readonly fileSystemType: FileSystemType
  /** The endpoints as they are registered now: a new thread must know them. */
  readonly registrations: () => readonly Registration[]
  readonly onCommit: (commit: { readonly rows: number; readonly durationMs: number }) => void
  /** The file is large, and may have been left in the middle of a write. */
  readonly onWantsCheck: () => void
  readonly onSpawn: ((worker: Worker) => void) | undefined
}

/** Carries the queue to the writing thread, batch by batch, and comes back after every trouble. */
export interface Writer {
  /** Takes the lock and opens the file. Rejects with a StoreError where a person has to decide; trouble is no rejection. */
  open(): Promise<void>
  /** Something was queued. */
  wake(): void
  flush(): Promise<void>
  call<K extends keyof WriterCalls>(kind: K, ask: WriterCalls[K]['ask']): Promise<Reply<WriterCalls[K]['answer']>>
  status(): StoreStatus
  damaged(): void
  threadDied(): void
  close(): Promise<void>
}

/** A batch waits at most so long for more. */
const GATHER_MS = 250
const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 5000
/** A write that takes longer is trouble, though it may still succeed. */
const SLOW_MS = 5000
const MEASURE_EVERY_MS = 10_000
/** What neither the disk nor a new file cures is the batch's own fault; it must not hold up all others for ever. */
const HOPELESS_ATTEMPTS = 20
const CLOSE_WITHIN_MS = 8000

export function createWriter(deps: WriterDeps): Writer {
  const { path, retention, maxSizeBytes, clock, log, queue, registrations, onCommit, onWantsCheck, onSpawn } = deps
  let lock: StoreLock | null = null
  let thread: Thread<WriterCalls> | null = null
  let opening: Promise<StoreTrouble | null> | null = null
  let refusal: StoreError | null = null
  let trouble: StoreTrouble | null = null
  let attempts = 0
  let sentAt: number | null = null
  let timer: Timer | null = null
  let timerDue = 0
  let measureTimer: Timer | null = null
  let closed = false
  let rowsWritten = 0
  let threadRestarts = 0
  let integrityOk = true
  let clockDoubted = false
  let databaseBytes: number | null = null
  let filesystemFreeBytes: number | null = null
  const writeFailures = new Map<StoreTrouble, number>(STORE_TROUBLES.map((kind) => [kind, 0]))
  let waiting: { number: number; resolve: () => void }[] = []

  /** `null` where a store may be. */
  function unfit(): StoreTrouble | null {
    if (path === IN_MEMORY) return null
    try {
      refuseNetworkDisk(path, deps.fileSystemType)
      return null
    } catch (error) {
      if (error instanceof StoreError) refusal = error
      return troubleOf(error)
    }
  }

  /** `null` when a thread is there that can be asked. */
  async function ready(): Promise<StoreTrouble | null> {
    if (thread !== null && opening === null) return null
    opening ??= openThread().finally(() => {
      opening = null
    })
    return opening
  }

  async function openThread(): Promise<StoreTrouble | null> {
    if (lock === null && path !== IN_MEMORY) {
      try {
        lock = takeLock(path)
      } catch (error) {
        if (error instanceof StoreError) {
          refusal = error
          return 'busy'
        }
        return troubleOf(error)
      }
    }
    const spawned = spawnThread<WriterCalls>({ name: 'writer-thread', onDeath: died, onSpawn })
    thread = spawned
    const ask = { path, retention, maxSizeBytes, registrations: registrations(), now: clock.now() }
    const reply = await spawned.call('open', ask)
    if (!reply.ok) return reply.trouble
    takeNews(reply.value)
    if (reply.value.refusal === null) return null
    refusal = new StoreError(reply.value.refusal.kind, reply.value.refusal.message)
    return 'other'
  }

  function died(code: string): void {
    thread = null
    threadRestarts++
    log.error({ code }, 'the writing thread of the store died and is started again')
    failed('other', 'thread-died')
  }

  function takeNews({ movedTo, wantsCheck, clock: verdict }: FileNews): void {
    if (verdict === 'set-back') log.warn({}, 'the store was ahead of the clock: how far it is added up was set back')
    if (verdict === 'doubted' && !clockDoubted) {
      log.warn(
        {},
        'the clock is more than a day off its last run: nothing is deleted for its age until a day has passed',
      )
    }
    clockDoubted = verdict === null ? clockDoubted : verdict === 'doubted'
    if (movedTo !== null) {
      integrityOk = false
      log.error({}, 'the store was damaged: it was moved aside, and a new one begun')
    }
    if (wantsCheck) onWantsCheck()
  }

  function schedule(delayMs: number): void {
    if (closed) return
    const due = clock.monotonic() + delayMs
    if (timer !== null) {
      if (timerDue <= due) return
      timer.cancel()
    }
    timerDue = due
    timer = clock.after(delayMs, () => {
      timer = null
      void attempt()
    })
  }

  function failed(kind: StoreTrouble, code: string): void {
    if (trouble !== kind) log.warn({ trouble: kind, code }, 'the store cannot be written')
    trouble = kind
    attempts++
    schedule(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts - 1, 10)))
  }

  function healed(): void {
    if (trouble !== null) log.info({ after: trouble }, 'the store is written again')
    trouble = null
    attempts = 0
  }

  /** Writes until nothing is left that is due, or something goes wrong. Only one at a time. */
  async function attempt(): Promise<void> {
    if (sentAt !== null) return
    sentAt = clock.monotonic()
    const well = await writeDue()
    sentAt = null
    if (well) healed()
    // Somebody may have begun to wait just as this one ended.
    if (waiting.length > 0) void attempt()
    else if (well && queue.lastNumber > queue.doneNumber) schedule(GATHER_MS)
  }

  async function writeDue(): Promise<boolean> {
    const notReady = await ready()
    if (notReady !== null) return giveUp(notReady, 'open')
    do {
      if (!(await writeOne())) return false
    } while (queue.hasFullBatch || waiting.length > 0)
    return true
  }

  async function writeOne(): Promise<boolean> {
    const batch = queue.take()
    if (thread === null) return giveUp('other', 'thread-died')
    if (batch === null) return trouble === null || probe(thread)
    sentAt = clock.monotonic()
    const reply = await thread.call('write', { batch, now: clock.now() })
    if (reply.ok) {
      queue.done()
      rowsWritten += reply.value.rows
      onCommit(reply.value)
      takeNews(reply.value)
      healed()
      settle()
      return true
    }
    if (reply.trouble === 'other' && attempts >= HOPELESS_ATTEMPTS) {
      log.error({ code: reply.code }, 'the store refuses a batch for good: it is dropped')
      queue.discard()
    }
    return giveUp(reply.trouble, reply.code)
  }

  /** Nothing to write: whether the file can be opened at all says whether the trouble is over. */
  async function probe(asked: Thread<WriterCalls>): Promise<boolean> {
    const reply = await asked.call('measure', { now: clock.now() })
    if (!reply.ok) return giveUp(reply.trouble, reply.code)
    takeNews(reply.value)
    return true
  }

  function giveUp(kind: StoreTrouble, code: string): false {
    writeFailures.set(kind, (writeFailures.get(kind) ?? 0) + 1)
    // The death of the thread was noted by itself.
    if (code !== 'thread-died') failed(kind, code)
    // After a failure nobody waits any longer.
    for (const { resolve } of waiting) resolve()
    waiting = []
    return false
  }

  function settle(): void {
    for (const { number, resolve } of waiting) if (number <= queue.doneNumber) resolve()
    waiting = waiting.filter(({ number }) => number > queue.doneNumber)
  }

  async function measure(): Promise<void> {
    measureTimer = null
    const notReady = await ready()
    const reply = notReady === null && thread !== null ? await thread.call('measure', { now: clock.now() }) : null
    if (reply?.ok) {
      databaseBytes = reply.value.databaseBytes
      filesystemFreeBytes = reply.value.filesystemFreeBytes
      takeNews(reply.value)
    } else if (trouble === null && !closed) {
      failed(reply?.trouble ?? notReady ?? 'other', reply?.code ?? 'open')
    }
    if (!closed) measureTimer = clock.after(MEASURE_EVERY_MS, () => void measure())
  }

  function flush(): Promise<void> {
    const number = queue.lastNumber
    if (number <= queue.doneNumber) return Promise.resolve()
    const written = new Promise<void>((resolve) => waiting.push({ number, resolve }))
    void attempt()
    return written
  }

  return {
    async open() {
      const notReady = unfit() ?? (await ready())
      // Later it is trouble that may pass. Now somebody is there to put it right.
      if (notReady === 'read-only') refusal ??= refusedAsReadOnly(path)
      if (refusal !== null) {
        await thread?.end()
        lock?.release()
        closed = true
        throw refusal
      }
      if (notReady !== null) failed(notReady, 'open')
      void measure()
    },

    wake() {
      if (trouble !== null || closed) return
      if (queue.hasFullBatch && sentAt === null) void attempt()
      else if (timer === null) schedule(GATHER_MS)
    },

    flush,

    async call(kind, ask) {
      const notReady = await ready()
      if (notReady !== null || thread === null) return { ok: false, trouble: notReady ?? 'other', code: 'open' }
      return thread.call(kind, ask)
    },

    status() {
      const slow = sentAt !== null && clock.monotonic() - sentAt > SLOW_MS
      return {
        trouble: trouble ?? (slow ? 'busy' : null),
        rowsWritten,
        rowsDropped: queue.dropped,
        writeFailures,
        queueRows: queue.rows,
        databaseBytes,
        filesystemFreeBytes,
        integrityOk,
        threadRestarts,
      }
    },

    damaged() {
      integrityOk = false
    },

    threadDied() {
      threadRestarts++
    },

    async close() {
      const abort = new AbortController()
      const ending = (async () => {
        await flush()
        closed = true
        const reply = await thread?.call('close', null)
        if (reply?.ok === false)
          log.warn({ trouble: reply.trouble, code: reply.code }, 'the store did not close cleanly')
      })()
      // A disk that hangs must not keep the process from ending.
      await Promise.race([ending, clock.sleep(CLOSE_WITHIN_MS, abort.signal)])
      abort.abort()
      closed = true
      timer?.cancel()
      measureTimer?.cancel()
      await thread?.end()
      lock?.release()
      lock = null
    },
  }
}
