import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { type MessagePort, Worker } from 'node:worker_threads'
import type { Failed, Reply } from './messages.ts'
import { codeOf, troubleOf } from './trouble.ts'

type Calls<C> = { [K in keyof C]: { ask: unknown; answer: unknown } }

/** Somebody on another thread who can be asked. */
export interface Thread<C extends Calls<C>> {
  /** Never rejects: a thread that died has failed. */
  call<K extends keyof C>(kind: K, ask: C[K]['ask']): Promise<Reply<C[K]['answer']>>
  end(): Promise<void>
}

export interface ThreadOptions {
  readonly name: 'writer-thread' | 'reader-thread'
  /** It ended without having been asked to; everything that it was asked has failed. */
  readonly onDeath: (code: string) => void
  readonly onSpawn?: ((worker: Worker) => void) | undefined
}

/** Built, the file is JavaScript. From sources it is TypeScript, which a thread must first be taught to load. */
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js'

/** Rows and texts that live for a moment: a larger nursery would only hold more garbage, in every thread. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 8 }

function startWorker(name: ThreadOptions['name']): Worker {
  const file = new URL(`./${name}${EXTENSION}`, import.meta.url)
  if (EXTENSION === '.js') return new Worker(file, { name, execArgv: [], resourceLimits: RESOURCE_LIMITS })
  // `execArgv: ['--import', 'tsx']` does not reach a thread's first file on Node 20, and tsx's CommonJS door is broken in threads.
  const tsx = createRequire(import.meta.url)
    .resolve('tsx/esm/api')
    .replace(/\.cjs$/, '.mjs')
  const loader = pathToFileURL(tsx).href
  const code = `import('${loader}').then(({ register }) => { register(); return import('${file.href}') })`
  return new Worker(code, { name, eval: true, execArgv: [] })
}

export function spawnThread<C extends Calls<C>>({ name, onDeath, onSpawn }: ThreadOptions): Thread<C> {
  const worker = startWorker(name)
  const waiting = new Map<number, (reply: Reply<never>) => void>()
  let asked = 0
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
        const id = asked++
        waiting.set(id, resolve)
        worker.postMessage({ id, kind, ask })
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

export type Handlers<C extends Calls<C>> = {
  [K in keyof C]: (ask: C[K]['ask']) => C[K]['answer'] | Promise<C[K]['answer']>
}

/** The other end: answers each question with what its handler returns, or with the trouble that it throws. */
export function serveThread<C extends Calls<C>>(port: MessagePort, handlers: Handlers<C>): void {
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
