import { THRESHOLDS } from '../thresholds.ts'
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
  description: 'The daemon: does it poll in time, can it write, is it fit to judge.',
  choices: [],
  panels: [
    stat({
      title: 'Version',
      description: 'What is running, on which Node.js.',
      width: 6,
      height: 4,
      queries: [{ expr: `heartline_build_info{${BY_INSTANCE}}`, legend: '{{version}} on {{node_version}}' }],
    }),
    stat({
      title: 'Running for',
      description: 'Since the daemon started.',
      unit: 's',
      width: 6,
      height: 4,
      queries: [{ expr: `time() - heartline_start_timestamp_seconds{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    stat({
      title: 'Endpoints',
      description: 'In the configuration that is in force.',
      unit: 'none',
      width: 6,
      height: 4,
      queries: [{ expr: `heartline_config_endpoints{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    stat({
      title: 'Configuration loaded',
      description: 'How long ago the configuration was last loaded well.',
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
      title: 'Trouble',
      description:
        'Not fit to judge nodes; history cannot be written; history was damaged; the new configuration refused.',
      width: 24,
      height: 6,
      words: YES_IS_BAD,
      queries: [
        { expr: `heartline_observer_impaired{${BY_INSTANCE}}`, legend: '{{instance}} impaired' },
        { expr: `heartline_store_degraded{${BY_INSTANCE}}`, legend: '{{instance}} cannot write' },
        { expr: `1 - heartline_store_integrity_ok{${BY_INSTANCE}}`, legend: '{{instance}} damaged' },
        { expr: `1 - heartline_config_last_reload_successful{${BY_INSTANCE}}`, legend: '{{instance}} refused' },
      ],
    }),
    graph({
      title: 'Checks a second',
      description: 'Runs of checks.',
      unit: 'ops',
      width: 8,
      height: 8,
      queries: [{ expr: rate('checks_total'), legend: '{{instance}}' }],
    }),
    graph({
      title: 'Polls that start late',
      description: 'How late 50, 95 and 99 of 100 polls start.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [0.5, 0.95, 0.99].map((share) => ({
        expr: quantile(share, 'scheduler_lag_seconds'),
        legend: `{{instance}} p${share * 100}`,
      })),
    }),
    graph({
      title: 'Polls that did not happen',
      description: 'By reason, a second.',
      unit: 'ops',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rate('scheduler_skips_total', 'instance, reason'), legend: '{{instance}} {{reason}}' }],
    }),
    graph({
      title: 'The scheduler last looked',
      description: 'Time since it looked for polls that are due: a second at most, when all is well.',
      unit: 's',
      width: 8,
      height: 8,
      bad: { above: THRESHOLDS.schedulerSilentSeconds },
      queries: [
        { expr: `time() - heartline_scheduler_last_round_timestamp_seconds{${BY_INSTANCE}}`, legend: '{{instance}}' },
      ],
    }),
    graph({
      title: 'Event loop',
      description: 'How long the event loop was held, 99 of 100; longer makes polls late.',
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
      title: 'Clock set',
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
      title: 'Processor',
      description: 'Cores in use.',
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
      description: 'File descriptors, connections to nodes among them.',
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
      title: 'History written',
      description: 'Rows a second, and those given up because they could not be written.',
      unit: 'wps',
      width: 8,
      height: 8,
      queries: [
        { expr: rate('store_rows_written_total'), legend: '{{instance}} written' },
        { expr: rate('store_rows_dropped_total'), legend: '{{instance}} given up' },
        { expr: rate('store_write_failures_total', 'instance, reason'), legend: '{{instance}} failed: {{reason}}' },
      ],
    }),
    graph({
      title: 'History that waits',
      description: 'Rows that wait to be written.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [{ expr: `heartline_store_queue_rows{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    graph({
      title: 'Time of a commit',
      description: 'How long 95 and 99 of 100 transactions of the store take.',
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
      description: 'Free space where the store is, and its size.',
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
      title: 'Answers of page and API',
      description: 'By status code, a second.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rate('http_requests_total', 'instance, code'), legend: '{{instance}} {{code}}' }],
    }),
    graph({
      title: 'Time of page and API',
      description: 'How long 95 of 100 answers take, by route.',
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
