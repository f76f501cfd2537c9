import type { Clock } from '../clock.ts'
import type { Store } from '../store/store.ts'
import type { Notification } from './notification.ts'

/** Holds notifications back until they are on disk: after a crash they are then sent again under the same id. */
export function createStoredFirst({ store, clock, onStored }: StoredFirstDeps) {
  let unconfirmed = new Set<string>()
  let confirming: Promise<void> | null = null
  let started = false

  async function confirm(): Promise<void> {
    while (unconfirmed.size > 0) {
      // The caller queues the rows in the store only after this has returned.
      await Promise.resolve()
      const ids = unconfirmed
      unconfirmed = new Set()
      const flushed = new AbortController()
      // A flush ends after a failure too; then, or if the disk hangs, messages are sent from memory.
      await Promise.race([store.flush(), clock.sleep(STORED_WITHIN_MS, flushed.signal)])
      flushed.abort()
      onStored(ids)
    }
  }

  function run(): void {
    if (!started || unconfirmed.size === 0) return
    confirming ??= confirm().finally(() => {
      confirming = null
      run()
    })
  }

  return {
    add(notifications: readonly Notification[]): void {
      for (const { id, state } of notifications) if (state === 'waiting') unconfirmed.add(id)
      run()
    },
    start(): void {
      started = true
      run()
    },
    stop(): void {
      started = false
    },
  }
}

export interface StoredFirstDeps {
  readonly store: Pick<Store, 'flush'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly onStored: (ids: ReadonlySet<string>) => void
}

/** A disk that hangs must not keep a message back. */
const STORED_WITHIN_MS = 5000
