import type { Secret } from '../secret.ts'
import type { CommonOptions } from './engine.ts'
import type { ClusterRights, SharedStore } from './postgres/shared-store.ts'
import { IN_MEMORY } from './sqlite/database.ts'
import { openSqliteStore } from './sqlite/sqlite-store.ts'
import type { SqliteOptions } from './sqlite/writer.ts'
import type { Store } from './store.ts'

/** A store, and what it has if other daemons may share it: `null` for SQLite. */
export type OpenedStore = Store & { readonly shared: SharedStore | null }

/**
 * Opens the history. Rejects with a StoreError if a person has to decide: the store is in use, was written by a newer
 * version, or cannot be written at all. After any other trouble, which `status()` shows, opening is retried.
 */
export async function openStore({ url = null, cluster = null, ...options }: StoreOptions): Promise<OpenedStore> {
  const all = { onCommit: () => undefined, maxQueueRows: MAX_QUEUE_ROWS, ...options }
  if (url === null) return { ...(await openSqliteStore({ ...all, path: all.path ?? IN_MEMORY })), shared: null }
  // Loaded only where it is used, with its client.
  const { openPostgresStore } = await import('./postgres/postgres-store.ts')
  return openPostgresStore({ ...all, url, cluster })
}

/**
 * For a daemon that starts: a damaged file must not keep it from that, so what cannot be read is left out. A database that
 * is away comes back, so these reads reject.
 */
export function readsAtStart(store: OpenedStore): Store['certain'] {
  return store.shared === null ? store : store.certain
}

export interface StoreOptions
  extends Omit<SqliteOptions, 'path' | 'onCommit' | 'maxQueueRows'>,
    Partial<Pick<CommonOptions, 'onCommit' | 'maxQueueRows'>> {
  /** PostgreSQL's address, instead of a file. */
  readonly url?: Secret | null
  /** SQLite's file or `:memory:`; with `url`, the file where rows wait while PostgreSQL is away, or `null`. */
  readonly path: string | null
  /** Only with `url`: this daemon's rights among those that share the database. */
  readonly cluster?: ClusterRights | null
}

/** 45 minutes of a thousand endpoints polled every 15 s, in 12 MB. */
const MAX_QUEUE_ROWS = 180_000
