import { THRESHOLDS } from '../alert-thresholds.ts'
import { type Alert, type Alerts, OF_NETWORK } from './alert.ts'

/** Faults of a whole network, which explain the alerts of its endpoints. */
export const networkAlerts: Alerts = ({ hold }) => [
  of({
    name: 'HeartlineNetworkDegraded',
    severity: 'warning',
    number: [
      `sum by (${OF_NETWORK}) (heartline_network_endpoints{state="up"})`,
      `/ (sum by (${OF_NETWORK}) (heartline_network_endpoints{state=~"up|degraded|down"}) > 0)`,
    ].join('\n'),
    fires: { below: THRESHOLDS.networkUpShare },
    hold: hold(2 * MINUTE),
    summary: 'Fewer than half of the endpoints of {{ $labels.network }} are up',
    description: '{{ $value | humanizePercentage }} of the endpoints of {{ $labels.network }} are up.',
  }),
  of({
    name: 'HeartlineNetworkDown',
    severity: 'critical',
    number: [
      `sum by (${OF_NETWORK}) (heartline_network_endpoints{state="down"})`,
      `and on (${OF_NETWORK}) sum by (${OF_NETWORK}) (heartline_network_endpoints{state=~"up|degraded"}) == 0`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: 'No endpoint of {{ $labels.network }} is usable',
    description: 'No endpoint of {{ $labels.network }} is up or degraded; {{ $value | printf "%.0f" }} are down.',
  }),
  of({
    name: 'HeartlineChainHalted',
    severity: 'critical',
    number: [
      `max by (${OF_NETWORK}) (`,
      `  time() - max by (${OF_NETWORK}, shard) (heartline_endpoint_last_advance_timestamp_seconds)`,
      `) and on (${OF_NETWORK}) heartline_network_halted == 1`,
      `or on (${OF_NETWORK}) heartline_network_halted == 1`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: '{{ $labels.network }} is halted',
    description: 'No endpoint of {{ $labels.network }} has had a new block for {{ $value | humanizeDuration }}.',
  }),
  of({
    name: 'HeartlineNetworkForked',
    severity: 'critical',
    number: [
      `max by (${OF_NETWORK}) (heartline_network_branches)`,
      `and on (${OF_NETWORK}) heartline_network_forked == 1`,
      `or on (${OF_NETWORK}) heartline_network_forked == 1`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: 'The endpoints of {{ $labels.network }} disagree on the chain',
    description:
      'The endpoints of {{ $labels.network }} have {{ $value | printf "%.0f" }} different blocks at the same height, and none has a majority.',
  }),
]

const MINUTE = 60

function of(alert: Omit<Alert, 'scope' | 'silencedBy'>): Alert {
  return { ...alert, scope: 'network', silencedBy: ['impaired'] }
}
