import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type MessagePort, Worker } from 'node:worker_threads'
import type { Call, Failed, Handlers, Reply } from '../engine.ts'
import { codeOf, troubleOf } from './disk.ts'

/** Starts a worker thread, whose functions are called by name. */
export function spawnWorker<H extends Handlers>({ name, onDeath, onSpawn }: WorkerOptions): CallableWorker<H> {
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
    call(kind, ...asked) {
      if (state === 'dead') return Promise.resolve(DEAD)
      return new Promise((resolve) => {
        const id = nextId++
        waiting.set(id, resolve)
        try {
          worker.postMessage({ id, kind, asked })
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

/** Answers each call inside the worker with the result of its handler, or with the trouble behind its error. */
export function serveCalls(port: MessagePort | null, handlers: Handlers): void {
  port?.on('message', ({ id, kind, asked }: { id: number; kind: string; asked: never[] }) => {
    const answer = async () => handlers[kind]?.(...asked)
    const failed = (error: unknown): Failed => ({ ok: false, trouble: troubleOf(error), code: codeOf(error) })
    void answer()
      .then((value): Reply<unknown> => ({ ok: true, value }), failed)
      .then((reply) => port.postMessage({ id, reply }))
  })
}

export interface CallableWorker<H extends Handlers> {
  readonly call: Call<H>
  end(): Promise<void>
}

export interface WorkerOptions {
  readonly name: 'writer-worker' | 'reader-worker'
  /** Called when the worker ended unexpectedly, after all its open calls have failed. */
  readonly onDeath: (code: string) => void
  readonly onSpawn: OnSpawn
}

export type OnSpawn = ((worker: Worker) => void) | undefined

const DEAD: Failed = { ok: false, trouble: 'other', code: 'thread-died' }

/** A small young generation: a larger one would only hold more garbage, in each worker. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 8 }

/** The build has JavaScript files; TypeScript sources are bundled first. */
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js'

function startWorker(name: WorkerOptions['name']): Worker {
  const file = new URL(`./${name}${EXTENSION}`, import.meta.url)
  if (EXTENSION === '.js') return new Worker(file, { name, execArgv: [], resourceLimits: RESOURCE_LIMITS })
  return new Worker(bundleOf(file), { name, eval: true, execArgv: [] })
}

const bundles = new Map<string, string>()

/** A loader in each thread would take five times as long to start. */
function bundleOf(file: URL): string {
  const known = bundles.get(file.href)
  if (known !== undefined) return known
  const require = createRequire(import.meta.url)
  const { buildSync } = require('esbuild') as typeof import('esbuild')
  const path = fileURLToPath(file)
  const { outputFiles } = buildSync({
    entryPoints: [path],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    define: { 'import.meta.url': JSON.stringify(file.href) },
  })
  const code = outputFiles[0]?.text ?? ''
  const program = `(function (require) { ${code}\n})(require('node:module').createRequire(${JSON.stringify(path)}))`
  bundles.set(file.href, program)
  return program
}
