import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { openReadOnly } from './database.ts'
import { troubleOf } from './disk.ts'

/**
 * Makes a consistent copy of a store, even while a daemon has it open. The copy is checked, and gets its name only when
 * it is complete and on disk. Throws any error.
 */
export async function backupStore(path: string, file: string): Promise<void> {
  const source = openReadOnly(path)
  try {
    // One snapshot for the whole copy: otherwise every write of the daemon would restart the copy.
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM marks').get()
    await copy(source, file)
  } finally {
    source.close()
  }
}

/** Pages per step: 8 MiB. */
const PAGES_PER_STEP = 2048

async function copy(source: Database.Database, file: string): Promise<void> {
  const partial = `${file}.partial`
  const lock = lockOf(partial)
  try {
    removeAll(partial)
    await source.backup(partial, { progress: () => PAGES_PER_STEP })
    checkCopy(partial)
    sync(partial)
    if (existsSync(file)) throw new Error('the file was made by another program in the meantime')
    renameSync(partial, file)
    sync(dirname(file))
  } catch (error) {
    removeAll(partial)
    throw error
  } finally {
    removeAll(lock.name)
    lock.close()
  }
}

/** Two backups to one name would use the same partial copy, and the later one end with an empty file. */
function lockOf(partial: string): Database.Database {
  const lock = new Database(`${partial}.lock`, { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    if (troubleOf(error) === 'busy') throw new Error('another backup is writing this file', { cause: error })
    removeAll(lock.name)
    throw error
  }
}

function checkCopy(file: string): void {
  const copy = new Database(file)
  try {
    // A backup is one file, without a journal beside it.
    copy.pragma('journal_mode = DELETE')
    if (copy.pragma('integrity_check(1)', { simple: true }) !== 'ok') throw new Error('the copy is damaged')
  } finally {
    copy.close()
  }
}

function removeAll(file: string): void {
  for (const part of ['', '-wal', '-shm', '-journal']) rmSync(file + part, { force: true })
}

function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
