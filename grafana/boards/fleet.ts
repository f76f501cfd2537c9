import { THRESHOLDS } from '../alert-thresholds.ts'
import { type Board, BY_ENDPOINT, BY_INSTANCE, BY_NETWORK } from './board.ts'
import { endpointTable } from './endpoint-table.ts'
import { graph, stat, timeline } from './panel.ts'
import { FIRING, STATE_WORDS, stateOf, YES_IS_BAD } from './words.ts'

export const FLEET: Board = {
  name: 'fleet',
  title: 'Heartline: fleet',
  description: 'All endpoints: which are up, and which are lagging.',
  variables: ['network', 'endpoint'],
  panels: [
    stat({
      title: 'Endpoints that are up',
      description: 'The share of endpoints that are up. Endpoints in maintenance or unknown are not counted.',
      unit: 'percentunit',
      width: 10,
      height: 5,
      bad: { below: THRESHOLDS.networkUpShare },
      max: 1,
      queries: [
        {
          expr: `sum by (network) (heartline_network_endpoints{${BY_NETWORK},state="up"}) / (sum by (network) (heartline_network_endpoints{${BY_NETWORK},state=~"up|degraded|down"}) > 0)`,
          legend: '{{network}}',
        },
      ],
    }),
    stat({
      title: 'Open incidents',
      description:
        'Open incidents. Endpoint incidents that are part of an incident of a whole network are not counted separately.',
      unit: 'none',
      width: 10,
      height: 5,
      bad: { above: 1 },
      queries: [{ expr: `max by (network) (heartline_incidents_open{${BY_NETWORK}})`, legend: '{{network}}' }],
    }),
    stat({
      title: 'Heartline impaired',
      description: 'Whether Heartline itself cannot judge nodes. Their state is unknown meanwhile.',
      width: 4,
      height: 5,
      words: YES_IS_BAD,
      queries: [{ expr: `1 - heartline_observer_judging{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    timeline({
      title: 'State',
      description: 'The confirmed state of each endpoint; planned maintenance takes precedence.',
      width: 24,
      height: 10,
      words: STATE_WORDS,
      queries: [{ expr: stateOf(BY_ENDPOINT, 'network, endpoint'), legend: '{{network}}/{{endpoint}}' }],
    }),
    timeline({
      title: 'Firing alerts',
      description: 'Firing Prometheus alerts; empty if all is well. The alerts link to their runbooks.',
      width: 24,
      height: 7,
      words: FIRING,
      queries: [
        {
          expr: `max by (alertname, instance, network, endpoint) (ALERTS{alertname=~"Heartline.*",alertstate="firing",instance=~"($instance)?",network=~"($network)?"})`,
          legend: '{{alertname}} {{network}} {{endpoint}} {{instance}}',
        },
      ],
    }),
    endpointTable({ width: 24, height: 10 }),
    graph({
      title: 'Blocks behind',
      description: 'Blocks behind the reference height of the network, with the threshold for lagging.',
      unit: 'none',
      width: 12,
      height: 9,
      queries: [
        {
          expr: `max by (network, endpoint) (heartline_endpoint_block_lag{${BY_ENDPOINT}})`,
          legend: '{{network}}/{{endpoint}}',
        },
        {
          expr: `max by (network) (heartline_network_threshold_lag_blocks{${BY_NETWORK}})`,
          legend: '{{network}}: lagging threshold',
        },
      ],
    }),
    graph({
      title: 'Check duration, p95',
      description: '95th percentile of the check duration, failed checks included.',
      unit: 's',
      width: 12,
      height: 9,
      queries: [
        {
          expr: `histogram_quantile(0.95, sum by (network, check, le) (rate(heartline_check_duration_seconds_bucket{${BY_NETWORK}}[$__rate_interval])))`,
          legend: '{{network}} {{check}}',
        },
        {
          expr: `max by (network) (heartline_network_threshold_latency_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: slow threshold',
        },
      ],
    }),
  ],
}
