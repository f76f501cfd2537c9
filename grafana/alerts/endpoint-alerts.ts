import { THRESHOLDS } from '../alert-thresholds.ts'
import { type Alert, type Alerts, EXPLAINED, OF_ENDPOINT, OF_NETWORK, threshold, under, whileUnder } from './alert.ts'

const LAG = 'heartline_endpoint_block_lag'
const LATE = `${LAG} >= ${threshold('lag_blocks')}`
/** An endpoint that lags is lagging until it is at most `lag_recover_blocks` behind. */
const BETWEEN = `(${LAG} > 0 unless on (${OF_ENDPOINT}) (${LATE}))`
const AGE = 'time() - heartline_endpoint_block_timestamp_seconds'
const OLD = `(${AGE} >= ${threshold('stall_seconds')})`
/** The shards at the head of an endpoint that has old blocks on others. */
const AT_HEAD = `(${AGE} < ${threshold('stall_seconds')} and on (${OF_ENDPOINT}) ${OLD})`
/** The only endpoint that answers is lagging by the age of its blocks, and has no lag. */
const BY_AGE = `(clamp_min(${LAG}, 1) unless on (${OF_ENDPOINT}) (${LAG} > 0) unless on (${OF_ENDPOINT}, shard) ${AT_HEAD})`

/**
 * Faults of one node that Heartline has confirmed. A gauge keeps its value until the next poll, so with rare polls a
 * single bad poll would outlast any `for`; here `for` only covers failed scrapes.
 */
