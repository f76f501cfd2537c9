import type { ClientView, EndpointView } from '../../../src/http/wire/status.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { endpointMark } from '../mark.ts'
import { endpointPath } from '../route.ts'
import { NETWORK } from './words-network.ts'

/** Which client each endpoint of a network runs: a fork or a fault that follows the client is seen at once. */
export function clientsSection(network: string, endpoints: readonly EndpointView[]): TemplateResult | typeof nothing {
  const byClient = new Map<string, EndpointView[]>()
  for (const endpoint of endpoints) {
    if (endpoint.client === undefined) continue
    const name = clientText(endpoint.client)
    byClient.set(name, [...(byClient.get(name) ?? []), endpoint])
  }
  if (byClient.size === 0) return nothing
  return html`
    <section class="card wide clients" aria-labelledby="clients">
      <h2 id="clients">${NETWORK.clients}</h2>
      <dl>
        ${[...byClient]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(
            ([client, runners]) => html`<dt>${client}</dt>
            <dd>
              ${runners.map(
                (of) => html`<a href=${endpointPath(network, of.name)}>${endpointMark(of)} ${of.title}</a> `,
              )}
            </dd>`,
          )}
      </dl>
    </section>
  `
}

function clientText({ name, version }: ClientView): string {
  return version === null ? name : `${name} ${version}`
}
