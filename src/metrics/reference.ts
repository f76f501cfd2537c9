import { METRIC_NAMES, METRICS, PREFIX } from './registry.ts'

/** The page `docs/metrics.md`, from the table of metrics. */
export function metricsReference(): string {
  const rows = METRIC_NAMES.map((name) => {
    const { type, labels, help } = METRICS[name]
    return `| \`${PREFIX}${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`
  })
  return `${INTRODUCTION}\n| metric | type | labels | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

const INTRODUCTION = `# Metrics

<!-- Generated from src/metrics/registry.ts: npm run docs -->

\`GET /metrics\` answers in the Prometheus text format 0.0.4, compressed with gzip when asked.

- Times are Unix times in seconds, never ages: \`time() - heartline_check_last_run_timestamp_seconds\` is the age.
- What is not known is absent. An endpoint that was not polled yet, or whose latest result is older than two intervals, has
  no \`heartline_endpoint_up\` and no height; it has \`heartline_endpoint_state{state="unknown"} 1\`.
- Labels come from the configuration; \`node_check\` alone is the node's word, cut to 128 printable characters. No label
  holds a URL or a key. \`shard\` is empty where the chain is not sharded.
- The series of an endpoint that was removed from the configuration are gone at the next scrape.
- Histograms have the buckets 5, 10, 25, 50, 100, 250 and 500 ms, 1, 2.5, 5 and 10 s.
- Requests that come within a second share one rendering.

Beside these there are the \`process_…\` and \`nodejs_…\` metrics of prom-client, except three that misuse the suffix \`_total\`.
`
