import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isSound, openReadOnly } from './database.ts'
import { troubleOf } from './disk.ts'

export type Integrity = 'sound' | 'damaged' | 'unreadable' | 'ended'

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

const FILE = fileURLToPath(import.meta.url)
/** The build has JavaScript files; TypeScript sources need a loader. */
const LOADER = FILE.endsWith('.ts')
  ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href]
  : []

const EXIT = { sound: 0, damaged: 10, unreadable: 11 } as const

// In the child process, this file is the program.
if (process.argv[1] === FILE) process.exitCode = EXIT[integrityOf(process.argv[2] ?? '')]

function integrityOf(path: string): keyof typeof EXIT {
  try {
    const db = openReadOnly(path)
    try {
      return isSound(db) ? 'sound' : 'damaged'
    } finally {
      db.close()
    }
  } catch (error) {
    return troubleOf(error) === 'corrupt' ? 'damaged' : 'unreadable'
  }
}
