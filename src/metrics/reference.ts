import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { METRICS, type MetricRow, PREFIX, PROBE_METRICS } from './registry.ts'

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
- When an endpoint is removed from the configuration, its series are gone at the next scrape.
- Histograms have the buckets 5, 10, 25, 50, 100, 250 and 500 ms, 1, 2.5, 5 and 10 s; those of the gateway have finer ones.
- Concurrent scrapes share one rendering.

The \`process_…\` and \`nodejs_…\` metrics of prom-client are there too, except three gauges that end in \`_total\`.
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

// Run by `npm run docs`.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('../../docs/metrics.md', import.meta.url), metricsReference())
}
