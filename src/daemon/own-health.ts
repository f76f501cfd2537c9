import type { Clock } from '../clock.ts'
import type { Observer } from '../core/observer/observer.ts'
import type { Store } from '../store/store.ts'

/** Whether Heartline itself is able to judge nodes, and why not. */
export function ownState(observer: Observer, store: Store, clock: Clock) {
  const reasons = [...observer.reasons(clock.monotonic()), ...storeTrouble(store)]
  return { impaired: reasons.length > 0, reasons }
}

/** Sentences about what keeps Heartline from judging nodes, without what passes at once. */
export function lastingTrouble(observer: Observer, store: Store, clock: Clock): readonly string[] {
  return [...observer.lastingReasons(clock.monotonic()), ...storeTrouble(store)]
}

function storeTrouble(store: Store): string[] {
  const { trouble } = store.status()
  return trouble === null ? [] : [`the history cannot be written (${trouble})`]
}
