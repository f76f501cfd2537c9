import { THRESHOLDS } from '../alert-thresholds.ts'
import { type Alert, type Alerts, OF_ENDPOINT, OF_NETWORK, threshold } from './alert.ts'

/** Faults that callers of the gateway notice. Nothing silences them: a missing answer is missing, whatever the cause. */
export const gatewayAlerts: Alerts = ({ hold, window }) => {
  const rateOf = (outcomes: string) =>
    `sum by (${OF_NETWORK}) (rate(heartline_gateway_requests_total{outcome=~"${outcomes}"}[${window(5 * MINUTE)}]))`
  return [
    of({
      name: 'HeartlineGatewayErrors',
      severity: 'critical',
      number: [
        rateOf(FAILED_OUTCOMES),
        `/ ${rateOf(COUNTED_OUTCOMES)}`,
        `and on (${OF_NETWORK}) ${rateOf(COUNTED_OUTCOMES)} > ${THRESHOLDS.gatewayLeastRate}`,
      ].join('\n'),
      fires: { above: THRESHOLDS.gatewayErrorShare },
      hold: hold(5 * MINUTE),
      summary: 'The gateway fails requests of {{ $labels.network }}',
      description:
        'The gateway could not answer {{ $value | humanizePercentage }} of the requests of {{ $labels.network }}.',
    }),
    of({
      name: 'HeartlineGatewaySlow',
      severity: 'warning',
      number: [
        `histogram_quantile(0.95, sum by (${OF_NETWORK}, operation, le) (`,
        `  rate(heartline_gateway_request_duration_seconds_bucket[${window(5 * MINUTE)}])`,
        `)) > ${threshold('latency_seconds')}`,
      ].join('\n'),
      fires: { above: 0 },
      hold: hold(10 * MINUTE),
      summary: 'The gateway is slow for {{ $labels.operation }} requests of {{ $labels.network }}',
      description:
        'The 95th percentile of {{ $labels.operation }} requests of {{ $labels.network }} is {{ $value | humanizeDuration }}.',
    }),
    of({
      name: 'HeartlineNoEligibleEndpoint',
      severity: 'critical',
      number: [
        `count by (${OF_NETWORK}) (heartline_gateway_eligible == 0)`,
        `unless on (${OF_NETWORK}) heartline_gateway_eligible == 1`,
        // Not while all endpoints are in maintenance or not polled yet; failed requests have an alert of their own.
        `and on (${OF_NETWORK}) sum by (${OF_NETWORK}) (heartline_network_endpoints{state=~"up|degraded|down"}) > 0`,
      ].join('\n'),
      fires: { above: 0 },
      hold: hold(MINUTE),
      summary: 'The gateway has no endpoint for {{ $labels.network }}',
      description: 'The gateway excludes all {{ $value | printf "%.0f" }} endpoints of {{ $labels.network }}.',
    }),
    of({
      name: 'HeartlineAnswerIntegrity',
      severity: 'critical',
      number: `sum by (${OF_ENDPOINT}) (increase(heartline_gateway_attempts_total{outcome="bad-answer"}[${window(10 * MINUTE)}]))`,
      fires: { above: 0 },
      hold: hold(0),
      summary: '{{ $labels.network }}/{{ $labels.endpoint }} gives invalid responses',
      description:
        'The gateway discarded about {{ $value | printf "%.0f" }} responses of {{ $labels.network }}/{{ $labels.endpoint }} that did not match their requests.',
    }),
  ]
}

const MINUTE = 60

/** Requests that should have been answered and were not. Mistakes of callers and errors of nodes are not included. */
export const FAILED_OUTCOMES = 'no-endpoint|all-failed|deadline|outcome-unknown|overloaded'
export const COUNTED_OUTCOMES = `answered|node-error|${FAILED_OUTCOMES}`

function of(alert: Omit<Alert, 'scope' | 'silencedBy'>): Alert {
  return { ...alert, scope: 'gateway', silencedBy: [] }
}
