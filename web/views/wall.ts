import type { StripView } from '../../src/http/wire-history.ts'
import type { EndpointView, NetworkView } from '../../src/http/wire-status.ts'
import { isWanted, labelsOf } from './endpoint-query.ts'
import { count, latency } from './format.ts'
import { html, nothing, repeat, type TemplateResult } from './lit.ts'
import { worstHead } from './model.ts'
import { headWords } from './network-facts.ts'
import { endpointPath } from './route.ts'
import type { Layout, Model, Sorting } from './view.ts'
import { WORDS } from './words.ts'

/** The healthy endpoints of a network as small named tiles; hover, focus or tap tells height, lag and latency. */
export function tiles(
  network: Pick<NetworkView, 'name' | 'halted'>,
  endpoints: readonly EndpointView[],
  strips: ReadonlyMap<string, StripView>,
): TemplateResult {
  const start = prefixOf(endpoints.map(({ name }) => name))
  return html`
    <ul class="tiles">
      ${repeat(
        endpoints,
        ({ name }) => name,
        (endpoint) => {
          const p95 = strips.get(`${network.name}/${endpoint.name}`)?.recent_latency_p95_seconds ?? null
          return html`<li><a class="tile" href=${endpointPath(network.name, endpoint.name)} aria-label=${tileText(endpoint, network, endpoint.name.slice(start), p95)}>${endpoint.name.slice(start)}</a></li>`
        },
      )}
    </ul>
  `
}

/** The length of what all names begin with, up to its last separator: `node-` needs no room on every tile. */
function prefixOf(names: readonly string[]): number {
  const [first = ''] = names
  let length = names.length < 2 ? 0 : first.length
  for (const name of names) while (!name.startsWith(first.slice(0, length))) length--
  return first.slice(0, length).search(/[^-_.]*$/)
}

/** `own-1, Own node 1: up, height 1,234, at head, p95 12 ms`; the title alone if it has the shown name. */
function tileText(
  endpoint: EndpointView,
  network: Pick<NetworkView, 'halted'>,
  shown: string,
  p95: number | null,
): string {
  const head = worstHead(endpoint)
  const lag = head?.lag_blocks ?? null
  const facts = [
    WORDS.states[endpoint.state].toLowerCase(),
    ...(head === undefined ? [] : [`${WORDS.columns.height.toLowerCase()} ${count(head.height)}`]),
    ...(lag === null ? [] : [lag === 0 ? headWords(network) : behind(lag)]),
    ...(p95 === null ? [] : [WORDS.strip.latency(latency(p95))]),
  ]
  const named = endpoint.title.includes(shown) ? endpoint.title : `${shown}, ${endpoint.title}`
  return `${named}: ${facts.join(', ')}`
}

function behind(blocks: number): string {
  return `${count(blocks)} ${blocks === 1 ? 'block' : 'blocks'} behind`
}

/** How many endpoints a filter shows, as ` (12)`. */
export function counted({ status }: Model, filter: Readonly<Record<string, string>>): string {
  const matches = status?.networks.flatMap((network) =>
    network.endpoints.filter((endpoint) => isWanted(network, endpoint, filter)),
  )
  return ` (${count(matches?.length ?? 0)})`
}

/** Filters by state, and by each condition that an endpoint has now. */
export function filters(model: Model): TemplateResult {
  const { status, route } = model
  const endpoints = status?.networks.flatMap((network) => network.endpoints) ?? []
  const codes = new Set(endpoints.flatMap(({ conditions }) => conditions.map(({ code }) => code)))
  const option = (value: string, text: string) =>
    html`<option value=${value} ?selected=${value === route.query.show}>${text}${counted(model, { show: value })}</option>`
  return html`${Object.entries(WORDS.states).map(([name, text]) => option(`state:${name}`, text))}
  ${[...codes].map((code) => option(`condition:${code}`, code))}`
}

const SORTINGS: Readonly<Record<Sorting, string>> = {
  state: 'Worst first',
  lag: 'By lag',
  latency: 'By latency',
  unavailable: 'Least available',
  name: 'By name',
}
const LAYOUTS: Readonly<Record<Layout, string>> = { list: 'List', wall: 'Wall' }

/** A filter by one of the values that there are, or by that of the address. */
function choice(name: 'provider' | 'label', values: readonly string[], model: Model): TemplateResult | typeof nothing {
  const { [name]: chosen = '' } = model.route.query
  const there = [...new Set(chosen === '' ? values : [...values, chosen])].sort()
  if (there.length === 0) return nothing
  return html`<select data-ask=${name} aria-label=${ALL[name].label}>
    <option value="" ?selected=${chosen === ''}>${ALL[name].text}</option>
    ${there.map((value) => html`<option value=${value} ?selected=${value === chosen}>${value}${counted(model, { [name]: value })}</option>`)}
  </select>`
}

const ALL = {
  provider: { label: 'Provider', text: 'All providers' },
  label: { label: 'Label', text: 'All labels' },
}

/** The order of a network's endpoints, their providers and labels, and list or wall. */
export function choices(model: Model, isWall: boolean): TemplateResult {
  const { route, status } = model
  const { sort = 'state' } = route.query
  const current = isWall ? 'wall' : 'list'
  const endpoints = status?.networks.flatMap((network) => network.endpoints) ?? []
  return html`
    ${choice(
      'provider',
      endpoints.flatMap(({ provider }) => provider ?? []),
      model,
    )}
    ${choice('label', endpoints.flatMap(labelsOf), model)}
    <select id="sort" data-ask="sort" aria-label="Order">
      ${Object.entries(SORTINGS).map(([name, text]) => html`<option value=${name} ?selected=${name === sort}>${text}</option>`)}
    </select>
    <span class="layouts">
      ${(['list', 'wall'] as const).map((layout) => html`<a href="/?${new URLSearchParams({ ...route.query, view: layout }).toString()}" aria-current=${layout === current ? 'true' : nothing}>${LAYOUTS[layout]}</a>`)}
    </span>
  `
}
