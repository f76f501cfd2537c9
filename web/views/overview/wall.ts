import type { StripView } from '../../../src/http/wire/history.ts'
import type { EndpointView, NetworkView, StatusView } from '../../../src/http/wire/status.ts'
import { codeLink, headsNow, ticking } from '../endpoint-row.ts'
import { blocks, count, latency, unbroken, type Zone } from '../format.ts'
import { guard, html, nothing, repeat, type TemplateResult } from '../lit.ts'
import { endpointMark } from '../mark.ts'
import { isHealthy, isUnhealthy, isUnstable, lookOf, worstHead } from '../model.ts'
import { endpointPath } from '../route.ts'
import type { Layout, Model, Sorting } from '../view.ts'
import { headWords, WORDS } from '../words.ts'
import { isWanted, labelsOf } from './endpoint-query.ts'

/** A network on the wall: its worst endpoints as rows of one line, all others as tiles. */
export function onWall(
  network: NetworkView,
  endpoints: readonly EndpointView[],
  strips: ReadonlyMap<string, StripView>,
  { zone, nowMs }: { readonly zone: Zone; readonly nowMs: number },
): TemplateResult {
  const unwell = endpoints.filter((endpoint) => !isHealthy(endpoint))
  const rows = unwell.slice(0, MOST_ROWS)
  const rest = [...unwell.slice(MOST_ROWS), ...endpoints.filter(isHealthy)]
  return html`
    ${
      rows.length === 0
        ? nothing
        : html`<table role="table" class="unwell">
            <thead role="rowgroup">
              <tr role="row">
                <th role="columnheader" scope="col">${WORDS.columns.endpoint}</th>
                <th role="columnheader" scope="col" class="n">${WORDS.lasts}</th>
              </tr>
            </thead>
            <tbody role="rowgroup">
              ${repeat(
                rows,
                ({ name }) => name,
                (endpoint) => guard([endpoint, zone], () => row(network, endpoint, zone, nowMs)),
              )}
            </tbody>
          </table>`
    }
    ${rest.length === 0 ? nothing : tiles(network, rest, strips)}
  `
}

/** How many open incidents the wall lists: its rows name the sick, and many of them need the room. */
export function incidentLines({ networks }: StatusView): number | undefined {
  const sick = networks.flatMap(({ endpoints }) => endpoints.filter(isUnhealthy)).length
  return sick > 20 ? 0 : sick > 6 ? 2 : undefined
}

/** Where a whole network is down, tiles name the others. */
const MOST_ROWS = 6

function row({ name }: NetworkView, endpoint: EndpointView, zone: Zone, nowMs: number): TemplateResult {
  const [first] = endpoint.conditions
  const text = standingText(endpoint)
  const all = endpoint.conditions.map(({ message }) => message).join('; ')
  return html`
    <tr role="row" class=${lookOf(endpoint)} id="e-${name}-${endpoint.name}">
      <th role="rowheader" scope="row">
        <div class="name">
          ${endpointMark(endpoint)} <a href=${endpointPath(name, endpoint.name)}>${endpoint.title}</a>
          <span class="why" title=${all === '' ? text : all}>${first === undefined ? text : html`${codeLink(first.code)} ${unbroken(first.message)}`}</span>
        </div>
      </th>
      <td role="cell" class="n lasts">${ticking(endpoint.since, zone, nowMs)}</td>
    </tr>
  `
}

/** `unstable: up, flapping`, `unknown`. */
function standingText(endpoint: EndpointView): string {
  const word = WORDS.states[endpoint.state].toLowerCase()
  if (!isUnstable(endpoint)) return word
  return `${WORDS.unstable.toLowerCase()}: ${word}${endpoint.flapping ? `, ${WORDS.flapping}` : ''}`
}

/** Small named tiles; hover, focus or tap tells state, height, lag and latency. */
function tiles(
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
          return guard([endpoint, network.halted, p95, start], () => tile(network, endpoint, start, p95))
        },
      )}
    </ul>
  `
}

function tile(
  network: Pick<NetworkView, 'name' | 'halted'>,
  endpoint: EndpointView,
  start: number,
  p95: number | null,
): TemplateResult {
  const shown = endpoint.name.slice(start)
  return html`<li><a class="tile ${lookOf(endpoint)}" href=${endpointPath(network.name, endpoint.name)} aria-label=${tileText(endpoint, network, shown, p95)}>${shown}</a></li>`
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
  const head = worstHead({ heads: headsNow(endpoint) })
  const lag = head?.lag_blocks ?? null
  const facts = [
    standingText(endpoint),
    ...endpoint.conditions.slice(0, 1).map(({ message }) => message),
    ...(head === undefined ? [] : [`${WORDS.columns.height.toLowerCase()} ${count(head.height)}`]),
    ...(lag === null ? [] : [lag === 0 ? headWords(network) : `${blocks(lag)} behind`]),
    ...(p95 === null ? [] : [WORDS.p95(latency(p95))]),
  ]
  const named = endpoint.title.includes(shown) ? endpoint.title : `${shown}, ${endpoint.title}`
  return `${named}: ${facts.join(', ')}`
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
  const many = countEach(values)
  return html`<select data-ask=${name} aria-label=${ALL[name].label}>
    <option value="" ?selected=${chosen === ''}>${ALL[name].text}</option>
    ${there.map((value) => html`<option value=${value} ?selected=${value === chosen}>${value} (${count(many.get(value) ?? 0)})</option>`)}
  </select>`
}

function countEach(values: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
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
    ${savedFilters(model)}
  `
}

/** Filters that the user keeps in this browser, and a button for the current one. */
function savedFilters({ route, settings: { saved } }: Model): TemplateResult {
  const { view: _, ...filter } = route.query
  const current = inOrder(filter)
  // An earlier version saved filters in the order in which they were chosen.
  const known = saved.find((one) => inOrder(one) === current)
  return html`
    ${saved.length === 0 ? nothing : html`<nav class="saved" aria-label=${SAVED.label}>${saved.map((search) => html`<a href="/?${search}" aria-current=${search === known ? 'true' : nothing}>${[...new URLSearchParams(search).values()].join(', ')}</a>`)}</nav>`}
    ${current === '' ? nothing : html`<button type="button" class="save" data-save=${known ?? current}>${known === undefined ? SAVED.save : SAVED.forget}</button>`}
  `
}

/** The order in which the parts of a filter were chosen makes it no other filter. */
function inOrder(filter: string | Record<string, string>): string {
  const search = new URLSearchParams(filter)
  search.sort()
  return search.toString()
}

const SAVED = { label: 'Saved filters', save: 'Save filter', forget: 'Forget filter' }
