import { execFileSync } from 'node:child_process'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { requirePackage } from '../support/system-package.ts'

/** A disk that can be broken under a process that is started with this environment; see faults.c. */
export interface FaultyDisk {
  readonly env: Readonly<Record<string, string>>
  /** From now on, after so many calls (w write, s fsync, t truncate) on paths that hold `part`, each next one fails. */
  break(what: 'EIO' | 'ENOSPC' | 'KILL', calls: string, part: string, skip?: number): void
  mend(): void
}

const SOURCE = fileURLToPath(new URL('./faults.c', import.meta.url))

export function canBreakDisks(): boolean {
  return process.platform === 'linux' && requirePackage('cc', 'build-essential')
}

/** The directory must not be one that is broken. */
export function createFaultyDisk(directory: string): FaultyDisk {
  const rule = join(directory, 'fault')
  return {
    env: { LD_PRELOAD: compileFaults(directory), HEARTLINE_FAULT: rule },
    break(what, calls, part, skip = 0) {
      writeFileSync(`${rule}.next`, `${what} ${calls} ${part} ${skip}`)
      renameSync(`${rule}.next`, rule)
    },
    mend() {
      rmSync(rule, { force: true })
    },
  }
}

export function compileFaults(directory: string): string {
  const library = join(directory, 'faults.so')
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, SOURCE, '-ldl', '-lpthread'])
  return library
}
