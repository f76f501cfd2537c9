import type { Worker } from 'node:worker_threads'
import type { Failed, ReadCalls, ReaderCalls, Reply } from './messages.ts'
import { spawnThread, type Thread } from './thread.ts'

export interface ReaderDeps {
  readonly path: string
  readonly onDeath: (code: string) => void
  readonly onSpawn: ((worker: Worker) => void) | undefined
}

/** Asks a thread that can only read. It is started when it is first needed, and again when it has died. */
export interface Reader {
  call<K extends keyof ReadCalls>(kind: K, ask: ReadCalls[K]['ask']): Promise<Reply<ReadCalls[K]['answer']>>
  /** On a thread of its own, for what takes long. */
  callApart<K extends keyof ReadCalls>(kind: K, ask: ReadCalls[K]['ask']): Promise<Reply<ReadCalls[K]['answer']>>
  end(): Promise<void>
}

const ENDED: Failed = { ok: false, trouble: 'other', code: 'closed' }

export function createReader({ path, onDeath, onSpawn }: ReaderDeps): Reader {
  let thread: Thread<ReaderCalls> | null = null
  let ended = false
  const apart = new Set<Thread<ReaderCalls>>()

  function spawn(died: (code: string) => void): Thread<ReaderCalls> {
    const spawned = spawnThread<ReaderCalls>({ name: 'reader-thread', onDeath: died, onSpawn })
    void spawned.call('open', { path })
    return spawned
  }

  return {
    async call(kind, ask) {
      if (ended) return ENDED
      thread ??= spawn((code) => {
        thread = null
        onDeath(code)
      })
      return thread.call(kind, ask)
    },

    async callApart(kind, ask) {
      if (ended) return ENDED
      const own = spawn(onDeath)
      apart.add(own)
      const reply = await own.call(kind, ask)
      apart.delete(own)
      await own.end()
      return reply
    },

    async end() {
      ended = true
      const threads = thread === null ? [...apart] : [thread, ...apart]
      await Promise.all(threads.map((each) => each.end()))
    },
  }
}
