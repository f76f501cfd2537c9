import type { Call, Failed } from '../engine.ts'
import { createReads } from '../reads.ts'
import { IN_MEMORY } from './database.ts'
import type { ReaderCalls } from './reader-worker.ts'
import { type CallableWorker, spawnWorker } from './worker-calls.ts'
import type { SqliteOptions, Writer } from './writer.ts'

/** The store's read methods. */
export function createReader(deps: ReaderDeps) {
  const { path, clock, log, writer } = deps
  const thread = createReaderThread(deps)
  // Only the connection that writes sees a store in memory, so the writer answers all that a reader does.
  const read = path === IN_MEMORY ? (writer.call as Call<ReaderCalls>) : thread.call

  return {
    methods: createReads({ read, readState: writer.call, clock, log }),
    /** Whether quick_check finds nothing, in a store of few bytes. */
    check: () => read('check'),
    end: thread.end,
  }
}

export interface ReaderDeps extends Pick<SqliteOptions, 'path' | 'clock' | 'log' | 'onSpawn'> {
  readonly writer: Pick<Writer, 'call' | 'threadDied'>
}

const ENDED: Failed = { ok: false, trouble: 'other', code: 'closed' }

/** Calls a read-only worker, which is started when it is first needed and again after it died. */
function createReaderThread({ path, log, writer, onSpawn }: ReaderDeps) {
  let worker: CallableWorker<ReaderCalls> | null = null
  let ended = false
  /** Whether a reader died and none has answered since. */
  let deathLogged = false

  function spawn(): CallableWorker<ReaderCalls> {
    const spawned = spawnWorker<ReaderCalls>({ name: 'reader-worker', onSpawn, onDeath: died })
    void spawned.call('open', path).then(({ ok }) => {
      if (ok) deathLogged = false
    })
    return spawned
  }

  function died(code: string): void {
    worker = null
    writer.threadDied()
    if (!deathLogged) log.error({ code }, 'a reader thread of the store died')
    deathLogged = true
  }

  const call: Call<ReaderCalls> = async (kind, ...asked) => {
    if (ended) return ENDED
    worker ??= spawn()
    return worker.call(kind, ...asked)
  }

  return {
    call,
    async end() {
      ended = true
      await worker?.end()
    },
  }
}
