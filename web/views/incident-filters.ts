import type { IncidentListView } from '../../src/http/wire-incidents.ts'
import { html, nothing, repeat, type TemplateResult } from './lit.ts'
import type { Model } from './view.ts'
import { INCIDENT_WORDS } from './words-incidents.ts'

/** Filters are links: they work without JavaScript, and each list has its own address. */
export function incidentFilters({ route, status }: Model<IncidentListView>): TemplateResult {
  const { cursor: _, ...query } = route.query
  const networks = status?.networks ?? []
  const network = networks.find(({ name }) => name === query.network)
  const endpoints = (network === undefined ? networks : [network]).flatMap((of) =>
    of.endpoints.map(({ name, title }) => ({
      title: network === undefined ? `${of.title}: ${title}` : title,
      to: { ...query, network: of.name, endpoint: name },
    })),
  )
  const chosen = network?.endpoints.find(({ name }) => name === query.endpoint)
  return html`
    <nav class="sieve" aria-label=${INCIDENT_WORDS.filters}>
      <p class="choice">
        ${[
          [INCIDENT_WORDS.all, undefined],
          [INCIDENT_WORDS.open, 'true'],
          [INCIDENT_WORDS.closed, 'false'],
        ].map(([title, open]) => choice(title ?? '', { ...query, open }, query.open === open))}
      </p>
      ${menu(
        INCIDENT_WORDS.network,
        network?.title ?? query.network,
        { ...query, network: undefined, endpoint: undefined },
        networks.map(({ name, title }) => ({ title, to: { ...query, network: name, endpoint: undefined } })),
      )}
      ${endpoints.length > MOST_LISTED && query.endpoint === undefined && network === undefined ? nothing : menu(INCIDENT_WORDS.endpoint, chosen?.title ?? query.endpoint, { ...query, endpoint: undefined }, endpoints)}
    </nav>
  `
}

/** Of a larger fleet, endpoints are listed once a network is chosen. */
const MOST_LISTED = 40

type Query = Readonly<Record<string, string>>

type Wanted = Readonly<Record<string, string | undefined>>

function choice(title: string, to: Wanted, isCurrent: boolean): TemplateResult {
  return html`<a href=${addressOf(to)} aria-current=${isCurrent ? 'true' : nothing}>${title}</a>`
}

function menu(
  label: string,
  value: string | undefined,
  toAll: Wanted,
  links: readonly { readonly title: string; readonly to: Wanted }[],
): TemplateResult {
  // A new key makes a new element, so the menu closes after a choice.
  return html`${repeat(
    [`${label} ${value}`],
    (key) => key,
    () => html`
      <details class="menu">
        <summary>${label}: <b>${value ?? INCIDENT_WORDS.all}</b></summary>
        <ul>
          <li>${choice(INCIDENT_WORDS.all, toAll, value === undefined)}</li>
          ${links.map(({ title, to }) => html`<li>${choice(title, to, title === value)}</li>`)}
        </ul>
      </details>
    `,
  )}`
}

function addressOf(to: Wanted): string {
  const query: Query = Object.fromEntries(
    Object.entries(to).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const search = new URLSearchParams(query)
  return search.size === 0 ? '/incidents' : `/incidents?${search.toString()}`
}
