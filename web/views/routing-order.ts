import type { RoutingView } from '../../src/http/wire-gateway.ts'
import type { EndpointView } from '../../src/http/wire-status.ts'
import { latency, unbroken } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { endpointPath } from './route.ts'
import { NETWORK, reasonText } from './words-network.ts'

type Routed = RoutingView['endpoints'][number]

/** Who comes later is hardly ever asked. */
const MOST_ASKED = 6
const MOST_LEFT_OUT = 12

/** Whom the gateway would ask now, in which order, and why it leaves out the others. */
export function routingOrder(routing: RoutingView, endpoints: readonly EndpointView[]): TemplateResult {
  const asked = routing.endpoints.filter(({ left_out: because }) => because === null)
  const leftOut = routing.endpoints.filter(({ left_out: because }) => because !== null)
  const item = (of: Routed, text: TemplateResult | string) => {
    const endpoint = endpoints.find(({ name }) => name === of.name)
    return html`<li>
      ${mark(endpoint?.state ?? 'unknown')}
      <p>
        <a href=${endpointPath(routing.network, of.name)}>${endpoint?.title ?? of.name}</a>
        ${of.tier === 'fallback' ? html`<span class="tier">${NETWORK.fallback}</span>` : nothing}
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
          asked.length === 0
            ? html`<p>${NETWORK.nobody}</p>`
            : html`<div>
                <h3>${NETWORK.askedTitle}</h3>
                <ol>
                  ${asked.slice(0, MOST_ASKED).map((of, at) => item(of, turn(of, at)))}
                </ol>
                ${more(asked, MOST_ASKED)}
              </div>`
        }
        ${
          leftOut.length === 0
            ? nothing
            : html`<div>
                <h3>${NETWORK.leftOutTitle}</h3>
                <ul>
                  ${leftOut.slice(0, MOST_LEFT_OUT).map((of) => item(of, reasonText(of.left_out ?? '')))}
                </ul>
                ${more(leftOut, MOST_LEFT_OUT)}
              </div>`
        }
      </div>
      <p class="aside">${routing.enabled ? html`${NETWORK.gatewayOn} <a href="/gateway">${NETWORK.toGateway}</a>` : NETWORK.gatewayOff}</p>
    </section>
  `
}

function turn({ latency_seconds: seconds }: Routed, at: number): TemplateResult {
  const how = at === 0 ? html`<b>${NETWORK.first}</b>` : NETWORK.afterwards
  return html`${how}${seconds === null ? nothing : `, ${unbroken(latency(seconds))}`}`
}