export const endpointAlerts: Alerts = ({ hold, window }) => [
  of({
    name: 'HeartlineEndpointDown',
    severity: 'warning',
    number: [
      `max by (${OF_ENDPOINT}) (heartline_endpoint_state{state="down"} == 1)`,
      `* on (${OF_NETWORK}) group_left () sum by (${OF_NETWORK}) (heartline_network_endpoints{state="down"})`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is down',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} is down. Endpoints of {{ $labels.network }} that are down: {{ $value | printf "%.0f" }}.',
  }),
  of({
    name: 'HeartlineEndpointLagging',
    severity: 'warning',
    number: `(\n  ${LATE}\n  or ${BETWEEN}\n  or ${BY_AGE}\n)\nand ${under('lagging')}`,
    fires: { above: 0 },
    hold: hold(2 * MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is behind',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} is at least {{ $value | printf "%.0f" }} blocks behind{{ with $labels.shard }} on shard {{ . }}{{ end }}.',
  }),
  of({
    name: 'HeartlineEndpointStalled',
    severity: 'warning',
    // Between two polls no endpoint shows a new block, so the age alone is not enough: Heartline must have confirmed it.
    number: `time() - heartline_endpoint_last_advance_timestamp_seconds\n> ${threshold('stall_seconds')}\nand ${under('stalled')}`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is stalled',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} has had no new block for {{ $value | humanizeDuration }}{{ with $labels.shard }} on shard {{ . }}{{ end }}. If it is the only endpoint of {{ $labels.network }}, it is unknown whether the endpoint or the chain has stopped.',
  }),
  of({
    name: 'HeartlineEndpointForked',
    severity: 'critical',
    number: `max by (${OF_ENDPOINT}) (heartline_endpoint_block_height)\nand ${under('forked')}`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is on a fork',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} has different blocks than the majority; its newest is {{ $value | printf "%.0f" }}.',
  }),
  of({
    name: 'HeartlineWrongNetwork',
    severity: 'critical',
    // Only the member of a cluster that polls it counts its polls.
    number: whileUnder('wrong-network', `max by (${OF_ENDPOINT}) (heartline_check_consecutive_failures)`),
    fires: { above: 0 },
    hold: hold(0),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} serves another chain',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} serves another chain than the configured one, for at least {{ $value | printf "%.0f" }} polls in a row.',
  }),
  of({
    name: 'HeartlineNodeUnhealthy',
    severity: 'warning',
    number: [
      '(heartline_node_healthy == 0)',
      `+ on (${OF_NETWORK}) group_left () count by (${OF_NETWORK}) (heartline_node_healthy == 0)`,
      `and ${under('unhealthy')}`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} reports itself unhealthy',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} reports itself unhealthy. Nodes of {{ $labels.network }} that do: {{ $value | printf "%.0f" }}.',
  }),
  of({
    name: 'HeartlineNodeCheckFailing',
    severity: 'warning',
    // A syncing node fails a check too, and has an alert of its own.
    number: `heartline_node_check_contiguous_failures\n>= ${threshold('contiguous_failures')}\nand ${under('check-failing')}`,
    fires: { above: 0 },
    // Not before HeartlineEndpointDown, which explains it: a node that reports itself unhealthy names its failing checks.
    hold: hold(MINUTE),
    summary: 'A check of the node {{ $labels.network }}/{{ $labels.endpoint }} on itself fails',
    description:
      'The check {{ $labels.node_check }} of {{ $labels.network }}/{{ $labels.endpoint }} has failed {{ $value | printf "%.0f" }} times in a row.',
  }),
  of({
    name: 'HeartlineHeartbeatStale',
    severity: 'warning',
    // The timestamp is only read at polls and ages in between, so Heartline must have confirmed the condition.
    number: `time() - heartline_node_heartbeat_timestamp_seconds\n> ${threshold('heartbeat_seconds')}\nand ${under('heartbeat-stale')}`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} receives no messages of its network',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} has handled no message of its network for {{ $value | humanizeDuration }}.',
  }),
  of({
    name: 'HeartlineNodeSyncing',
    severity: 'warning',
    // The blocks to go, or 1 where the node does not tell them.
    number: whileUnder('syncing', 'heartline_node_sync_remaining_blocks'),
    fires: { above: 0 },
    hold: hold(5 * MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is syncing',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} reports that it is syncing, with at least {{ $value | printf "%.0f" }} blocks to go.',
  }),
  of({
    name: 'HeartlineFewPeers',
    severity: 'warning',
    number: `max by (${OF_ENDPOINT}) (heartline_endpoint_condition{condition="few-peers"} == 1)\n* on (${OF_NETWORK}) group_left () (heartline_network_threshold_min_peers)`,
    fires: { above: 0 },
    hold: hold(5 * MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} has too few peers',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }}, or its consensus node, reports fewer than {{ $value | printf "%.0f" }} peers.',
  }),
  of({
    name: 'HeartlineConsensusSyncing',
    severity: 'warning',
    number: whileUnder('consensus-syncing', 'heartline_node_consensus_syncing'),
    fires: { above: 0 },
    hold: hold(5 * MINUTE),
    summary: 'The consensus node of {{ $labels.network }}/{{ $labels.endpoint }} is syncing',
    description:
      'Consensus nodes of {{ $labels.network }}/{{ $labels.endpoint }} that are syncing, optimistic or without their execution node: {{ $value | printf "%.0f" }}.',
  }),
  of({
    name: 'HeartlineConsensusDown',
    severity: 'warning',
    number: whileUnder('consensus-down', '1 - heartline_node_consensus_up'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: 'The consensus node of {{ $labels.network }}/{{ $labels.endpoint }} does not work',
    description:
      'Consensus nodes of {{ $labels.network }}/{{ $labels.endpoint }} that do not work: {{ $value | printf "%.0f" }}. The endpoint follows no chain without one.',
  }),
  of({
    name: 'HeartlineEndpointFlapping',
    severity: 'warning',
    number: [
      `increase(heartline_endpoint_state_changes_total[${window(HOUR)}])`,
      `and on (${OF_ENDPOINT}) heartline_endpoint_flapping == 1`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(0),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is flapping',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} is flapping: about {{ $value | printf "%.0f" }} state changes in the last hour.',
  }),
  of({
    name: 'HeartlineEndpointSlow',
    severity: 'warning',
    number: [
      // An endpoint that is slow in most polls is slow, although single polls in between are fast.
      `max by (${OF_ENDPOINT}) (max_over_time(heartline_check_last_duration_seconds[${window(5 * MINUTE)}]))`,
      `>= ${threshold('latency_seconds')}`,
      `and ${under('slow')}`,
      // Only the member of a cluster that polls it knows how long it took.
      `or on (${OF_ENDPOINT}) max by (${OF_ENDPOINT}) (heartline_endpoint_condition{condition="slow"} == 1)`,
      `* ${threshold('latency_seconds')}`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(5 * MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is slow',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} took at least {{ $value | humanizeDuration }} to answer a check within the last minutes.',
  }),
  of({
    name: 'HeartlineTlsExpiring',
    severity: 'warning',
    number: '(heartline_endpoint_tls_not_after_timestamp_seconds - time()) / 86400',
    fires: { below: THRESHOLDS.tlsDaysLeft },
    hold: hold(HOUR),
    summary: 'The certificate of {{ $labels.network }}/{{ $labels.endpoint }} expires soon',
    description:
      'The TLS certificate of {{ $labels.network }}/{{ $labels.endpoint }} expires in {{ $value | printf "%.1f" }} days.',
  }),
  of({
    name: 'HeartlineClockSkew',
    severity: 'warning',
    number: `abs(heartline_endpoint_clock_skew_seconds)\n> ${threshold('clock_skew_seconds')}\nand ${under('clock-skewed')}`,
    fires: { above: 0 },
    hold: hold(10 * MINUTE),
    summary: 'The clock of {{ $labels.network }}/{{ $labels.endpoint }} is wrong',
    description:
      'The clock of {{ $labels.network }}/{{ $labels.endpoint }} differs by {{ $value | humanizeDuration }} from that of Heartline.',
  }),
]

const MINUTE = 60
const HOUR = 60 * MINUTE

function of(alert: Omit<Alert, 'scope' | 'silencedBy'>): Alert {
  return { ...alert, scope: 'endpoint', silencedBy: EXPLAINED }
}
