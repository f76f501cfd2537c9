import type { GatewayView } from '../../src/http/wire/gateway.ts'
import type { StatusView } from '../../src/http/wire/status.ts'
import { fine } from './figures.ts'
import { count, latency } from './format.ts'
import { html, nothing, svg, type TemplateResult } from './lit.ts'
import { endpointMark } from './mark.ts'
import { endpointPath, networkPath } from './route.ts'
import { GATEWAY_WORDS } from './words-gateway.ts'
import { exclusionOf, exclusionText, ROUTING_WORDS } from './words-routing.ts'

/** The routing order of one network, why endpoints are excluded, and the outcome of its requests. */
export function gatewayNetwork(network: Network, status: StatusView | null): TemplateResult {
  const { name, endpoints, traffic } = network
  const of = status?.networks.find((one) => one.name === name)
  const id = `gateway-${name}`
  const shares = sharesOf(endpoints.map(({ answered }) => answered))
  const shown = new Map(of?.endpoints.map((endpoint) => [endpoint.name, endpoint]))
  const eligible = endpoints.filter((endpoint) => exclusionOf(endpoint, shown.get(endpoint.name)?.state) === null)
  return html`
    <section class="card wide" aria-labelledby=${id}>
      <h2 id=${id}>
        <a href=${networkPath(name)}>${of?.title ?? name}</a> <small>${GATEWAY_WORDS.order.toLowerCase()}</small>
      </h2>
      ${eligible.length === 0 ? html`<p class="bad">${ROUTING_WORDS.noneHealthy}</p>` : nothing}
      <div class="scroll" tabindex="0" role="region" aria-label="${of?.title ?? name}: ${GATEWAY_WORDS.order}">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">${GATEWAY_WORDS.endpoint}</th>
              <th scope="col">${GATEWAY_WORDS.place}</th>
              <th scope="col" class="share">${GATEWAY_WORDS.share}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.latency}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.attempts}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.failedAttempts}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.inFlightColumn}</th>
            </tr>
          </thead>
          <tbody>
            ${endpoints.map((endpoint, place) => {
              const current = shown.get(endpoint.name)
              const excluded = exclusionOf(endpoint, current?.state)
              return html`<tr class=${excluded === null ? '' : 'out'}>
                <th scope="row">
                  ${current === undefined ? nothing : endpointMark(current)}
                  <a href=${endpointPath(name, endpoint.name)}>${current?.title ?? endpoint.name}</a>
                  ${endpoint.tier === 'fallback' ? html`<small>${ROUTING_WORDS.fallback}</small>` : nothing}
                </th>
                <td data-label=${GATEWAY_WORDS.place}>${standing(excluded, eligible.indexOf(endpoint))}</td>
                <td class="share" data-label=${GATEWAY_WORDS.share}>${share(shares[place] ?? null)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.latency}>${endpoint.latency_seconds === null ? '–' : latency(endpoint.latency_seconds)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.attempts}>${count(endpoint.attempts)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.failedAttempts}>${quietZero(endpoint.attempts - endpoint.answered)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.inFlightColumn}>${quietZero(endpoint.in_flight)}</td>
              </tr>`
            })}
          </tbody>
        </table>
      </div>
      ${besides(traffic)} ${traffic.operations.length === 0 ? html`<p class="quiet">${GATEWAY_WORDS.nothing}</p>` : operations(network, of?.title ?? name)}
    </section>
  `
}

type Network = GatewayView['networks'][number]

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
    [GATEWAY_WORDS.rejections, rejections.map(({ reason, count: many }) => GATEWAY_WORDS.rejection(many, reason))],
  ] as const
  return html`${lines
    .filter(([, texts]) => texts.length > 0)
    .map(([title, texts]) => html`<p class="besides"><b>${title}:</b> ${texts.join(', ')}.</p>`)}`
}

function operations({ traffic }: Network, title: string): TemplateResult {
  return html`
    <details class="behind" open>
      <summary>${GATEWAY_WORDS.operations}</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="${title}: ${GATEWAY_WORDS.operations}">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">${GATEWAY_WORDS.operation}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.figures.requests}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.answered}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.nodeErrors}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.figures.failed}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.figures.rejected}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.time}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.p99Column}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.overhead}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.p99Column}</th>
            </tr>
          </thead>
          <tbody>
            ${traffic.operations.map(
              (operation) => html`<tr>
                <th scope="row">${operationName(operation.name)}</th>
                <td class="n" data-label=${GATEWAY_WORDS.figures.requests}>${count(operation.requests)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.answered}>${quietZero(operation.answered)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.nodeErrors}>${quietZero(operation.node_errors)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.figures.failed}>${operation.failed === 0 ? quietZero(0) : html`<b class="bad">${count(operation.failed)}</b>`}</td>
                <td class="n" data-label=${GATEWAY_WORDS.figures.rejected}>${quietZero(operation.refused)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.time}>${fine(operation.duration.p50_seconds)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.p99Column}>${fine(operation.duration.p99_seconds)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.overhead}>${fine(operation.overhead.p50_seconds)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.p99Column}>${fine(operation.overhead.p99_seconds)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
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
