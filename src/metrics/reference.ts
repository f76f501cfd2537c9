import { METRICS, type MetricRow, PREFIX, PROBE_METRICS } from './registry.ts'

/** The page `docs/metrics.md`, from the tables of metrics. */
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

\`GET /metrics\` answers in the Prometheus text format 0.0.4, or in OpenMetrics 1.0.0 where \`Accept\` asks for that by name, as
Prometheus does; compressed with gzip when asked. The series are the same in both.

- Times are Unix times in seconds, never ages: \`time() - heartline_check_last_run_timestamp_seconds\` is the age.
- What is not known is absent. An endpoint that was not polled yet, or whose latest result is older than two intervals, has
  no \`heartline_endpoint_up\` and no height; it has \`heartline_endpoint_state{state="unknown"} 1\`.
- Labels come from the configuration; \`node_check\` alone is the node's word, cut to 128 printable characters. No label
  holds a URL or a key. \`shard\` is empty where the chain is not sharded.
- The series of an endpoint that was removed from the configuration are gone at the next scrape.
- Histograms have the buckets 5, 10, 25, 50, 100, 250 and 500 ms, 1, 2.5, 5 and 10 s.
- Requests that come while one is being rendered share it.

Beside these there are the \`process_…\` and \`nodejs_…\` metrics of prom-client, except three that misuse the suffix \`_total\`.
`

const PROBE = `## One endpoint, now: \`/probe\`

\`GET /probe?target=NETWORK/ENDPOINT\` polls that endpoint and answers with its metrics alone, those above with the labels
\`network\` and \`endpoint\`, as this one poll found them; in the manner of blackbox_exporter, and of configured endpoints only.
It is beside the schedule: a single poll decides, and nothing else comes of it, no verdict, count, history or incident.
Counters are therefore those of the schedule's polls, and \`forked\` is as they found it. A scraper's
\`X-Prometheus-Scrape-Timeout-Seconds\`, less half a second, bounds it (10 s without), and \`poll.timeout\` each check. It
takes up to half of the places that \`poll.concurrency\` and \`concurrency_per_host\` allow; where none is free in time, or the
node wants to be left alone (429), the answer is 503 and nobody was asked. Probes of an endpoint that come together share one poll.

\`&debug=true\` tells a person every step: what was sent, what came back (what is configured as secret is taken out), how long it
took, and what was found. \`GET /sd\` lists all endpoints as targets for Prometheus's HTTP service discovery. Both are
private where there is a \`server.token\`. Beside the metrics above a probe has:
`
