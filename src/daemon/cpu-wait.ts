import { readFileSync } from 'node:fs'

/**
 * How long the main thread of a process has been ready to run but waited for a CPU since it started, in ms, also because of a
 * limit of its control group; `null` where the system does not tell (not Linux).
 */
export function cpuWaitMs(pid = process.pid): number | null {
  try {
    return waitOf(readFileSync(`/proc/${pid}/schedstat`, 'utf8'))
  } catch {
    return null
  }
}

/** `CPU-TIME WAIT SLICES`, the times in ns. */
export function waitOf(schedstat: string): number | null {
  const ns = /^\d+ (\d+) \d+\s*$/.exec(schedstat)?.[1]
  return ns === undefined ? null : Number(ns) / 1e6
}
