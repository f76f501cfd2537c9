import { type Clock, within } from '../clock.ts'
import type { Store } from '../store/store.ts'

/** A disk that hangs must not keep a request open. */
const WITHIN_MS = 5000

/** Resolves when what was queued is on disk, or cannot be written at the moment. */
export function written(store: Pick<Store, 'flush'>, clock: Pick<Clock, 'sleep'>): Promise<void> {
  return within(clock, WITHIN_MS, store.flush())
}
