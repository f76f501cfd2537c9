import { THRESHOLDS } from '../thresholds.ts'
import { type Alert, type Alerts, EXPLAINED, OF_ENDPOINT, OF_NETWORK, threshold, under } from './alert.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE

/**
 * What is wrong with one node, once Heartline has confirmed it: a number holds until the next poll, so where polls are rare a single
 * bad one would outlast any `for`. That is there for the scrapes alone.
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
    number: `heartline_endpoint_block_lag\n>= ${threshold('lag_blocks')}\nand ${under('lagging')}`,
    fires: { above: 0 },
    hold: hold(2 * MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is behind',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} is {{ $value | printf "%.0f" }} blocks behind{{ with $labels.shard }} on shard {{ . }}{{ end }}.',
  }),
  of({
    name: 'HeartlineEndpointStalled',
    severity: 'warning',
    // Between two polls time passes without a new block for everybody: only Heartline can tell whether it is the node that stands.
    number: `time() - heartline_endpoint_last_advance_timestamp_seconds\n> ${threshold('stall_seconds')}\nand ${under('stalled')}`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} stands still',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} has had no new block for {{ $value | humanizeDuration }}{{ with $labels.shard }} on shard {{ . }}{{ end }}.',
  }),
  of({
    name: 'HeartlineEndpointForked',
    severity: 'critical',
    number: `max by (${OF_ENDPOINT}) (heartline_endpoint_block_height)\nand ${under('forked')}`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is on a fork',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} has other blocks than the majority; its newest is {{ $value | printf "%.0f" }}.',
  }),
  of({
    name: 'HeartlineWrongNetwork',
    severity: 'critical',
    number: `max by (${OF_ENDPOINT}) (heartline_check_consecutive_failures)\nand ${under('wrong-network')}`,
    fires: { above: 0 },
    hold: hold(0),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} serves another chain',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} serves another chain than the configured one, {{ $value | printf "%.0f" }} polls in a row.',
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
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} says that it is unhealthy',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} says that it is unhealthy. Nodes of {{ $labels.network }} that say so: {{ $value | printf "%.0f" }}.',
  }),
  of({
    name: 'HeartlineNodeCheckFailing',
    severity: 'warning',
    number: `heartline_node_check_contiguous_failures\n>= ${threshold('contiguous_failures')}`,
    fires: { above: 0 },
    hold: hold(0),
    summary: 'A check of {{ $labels.network }}/{{ $labels.endpoint }} on itself fails',
    description:
      'The check {{ $labels.node_check }} of {{ $labels.network }}/{{ $labels.endpoint }} failed {{ $value | printf "%.0f" }} times in a row.',
  }),
  of({
    name: 'HeartlineHeartbeatStale',
    severity: 'warning',
    // Confirmed, since it is read when the node is polled, and seems to age until it is polled again.
    number: `time() - heartline_node_heartbeat_timestamp_seconds\n> ${threshold('heartbeat_seconds')}\nand ${under('heartbeat-stale')}`,
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} hears nothing of its network',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} has handled no message of its network for {{ $value | humanizeDuration }}.',
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
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} comes and goes',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} gets well and ill again and again: some {{ $value | printf "%.0f" }} changes within the hour.',
  }),
  of({
    name: 'HeartlineEndpointSlow',
    severity: 'warning',
    number: `max by (${OF_ENDPOINT}) (heartline_check_last_duration_seconds)\n>= ${threshold('latency_seconds')}\nand ${under('slow')}`,
    fires: { above: 0 },
    hold: hold(5 * MINUTE),
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is slow',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} took {{ $value | humanizeDuration }} to answer its latest check.',
  }),
  of({
    name: 'HeartlineTlsExpiring',
    severity: 'warning',
    number: '(heartline_endpoint_tls_not_after_timestamp_seconds - time()) / 86400',
    fires: { below: THRESHOLDS.tlsDaysLeft },
    hold: hold(HOUR),
    summary: 'The certificate of {{ $labels.network }}/{{ $labels.endpoint }} ends soon',
    description:
      'The TLS certificate of {{ $labels.network }}/{{ $labels.endpoint }} ends in {{ $value | printf "%.1f" }} days.',
  }),
  of({
    name: 'HeartlineClockSkew',
    severity: 'warning',
    number: `abs(heartline_endpoint_clock_skew_seconds)\n> ${threshold('clock_skew_seconds')}\nand ${under('clock-skewed')}`,
    fires: { above: 0 },
    hold: hold(10 * MINUTE),
    summary: 'The clock of {{ $labels.network }}/{{ $labels.endpoint }} is off',
    description:
      'The clock of {{ $labels.network }}/{{ $labels.endpoint }} is {{ $value | humanizeDuration }} away from ours.',
  }),
]

function of(alert: Omit<Alert, 'scope' | 'silencedBy'>): Alert {
  return { ...alert, scope: 'endpoint', silencedBy: EXPLAINED }
}
