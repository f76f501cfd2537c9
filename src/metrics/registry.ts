import { FAILURE_KINDS } from '../core/failure.ts'
import { SKIP_REASONS } from '../core/poll-result.ts'
import {
  ATTEMPT_OUTCOMES,
  REJECTION_REASONS,
  REQUEST_OUTCOMES,
  RETRY_REASONS,
} from '../core/routing/request-outcome.ts'
import { type Format, headerLines } from './exposition-format.ts'

/** Source of an unhandled error: a timer's task, another callback or a promise. */
export const ERROR_SOURCES = ['timer', 'exception', 'rejection'] as const
export type ErrorSource = (typeof ERROR_SOURCES)[number]

/** A node can report any number of checks; at most this many become series. */
export const MAX_NODE_CHECKS = 32

/** One metric, as its HELP and TYPE lines and `docs/metrics.md` show it. */
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
    '1 for the current state of the endpoint, 0 for the others; planned maintenance takes precedence over any verdict.',
  ),
  endpoint_condition: gauge(
    [...ENDPOINT, 'condition'],
    '1 for every confirmed reason why the endpoint is not up, 0 for the others; all 0 when the state is unknown.',
  ),
  endpoint_state_changes_total: counter(ENDPOINT, 'Changes of the confirmed verdict.'),
  endpoint_flapping: gauge(
    ENDPOINT,
    '1 while the endpoint is flapping: its open incident covers repeated outages; else 0.',
  ),
  vantage_state: gauge(
    [...ENDPOINT, 'vantage', 'state'],
    '1 for the current state of the endpoint as seen from this place of a cluster, 0 for the others; absent for a daemon alone.',
  ),
  endpoint_block_height: gauge(
    ON_SHARD,
    'Height of the newest block that the endpoint reports; absent when it has not been read for two intervals.',
  ),
  endpoint_block_timestamp_seconds: gauge(ON_SHARD, 'Timestamp of that block.'),
  endpoint_block_lag: gauge(ON_SHARD, 'Blocks behind the reference head of the network, never negative.'),
  endpoint_last_advance_timestamp_seconds: gauge(ON_SHARD, 'When the height of the endpoint last grew.'),
  endpoint_reorgs_total: counter(
    ON_SHARD,
    'Times that the endpoint replaced a block by another one at the same height.',
  ),
  endpoint_height_regressions_total: counter(ON_SHARD, 'Times that the endpoint reported a lower height than before.'),
  endpoint_clock_skew_seconds: gauge(
    ENDPOINT,
    'Clock of the node minus our clock; absent when the node does not report its time.',
  ),
  endpoint_tls_not_after_timestamp_seconds: gauge(ENDPOINT, 'When the TLS certificate of the endpoint expires.'),
  network_block_height: gauge(
    ['network', 'shard'],
    'Height of the reference head: the newest block that the endpoints agree on.',
  ),
  network_block_timestamp_seconds: gauge(['network', 'shard'], 'Timestamp of the block at the reference head.'),
  network_block_time_seconds: gauge(
    ['network', 'shard'],
    'Average time between the latest blocks; absent until enough of them were seen.',
  ),
  network_branches: gauge(
    ['network', 'shard'],
    'Number of different blocks at the newest height that most endpoints have reached; 1 when they agree.',
  ),
  network_endpoints: gauge(['network', 'state'], 'Endpoints in each state.'),
  network_halted: gauge(['network'], '1 when the endpoints answer and none of them advances.'),
  network_forked: gauge(['network'], '1 when the endpoints disagree on a block and no majority settles it.'),
  incidents_open: gauge(
    ['network'],
    'Open incidents; endpoint incidents that are part of a network-wide incident are not counted separately.',
  ),
  network_threshold_lag_blocks: gauge(['network'], 'Configured lag in blocks at which an endpoint counts as lagging.'),
  network_threshold_stall_seconds: gauge(
    ['network'],
    'Configured time without a new block after which an endpoint counts as stalled.',
  ),
  network_threshold_heartbeat_seconds: gauge(
    ['network'],
    'Configured time without a network message after which the heartbeat counts as stale.',
  ),
  network_threshold_contiguous_failures: gauge(
    ['network'],
    "Configured number of consecutive failures at which a node's own check counts as failing.",
  ),
  network_threshold_min_peers: gauge(['network'], 'Configured number of peers below which a node has too few.'),
  network_threshold_latency_seconds: gauge(['network'], 'Configured duration above which a poll counts as slow.'),
  network_threshold_clock_skew_seconds: gauge(
    ['network'],
    "Configured difference between a node's clock and ours at which its clock counts as skewed.",
  ),
  check_success: gauge(OF_CHECK, '1 when the latest run of the check succeeded, 0 when it failed.'),
  check_last_run_timestamp_seconds: gauge(OF_CHECK, 'When the check last ran.'),
  check_last_success_timestamp_seconds: gauge(OF_CHECK, 'When the check last succeeded.'),
  check_consecutive_failures: gauge(OF_CHECK, 'Consecutive failures of the check, up to its latest run.'),
  checks_total: counter(OF_CHECK, 'Runs of the check.'),
  check_failures_total: counter(
    [...OF_CHECK, 'reason'],
    `Failed runs of the check; the series of a reason appears with its first failure. Reasons: ${FAILURE_KINDS.join(', ')}.`,
  ),
  node_requests_total: counter(
    OF_CHECK,
    'Requests that scheduled polls sent to the node for the check, including those for its chain id and for blocks to compare.',
  ),
  check_last_duration_seconds: gauge(OF_CHECK, 'Duration of the latest run of the check.'),
  check_duration_seconds: histogram(['network', 'check'], 'Duration of checks, including failed ones.'),
  node_healthy: gauge(
    ENDPOINT,
    '1 when the node reports itself healthy, 0 when it reports itself unhealthy; absent while it does not answer.',
  ),
  node_heartbeat_timestamp_seconds: gauge(ENDPOINT, 'When the node last processed a message of its network.'),
  node_check_contiguous_failures: gauge(
    OF_NODE_CHECK,
    `Consecutive failures of a check that the node runs on itself; at most ${MAX_NODE_CHECKS} checks per endpoint, failing ones first.`,
  ),
  node_check_first_failure_timestamp_seconds: gauge(
    OF_NODE_CHECK,
    'When a check that the node runs on itself began to fail; absent while it succeeds.',
  ),
  node_syncing: gauge(ENDPOINT, '1 when the node reports that it is syncing, 0 when it is not; absent when not told.'),
  node_sync_remaining_blocks: gauge(
    ENDPOINT,
    'Blocks that the node still has to sync by its own report, 0 when it is not syncing; absent when not told.',
  ),
  node_peers: gauge(ENDPOINT, 'Peers of the node by its own report; absent when not told.'),
  node_consensus_up: gauge(
    ENDPOINT,
    '1 when the consensus node behind the node works, also while it is syncing, 0 when it does not; absent without `beacon_url`.',
  ),
  node_consensus_syncing: gauge(
    ENDPOINT,
    '1 while the consensus node is syncing, optimistic or without its execution node, else 0; absent while it is down.',
  ),
  node_consensus_peers: gauge(ENDPOINT, 'Peers of the consensus node by its own report; absent when not told.'),
  gateway_requests_total: counter(
    ['network', 'operation', 'caller', 'outcome'],
    `Requests of callers; each element of a batch counts. The operation is "none" for requests that were rejected before it was known. Outcomes: ${REQUEST_OUTCOMES.join(', ')}.`,
  ),
  gateway_request_duration_seconds: histogram(
    ['network', 'operation'],
    'Duration of requests, from their first byte to their answer.',
  ),
  gateway_overhead_seconds: histogram(
    ['network', 'operation'],
    'Part of that duration that was not spent waiting for nodes.',
  ),
  gateway_attempts_total: counter(
    [...ENDPOINT, 'operation', 'outcome'],
    `Requests sent to endpoints, including retries and hedged requests. Outcomes: ${ATTEMPT_OUTCOMES.join(', ')}.`,
  ),
  gateway_requests_in_flight: gauge(['network'], 'HTTP requests in flight.'),
  gateway_eligible: gauge(ENDPOINT, '1 when the gateway can choose the endpoint, 0 when the endpoint is excluded.'),
  gateway_retries_total: counter(
    ['network', 'reason'],
    `Requests that were sent to another endpoint. Reasons: ${RETRY_REASONS.join(', ')}.`,
  ),
  gateway_cache_requests_total: counter(['network', 'result'], 'Requests with a cacheable answer: hit or miss.'),
  gateway_degraded_total: counter(
    ['network'],
    'Requests answered by an unhealthy endpoint because no endpoint was healthy.',
  ),
  gateway_coalesced_total: counter(['network'], 'Requests that shared the answer of an identical request in flight.'),
  gateway_rejections_total: counter(
    ['network', 'reason'],
    `Requests that the gateway itself rejected; each element of a batch counts. The network is empty when it is unknown or not allowed to the caller. Reasons: ${REJECTION_REASONS.join(', ')}.`,
  ),
  notifications_total: counter(
    ['channel', 'result'],
    'Attempts to send a message: sent, retried (it will be sent again), rejected by the receiver, expired unsent.',
  ),
  notification_queue: gauge([], 'Notifications that wait to be sent; absent without channels, as the next one.'),
  notification_oldest_seconds: gauge(
    [],
    'How long the oldest of them has waited, not counting `group_wait`; 0 when none waits.',
  ),
  silences_active: gauge([], 'Silences that hold now; absent without channels.'),
  build_info: gauge(['version', 'node_version'], 'Versions of Heartline and Node.js; always 1.'),
  start_timestamp_seconds: gauge([], 'When the daemon started.'),
  config_last_reload_successful: gauge(
    [],
    '1 when the latest load of the configuration succeeded, 0 when it was rejected.',
  ),
  config_last_reload_success_timestamp_seconds: gauge([], 'When the configuration was last loaded successfully.'),
  config_endpoints: gauge([], 'Endpoints in the current configuration.'),
  scheduler_lag_seconds: histogram([], 'Delay between the due time of a poll and its start.'),
  scheduler_skips_total: counter(['reason'], `Polls that were skipped. Reasons: ${SKIP_REASONS.join(', ')}.`),
  scheduler_last_round_timestamp_seconds: gauge([], 'When the scheduler last looked for due endpoints.'),
  clock_jumps_total: counter(['direction'], 'Jumps of the wall clock relative to the monotonic clock.'),
  observer_impaired: gauge(
    [],
    '1 while Heartline itself has a problem: it cannot judge nodes, or cannot store what it finds.',
  ),
  observer_judging: gauge([], '0 while Heartline cannot judge nodes, because of its own network, clock or machine.'),
  uncaught_errors_total: counter(
    ['source'],
    `Errors that nothing handled, logged with their stack. Sources: ${ERROR_SOURCES.join(', ')}. An exception that is no system error ends the process.`,
  ),
  store_rows_written_total: counter([], 'Rows of history written to the store.'),
  store_write_failures_total: counter(['reason'], 'Transactions that the store failed to write.'),
  store_rows_dropped_total: counter([], 'Rows of history dropped because they could not be written.'),
  store_queue_rows: gauge([], 'Rows of history waiting to be written.'),
  store_commit_duration_seconds: histogram([], 'Duration of transactions of the store.'),
  store_degraded: gauge(
    [],
    '1 while history cannot be written; 0 while a database server is away, because rows wait for it.',
  ),
  store_integrity_ok: gauge([], '0 when the latest integrity check of the store found damage.'),
  store_thread_restarts_total: counter([], 'Threads of the store that died and were restarted.'),
  store_database_bytes: gauge([], 'Size of the store; absent for a store in memory.'),
  store_filesystem_free_bytes: gauge([], 'Free space on the file system of the store.'),
  store_reachable: gauge(
    [],
    '1 while the database server can be reached, else 0; absent with a file, as the next two.',
  ),
  store_spool_rows: gauge([], 'Rows of history that wait in the spool until the database server is back.'),
  store_rows_refused_total: counter(
    [],
    'Rows that the database refused because another member had claimed their network when they were polled.',
  ),
  cluster_members: gauge(
    [],
    'Live members of the cluster, this one included; absent for a daemon alone, and while the database is away.',
  ),
  cluster_networks_differ: gauge(
    [],
    'Live members whose networks, endpoints or checks are others than ours; absent like the previous one.',
  ),
  cluster_lease_expiry_timestamp_seconds: gauge(
    ['vantage', 'network'],
    'When the right to poll the network for this place ends unless it is renewed, on the clock of the database.',
  ),
  cluster_lag_seconds: gauge(
    [],
    'Duration of the latest round trip to the database; absent while it cannot be reached.',
  ),
  http_requests_total: counter(['route', 'code'], 'Answered HTTP requests to the page, the API and the metrics.'),
  http_request_duration_seconds: histogram(['route', 'code'], 'Duration of these requests.'),
} as const satisfies Record<string, MetricRow>

/** Metrics that only `/probe` returns. */
export const PROBE_METRICS = {
  probe_success: gauge(ENDPOINT, '1 when this single poll found the endpoint up or degraded, else 0.'),
  probe_duration_seconds: gauge(ENDPOINT, 'Duration of the probe, including the wait for its turn.'),
} as const satisfies Record<string, MetricRow>

export const PREFIX = 'heartline_'
export type MetricName = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as MetricName[]

/** The lines before the series of a metric. */
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
