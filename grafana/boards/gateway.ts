import { THRESHOLDS } from '../alert-thresholds.ts'
import { COUNTED_OUTCOMES, FAILED_OUTCOMES } from '../alerts/gateway-alerts.ts'
import { type Board, BY_NETWORK } from './board.ts'
import { graph, stat, timeline } from './panel.ts'
import { YES_IS_GOOD } from './words.ts'

const rateBy = (labels: string, metric: string, filter = '') =>
  `sum by (${labels}) (rate(heartline_gateway_${metric}{${BY_NETWORK}${filter}}[$__rate_interval]))`
const quantile = (share: number, metric: string) =>
  `histogram_quantile(${share}, ${rateBy('network, operation, le', `${metric}_bucket`)})`
const QUANTILES = [0.5, 0.95, 0.99]

export const GATEWAY: Board = {
  name: 'gateway',
  title: 'Heartline: gateway',
  description: 'Rate, errors and duration of requests, and the endpoints that answered.',
  variables: ['network'],
  panels: [
    stat({
      title: 'Requests per second',
      description: 'Requests of callers; each element of a batch counts.',
      unit: 'reqps',
      width: 8,
      height: 5,
      queries: [{ expr: rateBy('network', 'requests_total'), legend: '{{network}}' }],
    }),
    stat({
      title: 'Not answered',
      description: 'The share of requests that should have been answered and were not.',
      unit: 'percentunit',
      width: 8,
      height: 5,
      bad: { above: THRESHOLDS.gatewayErrorShare },
      queries: [
        {
          expr: `(${rateBy('network', 'requests_total', `,outcome=~"${FAILED_OUTCOMES}"`)} or ${rateBy('network', 'requests_total')} * 0) / ${rateBy('network', 'requests_total', `,outcome=~"${COUNTED_OUTCOMES}"`)}`,
          legend: '{{network}}',
        },
      ],
    }),
    stat({
      title: 'In flight',
      description: 'HTTP requests that wait for their response.',
      unit: 'none',
      width: 8,
      height: 5,
      queries: [
        { expr: `sum by (network) (heartline_gateway_requests_in_flight{${BY_NETWORK}})`, legend: '{{network}}' },
      ],
    }),
    graph({
      title: 'Rate by operation',
      description: 'Requests per second.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, operation', 'requests_total'), legend: '{{network}} {{operation}}' }],
    }),
    graph({
      title: 'Rate by outcome',
      description: 'Requests per second by outcome.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, outcome', 'requests_total'), legend: '{{network}} {{outcome}}' }],
    }),
    graph({
      title: 'Rate by caller',
      description: 'Requests per second by caller.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, caller', 'requests_total'), legend: '{{network}} {{caller}}' }],
    }),
    graph({
      title: 'Duration',
      description: 'Time from the first byte of a request to its response, with the threshold for slow.',
      unit: 's',
      width: 12,
      height: 9,
      queries: [
        ...QUANTILES.map((share) => ({
          expr: quantile(share, 'request_duration_seconds'),
          legend: `{{network}} {{operation}} p${share * 100}`,
        })),
        {
          expr: `max by (network) (heartline_network_threshold_latency_seconds{${BY_NETWORK}})`,
          legend: '{{network}}: slow threshold',
        },
      ],
    }),
    graph({
      title: 'Overhead',
      description: 'The part of the duration that is Heartline’s own time, without waiting for nodes.',
      unit: 's',
      width: 12,
      height: 9,
      bad: { above: THRESHOLDS.gatewayOverheadSeconds },
      queries: QUANTILES.map((share) => ({
        expr: quantile(share, 'overhead_seconds'),
        legend: `{{network}} {{operation}} p${share * 100}`,
      })),
    }),
    graph({
      title: 'Share of each endpoint',
      description: 'The share of attempts sent to each endpoint.',
      unit: 'percentunit',
      width: 8,
      height: 8,
      stacked: true,
      max: 1,
      queries: [
        {
          expr: `${rateBy('network, endpoint', 'attempts_total')} / on (network) group_left () (${rateBy('network', 'attempts_total')} > 0)`,
          legend: '{{network}}/{{endpoint}}',
        },
      ],
    }),
    graph({
      title: 'Failed attempts',
      description:
        'Attempts without an answer, by endpoint and outcome. Responses with outcome bad-answer were discarded.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [
        {
          expr: rateBy('network, endpoint, outcome', 'attempts_total', ',outcome!="answered"'),
          legend: '{{network}}/{{endpoint}} {{outcome}}',
        },
      ],
    }),
    graph({
      title: 'Retries',
      description: 'Retries on another endpoint, by reason.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, reason', 'retries_total'), legend: '{{network}} {{reason}}' }],
    }),
    graph({
      title: 'Cached and coalesced',
      description:
        'The cache hit rate of cacheable requests, and the share of requests that shared the response to an identical one.',
      unit: 'percentunit',
      width: 8,
      height: 8,
      max: 1,
      queries: [
        {
          expr: `${rateBy('network', 'cache_requests_total', ',result="hit"')} / (${rateBy('network', 'cache_requests_total')} > 0)`,
          legend: '{{network}} cached',
        },
        {
          expr: `${rateBy('network', 'coalesced_total')} / (${rateBy('network', 'requests_total')} > 0)`,
          legend: '{{network}} shared',
        },
      ],
    }),
    graph({
      title: 'Rejected',
      description: 'Requests that the gateway itself rejected. Those without a known network are not included.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, reason', 'rejections_total'), legend: '{{network}} {{reason}}' }],
    }),
    timeline({
      title: 'Eligible endpoints',
      description: 'Whether the gateway may route requests to the endpoint.',
      width: 8,
      height: 8,
      words: YES_IS_GOOD,
      queries: [
        {
          expr: `max by (network, endpoint) (heartline_gateway_eligible{${BY_NETWORK}})`,
          legend: '{{network}}/{{endpoint}}',
        },
      ],
    }),
  ],
}
