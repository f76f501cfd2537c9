import { badShareOf, burnBound } from '../alerts/burn-alerts.ts'
import { type Board, BY_NETWORK } from './board.ts'
import { graph, timeline } from './panel.ts'
import { YES_IS_BAD } from './words.ts'

export const NETWORK: Board = {
  name: 'network',
  title: 'Heartline: network',
  description: 'One chain: its height, its pace, and whether its endpoints agree.',
  choices: ['network'],
  panels: [
    timeline({
      title: 'Halted, forked',
      description: 'Halted: endpoints answer and none advances. Forked: they disagree, and no majority settles it.',
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
      description: 'The newest block of each endpoint, and the one that they agree on.',
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
          legend: '{{network}} {{shard}} agreed',
        },
      ],
    }),
    graph({
      title: 'Blocks behind',
      description: 'Behind the agreed height, and from where on that counts as lagging.',
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
          legend: '{{network}}: lagging from',
        },
      ],
    }),
    graph({
      title: 'Time from block to block',
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
      description: 'Since any endpoint last advanced, and from where on the chain counts as halted.',
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
          legend: '{{network}}: halted from',
        },
      ],
    }),
    graph({
      title: 'Age of the agreed block',
      description: 'By the time that the block itself gives.',
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
      description: 'Different blocks at the newest height that most endpoints have reached; 1 when they agree.',
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
      description: 'How often endpoints replaced a block by another, or told a lower height than before.',
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
      description: 'How many endpoints are in each state.',
      unit: 'none',
      width: 8,
      height: 8,
      stacked: true,
      queries: [
        {
          expr: `sum by (network, state) (heartline_network_endpoints{${BY_NETWORK}})`,
          legend: '{{network}} {{state}}',
        },
      ],
    }),
    graph({
      title: 'Time without a good endpoint',
      description:
        'Of the hour before: no endpoint up, or none at the head of its chain. From the line on, a month’s budget burns in two days.',
      unit: 'percentunit',
      width: 24,
      height: 8,
      bad: { above: burnBound('availability', 'fast') },
      queries: (['availability', 'freshness'] as const).map((kind) => ({
        expr: badShareOf(kind, '1h', '30s', BY_NETWORK),
        legend: `{{network}} ${kind}`,
      })),
    }),
  ],
}
