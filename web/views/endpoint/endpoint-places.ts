import type { EndpointView, NetworkView, VantageView } from '../../../src/http/wire/status.ts'
import { shardName, ticking } from '../endpoint-row.ts'
import { count, latency, unbroken, type Zone } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { mark } from '../mark.ts'
import { worstHead } from '../model.ts'
import { headWords, WORDS } from '../words.ts'
import { ENDPOINT } from '../words-endpoint.ts'

/** What each place of a cluster sees of the endpoint, side by side; nothing if there is only one. */
export function placesSection({ endpoint, network, zone, nowMs }: Placed): TemplateResult | typeof nothing {
  const { vantages, confirmed_by: agreeing } = endpoint
  if (vantages.length < 2) return nothing
  // The public sees no figures.
  const hasFigures = vantages.some(({ heads = [], latency_seconds: took }) => heads.length > 0 || took !== null)
  return html`
    <section class="panel vantages" aria-labelledby="vantages">
      <h2 id="vantages">${ENDPOINT.places} <small>${ENDPOINT.agreeing(agreeing, vantages.length)}</small></h2>
      <div class="chart-scroll" tabindex="0" role="group" aria-labelledby="vantages">
        <table class="chart-table">
          <thead>
            <tr>
              <th scope="col">${ENDPOINT.place}</th>
              <th scope="col">${ENDPOINT.state}</th>
              <th scope="col" class="n">${ENDPOINT.lasted}</th>
              ${hasFigures ? figureHeads() : nothing}
              <th scope="col" class="n">${ENDPOINT.lastPoll}</th>
              <th scope="col">${ENDPOINT.counted}</th>
            </tr>
          </thead>
          <tbody>
            ${vantages.map((of) => row(of, { hasFigures, network, zone, nowMs }))}
          </tbody>
        </table>
      </div>
    </section>
  `
}

interface Placed {
  readonly endpoint: EndpointView
  readonly network: Pick<NetworkView, 'halted'> | undefined
  readonly zone: Zone
  readonly nowMs: number
}

function row(
  of: VantageView,
  { hasFigures, network, zone, nowMs }: Omit<Placed, 'endpoint'> & { readonly hasFigures: boolean },
): TemplateResult {
  const { vantage, state, since, conditions, last_polled_at: polled, counted } = of
  return html`<tr class=${state}>
    <th scope="row">${vantage}</th>
    <td>${mark(state)} <b>${WORDS.states[state]}</b>${conditions.map(({ message }) => html` <small>${unbroken(message)}</small>`)}</td>
    <td class="n">${ticking(since, zone, nowMs)}</td>
    ${hasFigures ? figures(of, network) : nothing}
    <td class="n">${polled === null ? ENDPOINT.never : html`${ticking(polled, zone, nowMs)} ${ENDPOINT.ago}`}</td>
    <td>${counted ? ENDPOINT.yes : html`<span class="quiet">${ENDPOINT.notCounted}</span>`}</td>
  </tr>`
}

function figureHeads(): TemplateResult {
  return html`
    <th scope="col" class="n">${ENDPOINT.latency}</th>
    <th scope="col" class="n">${ENDPOINT.height}</th>
    <th scope="col" class="n">${ENDPOINT.lag}</th>
  `
}

function figures({ heads = [], latency_seconds: took }: VantageView, network: Placed['network']): TemplateResult {
  const head = worstHead({ heads })
  const lag = head?.lag_blocks ?? null
  return html`
    <td class="n">${took === null ? WORDS.none : latency(took)}</td>
    <td class="n">${head === undefined ? WORDS.none : html`${head.shard === null ? nothing : shardName(head.shard)} ${count(head.height)}`}</td>
    <td class="n">${lag === null ? WORDS.none : lag === 0 ? headWords(network) : count(lag)}</td>
  `
}
