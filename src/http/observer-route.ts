import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { MINUTE_MS, type Minute, type MinuteStats } from '../metrics/minute-stats.ts'
import type { Journal } from '../state/journal.ts'
import { spreadView } from './gateway-route.ts'
import { readQuery } from './query.ts'
import { seconds, time, timeOrNull } from './rfc3339.ts'
import { sendBadQuery } from './status-routes.ts'
import type { OwnHealthView } from './wire-own-health.ts'
import type { ObserverView } from './wire-status.ts'

export interface ObserverRouteDeps {
  readonly metrics: Pick<Metrics, 'daemonStatus'>
  readonly observer: () => ObserverView
  readonly journal: Pick<Journal, 'entries'>
  readonly recorder: Pick<MinuteStats, 'minutes' | 'since'>
  readonly clock: Pick<Clock, 'now'>
}

/** `GET /api/v1/observer`: how Heartline itself is, and what happened to it. */
export function registerObserver(app: FastifyInstance, deps: ObserverRouteDeps): void {
  app.get('/api/v1/observer', { config: { visibility: 'private' } }, (request, reply) => {
    const read = readQuery<object>(request.query, {})
    if (!read.ok) return sendBadQuery(reply, read.errors)
    return ownHealthView(deps)
  })
}

export function ownHealthView({ metrics, observer, journal, recorder, clock }: ObserverRouteDeps): OwnHealthView {
  const now = clock.now()
  const { version, nodeVersion, startedAt, networks, endpoints, store, reload, ...ours } = metrics.daemonStatus()
  const { impaired, reasons } = observer()
  const minutes = recorder.minutes()
  const each = <T>(of: (minute: Minute) => T) => minutes.map((minute) => (minute === null ? null : of(minute)))
  const { 'rate-limited': rateLimited, ...skips } = ours.skips
  return {
    generated_at: time(now),
    impaired,
    reasons: [...reasons],
    version,
    node_version: nodeVersion,
    started_at: time(startedAt),
    uptime_seconds: seconds(Math.max(0, now - startedAt)),
    resident_bytes: process.memoryUsage.rss(),
    networks: networks.length,
    endpoints,
    configuration: { ok: reload?.ok ?? true, loaded_at: timeOrNull(reload?.lastGoodAt ?? null) },
    polls: {
      last_round_at: timeOrNull(ours.schedulerLastRoundAt),
      lag: spreadView(ours.schedulerLag),
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
      commit: spreadView(ours.commits),
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
    events: journal.entries().map(({ kind, from, until, text }) => ({
      kind,
      from: time(from),
      until: timeOrNull(until),
      text,
    })),
  }
}
