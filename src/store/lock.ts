import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { StoreError } from './store.ts'
import { troubleOf } from './trouble.ts'

export interface StoreLock {
  release(): void
}

/**
 * One daemon to a store: an exclusive transaction on a file beside it, held for life. The kernel drops it with the
 * process, however that ends. Throws a StoreError when another process holds it.
 */
export function takeLock(path: string): StoreLock {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const db = new Database(`${path}.lock`, { timeout: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (troubleOf(error) === 'busy') throw new StoreError('store-in-use', 'the store is in use by another daemon')
    throw error
  }
  return { release: () => db.close() }
}
