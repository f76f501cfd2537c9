import type { Timer } from '../../clock.ts'
import { BATCH_ROWS } from '../batch-queue.ts'
import { MAX_REJECTIONS } from '../batch-sender.ts'
import type { CommonOptions, Failed, Reply, Written } from '../engine.ts'
import { POLL_NUMBERS } from '../poll-columns.ts'
import type { Spool, Spooled } from '../spool.ts'
import type { StoreTrouble } from '../store.ts'
import type { Batch, Registration } from '../write-events.ts'
import { type BatchWriterDeps, createBatchWriter } from './batch-writer.ts'
import type { Database } from './database.ts'
import { createCall, failedOf, type Gate, isRejection } from './gate.ts'
import { createVantageId } from './ids.ts'
import { createPartitions } from './partitions.ts'

export interface SpooledWriterDeps extends Pick<CommonOptions, 'clock' | 'log' | 'onCommit'> {
  readonly cluster: BatchWriterDeps['cluster']
  readonly database: Database
  readonly gate: Gate
  /** `null`: batches stay in the queue, in memory. */
  readonly spool: Spool | null
}

const RETRY_MS = 1000

/** Writes batches to PostgreSQL, and while it is away or behind to the spool: always in order, and each once. */
export function createSpooledWriter(deps: SpooledWriterDeps) {
  const { database, gate, spool, clock, log, onCommit, cluster } = deps
  let writer = newWriter()
  const call = createCall(database, gate)
  /** Of this process, by the index that polls refer to. */
  const registered = new Map<number, Registration>()
  let rowsWritten = 0
  let rowsRefused = 0
  let rowsDropped = 0
  let trouble: StoreTrouble | null = null
  let replaying: Promise<void> | null = null
  let timer: Timer | null = null
  const ending = new AbortController()

  function newWriter() {
    return createBatchWriter({
      database,
      partitions: createPartitions(database),
      vantageId: createVantageId(database.query, cluster?.vantage ?? null),
      cluster,
    })
  }

  async function writeNow(batch: Batch, known: Map<number, Registration>): Promise<Reply<Written>> {
    const startedAt = clock.monotonic()
    const reply = await call(() => writer.write(batch, known))
    if (!reply.ok) return reply
    const written = { rows: reply.value.rows, durationMs: clock.monotonic() - startedAt }
    rowsWritten += written.rows
    rowsRefused += reply.value.refused
    onCommit(written)
    return { ok: true, value: written }
  }

  /** What is in the spool counts as written when it has reached the database. */
  function putAside(batch: Batch, into: Spool): Reply<Written> {
    const indexes = new Set<number>()
    for (let from = 0; from < batch.polls.length; from += POLL_NUMBERS) indexes.add(batch.polls[from] as number)
    for (const { event } of batch.events) {
      if ('index' in event) indexes.add(event.index)
      if (event.kind !== 'register') continue
      for (const one of event.registrations) {
        registered.set(one.index, one)
        indexes.add(one.index)
      }
    }
    try {
      into.add(
        batch,
        [...indexes].flatMap((index) => registered.get(index) ?? []),
      )
      replaySoon()
      return { ok: true, value: { rows: 0, durationMs: 0 } }
    } catch (error) {
      return failedOf(error)
    }
  }

  /** Batches that are put aside meanwhile do not delay it. */
  function replaySoon(delayMs = RETRY_MS): void {
    if (ending.signal.aborted || (timer !== null && delayMs > 0)) return
    timer?.cancel()
    timer = clock.after(delayMs, () => {
      timer = null
      void replay()
    })
  }

  function replay(): Promise<void> {
    replaying ??= replayAll()
      .catch((error: unknown) => {
        trouble = failedOf(error).trouble
        replaySoon()
      })
      .finally(() => {
        replaying = null
      })
    return replaying
  }

  async function replayAll(): Promise<void> {
    if (spool === null) return
    let rejections = 0
    while (!ending.signal.aborted) {
      // One that is rejected is dropped alone.
      const next = spool.oldest(rejections === 0 ? BATCH_ROWS : 1)
      if (next === null) {
        trouble = null
        return
      }
      const failed = await replayOne(next, spool)
      trouble = failed?.trouble ?? null
      if (failed === null) rejections = 0
      else if (failed.trouble === 'unreachable') return replaySoon()
      else if (isRejection(failed) && ++rejections >= MAX_REJECTIONS) {
        log.error({ code: failed.code }, 'the database rejected a batch repeatedly: the batch is dropped')
        spool.remove(next)
        rowsDropped += next.batch.polls.length / POLL_NUMBERS + next.batch.events.length
        rejections = 0
        trouble = null
      } else await clock.sleep(RETRY_MS, ending.signal)
    }
  }

  async function replayOne(next: Spooled, from: Spool): Promise<Failed | null> {
    const reply = await writeNow(next.batch, new Map(next.registrations.map((one) => [one.index, one])))
    if (!reply.ok) return reply
    from.remove(next)
    return null
  }

  database.onChange((reachable) => {
    // A standby that has taken over may lack the latest ids.
    if (reachable) writer = newWriter()
    if (reachable && spool !== null && !spool.isEmpty) replaySoon(0)
  })
  if (spool !== null && !spool.isEmpty) replaySoon(0)

  return {
    async write(batch: Batch): Promise<Reply<Written>> {
      if (spool !== null && !spool.isEmpty) return putAside(batch, spool)
      const reply = await writeNow(batch, registered)
      // Any batch could be at fault for other trouble, and would block the spool; but not if the gate let none through.
      const mayBlock = !reply.ok && reply.trouble === 'other' && gate.isOpen()
      return reply.ok || spool === null || mayBlock ? reply : putAside(batch, spool)
    },
    /** Resolves when the spool is empty, or the database is away. */
    replay,
    /** Whether writes wait for the database. */
    isAway: () => !database.reachable || (spool !== null && !spool.isEmpty),
    trouble: (): StoreTrouble | null => trouble ?? (database.reachable ? null : 'unreachable'),
    rowsWritten: () => rowsWritten,
    rowsRefused: () => rowsRefused,
    rowsDropped: () => rowsDropped,
    async stop(): Promise<void> {
      ending.abort()
      timer?.cancel()
      await replaying
    },
  }
}
