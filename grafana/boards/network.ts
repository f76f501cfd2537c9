import { badShareOf, burnBound } from '../alerts/burn-alerts.ts'
import { type Board, BY_NETWORK } from './board.ts'
import { graph, timeline } from './panel.ts'
import { YES_IS_BAD } from './words.ts'

export const NETWORK: Board = {
  name: 'network',
  title: 'Heartline: network',
  description: 'One chain: height, block time, and whether its endpoints agree.',
  variables: ['network'],
  panels: [
    timeline({
      title: 'Halted, forked',
      description: 'Halted: endpoints respond, but none advances. Forked: they disagree, and no block has a majority.',
      width: 24,
      height: 5,
      words: YES_IS_BAD,
      queries: [
        { expr: `max by (network) (heartline_network_halted{${BY_NETWORK}})`, legend: '{{network}} halted' },
        { expr: `max by (network) (heartline_network_forked{${BY_NETWORK}})`, legend: '{{network}} forked' },
      ],
    }),
    graph({
      title: 'Heights',
      description: 'The newest block of each endpoint, and the reference height.',
      unit: 'none',
      width: 12,
      height: 9,
      queries: [
        {
          expr: `max by (network, endpoint, shard) (heartline_endpoint_block_height{${BY_NETWORK}})`,
          legend: '{{network}}/{{endpoint}} {{shard}}',
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
      height: 9,
      queries: [
        {
          expr: `max by (network, endpoint, shard) (heartline_endpoint_block_lag{${BY_NETWORK}})`,
          legend: '{{network}}/{{endpoint}} {{shard}}',
        },
        {
          expr: `max by (network) (heartline_network_threshold_lag_blocks{${BY_NETWORK}})`,
          legend: '{{network}}: lagging threshold',
        },
      ],
    }),
    graph({
      title: 'Block time',
      description: 'Measured over the latest blocks.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `max by (network, shard) (heartline_network_block_time_seconds{${BY_NETWORK}})`,
          legend: '{{network}} {{shard}}',
        },
      ],
    }),
    graph({
      title: 'Time without a new block',
      description: 'Time since any endpoint last advanced, with the threshold for halted.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `time() - max by (network, shard) (heartline_endpoint_last_advance_timestamp_seconds{${BY_NETWORK}})`,
          legend: '{{network}} {{shard}}',
        },
        {
          expr: `max by (network) (heartline_network_threshold_stall_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: halted threshold',
        },
      ],
    }),
    graph({
      title: 'Age of the reference block',
      description: 'By the timestamp of the block.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `time() - max by (network, shard) (heartline_network_block_timestamp_seconds{${BY_NETWORK}})`,
          legend: '{{network}} {{shard}}',
        },
      ],
    }),
    graph({
      title: 'Branches',
      description: 'Different blocks at the newest height that most endpoints have reached; 1 if they agree.',
      unit: 'none',
      width: 8,
      height: 8,
      bad: { above: 2 },
      queries: [
        {
          expr: `max by (network, shard) (heartline_network_branches{${BY_NETWORK}})`,
          legend: '{{network}} {{shard}}',
        },
      ],
    }),
    graph({
      title: 'Reorganisations and lost heights',
      description: 'How often endpoints replaced a block, or reported a lower height than before.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `sum by (network, endpoint) (increase(heartline_endpoint_reorgs_total{${BY_NETWORK}}[$__rate_interval]))`,
          legend: '{{network}}/{{endpoint}} replaced',
        },
        {
          expr: `sum by (network, endpoint) (increase(heartline_endpoint_height_regressions_total{${BY_NETWORK}}[$__rate_interval]))`,
          legend: '{{network}}/{{endpoint}} lower',
        },
      ],
    }),
    graph({
      title: 'Endpoints by state',
      description: 'Number of endpoints in each state.',
      unit: 'none',
      width: 8,
      height: 8,
      stacked: true,
      queries: [
        {
          expr: `max by (network, state) (heartline_network_endpoints{${BY_NETWORK}})`,
          legend: '{{network}} {{state}}',
        },
      ],
    }),
    graph({
      title: 'Time without a usable endpoint',
      description:
        'Share of the last hour with no endpoint up, or none at head. Above the line a month’s error budget burns in two days.',
      unit: 'percentunit',
      width: 24,
      height: 8,
      bad: { above: burnBound('availability', 'fast') },
      queries: (['availability', 'freshness'] as const).map((kind) => ({
        expr: `max by (network) (${badShareOf(kind, '1h', '30s', BY_NETWORK)})`,
        legend: `{{network}} ${kind}`,
      })),
    }),
  ],
}
