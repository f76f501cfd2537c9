import type { CommonOptions } from './options.ts'
import { openSqliteStore, type SqliteOptions } from './sqlite/sqlite-store.ts'
import type { Store } from './store.ts'

/**
 * Opens the history. Rejects with a StoreError if a person has to decide: the store is in use, was written by a newer
 * version, or cannot be written at all. After any other trouble, which `status()` shows, opening is retried.
 */
export function openStore(options: StoreOptions): Promise<Store> {
  return openSqliteStore({ onCommit: () => undefined, maxQueueRows: MAX_QUEUE_ROWS, ...options })
}

export type StoreOptions = Omit<SqliteOptions, 'onCommit' | 'maxQueueRows'> &
  Partial<Pick<CommonOptions, 'onCommit' | 'maxQueueRows'>>

/** 45 minutes of a thousand endpoints polled every 15 s, in 12 MB. */
const MAX_QUEUE_ROWS = 180_000
