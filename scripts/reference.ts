import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { ConfigFile } from '../src/config/schema.ts'
import { FAILURE_KINDS } from '../src/core/failure.ts'
import { CONDITION_CODES, STATES } from '../src/core/verdict/condition.ts'
import { METRICS, type MetricRow, PREFIX, PROBE_METRICS } from '../src/metrics/registry.ts'

/** Writes the generated parts of `docs/configuration.md` and `docs/metrics.md`: `npm run docs`. */

/** Generates `docs/metrics.md` from the registry. */
export function metricsReference(): string {
  return `${INTRODUCTION}\n${tableOf(METRICS)}\n${PROBE}\n${tableOf(PROBE_METRICS)}`
}

function tableOf(metrics: Readonly<Record<string, MetricRow>>): string {
  const rows = Object.entries(metrics).map(
    ([name, { type, labels, help }]) =>
      `| \`${PREFIX}${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |\n`,
  )
  return `| metric | type | labels | meaning |\n|---|---|---|---|\n${rows.join('')}`
}

const INTRODUCTION = `# Metrics

<!-- Generated from src/metrics/registry.ts: npm run docs -->

\`GET /metrics\` answers in the Prometheus text format 0.0.4, or in OpenMetrics 1.0.0 when \`Accept\` names that format, as
Prometheus does; with gzip if the client accepts it. Both formats have the same series.

- Times are Unix times in seconds, never ages: \`time() - heartline_check_last_run_timestamp_seconds\` is the age.
- Unknown values are absent. An endpoint that was not polled yet, or whose latest result is older than two intervals, has
  no \`heartline_endpoint_up\` and no height; it has \`heartline_endpoint_state{state="unknown"} 1\`.
- Labels come from the configuration. Only \`node_check\` comes from the node, cut to 128 printable characters. No label
  contains a URL or a key. \`shard\` is empty for chains without shards.
- \`metrics.labels: [region]\` adds \`label_region\`, from \`networks[].endpoints[].labels\`, to the series of endpoints (\`endpoint_…\`, \`node_…\`,
  \`vantage_state\`, and \`check_…\` with the label \`endpoint\`), not to those of networks and of the gateway. It is empty where an endpoint has no such label.
  Another value makes new series, so choose labels that rarely change. The rules of \`grafana/\` do not compare these labels.
- When an endpoint is removed from the configuration, its series are gone at the next scrape.
- Counters exist from 0 on, except four with too many combinations of labels: \`heartline_check_failures_total\` (${FAILURE_KINDS.length} reasons for each
  check: ${2 * FAILURE_KINDS.length} more series for an endpoint that has 56), \`heartline_gateway_requests_total\`, \`heartline_gateway_attempts_total\` and
  \`heartline_http_requests_total\`. Their series appear with the first event, which \`increase\` does not count. With
  \`x\` for such a counter, \`(x unless x offset 15m) or increase(x[15m])\` does.
- Histograms have the buckets 5, 10, 25, 50, 100, 250 and 500 ms, 1, 2.5, 5 and 10 s; those of the gateway have finer ones.
- Concurrent scrapes share one rendering: they have the same values. The lines of \`heartline_endpoint_state\` and
  \`heartline_endpoint_condition\` become text only while they are sent. With 10,000 endpoints a scrape has 54 MB, takes 2 to 6 s on a slow
  machine and, compressed, 25 MiB of memory ([bench/README.md](../bench/README.md)): leave room for it in \`scrape_timeout\`.
- In a cluster, each member has the verdicts, heights and node reports of all endpoints. The latest results of checks (\`heartline_check_…\`
  gauges) are only at the member that polls the network, and counters are those of one member: sum them.

An endpoint of an avalanche node with six checks of its own has 56 series. ${STATES.length + CONDITION_CODES.length} of them are the states and conditions, of which one or two
are 1; \`metrics.sparse: true\` leaves out those that are 0. The rules and dashboards of \`grafana/\` work with both forms. Check your own
queries first: \`== 1\` and \`unless … == 1\` work with both; \`== 0\`, arithmetic and averages over time need a 0 for the missing series:
\`heartline_endpoint_condition{condition="lagging"} or on (network, endpoint) 0 * heartline_endpoint_up\`.

No rule, dashboard or runbook uses \`heartline_check_success\`, \`heartline_check_last_success_timestamp_seconds\` and
\`heartline_endpoint_block_timestamp_seconds\`: drop them with \`metric_relabel_configs\` if Prometheus is short of memory.

The \`process_…\` and \`nodejs_…\` metrics of prom-client are there too, except three gauges that end in \`_total\`.
Except \`nodejs_eventloop_lag_seconds\`, the \`nodejs_eventloop_lag_…\` metrics cover the time since the last scrape. Without a measurement, as at
the first scrape, they are absent.
`

