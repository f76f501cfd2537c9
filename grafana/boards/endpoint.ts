import { THRESHOLDS } from '../alert-thresholds.ts'
import { type Board, BY_ENDPOINT, BY_NETWORK } from './board.ts'
import { graph, timeline } from './panel.ts'
import { STATE_WORDS, stateOf, YES_IS_BAD } from './words.ts'

const NAME = '{{network}}/{{endpoint}}'

export const ENDPOINT: Board = {
  name: 'endpoint',
  title: 'Heartline: endpoint',
  description: 'One endpoint: its state, and the values behind it.',
  variables: ['network', 'endpoint'],
  panels: [
    timeline({
      title: 'State',
      description: 'The confirmed state; planned maintenance takes precedence.',
      width: 24,
      height: 5,
      words: STATE_WORDS,
      queries: [{ expr: stateOf(BY_ENDPOINT, 'network, endpoint'), legend: NAME }],
    }),
    timeline({
      title: 'Conditions',
      description: 'All confirmed conditions of the endpoint.',
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
      description: 'The newest block of the endpoint, and the reference height of the network.',
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
          legend: '{{network}} {{shard}} reference',
        },
      ],
    }),
    graph({
      title: 'Blocks behind',
      description: 'Blocks behind the reference height, with the threshold for lagging.',
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
          legend: '{{network}}: lagging threshold',
        },
      ],
    }),
    graph({
      title: 'Time without a new block',
      description: 'Time since its height last grew, with the threshold for stalled.',
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
          legend: '{{network}}: stalled threshold',
        },
      ],
    }),
    graph({
      title: 'Heartbeat lag',
      description:
        'Time since the node last handled a message of its network, with the threshold for a stale heartbeat.',
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
          legend: '{{network}}: stale threshold',
        },
      ],
    }),
    graph({
      title: 'Blocks to sync',
      description: 'Blocks that a node still has to sync, by its own report; 0 when it is synced.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `max by (network, endpoint) (heartline_node_sync_remaining_blocks{${BY_ENDPOINT}})`,
          legend: NAME,
        },
      ],
    }),
    graph({
      title: 'Peers',
      description: 'Peers of the node and of its consensus node by their own reports, with the threshold for too few.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        { expr: `max by (network, endpoint) (heartline_node_peers{${BY_ENDPOINT}})`, legend: NAME },
        {
          expr: `max by (network, endpoint) (heartline_node_consensus_peers{${BY_ENDPOINT}})`,
          legend: `${NAME}: consensus`,
        },
        {
          expr: `max by (network) (heartline_network_threshold_min_peers{${BY_NETWORK}})`,
          legend: '{{network}}: too few below',
        },
      ],
    }),
    graph({
      title: 'Check duration',
      description: 'Duration of the latest run of each check, with the threshold for slow.',
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
          legend: '{{network}}: slow threshold',
        },
      ],
    }),
    graph({
      title: 'Failed checks by reason',
      description: 'Failed check runs per second.',
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
      title: 'Consecutive failures',
      description: 'Consecutive failures of Heartline’s checks; a success resets it to 0.',
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
      title: 'Consecutive failures of a liveness check',
      description: 'Consecutive failures of the checks that the node runs on itself, with the threshold for failing.',
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
          legend: '{{network}}: failing threshold',
        },
      ],
    }),
    graph({
      title: 'Clock skew',
      description:
        'Clock of the node minus clock of Heartline; positive if the node is ahead. The lines are the thresholds.',
      unit: 's',
      width: 12,
      height: 8,
      queries: [
        { expr: `max by (network, endpoint) (heartline_endpoint_clock_skew_seconds{${BY_ENDPOINT}})`, legend: NAME },
        {
          expr: `max by (network) (heartline_network_threshold_clock_skew_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: ahead threshold',
        },
        {
          expr: `-max by (network) (heartline_network_threshold_clock_skew_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: behind threshold',
        },
      ],
    }),
    graph({
      title: 'Days until the certificate expires',
      description: 'Days until the TLS certificate of the endpoint expires.',
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
