import type { Timer } from '../clock.ts'
import type { UnixMs } from '../core/time.ts'
import { BATCH_WAIT_MS, type BatchQueue } from './batch-queue.ts'
import type { CommonOptions, Failed, Reply, Written } from './engine.ts'
import { STORE_TROUBLES, type StoreStatus, type StoreTrouble } from './store.ts'
import type { Batch } from './write-events.ts'

export interface BatchSenderDeps extends Pick<CommonOptions, 'clock' | 'log' | 'onCommit'> {
  readonly queue: BatchQueue
  /** Writes the batch in one transaction. */
  readonly write: (batch: Batch, now: UnixMs) => Promise<Reply<Written>>
  /** Whether the store can be used, after trouble and with nothing to write. */
  readonly probe: () => Promise<Reply<unknown>>
  /** Whether the batch itself may be at fault, not the store. */
  readonly isRejection: (failed: Failed) => boolean
}

const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 5000
/** A write that takes longer counts as trouble, though it may still succeed. */
const SLOW_MS = 5000
/** After this many rejections the batch itself is at fault, and it must not block all others. */
export const MAX_REJECTIONS = 20

/** Has the queued batches written, one at a time, and retries after each trouble. */
export function createBatchSender(deps: BatchSenderDeps) {
  const { queue, write, probe, isRejection, clock, log, onCommit } = deps
  let trouble: StoreTrouble | null = null
  let attempts = 0
  /** Of the oldest batch. */
  let rejections = 0
  let sentAt: number | null = null
  let timer: Timer | null = null
  let timerDue = 0
  let stopped = false
  let rowsWritten = 0
  const writeFailures = new Map<StoreTrouble, number>(STORE_TROUBLES.map((kind) => [kind, 0]))
  let waiting: { number: number; resolve: () => void }[] = []

  function schedule(delayMs: number): void {
    if (stopped) return
    const due = clock.monotonic() + delayMs
    if (timer !== null) {
      if (timerDue <= due) return
      timer.cancel()
    }
    timerDue = due
    timer = clock.after(delayMs, () => {
      timer = null
      void send()
    })
  }

  function failed(kind: StoreTrouble, code: string): void {
    if (trouble !== kind) log.warn({ trouble: kind, code }, 'the store cannot be written')
    trouble = kind
    attempts++
    schedule(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts - 1, 10)))
  }

  function recovered(): void {
    if (trouble !== null) log.info({ after: trouble }, 'the store is written again')
    trouble = null
    attempts = 0
  }

  /** Sends until nothing is due or something fails; never runs twice at once. */
  async function send(): Promise<void> {
    if (sentAt !== null) return
    sentAt = clock.monotonic()
    const well = await sendDue().catch((error: unknown) =>
      countFailure('other', error instanceof Error ? error.name : 'unknown'),
    )
    sentAt = null
    if (well) recovered()
    // A flush may have been called just as this run ended.
    if (waiting.length > 0) void send()
    else if (well && queue.lastNumber > queue.doneNumber) schedule(BATCH_WAIT_MS)
  }

  async function sendDue(): Promise<boolean> {
    do {
      if (!(await sendOne())) return false
    } while (queue.hasFullBatch || waiting.length > 0)
    return true
  }

  async function sendOne(): Promise<boolean> {
    const batch = queue.take()
    if (batch === null) return trouble === null || isUsable()
    sentAt = clock.monotonic()
    const reply = await write(batch, clock.now())
    if (reply.ok) {
      queue.done()
      rejections = 0
      rowsWritten += reply.value.rows
      onCommit(reply.value)
      recovered()
      settleFlushes()
      return true
    }
    if (isRejection(reply) && ++rejections >= MAX_REJECTIONS) {
      log.error({ code: reply.code }, 'the store rejected a batch repeatedly: the batch is dropped')
      queue.discard()
      rejections = 0
    }
    return countFailure(reply.trouble, reply.code)
  }

  /** With nothing to write, finds out whether the trouble is over. */
  async function isUsable(): Promise<boolean> {
    const reply = await probe()
    return reply.ok || countFailure(reply.trouble, reply.code)
  }

  function countFailure(kind: StoreTrouble, code: string): false {
    writeFailures.set(kind, (writeFailures.get(kind) ?? 0) + 1)
    // The worker's death was reported when it happened.
    if (code !== 'thread-died') failed(kind, code)
    for (const { resolve } of waiting) resolve()
    waiting = []
    return false
  }

  function settleFlushes(): void {
    for (const { number, resolve } of waiting) if (number <= queue.doneNumber) resolve()
    waiting = waiting.filter(({ number }) => number > queue.doneNumber)
  }

  return {
    failed,

    /** Call it after queueing something. */
    wake(): void {
      if (trouble !== null || stopped) return
      if (queue.hasFullBatch && sentAt === null) void send()
      else if (timer === null) schedule(BATCH_WAIT_MS)
    },

    /** Resolves when everything queued so far is on disk, or after the first failure. */
    flush(): Promise<void> {
      const number = queue.lastNumber
      if (number <= queue.doneNumber) return Promise.resolve()
      const written = new Promise<void>((resolve) => waiting.push({ number, resolve }))
      void send()
      return written
    },

    /** Cancels retries, and schedules no new ones. */
    stop(): void {
      stopped = true
      timer?.cancel()
    },

    /** The latest failure; `null` once a write has succeeded again. */
    trouble: (): StoreTrouble | null => trouble,

    status(): Pick<StoreStatus, 'trouble' | 'rowsWritten' | 'writeFailures'> {
      const slow = sentAt !== null && clock.monotonic() - sentAt > SLOW_MS
      return { trouble: trouble ?? (slow ? 'busy' : null), rowsWritten, writeFailures }
    },
  }
}
