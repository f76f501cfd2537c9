import { FAILURE_KINDS } from '../core/failure.ts'
import {
  ATTEMPT_OUTCOMES,
  REJECTION_REASONS,
  REQUEST_OUTCOMES,
  RETRY_REASONS,
} from '../core/routing/request-outcome.ts'

/** One metric: what stands in its HELP and TYPE lines, and in `docs/metrics.md`. */
export interface MetricRow {
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

const ENDPOINT = ['network', 'endpoint'] as const
const ON_SHARD = [...ENDPOINT, 'shard'] as const
const OF_CHECK = [...ENDPOINT, 'check'] as const
const OF_NODE_CHECK = [...ENDPOINT, 'node_check'] as const

/** Every metric of Heartline's own, without the prefix `heartline_`, in the order in which they are rendered. */
export const METRICS = {
  endpoint_info: gauge([...ENDPOINT, 'family', 'tier'], 'What the endpoint is, by configuration; always 1.'),
  endpoint_up: gauge(
    ENDPOINT,
    '1 when the verdict is up or degraded, 0 when it is down; absent when it is unknown. Maintenance does not change it.',
  ),
  endpoint_state: gauge(
    [...ENDPOINT, 'state'],
    '1 for the state that the endpoint is in, 0 for the others; planned maintenance goes before any verdict.',
  ),
  endpoint_condition: gauge(
    [...ENDPOINT, 'condition'],
    '1 for every confirmed reason why the endpoint is not simply up, 0 for the others; all 0 when the state is unknown.',
  ),
  endpoint_state_changes_total: counter(ENDPOINT, 'Changes of the confirmed verdict.'),
  endpoint_flapping: gauge(
    ENDPOINT,
    '1 while the open incident of the endpoint is one of getting well and ill again and again, else 0.',
  ),
  endpoint_block_height: gauge(
    ON_SHARD,
    'Height of the newest block that the endpoint reports; absent when it has not been read for two intervals.',
  ),
  endpoint_block_timestamp_seconds: gauge(ON_SHARD, 'When that block says it was made.'),
  endpoint_block_lag: gauge(ON_SHARD, 'Blocks behind the reference head of the network, never negative.'),
  endpoint_last_advance_timestamp_seconds: gauge(ON_SHARD, 'When the height of the endpoint was last seen to grow.'),
  endpoint_reorgs_total: counter(ON_SHARD, 'Times that the endpoint replaced a block by another at the same height.'),
  endpoint_height_regressions_total: counter(ON_SHARD, 'Times that the endpoint reported a lower height than before.'),
  endpoint_clock_skew_seconds: gauge(ENDPOINT, 'The clock of the node minus ours; absent when the node does not tell.'),
  endpoint_tls_not_after_timestamp_seconds: gauge(ENDPOINT, 'When the TLS certificate of the endpoint ends.'),
  network_block_height: gauge(['network', 'shard'], 'Height of the reference head: what the endpoints agree on.'),
  network_block_timestamp_seconds: gauge(['network', 'shard'], 'When the block at the reference head was made.'),
  network_block_time_seconds: gauge(
    ['network', 'shard'],
    'Time from block to block, measured over the latest blocks; absent until enough of them were seen.',
  ),
  network_branches: gauge(
    ['network', 'shard'],
    'Different blocks that the endpoints have at the newest height that most of them have reached; 1 when they agree.',
  ),
  network_endpoints: gauge(['network', 'state'], 'Endpoints in each state.'),
  network_halted: gauge(['network'], '1 when the endpoints answer and none of them advances.'),
  network_forked: gauge(['network'], '1 when the endpoints disagree on a block and no majority settles it.'),
  incidents_open: gauge(
    ['network'],
    'Open incidents; those of single endpoints that are part of one of the whole network count as that one.',
  ),
  network_threshold_lag_blocks: gauge(['network'], 'Configured lag in blocks from which an endpoint is lagging.'),
  network_threshold_stall_seconds: gauge(
    ['network'],
    'Configured time without a new block from which an endpoint is stalled.',
  ),
  network_threshold_heartbeat_seconds: gauge(
    ['network'],
    'Configured time without a network message from which a heartbeat is stale.',
  ),
  network_threshold_contiguous_failures: gauge(
    ['network'],
    "Configured failures in a row from which one of a node's own checks is failing.",
  ),
  network_threshold_latency_seconds: gauge(['network'], 'Configured time from which a poll is slow.'),
  network_threshold_clock_skew_seconds: gauge(
    ['network'],
    "Configured distance of a node's clock from ours that is too far.",
  ),
  check_success: gauge(OF_CHECK, '1 when the latest run of the check succeeded, 0 when it failed.'),
  check_last_run_timestamp_seconds: gauge(OF_CHECK, 'When the check last ran.'),
  check_last_success_timestamp_seconds: gauge(OF_CHECK, 'When the check last succeeded.'),
  check_consecutive_failures: gauge(OF_CHECK, 'Failures of the check in a row, up to its latest run.'),
  checks_total: counter(OF_CHECK, 'Runs of the check.'),
  check_failures_total: counter(
    [...OF_CHECK, 'reason'],
    `Failed runs of the check; a reason appears with its first failure. Reasons: ${FAILURE_KINDS.join(', ')}.`,
  ),
  check_last_duration_seconds: gauge(OF_CHECK, 'How long the latest run of the check took.'),
  check_duration_seconds: histogram(['network', 'check'], 'How long checks took, failed ones included.'),
  node_healthy: gauge(ENDPOINT, '1 when the node says that it is healthy, 0 when it says that it is not.'),
  node_heartbeat_timestamp_seconds: gauge(ENDPOINT, 'When the node last handled a message of its network.'),
  node_check_contiguous_failures: gauge(
    OF_NODE_CHECK,
    'Failures in a row of a check that the node runs on itself; at most 32 checks of an endpoint, failing ones first.',
  ),
  node_check_first_failure_timestamp_seconds: gauge(
    OF_NODE_CHECK,
    'When a failing check of the node on itself began to fail; absent while it does not fail.',
  ),
  gateway_requests_total: counter(
    ['network', 'operation', 'caller', 'outcome'],
    `Requests of callers, each element of a batch by itself; the operation is none where a request was refused before it was known. Outcomes: ${REQUEST_OUTCOMES.join(', ')}.`,
  ),
  gateway_request_duration_seconds: histogram(
    ['network', 'operation'],
    'How long requests took, from their first byte to their answer.',
  ),
  gateway_overhead_seconds: histogram(
    ['network', 'operation'],
    'How much of that was not waiting for nodes: our own time.',
  ),
  gateway_attempts_total: counter(
    [...ENDPOINT, 'operation', 'outcome'],
    `Requests sent to endpoints. Outcomes: ${ATTEMPT_OUTCOMES.join(', ')}.`,
  ),
  gateway_requests_in_flight: gauge(['network'], 'HTTP requests at work.'),
  gateway_eligible: gauge(ENDPOINT, '1 when the gateway may choose the endpoint, 0 when it is left out.'),
  gateway_retries_total: counter(
    ['network', 'reason'],
    `Times that another endpoint was asked. Reasons: ${RETRY_REASONS.join(', ')}.`,
  ),
  gateway_cache_requests_total: counter(['network', 'result'], 'Requests whose answer can be cached: hit or miss.'),
  gateway_degraded_total: counter(['network'], 'Requests answered by an endpoint that is not well, since none is.'),
  gateway_coalesced_total: counter(['network'], 'Requests answered by the request of another that was under way.'),
  gateway_rejections_total: counter(
    ['network', 'reason'],
    `Requests to which the gateway itself said no; the network is empty where it is not known, or not the caller's. Reasons: ${REJECTION_REASONS.join(', ')}.`,
  ),
  build_info: gauge(['version', 'node_version'], 'What is running; always 1.'),
  start_timestamp_seconds: gauge([], 'When the daemon started.'),
  config_last_reload_successful: gauge([], '1 when the configuration was last loaded well, 0 when it was refused.'),
  config_last_reload_success_timestamp_seconds: gauge([], 'When the configuration was last loaded well.'),
  config_endpoints: gauge([], 'Endpoints in the configuration that is in force.'),
  scheduler_lag_seconds: histogram([], 'How late polls started, after they were due.'),
  scheduler_skips_total: counter(['reason'], 'Polls that did not happen in their turn.'),
  scheduler_last_round_timestamp_seconds: gauge([], 'When the scheduler last looked for endpoints that are due.'),
  clock_jumps_total: counter(['direction'], 'Steps of the wall clock against the monotonic clock.'),
  observer_impaired: gauge([], '1 while Heartline itself is not fit to judge nodes.'),
  store_rows_written_total: counter([], 'Rows of history written to the store.'),
  store_write_failures_total: counter(['reason'], 'Transactions that the store could not write.'),
  store_rows_dropped_total: counter([], 'Rows of history given up because they could not be written.'),
  store_queue_rows: gauge([], 'Rows of history that wait to be written.'),
  store_commit_duration_seconds: histogram([], 'How long transactions of the store took.'),
  store_degraded: gauge([], '1 while history cannot be written.'),
  store_integrity_ok: gauge([], '0 when the latest integrity check of the store found damage.'),
  store_thread_restarts_total: counter([], 'Threads of the store that died and were started again.'),
  store_database_bytes: gauge([], 'Size of the store; absent for a store in memory.'),
  store_filesystem_free_bytes: gauge([], 'Free space of the file system of the store.'),
  http_requests_total: counter(['route', 'code'], 'Answered HTTP requests.'),
  http_request_duration_seconds: histogram(['route', 'code'], 'How long HTTP requests took to answer.'),
} as const satisfies Record<string, MetricRow>

/** What the answer of `/probe` has besides the metrics of its endpoint. */
export const PROBE_METRICS = {
  probe_success: gauge(ENDPOINT, '1 when this poll by itself found the endpoint up or degraded, else 0.'),
  probe_duration_seconds: gauge(ENDPOINT, 'How long the probe took, waiting for its turn included.'),
} as const satisfies Record<string, MetricRow>

export const PREFIX = 'heartline_'
export type MetricName = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as MetricName[]

/** The lines that open a metric. */
export function headerOf(name: MetricName | keyof typeof PROBE_METRICS, format: Format): string {
  const { help, type }: MetricRow =
    name in METRICS ? METRICS[name as MetricName] : PROBE_METRICS[name as 'probe_success']
  return headerLines(`${PREFIX}${name}`, type, help, format)
}

function gauge(labels: readonly string[], help: string): MetricRow {
  return { type: 'gauge', labels, help }
}

function counter(labels: readonly string[], help: string): MetricRow {
  return { type: 'counter', labels, help }
}

function histogram(labels: readonly string[], help: string): MetricRow {
  return { type: 'histogram', labels, help }
}

/** How metrics are written: the Prometheus text format 0.0.4, or OpenMetrics 1.0.0. */
export type Format = 'text' | 'openmetrics'

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** A unit that ends a name; nothing else ends with one. */
const UNIT = /_(seconds|bytes)$/

/** The lines before a metric's series. In OpenMetrics a counter is named without `_total`, and a unit is said. */
export function headerLines(name: string, type: string, help: string, format: Format): string {
  switch (format) {
    case 'text':
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    case 'openmetrics': {
      const family = type === 'counter' ? name.replace(/_total$/, '') : name
      const unit = UNIT.exec(family)?.[1]
      const unitLine = unit === undefined ? '' : `# UNIT ${family} ${unit}\n`
      return `# TYPE ${family} ${type}\n${unitLine}# HELP ${family} ${help.replaceAll('"', '\\"')}\n`
    }
  }
}

/** What ends the whole: in OpenMetrics an answer that was cut off can be told from one that is complete. */
export function endOf(format: Format): string {
  return format === 'openmetrics' ? '# EOF\n' : ''
}
