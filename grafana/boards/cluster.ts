import { type Board, BY_ENDPOINT, BY_INSTANCE } from './board.ts'
import { graph, stat, timeline } from './panel.ts'
import { placeStateOf, STATE_WORDS, YES_IS_BAD } from './words.ts'

/** Every member shows the same cluster, so series of several members are merged. */
export const CLUSTER: Board = {
  name: 'cluster',
  title: 'Heartline: several daemons',
  description:
    'Members that share one database: what each place sees, who polls what, and whether the database is there.',
  variables: ['network', 'endpoint'],
  panels: [
    stat({
      title: 'Live members',
      description: 'Members that the database has heard of within one lease, as each member sees it.',
      unit: 'none',
      width: 8,
      height: 5,
      queries: [{ expr: `heartline_cluster_members{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    timeline({
      title: 'Problems',
      description: 'The database cannot be reached; other members monitor other networks.',
      width: 16,
      height: 5,
      words: YES_IS_BAD,
      queries: [
        { expr: `1 - heartline_store_reachable{${BY_INSTANCE}}`, legend: '{{instance}} without database' },
        { expr: `heartline_cluster_networks_differ{${BY_INSTANCE}} > bool 0`, legend: '{{instance}} differs' },
      ],
    }),
    timeline({
      title: 'State by place',
      description: 'What each place sees of each endpoint.',
      width: 24,
      height: 10,
      words: STATE_WORDS,
      queries: [
        {
          expr: placeStateOf(BY_ENDPOINT, 'network, endpoint, vantage'),
          legend: '{{network}}/{{endpoint}} {{vantage}}',
        },
      ],
    }),
    graph({
      title: 'Endpoints on which places disagree',
      description: 'Endpoints that are down from fewer places than the quorum.',
      unit: 'none',
      width: 8,
      height: 8,
      queries: [
        {
          expr: `sum by (network) (max by (network, endpoint) (heartline_endpoint_condition{${BY_ENDPOINT},condition="partial"}))`,
          legend: '{{network}}',
        },
      ],
    }),
    graph({
      title: 'Time left of each lease',
      description: 'Until the right to poll a network for a place ends. A lease is renewed every third of its time.',
      unit: 's',
      width: 8,
      height: 8,
      bad: { below: 0 },
      queries: [
        {
          expr: `max by (vantage, network) (heartline_cluster_lease_expiry_timestamp_seconds{${BY_INSTANCE}}) - time()`,
          legend: '{{network}} from {{vantage}}',
        },
      ],
    }),
    graph({
      title: 'Round trip to the database',
      description: 'Duration of the latest exchange of votes with the database.',
      unit: 's',
      width: 8,
      height: 8,
      queries: [{ expr: `heartline_cluster_lag_seconds{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    graph({
      title: 'Rows that wait',
      description: 'Rows in the spool while the database is away.',
      unit: 'none',
      width: 12,
      height: 8,
      queries: [{ expr: `heartline_store_spool_rows{${BY_INSTANCE}}`, legend: '{{instance}}' }],
    }),
    graph({
      title: 'Rows refused',
      description: 'Rows per second of a member whose network another one had claimed before it was polled.',
      unit: 'wps',
      width: 12,
      height: 8,
      queries: [
        {
          expr: `sum by (instance) (rate(heartline_store_rows_refused_total{${BY_INSTANCE}}[$__rate_interval]))`,
          legend: '{{instance}}',
        },
      ],
    }),
  ],
}
