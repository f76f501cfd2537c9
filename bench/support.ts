import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FleetOptions } from './fleet.ts'

/** Simulated endpoints in a process of their own, so that their time is not ours. */
export async function startFleetProcess(
  options: Omit<FleetOptions, 'clock'>,
): Promise<{ readonly urls: readonly string[]; stop(): void }> {
  const entry = fileURLToPath(new URL('./fleet-process.ts', import.meta.url))
  const child = fork(entry, [JSON.stringify(options)], { execArgv: ['--import', 'tsx'] })
  const { urls } = await new Promise<{ urls: string[] }>((resolve) => {
    child.once('message', (message) => resolve(message as { urls: string[] }))
  })
  return { urls, stop: () => child.disconnect() }
}

/** Processor time of this process since `start`, all threads, in microseconds. */
export function cpuSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return user + system
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
