import type { GatewayView } from '../../../src/http/wire/gateway.ts'
import type { EndpointView, StatusView } from '../../../src/http/wire/status.ts'
import { dataTable } from '../data-table.ts'
import { fine } from '../figures.ts'
import { count, latency } from '../format.ts'
import { html, nothing, svg, type TemplateResult } from '../lit.ts'
import { endpointMark } from '../mark.ts'
import { endpointPath, networkPath } from '../route.ts'
import { exclusionOf, exclusionText, ROUTING_WORDS } from '../words-routing.ts'
import { GATEWAY_WORDS } from './words-gateway.ts'

/** The routing order of one network, why endpoints are excluded, and the outcome of its requests. */
export function gatewayNetwork(network: Network, status: StatusView | null): TemplateResult {
  const { name, endpoints, traffic } = network
  const of = status?.networks.find((one) => one.name === name)
  const id = `gateway-${name}`
  const shares = sharesOf(endpoints.map(({ answered }) => answered))
  const shown = new Map(of?.endpoints.map((endpoint) => [endpoint.name, endpoint]))
  const excluded = (endpoint: Routed) => exclusionOf(endpoint, shown.get(endpoint.name)?.state)
  const eligible = endpoints.filter((endpoint) => excluded(endpoint) === null)
  const title = of?.title ?? name
  return html`
    <section class="card wide" aria-labelledby=${id}>
      <h2 id=${id}>
        <a href=${networkPath(name)}>${title}</a> <small>${GATEWAY_WORDS.order.toLowerCase()}</small>
      </h2>
      ${eligible.length === 0 ? html`<p class="bad">${ROUTING_WORDS.noneHealthy}</p>` : nothing}
      ${dataTable(
        `${title}: ${GATEWAY_WORDS.order}`,
        endpoints,
        [
          [GATEWAY_WORDS.endpoint, (endpoint) => named(endpoint, name, shown.get(endpoint.name)), 'head'],
          [GATEWAY_WORDS.place, (endpoint) => standing(excluded(endpoint), eligible.indexOf(endpoint))],
          [GATEWAY_WORDS.share, (_, at) => share(shares[at] ?? null), 'share'],
          [GATEWAY_WORDS.latency, ({ latency_seconds: took }) => (took === null ? '–' : latency(took)), 'n'],
          [GATEWAY_WORDS.attempts, ({ attempts }) => count(attempts), 'n'],
          [GATEWAY_WORDS.failedAttempts, ({ attempts, answered }) => quietZero(attempts - answered), 'n'],
          [GATEWAY_WORDS.inFlightColumn, ({ in_flight: inFlight }) => quietZero(inFlight), 'n'],
        ],
        (endpoint) => (excluded(endpoint) === null ? nothing : 'out'),
      )}
      ${besides(traffic)} ${traffic.operations.length === 0 ? html`<p class="quiet">${GATEWAY_WORDS.nothing}</p>` : operations(network, title)}
    </section>
  `
}

type Network = GatewayView['networks'][number]
type Routed = Network['endpoints'][number]

function named({ name, tier }: Routed, network: string, shown: EndpointView | undefined): TemplateResult {
  return html`${shown === undefined ? nothing : endpointMark(shown)}
    <a href=${endpointPath(network, name)}>${shown?.title ?? name}</a>
    ${tier === 'fallback' ? html`<small>${ROUTING_WORDS.fallback}</small>` : nothing}`
}

function standing(excluded: string | null, place: number): TemplateResult {
  if (excluded !== null) {
    return html`<span class="why"><span class="code">${excluded}</span> ${exclusionText(excluded)}</span>`
  }
  const nth = ROUTING_WORDS.nth(place + 1)
  return place === 0 ? html`<b>${nth}</b>` : html`${nth}`
}

