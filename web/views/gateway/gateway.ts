import type { GatewayView } from '../../../src/http/wire/gateway.ts'
import { padded, smallCharts } from '../charts/small-charts.ts'
import { ticking } from '../endpoint-row.ts'
import { type Figure, figures, fine } from '../figures.ts'
import { count, percent } from '../format.ts'
import { grafanaPath } from '../grafana.ts'
import { guard, html, nothing, type TemplateResult } from '../lit.ts'
import { defineView, type Model } from '../view.ts'
import { gatewayCallers } from './gateway-callers.ts'
import { gatewayNetwork } from './gateway-network.ts'
import { GATEWAY_WORDS } from './words-gateway.ts'

/** The gateway: requests, routing order, overhead, callers. */
export const view = defineView<GatewayView>({
  title: ({ brand }) => `${GATEWAY_WORDS.title} · ${brand.title}`,
  load: (sources) => sources.gateway(),
  draw: (model) => (model.data.enabled ? draw(model) : off()),
  refreshMs: 5000,
  hasStyle: true,
})

function off(): TemplateResult {
  return html`
    <header class="subject"><h1 tabindex="-1">${GATEWAY_WORDS.title}</h1><p>${GATEWAY_WORDS.off}</p></header>
    <section class="card off">
      <p>${GATEWAY_WORDS.offMeaning}</p>
      <pre tabindex="0" role="region" aria-label=${GATEWAY_WORDS.off}>${GATEWAY_WORDS.offExample}</pre>
      <p>${GATEWAY_WORDS.offAfter}</p>
    </section>
  `
}

function draw({ data, status, settings, nowMs }: Model<GatewayView>): TemplateResult {
  const { started_at: startedAt, requests_in_flight: inFlight } = data
  return html`
    <header class="subject">
      <h1 tabindex="-1">${GATEWAY_WORDS.title}</h1>
      <p>${GATEWAY_WORDS.inFlight(inFlight)}</p>
      <p class="quiet">${GATEWAY_WORDS.since} ${ticking(startedAt, settings.zone, nowMs)} ${GATEWAY_WORDS.ago}</p>
    </header>
    <div class="sheet">
      <section class="card wide" aria-labelledby="requests">
        <h2 id="requests">${GATEWAY_WORDS.charts}</h2>
        ${figures(totals(data))}
        ${guard([data, settings.zone], () =>
          smallCharts(
            padded({
              id: 'requests-chart',
              title: GATEWAY_WORDS.charts,
              startMs: Date.parse(data.course.from),
              stepMs: data.course.step_seconds * 1000,
              cells: data.course.requests.length,
              zone: settings.zone,
              grafana: grafanaPath(data.grafana_url, 'gateway', {
                fromMs: Date.parse(data.course.from),
                toMs: Date.parse(data.course.from) + data.course.requests.length * data.course.step_seconds * 1000,
              }),
              panels: [
                { name: GATEWAY_WORDS.requestsChart, values: data.course.requests, write: count },
                { name: GATEWAY_WORDS.failedChart, values: data.course.failed, write: count, limit: 1 },
              ],
            }),
          ),
        )}
      </section>
      ${data.networks.map((network) => gatewayNetwork(network, status))}
      ${gatewayCallers(data, settings.zone)}
      ${
        data.unplaced === 0
          ? nothing
          : html`<p class="quiet wide">${GATEWAY_WORDS.notAnswered}: ${GATEWAY_WORDS.unplaced(data.unplaced)}</p>`
      }
    </div>
  `
}

type Traffic = GatewayView['networks'][number]['traffic']

/** Totals of all networks. Quantiles cannot be added, so the overhead is that of the busiest and the slowest network. */
function totals({ networks }: GatewayView): Figure[] {
  const sum = (of: (traffic: Traffic) => number) => networks.reduce((total, { traffic }) => total + of(traffic), 0)
  const { figures: names } = GATEWAY_WORDS
  const requests = sum((traffic) => traffic.requests)
  const failed = sum((traffic) => traffic.failed)
  const refused = sum((traffic) => traffic.refused)
  const [hits, misses] = [sum(({ cache }) => cache.hits), sum(({ cache }) => cache.misses)]
  const slowest = networks.reduce<Traffic | null>(
    (worst, { traffic }) =>
      (traffic.overhead.p99_seconds ?? -1) > (worst?.overhead.p99_seconds ?? -1) ? traffic : worst,
    null,
  )
  const busiest = networks.reduce<Traffic | null>(
    (most, { traffic }) => (traffic.overhead.count > (most?.overhead.count ?? 0) ? traffic : most),
    null,
  )
  return [
    { name: names.requests, value: count(requests) },
    {
      name: names.failed,
      value: count(failed),
      beside: failed === 0 ? GATEWAY_WORDS.figures.failedMeaning : percent(failed / requests, 2),
      tone: failed > 0 ? 'down' : undefined,
    },
    { name: names.rejected, value: count(refused) },
    {
      name: names.overhead,
      value: fine(busiest?.overhead.p50_seconds ?? null),
      beside: GATEWAY_WORDS.p99(fine(slowest?.overhead.p99_seconds ?? null)),
    },
    { name: names.retries, value: count(sum(({ retries }) => retries.failed + retries.absent + retries.behind)) },
    {
      name: names.cache,
      value: hits + misses === 0 ? '–' : percent(hits / (hits + misses), 2),
      beside: GATEWAY_WORDS.lookups(hits + misses),
    },
  ]
}