const PROBE = `## One endpoint, now: \`/probe\`

\`GET /probe?target=NETWORK/ENDPOINT\` polls that endpoint and answers with its metrics: those above with the labels \`network\` and
\`endpoint\`, as this poll found them. It works like blackbox_exporter, for configured endpoints only. The poll is not part of the schedule:
it changes no verdict, counter, history or incident. Counters in the answer are therefore those of scheduled polls, and \`forked\` is as
they found it.

\`X-Prometheus-Scrape-Timeout-Seconds\`, less half a second, limits the duration of the probe (10 s without that header), and \`poll.timeout\` that of each
check. Probes use at most half of \`poll.concurrency\` and \`concurrency_per_host\`. The answer is 503, and the node gets no request, when
there is no room in time or the node limits our rate (429). Concurrent probes of one endpoint share one poll.

\`&debug=true\` shows every step: the request, the response (without configured secrets), its duration, and the findings. \`GET /sd\` lists all
endpoints as targets for Prometheus's HTTP service discovery. Both require \`server.token\` if one is configured. Besides the
metrics above, a probe has:
`

interface Described {
  readonly kind?: string
  readonly defaultText?: string
  readonly description?: string
  readonly type?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Described>>
  readonly required?: readonly string[]
  readonly items?: Described
  readonly additionalProperties?: Described | boolean
}

/** The table of every key for `docs/configuration.md`, in the order of the schema. */
export function configTable(): string {
  const root = z.toJSONSchema(ConfigFile, { io: 'input' }) as Described
  const rows = rowsOf(root, '')
  return ['| key | type | default | description |', '|---|---|---|---|', ...rows].join('\n')
}

function rowsOf(node: Described, prefix: string): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const path = `${prefix}${key}`
    const required = node.required?.includes(key) ?? false
    const row = `| \`${path}\` | ${cell(typeOf(child))} | ${cell(defaultOf(child, required))} | ${cell(child.description ?? '')} |`
    const nested = child.type === 'array' ? child.items : child
    return [row, ...rowsOf(nested ?? {}, child.type === 'array' ? `${path}[].` : `${path}.`)]
  })
}

function typeOf(node: Described): string {
  if (node.type === 'array')
    return node.items?.properties ? 'list of mappings' : `list of ${node.items?.kind ?? 'texts'}`
  if (node.properties !== undefined) return 'mapping'
  if (typeof node.additionalProperties === 'object') return `mapping of ${node.additionalProperties.kind ?? 'texts'}`
  return node.kind ?? node.type ?? ''
}

function defaultOf(node: Described, required: boolean): string {
  if (node.defaultText !== undefined) return node.defaultText
  if (node.properties !== undefined && node.default !== undefined) return ''
  if (node.default !== undefined) return `\`${JSON.stringify(node.default).replaceAll('"', '')}\``
  return required ? '**required**' : 'none'
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

const BEGIN = '<!-- The table is generated from src/config/schema.ts: npm run docs -->'
const END = '<!-- End of the generated table -->'

/** Replaces the table in the page. */
export function withConfigTable(page: string): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin) throw new Error('docs/configuration.md lacks the markers of its table')
  return `${page.slice(0, begin + BEGIN.length)}\n\n${configTable()}\n\n${page.slice(end)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('../docs/metrics.md', import.meta.url), metricsReference())
  const page = new URL('../docs/configuration.md', import.meta.url)
  writeFileSync(page, withConfigTable(readFileSync(page, 'utf8')))
}
