import type { GatewayView } from '../../src/http/views.ts'
import { html, type TemplateResult } from './lit.ts'
import { endpointPath } from './route.ts'
import { defineView, type Model } from './view.ts'
import { WORDS } from './words.ts'

/** Whom the gateway would ask now, and why not the others. */
export const view = defineView<GatewayView>({
  title: () => `${WORDS.places.gateway} · Heartline`,
  load: (sources) => sources.gateway(),
  draw,
  refreshMs: 5000,
  hasStyle: false,
})

function draw({ data }: Model<GatewayView>): TemplateResult {
  if (!data.enabled) {
    return html`<header class="subject"><h1 tabindex="-1">${WORDS.places.gateway}</h1><p>${WORDS.noGateway}</p></header>`
  }
  return html`
    <header class="subject"><h1 tabindex="-1">${WORDS.places.gateway}</h1></header>
    ${data.networks.map(
      ({ name, endpoints }) => html`
        <h2>${name}</h2>
        <ol class="plain">
          ${endpoints.map(
            (endpoint) =>
              html`<li><a href=${endpointPath(name, endpoint.name)}>${endpoint.name}</a> ${endpoint.left_out ?? ''}</li>`,
          )}
        </ol>
      `,
    )}
  `
}
