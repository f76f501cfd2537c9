import type { RoutingView } from '../../../src/http/wire/gateway.ts'
import type { EndpointView } from '../../../src/http/wire/status.ts'
import { latency, unbroken } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { endpointMark, mark } from '../mark.ts'
import { endpointPath } from '../route.ts'
import { exclusionOf, exclusionText, ROUTING_WORDS } from '../words-routing.ts'
import { NETWORK } from './words-network.ts'

/** The endpoints in the order in which the gateway would try them now, and why the others are excluded. */
export function routingOrder(routing: RoutingView, endpoints: readonly EndpointView[]): TemplateResult {
  const find = ({ name }: Routed) => endpoints.find((endpoint) => endpoint.name === name)
  const reasonOf = (of: Routed) => exclusionOf(of, find(of)?.state)
  const eligible = routing.endpoints.filter((of) => reasonOf(of) === null)
  const excluded = routing.endpoints.filter((of) => reasonOf(of) !== null)
  const item = (of: Routed, text: string) => {
    const endpoint = find(of)
    return html`<li>
      ${endpoint === undefined ? mark('unknown') : endpointMark(endpoint)}
      <p>
        <a href=${endpointPath(routing.network, of.name)}>${endpoint?.title ?? of.name}</a>
        ${of.tier === 'fallback' ? html`<span class="tier">${ROUTING_WORDS.fallback}</span>` : nothing}
        <span class="reason">${text}</span>
      </p>
    </li>`
  }
  const more = (of: readonly Routed[], most: number) =>
    of.length > most ? html`<p class="aside">${NETWORK.more(of.length - most)}</p>` : nothing
  return html`
    <section class="card wide routing" aria-labelledby="routing">
      <h2 id="routing">${NETWORK.routing}</h2>
      <div class="sides">
        ${
          eligible.length === 0
            ? html`<p>${ROUTING_WORDS.noneHealthy}</p>`
            : html`<div>
                <h3>${NETWORK.order}</h3>
                <ol>
                  ${eligible.slice(0, MAX_ELIGIBLE).map((of) => item(of, of.latency_seconds === null ? '' : unbroken(latency(of.latency_seconds))))}
                </ol>
                ${more(eligible, MAX_ELIGIBLE)}
              </div>`
        }
        ${
          excluded.length === 0
            ? nothing
            : html`<div>
                <h3>${NETWORK.excluded}</h3>
                <ul>
                  ${excluded.slice(0, MAX_EXCLUDED).map((of) => item(of, exclusionText(reasonOf(of) ?? '')))}
                </ul>
                ${more(excluded, MAX_EXCLUDED)}
              </div>`
        }
      </div>
      <p class="aside">${routing.enabled ? html`${NETWORK.gatewayOn} <a href="/gateway">${NETWORK.toGateway}</a>` : NETWORK.gatewayOff}</p>
    </section>
  `
}

type Routed = RoutingView['endpoints'][number]

/** The gateway hardly ever reaches a later endpoint. */
const MAX_ELIGIBLE = 6
const MAX_EXCLUDED = 12
