import { THRESHOLDS } from '../thresholds.ts'
import { type Board, BY_ENDPOINT, BY_NETWORK } from './board.ts'
import { graph, timeline } from './panel.ts'
import { STATE_WORDS, stateOf, YES_IS_BAD } from './words.ts'

const NAME = '{{network}}/{{endpoint}}'

export const ENDPOINT: Board = {
  name: 'endpoint',
  title: 'Heartline: endpoint',
  description: 'One endpoint: why it is called what it is called.',
  choices: ['network', 'endpoint'],
  panels: [
    timeline({
      title: 'State',
      description: 'The confirmed state, with planned maintenance before any verdict.',
      width: 24,
      height: 5,
      words: STATE_WORDS,
      queries: [{ expr: stateOf(BY_ENDPOINT, 'network, endpoint'), legend: NAME }],
    }),
    timeline({
      title: 'Conditions',
      description: 'Every confirmed reason why the endpoint is not simply up.',
      width: 24,
      height: 9,
      words: YES_IS_BAD,
      queries: [
        {
          expr: `max by (network, endpoint, condition) (heartline_endpoint_condition{${BY_ENDPOINT}})`,
          legend: `${NAME} {{condition}}`,
        },
      ],
    }),
    graph({
      title: 'Height',
      description: 'Its newest block, and the one that the network agrees on.',
      unit: 'none',
      width: 12,
      height: 8,
      queries: [
        {
          expr: `max by (network, endpoint, shard) (heartline_endpoint_block_height{${BY_ENDPOINT}})`,
          legend: `${NAME} {{shard}}`,
        },
        {
          expr: `max by (network, shard) (heartline_network_block_height{${BY_NETWORK}})`,
          legend: '{{network}} {{shard}} agreed',
        },
      ],
    }),
    graph({
      title: 'Blocks behind',
      description: 'Behind the agreed height, and from where on that counts as lagging.',
      unit: 'none',
      width: 12,
      height: 8,
      queries: [
        {
          expr: `max by (network, endpoint, shard) (heartline_endpoint_block_lag{${BY_ENDPOINT}})`,
          legend: `${NAME} {{shard}}`,
        },
        {
          expr: `max by (network) (heartline_network_threshold_lag_blocks{${BY_NETWORK}})`,
          legend: '{{network}}: lagging from',
        },
      ],
    }),
    graph({
      title: 'Time without a new block',
      description: 'Since its height last grew, and from where on that counts as stalled.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `time() - max by (network, endpoint, shard) (heartline_endpoint_last_advance_timestamp_seconds{${BY_ENDPOINT}})`,
          legend: `${NAME} {{shard}}`,
        },
        {
          expr: `max by (network) (heartline_network_threshold_stall_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: stalled from',
        },
      ],
    }),
    graph({
      title: 'Time without a network message',
      description: 'Since the node last handled a message of its network, and from where on its heartbeat is stale.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `time() - max by (network, endpoint) (heartline_node_heartbeat_timestamp_seconds{${BY_ENDPOINT}})`,
          legend: NAME,
        },
        {
          expr: `max by (network) (heartline_network_threshold_heartbeat_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: stale from',
        },
      ],
    }),
    graph({
      title: 'Time of its checks',
      description: 'How long the latest run of each check took, and from where on that is slow.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `max by (network, endpoint, check) (heartline_check_last_duration_seconds{${BY_ENDPOINT}})`,
          legend: `${NAME} {{check}}`,
        },
        {
          expr: `max by (network) (heartline_network_threshold_latency_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: slow from',
        },
      ],
    }),
    graph({
      title: 'Failed checks by reason',
      description: 'Failed runs of its checks a second.',
      unit: 'ops',
      width: 8,
      height: 8,
      stacked: true,
      queries: [
        {
          expr: `sum by (network, endpoint, check, reason) (rate(heartline_check_failures_total{${BY_ENDPOINT}}[$__rate_interval]))`,
          legend: `${NAME} {{check}} {{reason}}`,
        },
      ],
    }),
    graph({
      title: 'Failures in a row',
      description: 'Of our checks of it; a success makes it 0.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `max by (network, endpoint, check) (heartline_check_consecutive_failures{${BY_ENDPOINT}})`,
          legend: `${NAME} {{check}}`,
        },
      ],
    }),
    graph({
      title: 'Contiguous failures of its own checks',
      description: 'Of the checks that the node runs on itself, and from where on one of them counts as failing.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `max by (network, endpoint, node_check) (heartline_node_check_contiguous_failures{${BY_ENDPOINT}})`,
          legend: `${NAME} {{node_check}}`,
        },
        {
          expr: `max by (network) (heartline_network_threshold_contiguous_failures{${BY_NETWORK}})`,
          legend: '{{network}}: failing from',
        },
      ],
    }),
    graph({
      title: 'Clock of the node against ours',
      description: 'Positive when it is ahead; the lines are where that counts as skewed.',
      unit: 's',
      width: 12,
      height: 8,
      queries: [
        { expr: `max by (network, endpoint) (heartline_endpoint_clock_skew_seconds{${BY_ENDPOINT}})`, legend: NAME },
        {
          expr: `max by (network) (heartline_network_threshold_clock_skew_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: ahead from',
        },
        {
          expr: `-max by (network) (heartline_network_threshold_clock_skew_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: behind from',
        },
      ],
    }),
    graph({
      title: 'Days left of the certificate',
      description: 'Until the TLS certificate of the endpoint ends.',
      unit: 'd',
      width: 12,
      height: 8,
      bad: { below: THRESHOLDS.tlsDaysLeft },
      queries: [
        {
          expr: `(min by (network, endpoint) (heartline_endpoint_tls_not_after_timestamp_seconds{${BY_ENDPOINT}}) - time()) / 86400`,
          legend: NAME,
        },
      ],
    }),
  ],
}
