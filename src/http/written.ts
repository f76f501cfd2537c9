import type { Clock } from '../clock.ts'
import type { Store } from '../store/store.ts'

/** A disk that hangs must not keep a request open. */
const WITHIN_MS = 5000

/** Resolves when what was queued is on disk, or cannot be written at the moment. */
export async function written(store: Pick<Store, 'flush'>, clock: Pick<Clock, 'sleep'>): Promise<void> {
  const flushed = new AbortController()
  await Promise.race([store.flush(), clock.sleep(WITHIN_MS, flushed.signal)])
  flushed.abort()
}
