import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Call, Failed } from '../engine.ts'
import { createReads } from '../reads.ts'
import type { Store } from '../store.ts'
import { IN_MEMORY } from './database.ts'
import type { ReaderCalls } from './reader-worker.ts'
import { type CallableWorker, type OnSpawn, spawnWorker } from './worker-calls.ts'
import type { Writer } from './writer.ts'

/** The store's read methods. */
export function createReader(deps: ReaderDeps) {
  const { path, clock, log, writer } = deps
  const workers = createReaderWorkers(deps)
  // Only the connection that writes sees a store in memory, so the writer answers all that a reader does.
  const inMemory = path === IN_MEMORY ? (writer.call as Call<ReaderCalls>) : null
  const read = inMemory ?? workers.call
  const readApart = inMemory ?? workers.callApart

  const methods = createReads({ read, readState: writer.call, clock, log })

  return {
    methods: {
      ...methods,
      async backup(file) {
        const reply = await readApart('backup', file)
        if (!reply.ok) throw new Error(`no backup was made: ${reply.trouble} (${reply.code})`)
      },
    } satisfies Partial<Store>,
    /** Whether quick_check finds nothing, in a store of few bytes. */
    check: () => read('check'),
    end: workers.end,
  }
}

export interface ReaderDeps {
  readonly path: string
  readonly clock: Clock
  readonly log: Log
  readonly writer: Pick<Writer, 'call' | 'threadDied'>
  readonly onSpawn: OnSpawn
}

const ENDED: Failed = { ok: false, trouble: 'other', code: 'closed' }

/** Calls a read-only worker, which is started when it is first needed and again after it died. */
function createReaderWorkers({ path, log, writer, onSpawn }: ReaderDeps) {
  let shared: CallableWorker<ReaderCalls> | null = null
  let ended = false
  const apart = new Set<CallableWorker<ReaderCalls>>()
  /** Whether a reader died and none has answered since. */
  let deathLogged = false

  function spawn(onDeath: () => void): CallableWorker<ReaderCalls> {
    const worker = spawnWorker<ReaderCalls>({
      name: 'reader-worker',
      onSpawn,
      onDeath(code) {
        onDeath()
        writer.threadDied()
        if (!deathLogged) log.error({ code }, 'a reader thread of the store died')
        deathLogged = true
      },
    })
    void worker.call('open', path).then(({ ok }) => {
      if (ok) deathLogged = false
    })
    return worker
  }

  const call: Call<ReaderCalls> = async (kind, ...asked) => {
    if (ended) return ENDED
    shared ??= spawn(() => {
      shared = null
    })
    return shared.call(kind, ...asked)
  }

  /** Calls a worker of its own, for calls that take long. */
  const callApart: Call<ReaderCalls> = async (kind, ...asked) => {
    if (ended) return ENDED
    const worker = spawn(() => undefined)
    apart.add(worker)
    const reply = await worker.call(kind, ...asked)
    apart.delete(worker)
    await worker.end()
    return reply
  }

  return {
    call,
    callApart,
    async end() {
      ended = true
      const workers = shared === null ? [...apart] : [shared, ...apart]
      await Promise.all(workers.map((worker) => worker.end()))
    },
  }
}
