import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { type MessagePort, Worker } from 'node:worker_threads'
import type { EndpointKey } from '../core/endpoint.ts'
import type { AliasRecord } from '../core/routing/alias.ts'
import type { UnixMs } from '../core/time.ts'
import type { AvailabilityRow } from './availability.ts'
import type { Batch, IncidentJson, Registration } from './batches.ts'
import { codeOf, troubleOf } from './disk.ts'
import type { Retention } from './retention.ts'
import type {
  HistoryBucket,
  HistoryQuery,
  IncidentQuery,
  PollsQuery,
  StoredPoll,
  StoreJob,
  StoreRefusal,
  StoreTrouble,
} from './store.ts'
import type { ClockVerdict } from './trusted-clock.ts'
import type { SavedHealthJson } from './write-statements.ts'

export interface CallableWorker<C extends Calls<C>> {
  /** Never rejects: a call to a dead worker resolves to a failure. */
  call<K extends keyof C>(kind: K, ask: C[K]['ask']): Promise<Reply<C[K]['answer']>>
  end(): Promise<void>
}

export type Reply<T> = { readonly ok: true; readonly value: T } | Failed
export interface Failed {
  readonly ok: false
  readonly trouble: StoreTrouble
  /** The error's code or name, because its message may contain paths and values. */
  readonly code: string
}

type Calls<C> = { [K in keyof C]: { ask: unknown; answer: unknown } }

/** Calls that both workers answer. */
export interface ReadCalls {
  history: { ask: { readonly query: HistoryQuery; readonly now: UnixMs }; answer: readonly HistoryBucket[] }
  polls: { ask: { readonly query: PollsQuery }; answer: readonly StoredPoll[] }
  availability: {
    ask: { readonly endpoints: readonly EndpointKey[]; readonly now: UnixMs }
    answer: readonly AvailabilityRow[]
  }
  incidents: { ask: { readonly query: IncidentQuery }; answer: readonly IncidentJson[] }
  incident: { ask: { readonly id: string }; answer: IncidentJson | null }
  backup: { ask: { readonly file: string }; answer: null }
}

export interface ReaderCalls extends ReadCalls {
  open: { ask: { readonly path: string }; answer: null }
}

export interface WriterCalls extends ReadCalls {
  /** Must be the first call. A refusal is final; after trouble every later call tries to open again. */
  open: { ask: OpenAsk; answer: { readonly refusal: { kind: StoreRefusal; message: string } | null } & FileEvents }
  write: {
    ask: { readonly batch: Batch; readonly now: UnixMs }
    answer: { readonly rows: number; readonly durationMs: number } & FileEvents
  }
  /** Whether the job was completed. `integrity` only records the time of a check made in another process. */
  job: { ask: { readonly job: StoreJob; readonly now: UnixMs }; answer: boolean }
  /** Stops the running job and the waiting jobs, each after its current step. */
  'end-jobs': { ask: null; answer: null }
  /** Whether quick_check finds nothing. Only for a store in memory: a file is checked in its own process. */
  check: { ask: null; answer: boolean }
  'saved-health': { ask: null; answer: readonly SavedHealthJson[] }
  aliases: { ask: null; answer: readonly AliasRecord[] }
  'last-runs': { ask: null; answer: readonly (readonly [job: string, endedAt: UnixMs])[] }
  /** Also checks that the file is still the one that was opened, and keeps the reserve. */
  measure: { ask: { readonly now: UnixMs }; answer: StoreSizes & FileEvents }
  /** Ends the jobs first, and opens nothing afterwards. */
  close: { ask: null; answer: null }
}

export interface OpenAsk {
  readonly path: string
  readonly retention: Retention
  readonly maxSizeBytes: number
  readonly registrations: readonly Registration[]
  readonly now: UnixMs
}

export interface FileEvents {
  /** Where the damaged file was moved before a new one was created; `null` if none was. */
  readonly movedTo: string | null
  /** Whether the file may be damaged, and is too large to check at once. */
  readonly wantsCheck: boolean
  /** The last job's verdict; `null` if there was none. */
  readonly clock: ClockVerdict | null
}