/** Whole percentages that add up to 100: the largest remainders are rounded up. Empty without answers. */
function sharesOf(answered: readonly number[]): readonly number[] {
  const all = answered.reduce((sum, one) => sum + one, 0)
  if (all === 0) return []
  const exact = answered.map((one) => (100 * one) / all)
  const whole = exact.map(Math.floor)
  const missing = 100 - whole.reduce((sum, one) => sum + one, 0)
  const remainders = exact.map((one, at) => ({ at, rest: one - Math.floor(one) })).sort((a, b) => b.rest - a.rest)
  const raised = new Set(remainders.slice(0, missing).map(({ at }) => at))
  return whole.map((one, at) => (raised.has(at) ? one + 1 : one))
}

function share(percent: number | null): TemplateResult {
  if (percent === null) return html`–`
  return html`<span class="part"
    ><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect class="ground" width="100" height="8" />${svg`<rect class="got" width=${percent} height="8" />`}</svg
    ><span>${percent} %</span></span
  >`
}

/** Lines that are only shown if there is something to report. */
function besides({ retries, coalesced, least_bad: leastBad, rejections }: Network['traffic']): TemplateResult {
  const { retries: texts } = GATEWAY_WORDS
  const retried = (['failed', 'absent', 'behind'] as const).filter((one) => retries[one] > 0)
  const lines = [
    [GATEWAY_WORDS.figures.retries, retried.map((one) => texts[one](retries[one]))],
    [GATEWAY_WORDS.coalesced, coalesced > 0 ? [GATEWAY_WORDS.coalescedText(coalesced)] : []],
    [GATEWAY_WORDS.leastUnhealthy, leastBad > 0 ? [GATEWAY_WORDS.leastUnhealthyText(leastBad)] : []],
    [GATEWAY_WORDS.notAnswered, rejections.map(({ reason, count: many }) => GATEWAY_WORDS.rejection(many, reason))],
  ] as const
  return html`${lines
    .filter(([, texts]) => texts.length > 0)
    .map(([title, texts]) => html`<p class="besides"><b>${title}:</b> ${texts.join(', ')}.</p>`)}`
}

function operations({ traffic }: Network, title: string): TemplateResult {
  return html`
    <details class="behind" open>
      <summary>${GATEWAY_WORDS.operations}</summary>
      ${dataTable(`${title}: ${GATEWAY_WORDS.operations}`, traffic.operations, [
        [GATEWAY_WORDS.operation, ({ name }) => operationName(name), 'head'],
        [GATEWAY_WORDS.figures.requests, ({ requests }) => count(requests), 'n'],
        [GATEWAY_WORDS.answered, ({ answered }) => quietZero(answered), 'n'],
        [GATEWAY_WORDS.nodeErrors, ({ node_errors: errors }) => quietZero(errors), 'n'],
        [
          GATEWAY_WORDS.figures.failed,
          ({ failed }) => (failed === 0 ? quietZero(0) : html`<b class="bad">${count(failed)}</b>`),
          'n',
        ],
        [GATEWAY_WORDS.figures.rejected, ({ refused }) => quietZero(refused), 'n'],
        [GATEWAY_WORDS.time, ({ duration }) => fine(duration.p50_seconds), 'n'],
        [GATEWAY_WORDS.p99Column, ({ duration }) => fine(duration.p99_seconds), 'n'],
        [GATEWAY_WORDS.overhead, ({ overhead }) => fine(overhead.p50_seconds), 'n'],
        [GATEWAY_WORDS.p99Column, ({ overhead }) => fine(overhead.p99_seconds), 'n'],
      ])}
    </details>
  `
}

function operationName(name: string): TemplateResult {
  const meaning = GATEWAY_WORDS.operationMeanings.get(name)
  return meaning === undefined ? html`${name}` : html`<span title=${meaning}>${name}</span>`
}

function quietZero(value: number): TemplateResult {
  return value === 0 ? html`<span class="quiet">0</span>` : html`${count(value)}`
}
