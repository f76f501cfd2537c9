import type { CheckName } from '../core/endpoint.ts'
import { SKIP_REASONS, type SkipReason } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import type { StoreStatus, StoreTrouble } from '../store/store.ts'
import { labelValue } from './endpoint-labels.ts'
import { createHistogram, type Histogram } from './histogram.ts'
import { createLines, type Lines } from './lines.ts'
import { ERROR_SOURCES, type ErrorSource } from './registry.ts'

/** Counts the daemon's events and renders them as metrics; one count takes well under a microsecond. */
export function createDaemonSeries() {
  const checks = new Map<string, Record<CheckName, Histogram | null>>()
  const schedulerLag = createHistogram()
  const commits = createHistogram()
  const requests = new Map<string, { readonly labels: string; count: number; readonly durations: Histogram }>()
  const skips: Record<SkipReason, number> = { overlap: 0, concurrency: 0, late: 0, 'rate-limited': 0 }
  const jumps: Record<JumpDirection, number> = { forward: 0, backward: 0 }
  const uncaught: Record<ErrorSource, number> = { timer: 0, exception: 0, rejection: 0 }
  let reload: { ok: boolean; lastGoodAt: UnixMs | null } | null = null

  return {
    checkFinished(network: string, check: CheckName, durationMs: number): void {
      let byCheck = checks.get(network)
      if (byCheck === undefined) {
        byCheck = { liveness: null, head: null }
        checks.set(network, byCheck)
      }
      byCheck[check] ??= createHistogram()
      byCheck[check].observe(durationMs)
    },
    schedulerLag: (ms: number): void => schedulerLag.observe(ms),
    schedulerSkipped(reason: SkipReason, count = 1): void {
      skips[reason] += count
    },
    clockJumped(direction: JumpDirection): void {
      jumps[direction]++
    },
    errorUncaught(source: ErrorSource): void {
      uncaught[source]++
    },
    storeCommitted: (ms: number): void => commits.observe(ms),
    /** Called after every load of the configuration, also at the start. */
    configReloaded(ok: boolean, at: UnixMs): void {
      reload = { ok, lastGoodAt: ok ? at : (reload?.lastGoodAt ?? null) }
    },
    /** `route` is the pattern of a route, never a path of a request. */
    httpRequest(route: string, code: number, ms: number): void {
      const key = `${code} ${route}`
      let of = requests.get(key)
      if (of === undefined) {
        of = { labels: `route="${labelValue(route)}",code="${code}"`, count: 0, durations: createHistogram() }
        requests.set(key, of)
      }
      of.count++
      of.durations.observe(ms)
    },

    counts: (): DaemonCounts => ({
      schedulerLag,
      skips: { ...skips },
      jumps: { ...jumps },
      commits,
      reload,
    }),

    render(state: DaemonState): Lines {
      const { lines, add, addHistogram } = createLines()
      const configured = new Set(state.networks)
      for (const [network, byCheck] of checks) {
        if (!configured.has(network)) {
          checks.delete(network)
          continue
        }
        for (const check of ['liveness', 'head'] as const) {
          const labels = `network="${labelValue(network)}",check="${check}"`
          if (byCheck[check] !== null) addHistogram('check_duration_seconds', byCheck[check], labels)
        }
      }
      add('build_info', 1, `version="${labelValue(state.version)}",node_version="${labelValue(state.nodeVersion)}"`)
      add('start_timestamp_seconds', state.startedAt / 1000)
      add('config_last_reload_successful', reload === null ? null : reload.ok ? 1 : 0)
      add('config_last_reload_success_timestamp_seconds', inSeconds(reload?.lastGoodAt))
      add('config_endpoints', state.endpoints)
      addHistogram('scheduler_lag_seconds', schedulerLag)
      for (const reason of SKIP_REASONS) add('scheduler_skips_total', skips[reason], `reason="${reason}"`)
      add('scheduler_last_round_timestamp_seconds', inSeconds(state.schedulerLastRoundAt))
      for (const way of JUMP_DIRECTIONS) add('clock_jumps_total', jumps[way], `direction="${way}"`)
      add('observer_impaired', state.observer.impaired ? 1 : 0)
      add('observer_judging', state.observer.judging ? 1 : 0)
      for (const source of ERROR_SOURCES) add('uncaught_errors_total', uncaught[source], `source="${source}"`)
      const { store } = state
      add('store_rows_written_total', store.rowsWritten)
      for (const trouble of STORE_TROUBLES) {
        add('store_write_failures_total', store.writeFailures.get(trouble) ?? 0, `reason="${trouble}"`)
      }
      add('store_rows_dropped_total', store.rowsDropped)
      add('store_queue_rows', store.queueRows)
      addHistogram('store_commit_duration_seconds', commits)
      add('store_degraded', store.trouble === null || store.trouble === 'unreachable' ? 0 : 1)
      add('store_integrity_ok', store.integrityOk ? 1 : 0)
      add('store_thread_restarts_total', store.threadRestarts)
      add('store_database_bytes', store.databaseBytes)
      add('store_filesystem_free_bytes', store.filesystemFreeBytes)
      for (const { labels, count, durations } of requests.values()) {
        add('http_requests_total', count, labels)
        addHistogram('http_request_duration_seconds', durations, labels)
      }
      return lines
    },
  }
}

const JUMP_DIRECTIONS = ['forward', 'backward'] as const
export type JumpDirection = (typeof JUMP_DIRECTIONS)[number]
const STORE_TROUBLES: readonly StoreTrouble[] = ['full', 'read-only', 'busy', 'io', 'corrupt', 'unreachable', 'other']

/** State kept by other parts, read for each rendering. */
export interface DaemonState {
  readonly version: string
  readonly nodeVersion: string
  readonly startedAt: UnixMs
  readonly networks: readonly string[]
  readonly endpoints: number
  readonly store: StoreStatus
  readonly schedulerLastRoundAt: UnixMs | null
  readonly observer: { readonly impaired: boolean; readonly judging: boolean }
}

/** Counters as the API shows them. */
export interface DaemonCounts {
  readonly schedulerLag: Histogram
  readonly skips: Readonly<Record<SkipReason, number>>
  readonly jumps: Readonly<Record<JumpDirection, number>>
  readonly commits: Histogram
  /** `null` before the first load. */
  readonly reload: { readonly ok: boolean; readonly lastGoodAt: UnixMs | null } | null
}

function inSeconds(ms: UnixMs | null | undefined): number | null {
  return ms === null || ms === undefined ? null : ms / 1000
}
