import { type Clock, within } from '../clock.ts'
import type { Store } from '../store/store.ts'
import type { Notification } from './notification.ts'

/** Holds notifications back until they are on disk: after a crash they are then sent again under the same id. */
export function createWriteBeforeSend({ store, clock, onStored, confirmed }: WriteBeforeSendDeps) {
  let unconfirmed: Notification[] = []
  let confirming: Promise<void> | null = null
  let stopping = new AbortController()
  let started = false

  async function confirm(): Promise<void> {
    while (unconfirmed.length > 0) {
      // The caller queues the rows in the store only after this has returned.
      await Promise.resolve()
      const waiting = unconfirmed
      unconfirmed = []
      // A flush ends after a failure too; then, or if the disk hangs, messages are sent from memory.
      await within(clock, STORED_WITHIN_MS, store.flush())
      const stored = confirmed === undefined ? waiting : await confirmed(waiting).catch(() => [])
      const ids = new Set(stored.map(({ id }) => id))
      onStored(ids)
      if (stored.length === waiting.length) continue
      unconfirmed = [...waiting.filter(({ id }) => !ids.has(id)), ...unconfirmed]
      await clock.sleep(CONFIRM_AGAIN_MS, stopping.signal)
      if (stopping.signal.aborted) return
    }
  }

  function run(): void {
    if (!started || unconfirmed.length === 0) return
    confirming ??= confirm().finally(() => {
      confirming = null
      run()
    })
  }

  return {
    add(notifications: readonly Notification[]): void {
      for (const notification of notifications) if (notification.state === 'waiting') unconfirmed.push(notification)
      run()
    },
    start(): void {
      started = true
      stopping = new AbortController()
      run()
    },
    stop(): void {
      started = false
      stopping.abort()
    },
  }
}

export interface WriteBeforeSendDeps {
  readonly store: Pick<Store, 'flush'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly onStored: (ids: ReadonlySet<string>) => void
  /** Which of them may be sent now; the others wait. By default all, also if their rows could not be written. */
  readonly confirmed?: ((waiting: readonly Notification[]) => Promise<readonly Notification[]>) | undefined
}

/** A disk that hangs must not keep a message back. */
const STORED_WITHIN_MS = 5000
const CONFIRM_AGAIN_MS = 1000
