import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

export type Soundness = 'sound' | 'damaged' | 'unreadable' | 'ended'

/**
 * Whether quick_check finds nothing. It reads the whole file in one call into SQLite, minutes long where the file is large,
 * which a thread cannot be got out of: not even the process could end. A process of its own can be killed.
 */
export function checkApart(path: string, signal: AbortSignal): Promise<Soundness> {
  if (signal.aborted) return Promise.resolve('ended')
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...LOADER, FILE, path], { stdio: 'ignore' })
    const kill = () => void child.kill('SIGKILL')
    const end = (soundness: Soundness) => {
      signal.removeEventListener('abort', kill)
      resolve(signal.aborted ? 'ended' : soundness)
    }
    signal.addEventListener('abort', kill, { once: true })
    child.once('error', () => end('unreadable'))
    child.once('exit', (code) => end(soundnessOf(code)))
  })
}

/** What check-process.ts ends with. */
export const CHECK_EXIT = { sound: 0, damaged: 10, unreadable: 11 } as const

/** Built, the file is JavaScript; from sources it must first be loaded. */
const FROM_SOURCES = import.meta.url.endsWith('.ts')
const FILE = fileURLToPath(new URL(`./check-process${FROM_SOURCES ? '.ts' : '.js'}`, import.meta.url))
const LOADER = FROM_SOURCES ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : []

function soundnessOf(code: number | null): Soundness {
  if (code === CHECK_EXIT.sound) return 'sound'
  return code === CHECK_EXIT.damaged ? 'damaged' : 'unreadable'
}
