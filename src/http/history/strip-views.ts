import { seconds, type UnixMs } from '../../core/time.ts'
import type { HistoryBucket } from '../../store/store.ts'
import type { StripView } from '../wire/history.ts'
import type { Audience } from '../wire/status.ts'

/** The strip of one endpoint, as an audience may see it. */
export function stripView({ network, endpoint, row, recent, audience }: StripParts): StripView {
  const open = audience === 'private'
  const cells = row.map((cell) => (cell === 'before' ? null : cell))
  return {
    network,
    endpoint,
    states: row.map((cell) => (cell === 'before' ? '.' : cell === null ? '-' : letterOf(cell))).join(''),
    mixed: cells.flatMap((cell, at) => (cell === null || isOneState(cell) ? [] : [mixedOf(cell, at)])),
    lag_blocks_max: open ? cells.map((cell) => cell?.lagBlocksMax ?? null) : [],
    latency_p95_seconds: open ? cells.map((cell) => milliseconds(cell?.latencyP95Ms ?? null)) : [],
    recent_latency_p95_seconds: open ? milliseconds(recent?.latencyP95Ms ?? null) : null,
  }
}

export interface StripParts {
  readonly network: string
  readonly endpoint: string
  /** `before`: before its first poll; `null`: not known. */
  readonly row: readonly (StripCell | 'before' | null)[]
  readonly recent: HistoryBucket | null
  readonly audience: Audience
}

export interface StripCell extends HistoryBucket {
  /** The time before the first poll, which is no gap. */
  readonly beforeMs?: number
}

/** Tells the time before the first poll from unknown time. */
export function knownSince(bucket: HistoryBucket, knownFrom: UnixMs): StripCell {
  const beforeMs = Math.max(0, knownFrom - bucket.start)
  return { ...bucket, unknownMs: bucket.unknownMs - beforeMs, beforeMs }
}

/** Rounded, because percentiles are only exact to 4.8 %. */
function milliseconds(ms: number | null): number | null {
  return ms === null ? null : seconds(ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms))
}

/** The cell's worst state; unknown if more time is unknown than up or in maintenance. */
function letterOf({ upMs, degradedMs, downMs, maintenanceMs, unknownMs }: HistoryBucket): string {
  if (downMs > 0) return 'd'
  if (degradedMs > 0) return 'g'
  if (unknownMs > upMs + maintenanceMs) return '-'
  return maintenanceMs > upMs ? 'm' : 'u'
}

function isOneState({ upMs, degradedMs, downMs, maintenanceMs, unknownMs, beforeMs = 0 }: StripCell): boolean {
  return [upMs, degradedMs, downMs, maintenanceMs, unknownMs, beforeMs].filter((ms) => ms > 0).length <= 1
}

function mixedOf(cell: StripCell, at: number): StripView['mixed'][number] {
  const { degradedMs, downMs, maintenanceMs, unknownMs, beforeMs = 0 } = cell
  const known = [at, degradedMs / 1000, downMs / 1000, maintenanceMs / 1000, unknownMs / 1000] as const
  return beforeMs === 0 ? [...known] : [...known, beforeMs / 1000]
}
