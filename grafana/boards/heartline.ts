import { THRESHOLDS } from '../alert-thresholds.ts'
import { type Board, BY_INSTANCE } from './board.ts'
import { graph, stat, timeline } from './panel.ts'
import { YES_IS_BAD } from './words.ts'

const rate = (metric: string, by = 'instance') =>
  `sum by (${by}) (rate(heartline_${metric}{${BY_INSTANCE}}[$__rate_interval]))`
const quantile = (share: number, metric: string) =>
  `histogram_quantile(${share}, ${rate(`${metric}_bucket`, 'instance, le')})`

export const HEARTLINE: Board = {
  name: 'heartline',
  title: 'Heartline itself',
  description: 'The daemon: whether it polls in time, can write its history, and can judge nodes.',
  variables: [],
  panels: [
    stat({
      title: 'Version',
      description: 'The running version, and its Node.js version.',
      width: 6,
      height: 4,
      queries: [{ expr: `heartline_build_info{${BY_INSTANCE}}`, legend: '{{version}} on {{node_version}}' }],
    }),
    stat({
      title: 'Uptime',
      description: 'Time since the daemon started.',
      unit: 's',
      width: 6,
      height: 4,
      queries: [{ expr: `time() - heartline_start_timestamp_seconds{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    stat({
      title: 'Endpoints',
      description: 'Endpoints in the active configuration.',
      unit: 'none',
      width: 6,
      height: 4,
      queries: [{ expr: `heartline_config_endpoints{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    stat({
      title: 'Configuration loaded',
      description: 'Time since the configuration was last loaded successfully.',
      unit: 's',
      width: 6,
      height: 4,
      queries: [
        {
          expr: `time() - heartline_config_last_reload_success_timestamp_seconds{${BY_INSTANCE}}`,
          legend: '{{instance}}',
        },
      ],
    }),
    timeline({
      title: 'Problems',
      description: 'Cannot judge nodes; cannot write history; history was damaged; new configuration rejected.',
      width: 24,
      height: 6,
      words: YES_IS_BAD,
      queries: [
        { expr: `heartline_observer_impaired{${BY_INSTANCE}}`, legend: '{{instance}} impaired' },
        { expr: `heartline_store_degraded{${BY_INSTANCE}}`, legend: '{{instance}} cannot write' },
        { expr: `1 - heartline_store_integrity_ok{${BY_INSTANCE}}`, legend: '{{instance}} damaged' },
        { expr: `1 - heartline_config_last_reload_successful{${BY_INSTANCE}}`, legend: '{{instance}} rejected' },
      ],
    }),
    graph({
      title: 'Checks per second',
      description: 'Check runs per second.',
      unit: 'ops',
      width: 8,
      height: 8,
      queries: [{ expr: rate('checks_total'), legend: '{{instance}}' }],
    }),
    graph({
      title: 'Poll start delay',
      description: 'Delay of poll starts: 50th, 95th and 99th percentile.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [0.5, 0.95, 0.99].map((share) => ({
        expr: quantile(share, 'scheduler_lag_seconds'),
        legend: `{{instance}} p${share * 100}`,
      })),
    }),
    graph({
      title: 'Skipped polls',
      description: 'Skipped polls per second, by reason.',
      unit: 'ops',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rate('scheduler_skips_total', 'instance, reason'), legend: '{{instance}} {{reason}}' }],
    }),
    graph({
      title: 'Last scheduler round',
      description: 'Time since the last scheduler round; normally at most one second.',
      unit: 's',
      width: 8,
      height: 8,
      bad: { above: THRESHOLDS.schedulerSilentSeconds },
      queries: [
        { expr: `time() - heartline_scheduler_last_round_timestamp_seconds{${BY_INSTANCE}}`, legend: '{{instance}}' },
      ],
    }),
    graph({
      title: 'Event-loop delay',
      description: '99th percentile of the event-loop delay. Above the threshold polls are late.',
      unit: 's',
      width: 8,
      height: 8,
      bad: { above: THRESHOLDS.eventLoopSeconds },
      queries: [
        {
          expr: `nodejs_eventloop_lag_p99_seconds{${BY_INSTANCE}} and on (instance) heartline_build_info`,
          legend: '{{instance}}',
        },
      ],
    }),
    graph({
      title: 'Clock changes',
      description: 'Steps of the wall clock, forward and backward.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `sum by (instance, direction) (increase(heartline_clock_jumps_total{${BY_INSTANCE}}[$__rate_interval]))`,
          legend: '{{instance}} {{direction}}',
        },
      ],
    }),
    graph({
      title: 'Memory',
      description: 'Resident memory of the process.',
      unit: 'bytes',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `process_resident_memory_bytes{${BY_INSTANCE}} and on (instance) heartline_build_info`,
          legend: '{{instance}}',
        },
      ],
    }),
    graph({
      title: 'CPU',
      description: 'CPU cores in use.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `rate(process_cpu_seconds_total{${BY_INSTANCE}}[$__rate_interval]) and on (instance) heartline_build_info`,
          legend: '{{instance}}',
        },
      ],
    }),
    graph({
      title: 'Open files',
      description: 'File descriptors, including connections to nodes.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `process_open_fds{${BY_INSTANCE}} and on (instance) heartline_build_info`,
          legend: '{{instance}} open',
        },
      ],
    }),
    graph({
      title: 'History writes',
      description: 'Rows written per second, and rows dropped because they could not be written.',
      unit: 'wps',
      width: 8,
      height: 8,
      queries: [
        { expr: rate('store_rows_written_total'), legend: '{{instance}} written' },
        { expr: rate('store_rows_dropped_total'), legend: '{{instance}} dropped' },
        { expr: rate('store_write_failures_total', 'instance, reason'), legend: '{{instance}} failed: {{reason}}' },
      ],
    }),
    graph({
      title: 'History queue',
      description: 'Rows waiting to be written.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [{ expr: `heartline_store_queue_rows{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    graph({
      title: 'Commit duration',
      description: 'Duration of store transactions: 95th and 99th percentile.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [0.95, 0.99].map((share) => ({
        expr: quantile(share, 'store_commit_duration_seconds'),
        legend: `{{instance}} p${share * 100}`,
      })),
    }),
    graph({
      title: 'Disk',
      description: 'Free space of the file system that holds the store, and the size of the store.',
      unit: 'bytes',
      width: 8,
      height: 8,
      bad: { below: THRESHOLDS.diskFreeBytes },
      queries: [
        { expr: `heartline_store_filesystem_free_bytes{${BY_INSTANCE}}`, legend: '{{instance}} free' },
        { expr: `heartline_store_database_bytes{${BY_INSTANCE}}`, legend: '{{instance}} store' },
      ],
    }),
    graph({
      title: 'Undelivered notifications',
      description: 'Notifications that wait, and attempts that were rejected, have expired or will be repeated.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        { expr: `heartline_notification_queue{${BY_INSTANCE}}`, legend: '{{instance}} waiting' },
        {
          expr: `sum by (instance, channel, result) (increase(heartline_notifications_total{${BY_INSTANCE}, result!="sent"}[$__rate_interval]))`,
          legend: '{{instance}} {{channel}} {{result}}',
        },
      ],
    }),
    graph({
      title: 'Responses of page and API',
      description: 'Responses per second, by status code.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rate('http_requests_total', 'instance, code'), legend: '{{instance}} {{code}}' }],
    }),
    graph({
      title: 'Duration of page and API',
      description: '95th percentile of the response time, by route.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `histogram_quantile(0.95, ${rate('http_request_duration_seconds_bucket', 'instance, route, le')})`,
          legend: '{{instance}} {{route}}',
        },
      ],
    }),
  ],
}
