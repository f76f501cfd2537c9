import { THRESHOLDS } from '../thresholds.ts'
import { type Alert, type Alerts, OF_ENDPOINT, OF_NETWORK, threshold } from './alert.ts'

const MINUTE = 60

/** Requests that should have been answered and were not: neither the caller's mistake nor a node's own error. */
export const FAILED_OUTCOMES = 'no-endpoint|all-failed|deadline|outcome-unknown|overloaded'
export const ASKED_OUTCOMES = `answered|node-error|${FAILED_OUTCOMES}`

/** What callers of the gateway notice. Nothing explains it away: an answer that did not come did not come. */
export const gatewayAlerts: Alerts = ({ hold, window }) => {
  const rateOf = (outcomes: string) =>
    `sum by (${OF_NETWORK}) (rate(heartline_gateway_requests_total{outcome=~"${outcomes}"}[${window(5 * MINUTE)}]))`
  return [
    of({
      name: 'HeartlineGatewayErrors',
      severity: 'critical',
      number: [
        rateOf(FAILED_OUTCOMES),
        `/ ${rateOf(ASKED_OUTCOMES)}`,
        `and on (${OF_NETWORK}) ${rateOf(ASKED_OUTCOMES)} > ${THRESHOLDS.gatewayLeastRate}`,
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
      summary: 'The gateway answers {{ $labels.operation }} of {{ $labels.network }} slowly',
      description:
        'One in twenty requests of {{ $labels.operation }} of {{ $labels.network }} takes {{ $value | humanizeDuration }} or longer.',
    }),
    of({
      name: 'HeartlineNoEligibleEndpoint',
      severity: 'critical',
      number: [
        `count by (${OF_NETWORK}) (heartline_gateway_eligible == 0)`,
        `unless on (${OF_NETWORK}) heartline_gateway_eligible == 1`,
        // Not while all are in maintenance, as planned, or not polled yet: requests that fail are told of by themselves.
        `and on (${OF_NETWORK}) sum by (${OF_NETWORK}) (heartline_network_endpoints{state=~"up|degraded|down"}) > 0`,
      ].join('\n'),
      fires: { above: 0 },
      hold: hold(MINUTE),
      summary: 'The gateway has no endpoint for {{ $labels.network }}',
      description: 'The gateway leaves out all {{ $value | printf "%.0f" }} endpoints of {{ $labels.network }}.',
    }),
    of({
      name: 'HeartlineAnswerIntegrity',
      severity: 'critical',
      number: `sum by (${OF_ENDPOINT}) (increase(heartline_gateway_attempts_total{outcome="bad-answer"}[${window(10 * MINUTE)}]))`,
      fires: { above: 0 },
      hold: hold(0),
      summary: '{{ $labels.network }}/{{ $labels.endpoint }} gives answers that are none',
      description:
        'The gateway threw away some {{ $value | printf "%.0f" }} answers of {{ $labels.network }}/{{ $labels.endpoint }} that were no answer to what was asked.',
    }),
  ]
}

function of(alert: Omit<Alert, 'scope' | 'silencedBy'>): Alert {
  return { ...alert, scope: 'gateway', silencedBy: [] }
}
