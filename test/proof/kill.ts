import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/clock.ts'
import { bundled } from '../support/bundled.ts'
import { lastAcknowledged, readWritten } from './written.ts'

/** One life of a writing process, ended by kill -9, and what was found after it. */
export interface KillCycle {
  /** Polls that were acknowledged to this process. */
  readonly acknowledged: number
  /** Of all polls acknowledged so far, those that are not there: must be 0. */
  readonly lost: number
  readonly sound: boolean
  readonly whole: boolean
  /** How long it took to open what the one before it left. */
  readonly openedMs: number
}

const CHILD = fileURLToPath(new URL('./children/write.ts', import.meta.url))
const START_WITHIN_MS = 100_000

interface KillOptions {
  readonly cycles: number
  readonly directory: string
  readonly random: () => number
  /** Of the life of a process, from when its store is open. */
  readonly leastMs: number
  readonly mostMs: number
  /** The store's code: as it is, or as it was built. */
  readonly from: 'src' | 'dist'
}

/** Kills one process after the other in the middle of writing to the same store. */
export async function* killWhileWriting(options: KillOptions): AsyncGenerator<KillCycle> {
  const { cycles, directory, random, leastMs, mostMs, from } = options
  const path = join(directory, 'store.db')
  const program = await bundled(CHILD)
  let next = 0
  for (let cycle = 0; cycle < cycles; cycle++) {
    const side = join(directory, `side-${cycle}`)
    const args = [program, path, side, String(next), 'Infinity', from]
    const child = spawn(process.execPath, args, { stdio: 'inherit' })
    const ended = once(child, 'exit')
    const deadline = systemClock.monotonic() + START_WITHIN_MS
    while (!existsSync(side) && child.exitCode === null && systemClock.monotonic() < deadline)
      await systemClock.sleep(2)
    await systemClock.sleep(leastMs + random() * (mostMs - leastMs))
    child.kill('SIGKILL')
    await ended
    if (child.signalCode !== 'SIGKILL') throw new Error(`the child ended with ${child.exitCode}`)

    const told = readFileSync(side, 'utf8')
    const before = next
    // The next process starts after the acknowledged polls: it writes the rest again, with the same values.
    next = Math.max(next, lastAcknowledged(told) + 1)
    const { sound, polls, whole } = readCopy(path, join(directory, 'copy'))
    const openedMs = Number(told.slice(0, told.indexOf('\n')))
    yield { acknowledged: next - before, lost: Math.max(0, next - polls), sound, whole, openedMs }
  }
}

/** Looked at is a copy: the next process is to find the file as the killed one left it. */
function readCopy(path: string, copyDirectory: string) {
  mkdirSync(copyDirectory)
  const copy = join(copyDirectory, 'store.db')
  for (const part of ['', '-wal']) if (existsSync(path + part)) copyFileSync(path + part, copy + part)
  const written = readWritten(copy)
  rmSync(copyDirectory, { recursive: true })
  return written
}
