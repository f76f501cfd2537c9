import type { EndpointKey } from '../../core/endpoint.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, type UnixMs } from '../../core/time.ts'
import type { HistoryBucket, Store } from '../../store/store.ts'

/** Reads what is known of the last day of each endpoint, and since when; of what was read before, only the end again. */
export function createKnownHistory(store: Pick<Store, 'history'>) {
  let known: ReadonlyMap<EndpointKey, Past> = new Map()

  /**
   * Reads one endpoint at a time, so that other reads of the store do not wait for hundreds of them. `confirmedMs`: how long a
   * confirmation takes, which changes the states of earlier polls.
   */
  async function read(endpoint: EndpointKey, to: UnixMs, confirmedMs: number): Promise<Past> {
    const before = known.get(endpoint)
    const first = firstOfDay(to, CELL_MS)
    const from = before === undefined ? first : Math.max(first, againFrom(before, Math.max(READ_AGAIN_MS, confirmedMs)))
    const cells = new Map([...(before?.cells ?? [])].filter(([start]) => start >= first && start < from))
    for (const bucket of await store.history({ endpoint, from, to, stepMs: CELL_MS })) cells.set(bucket.start, bucket)
    const knownFrom = before?.knownFrom ?? (await firstKnown(endpoint, cells, before === undefined ? first : null, to))
    return { cells, readTo: to, knownFrom }
  }

  /** When the known history begins, to the minute; `null` without any. `first`: where to look for an earlier past. */
  async function firstKnown(
    endpoint: EndpointKey,
    cells: ReadonlyMap<UnixMs, HistoryBucket>,
    first: UnixMs | null,
    to: UnixMs,
  ): Promise<UnixMs | null> {
    const start = [...cells.values()].find(isKnownAtAll)?.start
    if (start === first) return first
    if (first !== null) {
      const from = Math.floor((first - LONGEST_PAST_MS) / DAY_MS) * DAY_MS
      const days = from < 0 ? [] : await store.history({ endpoint, from, to: first, stepMs: DAY_MS })
      if (days.some(isKnownAtAll)) return from
    }
    if (start === undefined) return null
    const minutes = await store.history({ endpoint, from: start, to: Math.min(to, start + CELL_MS), stepMs: MINUTE_MS })
    return minutes.find(isKnownAtAll)?.start ?? start
  }

  return {
    read,
    /** Forgets all endpoints that are not among these. */
    keep(pasts: ReadonlyMap<EndpointKey, Past>): void {
      known = pasts
    },
  }
}

export interface Past {
  /** By start. */
  readonly cells: ReadonlyMap<UnixMs, HistoryBucket>
  readonly readTo: UnixMs
  /** `null` if nothing is known yet. */
  readonly knownFrom: UnixMs | null
}

export const STRIP_HOURS = 24
export const CELL_MS = 900_000
const READ_AGAIN_MS = HOUR_MS
const LONGEST_PAST_MS = 90 * DAY_MS

/** The latest cells are read again, and a gap that reaches into them: its polls may be written late. */
function againFrom({ cells, readTo }: Past, settledMs: number): UnixMs {
  let from = Math.floor((readTo - settledMs) / CELL_MS) * CELL_MS
  while (cells.get(from)?.polls === 0) from -= CELL_MS
  return from
}

/** The start of the day that ends with the present cell. */
export function firstOfDay(to: UnixMs, stepMs: number): UnixMs {
  return Math.ceil(to / stepMs) * stepMs - STRIP_HOURS * HOUR_MS
}

function isKnownAtAll({ upMs, degradedMs, downMs, maintenanceMs }: HistoryBucket): boolean {
  return upMs + degradedMs + downMs + maintenanceMs > 0
}
