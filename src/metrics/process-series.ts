import { collectDefaultMetrics, Registry } from 'prom-client'

/** prom-client's gauges that end in `_total`, which promtool rejects with good reason. */
const REJECTED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

let registry: Registry | null = null

/** The process and Node.js metrics of prom-client. They watch the whole process, so there is one set of them. */
export async function renderProcess(): Promise<string> {
  if (registry === null) {
    registry = new Registry()
    collectDefaultMetrics({ register: registry })
    for (const name of REJECTED) registry.removeSingleMetric(name)
  }
  return registry.metrics()
}
