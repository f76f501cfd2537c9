import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type Database from 'better-sqlite3'

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
      // Not the environment, because it contains the configuration's secrets.
      const { LD_LIBRARY_PATH } = process.env
      child = spawn(process.execPath, [...LOADER, FILE, path], { stdio: 'ignore', env: { LD_LIBRARY_PATH } })
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

/** A quick check reads the whole file, at about 400 MB/s from memory; it may delay a start by one second at most. */
export const CHECKED_AT_START_BYTES = 64 * 1024 * 1024

export function isSound(db: Database.Database): boolean {
  return db.pragma('quick_check(1)', { simple: true }) === 'ok'
}

/** Has SQLite's own code, so that `troubleOf` treats both alike. */
class Damaged extends Error {
  readonly code = 'SQLITE_CORRUPT'
}

/** Throws if the file is damaged, as far as a start can find out in time. */
export function refuseDamaged(db: Database.Database, path: string): void {
  const { size } = statSync(path)
  const walBytes = existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0
  const pages = db.pragma('page_count', { simple: true }) as number
  const pageSize = db.pragma('page_size', { simple: true }) as number
  if (walBytes === 0 && size > 0 && pages * pageSize > size) throw new Damaged('the file ends too early')
  if (size <= CHECKED_AT_START_BYTES && !isSound(db)) throw new Damaged('quick_check found damage')
}