export interface StoreSizes {
  readonly databaseBytes: number | null
  readonly filesystemFreeBytes: number | null
}

export interface WorkerOptions {
  readonly name: 'writer-worker' | 'reader-worker'
  /** Called when the worker ended unexpectedly, after all its open calls have failed. */
  readonly onDeath: (code: string) => void
  readonly onSpawn?: ((worker: Worker) => void) | undefined
}

/** A small young generation: a larger one would only hold more garbage, in each worker. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 8 }

export function spawnWorker<C extends Calls<C>>({ name, onDeath, onSpawn }: WorkerOptions): CallableWorker<C> {
  let worker: Worker
  try {
    worker = startWorker(name)
  } catch (error) {
    // There was not enough memory or threads. Reported later, as for a worker that dies: callers expect no exception.
    queueMicrotask(() => onDeath(codeOf(error)))
    return { call: () => Promise.resolve(DEAD), end: () => Promise.resolve() }
  }
  const waiting = new Map<number, (reply: Reply<never>) => void>()
  let nextId = 0
  let state: 'alive' | 'ending' | 'dead' = 'alive'
  let cause = 'exit'

  worker.on('message', ({ id, reply }: { id: number; reply: Reply<never> }) => {
    waiting.get(id)?.(reply)
    waiting.delete(id)
  })
  worker.on('error', (error) => {
    cause = codeOf(error)
  })
  worker.on('exit', () => {
    const unexpected = state === 'alive'
    state = 'dead'
    for (const resolve of waiting.values()) resolve(DEAD)
    waiting.clear()
    if (unexpected) onDeath(cause)
  })
  onSpawn?.(worker)

  return {
    call(kind, ask) {
      if (state === 'dead') return Promise.resolve(DEAD)
      return new Promise((resolve) => {
        const id = nextId++
        waiting.set(id, resolve)
        try {
          worker.postMessage({ id, kind, ask })
        } catch (error) {
          // The value cannot be copied to another thread.
          waiting.delete(id)
          resolve({ ok: false, trouble: 'other', code: codeOf(error) })
        }
      })
    },
    async end() {
      if (state === 'dead') return
      state = 'ending'
      await worker.terminate()
    },
  }
}

const DEAD: Failed = { ok: false, trouble: 'other', code: 'thread-died' }

/** The build has JavaScript files; TypeScript sources need a loader. */
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js'

function startWorker(name: WorkerOptions['name']): Worker {
  const file = new URL(`./${name}${EXTENSION}`, import.meta.url)
  if (EXTENSION === '.js') return new Worker(file, { name, execArgv: [], resourceLimits: RESOURCE_LIMITS })
  // On Node 20 `execArgv: ['--import', 'tsx']` skips a worker's first file, and tsx/cjs does not work in workers.
  const tsx = createRequire(import.meta.url)
    .resolve('tsx/esm/api')
    .replace(/\.cjs$/, '.mjs')
  const loader = pathToFileURL(tsx).href
  const code = `import('${loader}').then(({ register }) => { register(); return import('${file.href}') })`
  return new Worker(code, { name, eval: true, execArgv: [] })
}

export type Handlers<C extends Calls<C>> = {
  [K in keyof C]: (ask: C[K]['ask']) => C[K]['answer'] | Promise<C[K]['answer']>
}

/** Answers each call inside the worker with the result of its handler, or with the trouble behind its error. */
export function serveCalls<C extends Calls<C>>(port: MessagePort, handlers: Handlers<C>): void {
  port.on('message', ({ id, kind, ask }: { id: number; kind: keyof C; ask: never }) => {
    void answer(handlers[kind], ask).then((reply) => port.postMessage({ id, reply }))
  })
}

async function answer<A, T>(handler: (ask: A) => T | Promise<T>, ask: A): Promise<Reply<T>> {
  try {
    return { ok: true, value: await handler(ask) }
  } catch (error) {
    return { ok: false, trouble: troubleOf(error), code: codeOf(error) }
  }
}
