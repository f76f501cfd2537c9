import { MINUTE_MS, seconds, time, timeOrNull } from '../core/time.ts'
import type { Minute } from '../metrics/daemon-history.ts'
import { clusterDetails } from './cluster-route.ts'
import { spreadView } from './gateway-traffic.ts'
import { type App, type GrafanaLink, json, NoQuery, operation, type RouteDeps } from './route.ts'
import { OwnHealthView } from './wire/own-health.ts'

type ObserverDeps = Pick<RouteDeps, 'metrics' | 'observer' | 'journal' | 'recorder' | 'clock' | 'cluster' | 'board'> &
  GrafanaLink

/** `GET /api/v1/observer`: the health of Heartline itself, and what happened to it. */
export function registerObserver(app: App, deps: ObserverDeps): void {
  const route = operation({
    visibility: 'private',
    summary:
      'The health of Heartline itself: event loop, schedule, clock, configuration and store, with the events that explain gaps',
    query: NoQuery,
    answers: { 200: json(OwnHealthView, 'Heartline itself') },
  })
  app.get('/api/v1/observer', route, () => ownHealthView(deps))
}

export function ownHealthView({
  metrics,
  observer,
  journal,
  recorder,
  clock,
  cluster,
  board,
  grafanaUrl,
}: ObserverDeps): OwnHealthView {
  const now = clock.now()
  const { version, nodeVersion, startedAt, networks, endpoints, store, reload, ...ours } = metrics.daemonStatus()
  const { impaired, judging, reasons } = observer()
  const minutes = recorder.minutes()
  const each = <T>(of: (minute: Minute) => T) => minutes.map((minute) => (minute === null ? null : of(minute)))
  const { 'rate-limited': rateLimited, ...skips } = ours.skips
  return {
    generated_at: time(now),
    ...(grafanaUrl === null ? {} : { grafana_url: grafanaUrl }),
    impaired,
    judging,
    reasons: [...reasons],
    version,
    node_version: nodeVersion,
    started_at: time(startedAt),
    uptime_seconds: seconds(Math.max(0, now - startedAt)),
    // Sampled once a second, because reading it takes a file descriptor.
    resident_bytes: recorder.residentBytes(),
    networks: networks.length,
    endpoints,
    configuration: { ok: reload?.ok ?? true, loaded_at: timeOrNull(reload?.lastGoodAt ?? null) },
    polls: {
      last_round_at: timeOrNull(ours.schedulerLastRoundAt),
      lag: spreadView([ours.schedulerLag]),
      skips: { ...skips, rate_limited: rateLimited },
    },
    clock_jumps: ours.jumps,
    store: {
      trouble: store.trouble,
      integrity_ok: store.integrityOk,
      queue_rows: store.queueRows,
      rows_written: store.rowsWritten,
      rows_dropped: store.rowsDropped,
      write_failures: [...store.writeFailures].map(([reason, count]) => ({ reason, count })),
      commit: spreadView([ours.commits]),
      thread_restarts: store.threadRestarts,
      database_bytes: store.databaseBytes,
      filesystem_free_bytes: store.filesystemFreeBytes,
    },
    course: {
      from: time(recorder.since()),
      step_seconds: MINUTE_MS / 1000,
      loop_lag_seconds: each(({ loopLagMs }) => seconds(loopLagMs)),
      poll_lag_seconds: each(({ pollLagMs }) => seconds(pollLagMs)),
      skips: each((minute) => minute.skips),
      commit_seconds: each(({ commitMs }) => seconds(commitMs)),
      queue_rows: each(({ queueRows }) => queueRows),
      resident_bytes: each(({ residentBytes }) => residentBytes),
    },
    cluster: clusterDetails({ metrics, cluster, board }),
    events: journal.entries().map(({ kind, from, until, text }) => ({
      kind,
      from: time(from),
      until: timeOrNull(until),
      text,
    })),
  }
}
