import type { Clock } from '../clock.ts'
import type { Observer } from '../core/observer/observer.ts'
import type { ObserverView } from '../http/wire/status.ts'
import { createMinuteStats, type MinuteStats } from '../metrics/daemon-history.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Store } from '../store/store.ts'

/** Whether Heartline itself is well and judges nodes, and why not; the reasons also name what does neither harm. */
export function ownState(
  observer: Pick<Observer, 'reasons'>,
  store: Pick<Store, 'status'>,
  clock: Pick<Clock, 'monotonic'>,
): ObserverView {
  const reasons = observer.reasons(clock.monotonic())
  const { trouble } = store.status()
  // While a database server is away, polls are judged as ever, and their rows wait.
  const impaired = reasons.length > 0 || (trouble !== null && trouble !== 'unreachable')
  return { impaired, judging: reasons.length === 0, reasons: [...reasons, ...storeTrouble(store)] }
}

/** Sentences about what keeps Heartline from judging nodes or storing polls, without what passes at once. */
export function lastingTrouble(observer: Observer, store: Store, clock: Clock): readonly string[] {
  return [...observer.lastingReasons(clock.monotonic()), ...storeTrouble(store)]
}

function storeTrouble(store: Pick<Store, 'status'>): string[] {
  const { trouble } = store.status()
  if (trouble === null) return []
  if (trouble === 'unreachable') return ['the database cannot be reached, so rows of the history wait for it']
  return [`the history cannot be written (${trouble})`]
}

/** Heartline's own figures of the last hours, for its page. */
export function minutesOf(store: Store, metrics: Metrics, clock: Clock): MinuteStats {
  const queueRows = () => store.status().queueRows
  return createMinuteStats({ clock, queueRows, residentBytes, requests: () => metrics.requests() })
}

/** `null` if no file descriptor is left to read it. */
function residentBytes(): number | null {
  try {
    return process.memoryUsage.rss()
  } catch {
    return null
  }
}
