import type { Worker } from 'node:worker_threads'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Registration } from './batches.ts'
import { IN_MEMORY } from './database.ts'
import {
  type FileSystemType,
  refusedAsReadOnly,
  refuseNetworkDisk,
  type StoreLock,
  takeLock,
  troubleOf,
} from './disk.ts'
import type { Retention } from './retention.ts'
import { StoreError, type StoreTrouble } from './store.ts'
import { type CallableWorker, type FileEvents, type Reply, spawnWorker, type WriterCalls } from './workers.ts'

/** The way to the writer worker: takes the lock, starts the worker and opens the file, again after each trouble. */
export interface WriterConnection {
  /** The first opening. Rejects with a StoreError where a person has to decide; resolves to any other trouble. */
  open(): Promise<StoreTrouble | null>
  /** `null` when the worker can be called. */
  ready(): Promise<StoreTrouble | null>
  call<K extends keyof WriterCalls>(kind: K, ask: WriterCalls[K]['ask']): Promise<Reply<WriterCalls[K]['answer']>>
  /** Calls the worker only if it runs already. */
  callRunning<K extends keyof WriterCalls>(
    kind: K,
    ask: WriterCalls[K]['ask'],
  ): Promise<Reply<WriterCalls[K]['answer']> | undefined>
  /** Ends the worker and releases the lock. */
  end(): Promise<void>
}

export interface WriterConnectionDeps {
  readonly path: string
  readonly retention: Retention
  readonly maxSizeBytes: number
  readonly clock: Clock
  readonly log: Log
  readonly fileSystemType: FileSystemType
  /** The endpoints that are registered now: a new worker must know them. */
  readonly registrations: () => readonly Registration[]
  readonly onSpawn: ((worker: Worker) => void) | undefined
  readonly onDeath: () => void
  readonly onFileEvents: (events: FileEvents) => void
}

export function createWriterConnection(deps: WriterConnectionDeps): WriterConnection {
  const { path, retention, maxSizeBytes, clock, log, registrations, onSpawn, onDeath, onFileEvents } = deps
  let lock: StoreLock | null = null
  let worker: CallableWorker<WriterCalls> | null = null
  let opening: Promise<StoreTrouble | null> | null = null
  let refusal: StoreError | null = null

  function ready(): Promise<StoreTrouble | null> {
    if (worker !== null && opening === null) return Promise.resolve(null)
    opening ??= openWorker().finally(() => {
      opening = null
    })
    return opening
  }

  async function openWorker(): Promise<StoreTrouble | null> {
    const unlocked = attempt(() => {
      if (path !== IN_MEMORY) lock ??= takeLock(path)
    })
    if (unlocked !== null) return unlocked
    const spawned = spawnWorker<WriterCalls>({ name: 'writer-worker', onDeath: died, onSpawn })
    worker = spawned
    const ask = { path, retention, maxSizeBytes, registrations: registrations(), now: clock.now() }
    const reply = await spawned.call('open', ask)
    if (!reply.ok) return reply.trouble
    onFileEvents(reply.value)
    if (reply.value.refusal === null) return null
    refusal = new StoreError(reply.value.refusal.kind, reply.value.refusal.message)
    return 'other'
  }

  function died(code: string): void {
    worker = null
    log.error({ code }, 'the writer thread of the store died and is started again')
    onDeath()
  }

  /** `null` when it went well; remembers a refusal. */
  function attempt(step: () => void): StoreTrouble | null {
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

  return {
    ready,
    end,

    async open() {
      const unfit = attempt(() => {
        if (path !== IN_MEMORY) refuseNetworkDisk(path, deps.fileSystemType)
      })
      const notReady = unfit ?? (await ready())
      // Later, a read-only disk is trouble that may pass. At the start a person is there to mend it.
      if (notReady === 'read-only') refusal ??= refusedAsReadOnly(path)
      if (refusal === null) return notReady
      await end()
      throw refusal
    },

    async call(kind, ask) {
      const notReady = await ready()
      if (notReady !== null || worker === null) return { ok: false, trouble: notReady ?? 'other', code: 'open' }
      return worker.call(kind, ask)
    },

    callRunning: async (kind, ask) => worker?.call(kind, ask),
  }
}
