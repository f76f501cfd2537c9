import { collectDefaultMetrics, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client'
import { labelValue } from './endpoint-labels.ts'
import { type Format, headerLines } from './exposition-format.ts'
import { boundLabel } from './histogram.ts'

/** Gauges of prom-client whose names end in `_total`, which promtool rejects. */
const REJECTED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

let registry: Registry | null = null

/** The process and Node.js metrics of prom-client. They cover the whole process, so there is one registry. */
export async function renderProcess(format: Format): Promise<string> {
  if (registry === null) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
    for (const name of REJECTED) registry.removeSingleMetric(name)
  }
  const metrics: readonly Metric[] = await registry.getMetricsAsJSON()
  const mean = metrics.find(({ name }) => name === 'nodejs_eventloop_lag_mean_seconds')
  const hasObservations = mean?.values.some(({ value }) => !Number.isNaN(value)) === true
  return metrics
    .filter(({ name }) => hasObservations || !OBSERVED.test(name))
    .map((metric) => rendered(metric, format))
    .join('')
}

type Metric = MetricObjectWithValues<MetricValue<string> & { metricName?: string }>

/**
 * Metrics of the event loop's lag since the last scrape. Without observations, prom-client's minimum is 292 years and its
 * maximum 0. The lag at the scrape itself is always known.
 */
const OBSERVED = /^nodejs_eventloop_lag_(?!seconds$)/

/** Omits NaN, the quantile of no observations: unknown values are absent. */
function rendered({ name, help, type, values }: Metric, format: Format): string {
  const lines = values
    .filter(({ value }) => !Number.isNaN(value))
    .map(({ metricName, labels, value }) => `${metricName ?? name}${labelsOf(labels)} ${value}\n`)
  return lines.length === 0 ? '' : headerLines(name, String(type), help, format) + lines.join('')
}

function labelsOf(labels: MetricValue<string>['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => {
    const text = label === 'le' && typeof value === 'number' ? boundLabel(value) : String(value)
    return `${label}="${labelValue(text)}"`
  })
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
