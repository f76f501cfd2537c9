import { ASKED_OUTCOMES, FAILED_OUTCOMES } from '../alerts/gateway-alerts.ts'
import { THRESHOLDS } from '../thresholds.ts'
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
  description: 'What callers get: rate, errors, duration; and whose answers they are.',
  choices: ['network'],
  panels: [
    stat({
      title: 'Requests a second',
      description: 'Of callers, each element of a batch by itself.',
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
          expr: `(${rateBy('network', 'requests_total', `,outcome=~"${FAILED_OUTCOMES}"`)} or ${rateBy('network', 'requests_total')} * 0) / ${rateBy('network', 'requests_total', `,outcome=~"${ASKED_OUTCOMES}"`)}`,
          legend: '{{network}}',
        },
      ],
    }),
    stat({
      title: 'At work',
      description: 'HTTP requests that wait for their answer.',
      unit: 'none',
      width: 8,
      height: 5,
      queries: [
        { expr: `sum by (network) (heartline_gateway_requests_in_flight{${BY_NETWORK}})`, legend: '{{network}}' },
      ],
    }),
    graph({
      title: 'Rate by operation',
      description: 'Requests a second.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, operation', 'requests_total'), legend: '{{network}} {{operation}}' }],
    }),
    graph({
      title: 'Rate by outcome',
      description: 'What became of requests.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, outcome', 'requests_total'), legend: '{{network}} {{outcome}}' }],
    }),
    graph({
      title: 'Rate by caller',
      description: 'Who asks.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, caller', 'requests_total'), legend: '{{network}} {{caller}}' }],
    }),
    graph({
      title: 'Duration',
      description: 'From the first byte of a request to its answer, and from where on that is slow.',
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
          legend: '{{network}}: slow from',
        },
      ],
    }),
    graph({
      title: 'Overhead',
      description: 'How much of that was our own time, not waiting for nodes.',
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
      description: 'Whom the gateway asks.',
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
      title: 'Attempts that were no answer',
      description: 'By endpoint and what came instead; bad-answer was thrown away.',
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
      title: 'Another endpoint asked',
      description: 'Retries by reason.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, reason', 'retries_total'), legend: '{{network}} {{reason}}' }],
    }),
    graph({
      title: 'Answered from memory',
      description: 'The share of requests that can be cached and were, and requests that shared another one’s answer.',
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
      title: 'Refused',
      description: 'Requests to which the gateway itself said no; those without a network are not among them.',
      unit: 'reqps',
      width: 8,
      height: 8,
      stacked: true,
      queries: [{ expr: rateBy('network, reason', 'rejections_total'), legend: '{{network}} {{reason}}' }],
    }),
    timeline({
      title: 'May be chosen',
      description: 'Whether the gateway may choose the endpoint.',
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
