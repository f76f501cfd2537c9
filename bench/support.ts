import { type ChildProcess, fork, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FleetOptions } from './fleet.ts'

/** Simulated endpoints in a process of their own, so that their time is not ours. */
export async function startFleetProcess(
  options: Omit<FleetOptions, 'clock' | 'faultOf' | 'onRequest'>,
): Promise<{ readonly urls: readonly string[]; fail(overMs: number): void; stop(): void }> {
  const entry = fileURLToPath(new URL('./fleet-process.ts', import.meta.url))
  const child = fork(entry, [JSON.stringify(options)], { execArgv: ['--import', 'tsx'] })
  const { urls } = await new Promise<{ urls: string[] }>((resolve) => {
    child.once('message', (message) => resolve(message as { urls: string[] }))
  })
  return { urls, fail: (overMs) => void child.send(overMs), stop: () => child.disconnect() }
}

/** Processor time of this process since `start`, all threads, in microseconds. */
export function cpuSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return user + system
}

/** Prints a line of results. */
export function figure(what: string, value: string | number): void {
  console.log(`${what.padEnd(64)} ${typeof value === 'number' ? value.toLocaleString('en-US') : value}`)
}

/** Prints a line of results; this process ends with 1 unless it is 0. */
export function mustBeNone(what: string, count: number): void {
  figure(what, count)
  if (count > 0) process.exitCode = 1
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Starts `task` `perSecond` times a second for so long, and resolves when all have ended. */
export async function atPace(
  perSecond: number,
  forMs: number,
  task: (turn: number) => Promise<unknown>,
): Promise<number> {
  const started = performance.now()
  const running = new Set<Promise<unknown>>()
  let turn = 0
  while (performance.now() - started < forMs) {
    const due = Math.floor(((performance.now() - started) / 1000) * perSecond)
    for (; turn < due; turn++) {
      const run = task(turn).finally(() => running.delete(run))
      running.add(run)
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await Promise.all(running)
  return turn
}

/** Runs `task` as fast as it goes, `lanes` at once. */
export async function flatOut(count: number, lanes: number, task: (turn: number) => Promise<unknown>): Promise<void> {
  let turn = 0
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (turn < count) await task(turn++)
    }),
  )
}

/** What is measured has a core of its own; load, attacks and nodes are on the other one. */
export const MEASURED_CORE = 0
/** `DAEMON_CORES=0,1`: V8's own threads need not share the core of the daemon's main thread. */
const DAEMON_CORES = process.env.DAEMON_CORES ?? `${MEASURED_CORE}`
export const OTHER_CORE = Math.min(1, availableParallelism() - 1)

/** Starts a program of this folder on one core; resolves with what it sends first. */
export function start(
  core: number,
  file: string,
  args: readonly string[] = [],
): Promise<{ readonly child: ChildProcess; readonly hello: unknown }> {
  const program = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn('taskset', ['-c', `${core}`, process.execPath, '--import', 'tsx', program, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  return new Promise((resolve) => child.once('message', (hello) => resolve({ child, hello })))
}

export interface MeasuredDaemon {
  readonly pid: number
  /** Without a final `/`. */
  readonly page: string
  readonly gatewayPort: number
  stop(): void
}

/** Starts the built daemon on the measured core. If it dies, prints its log and ends this process. */
export async function startDaemon(config: object, flags: readonly string[] = []): Promise<MeasuredDaemon> {
  const main = fileURLToPath(new URL('../dist/src/main.js', import.meta.url))
  const folder = mkdtempSync(join(tmpdir(), 'heartline-bench-'))
  const file = join(folder, 'heartline.yaml')
  writeFileSync(file, JSON.stringify(config))
  const child = spawn('taskset', ['-c', DAEMON_CORES, process.execPath, ...flags, main, 'serve', '-c', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // Also if this process is ended or its output is closed: a daemon left behind would disturb what is measured next.
  process.once('exit', () => child.kill())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  child.once('exit', (code, signal) => {
    console.error(`the daemon ended (${code ?? signal}):\n${log}`)
    process.exit(1)
  })
  const page = await waitFor(() => /"url":"(https?:[^"]+)\/"[^\n]*"msg":"listening"/.exec(log)?.[1])
  const gatewayPort = Number(/:(\d+)\/"[^\n]*"msg":"gateway listening"/.exec(log)?.[1])
  return {
    pid: child.pid ?? 0,
    page,
    gatewayPort,
    stop() {
      child.removeAllListeners('exit')
      child.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function waitFor<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Processor time of a process so far, all threads, in microseconds. */
export function cpuOf(pid: number): number {
  let ns = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0])
    } catch {
      // The thread has ended.
    }
  }
  return ns / 1000
}
