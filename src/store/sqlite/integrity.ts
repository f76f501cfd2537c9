import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

export type Integrity = 'sound' | 'damaged' | 'unreadable' | 'ended'

/** So few bytes are checked in 40 ms, for which a reader thread has time: a process costs more. */
export const FEW_BYTES = 16 * 1024 * 1024

/**
 * Runs quick_check on a file in a child process: one call into SQLite reads the whole file, which takes minutes on a
 * large one. A thread cannot interrupt that call and would keep our process from ending; a child can be killed.
 */
export function checkFile(path: string, signal: AbortSignal): Promise<Integrity> {
  if (signal.aborted) return Promise.resolve('ended')
  return new Promise((resolve) => {
    let child: ChildProcess
    try {
      child = spawn(process.execPath, [...LOADER, FILE, path], { stdio: 'ignore' })
    } catch {
      resolve('unreadable')
      return
    }
    const kill = () => void child.kill('SIGKILL')
    const end = (integrity: Integrity) => {
      signal.removeEventListener('abort', kill)
      resolve(signal.aborted ? 'ended' : integrity)
    }
    signal.addEventListener('abort', kill, { once: true })
    child.once('error', () => end('unreadable'))
    child.once('exit', (code) => end(code === EXIT.sound ? 'sound' : code === EXIT.damaged ? 'damaged' : 'unreadable'))
  })
}

/** The build has JavaScript files; TypeScript sources need a loader. */
const isSource = import.meta.url.endsWith('.ts')
const FILE = fileURLToPath(new URL(`./integrity-process.${isSource ? 'ts' : 'js'}`, import.meta.url))
const LOADER = isSource ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : []

/** How the child process ends. */
export const EXIT = { sound: 0, damaged: 10, unreadable: 11 } as const
