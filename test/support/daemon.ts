import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../src/clock.ts'

/** The built program. */
export const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url))

export interface EndpointView {
  readonly name: string
  readonly state: string
  readonly since: string
  readonly last_polled_at: string | null
  readonly conditions: readonly { readonly code: string; readonly message: string; readonly since: string }[]
  readonly heads: readonly {
    readonly shard: number | null
    readonly height: number
    readonly lag_blocks: number | null
  }[]
}

export interface StatusView {
  readonly state: string
  readonly observer: { readonly impaired: boolean; readonly judging: boolean; readonly reasons: readonly string[] }
  readonly networks: readonly {
    readonly name: string
    readonly state: string
    readonly endpoints: readonly EndpointView[]
  }[]
}

/** A daemon over a configuration file in a folder of its own. */
export interface Daemon {
  readonly url: string
  readonly folder: string
  /** Of the process that runs it. */
  readonly pid: number
  /** Everything it has logged so far. */
  log(): string
  get(path: string, headers?: Record<string, string>): Promise<{ status: number; text: string; headers: Headers }>
  status(): Promise<StatusView>
  endpoint(network: string, name: string): Promise<EndpointView>
  /** Writes another file; the daemon does not notice. */
  rewrite(config: object): void
  stop(): Promise<unknown>
}

/** A real `heartline serve` in a process of its own. */
export interface RunningDaemon extends Daemon {
  readonly process: ChildProcess
  /** Everything that it has said on standard output. */
  out(): string
  /** Sends the signal and resolves with the exit status. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export interface DaemonOptions {
  readonly folder?: string
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  /** Resolve once it listens, not once it is ready. */
  readonly early?: boolean
  /** Limit of open files, soft and hard. */
  readonly descriptors?: number
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'heartline-test-'))
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

/** `config` is written as JSON, which is YAML too. The page listens on a free port unless it says otherwise. */
export async function startDaemon(config: object, options: DaemonOptions = {}): Promise<RunningDaemon> {
  const { file, ...written } = write(config, options.folder)
  const command = [process.execPath, MAIN, 'serve', '-c', file, ...(options.args ?? [])]
  const limit = `ulimit -n ${options.descriptors}; exec "$0" "$@"`
  const [program = '', ...args] = options.descriptors === undefined ? command : ['sh', '-c', limit, ...command]
  const child = spawn(program, args, {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', () => {
      const found = /"url":"(http[^"]+)"[^\n]*"msg":"listening"/.exec(log)
      if (found?.[1] !== undefined) resolve(found[1].replace(/\/$/, ''))
    })
    void exited.then((code) => reject(new Error(`heartline ended with ${code} before it listened:\n${log}`)))
  })

  const daemon: RunningDaemon = {
    ...written,
    ...viewsOf(url),
    pid: child.pid ?? 0,
    process: child,
    log: () => log,
    out: () => out,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      return exited
    },
  }
  if (!options.early) {
    await isReady(daemon).catch((error: unknown) => {
      child.kill('SIGKILL')
      throw error
    })
  }
  return daemon
}

/**
 * Runs a daemon in this process, from `src`, at a fifth of the CPU time of a new process. It is for tests that neither signal nor
 * kill it, and do not judge its process.
 */
export async function startDaemonHere(
  config: object,
  options: Pick<DaemonOptions, 'folder' | 'early'> & { readonly clock?: Clock } = {},
): Promise<Daemon> {
  const [{ loadConfig }, { startDaemon: start }, { createLogger }] = await Promise.all([
    import('../../src/config/load.ts'),
    import('../../src/daemon/daemon.ts'),
    import('../../src/log.ts'),
  ])
  const { file, ...written } = write(config, options.folder)
  const loaded = loadConfig(file, process.env)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  let text = ''
  const log = await createLogger(loaded.config.log, {
    write(line) {
      text += line
    },
  })
  const running = await start({ config: loaded.config, log, ...(options.clock && { clock: options.clock }) })
  const views = viewsOf(running.url.replace(/\/$/, ''))
  const daemon: Daemon = {
    ...written,
    ...views,
    pid: process.pid,
    log: () => text,
    stop: () => running.stop(),
  }
  if (!options.early) {
    await isReady(daemon).catch(async (error: unknown) => {
      await running.stop()
      throw error
    })
  }
  return daemon
}

function write(config: object, folder = temporaryFolder()) {
  const file = join(folder, 'heartline.yaml')
  const rewrite = (next: object) => writeFileSync(file, JSON.stringify({ server: { listen: '127.0.0.1:0' }, ...next }))
  rewrite(config)
  return { folder, file, rewrite }
}

function viewsOf(url: string): Pick<Daemon, 'url' | 'get' | 'status' | 'endpoint'> {
  async function get(path: string, headers: Record<string, string> = {}) {
    const answer = await fetch(`${url}${path}`, { headers })
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  return {
    url,
    get,
    status: async () => JSON.parse((await get('/api/v1/status')).text) as StatusView,
    endpoint: async (network, name) =>
      JSON.parse((await get(`/api/v1/endpoints/${network}/${name}`)).text) as EndpointView,
  }
}

const isReady = ({ get }: Pick<Daemon, 'get'>) =>
  until(async () => (await get('/-/ready')).status === 200, 'the daemon is ready')

/** Looks until it holds, the less often the longer that takes; fails with `what` after `withinMs`, which only a hang exceeds. */
export async function until(holds: () => Promise<boolean> | boolean, what: string, withinMs = 90_000): Promise<void> {
  const end = performance.now() + withinMs
  for (let pauseMs = 20; !(await holds()); pauseMs = Math.min(1.3 * pauseMs, 250)) {
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** Runs a command of heartline's to its end. */
export function runHeartline(
  args: readonly string[],
  { env = {}, cwd }: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<{ status: number | null; out: string; err: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...env }, ...(cwd && { cwd }) })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    child.once('close', (status) => resolve({ status, out, err }))
  })
}

/**
 * Runs a command of heartline's in this process, from `src`, at a tenth of the CPU time of a new process. It is for a command that
 * ends by itself and leaves the rest of its process alone, whose test, or another, also runs the built program.
 */
export async function runHere(
  args: readonly string[],
  { env = {} }: { env?: NodeJS.ProcessEnv } = {},
): Promise<{ status: number; out: string; err: string }> {
  const { run } = await import('../../src/commands/run.ts')
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const status = await run(args, { env: { ...process.env, ...env }, stdout, stderr })
  const [out, err] = await Promise.all([stdout.end(), stderr.end()].map((stream) => text(stream)))
  return { status, out: out ?? '', err: err ?? '' }
}
