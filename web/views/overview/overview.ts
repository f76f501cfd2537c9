import type { DaysView, StripsView, StripView } from '../../../src/http/wire/history.ts'
import type { EndpointView, NetworkView, StateView, StatusView } from '../../../src/http/wire/status.ts'
import { stripHours } from '../charts/strip-span.ts'
import { endpointRow } from '../endpoint-row.ts'
import { moment, unbroken } from '../format.ts'
import { guard, html, nothing, repeat, type TemplateResult } from '../lit.ts'
import { mark } from '../mark.ts'
import { inOrderOf, networksWorstFirst, toneOf, worstFirst } from '../model.ts'
import { headTip, stateCounts, whereTheyAre } from '../network-facts.ts'
import { networkPath } from '../route.ts'
import { type Answer, defineView, type Model, type Sorting, type Sources } from '../view.ts'
import { WORDS } from '../words.ts'
import { verdictSentence } from './verdict-sentence.ts'

/** The overview: verdict, open incidents and maintenance, then all networks with their endpoints, worst first. */
export const view = defineView<Data>({
  title: ({ brand }) => brand.title,
  load,
  prepare,
  draw: overview,
  refreshMs: 60_000,
  hasStyle: false,
  styleOf: (model) => (isLarge(model) ? 'wall' : null),
})

interface Data {
  readonly strips: StripsView | null
  /** For the public, who see 90 days instead of one. */
  readonly days: DaysView | null
}

let bars: typeof import('../charts/day-bars.ts') | null = null
let events: typeof import('../events.ts') | null = null
let query: typeof import('./endpoint-query.ts') | null = null
let strip: typeof import('../charts/strip.ts').strip | null = null
let wall: typeof import('./wall.ts') | null = null

function prepare(model: Model<Data>, isFirst = false): Promise<unknown> | null {
  const { incidents, status } = model
  const hasEvents = incidents.length + (status?.maintenance.length ?? 0) > 0
  const hasDays = (model.data?.days ?? null) !== null
  const missing = [
    ...(hasDays && bars === null ? [import('../charts/day-bars.ts').then((loaded) => void (bars = loaded))] : []),
    ...(hasEvents && events === null && !isFirst
      ? [import('../events.ts').then((loaded) => void (events = loaded))]
      : []),
    ...(strip === null && !isFirst && !isWall(model)
      ? [import('../charts/strip.ts').then((loaded) => void (strip = loaded.strip))]
      : []),
    ...(hasQuery(model) && query === null
      ? [import('./endpoint-query.ts').then((loaded) => void (query = loaded))]
      : []),
    ...(isLarge(model) && wall === null ? [import('./wall.ts').then((loaded) => void (wall = loaded))] : []),
  ]
  return missing.length === 0 ? null : Promise.all(missing)
}

const MOST_LISTED = 40

/** Many endpoints, or a choice that only they need, load the code and style of the wall and its filters. */
function isLarge(model: Model<Data>): boolean {
  const { status, settings } = model
  const hasLabels = status?.networks.some(({ endpoints }) => endpoints.some(({ labels }) => labels !== undefined))
  const isAsked = hasQuery(model) || settings.saved.length > 0
  return isWall(model) || countAll(status) > MOST_LISTED || isAsked || hasLabels === true
}

function hasQuery({ route }: Model<Data>): boolean {
  return Object.keys(route.query).length > 0
}

function isWall({ route, settings, status }: Model<Data>): boolean {
  const wish = route.query.view ?? settings.layout
  if (wish === 'wall' || wish === 'list') return wish === 'wall'
  return countAll(status) > MOST_LISTED
}

function countAll(status: StatusView | null): number {
  return status?.networks.reduce((sum, { endpoints }) => sum + endpoints.length, 0) ?? 0
}

/** Shows the current state even if the history cannot be read. */
async function load(sources: Sources): Promise<Answer<Data>> {
  const [strips, days] = await Promise.all([sources.strips(), sources.publicDays()])
  const all = days.ok ? days.value : null
  const known = all === null ? null : (await import('../charts/day-bars.ts')).knownDays(all)
  return { ok: true, value: { strips: strips.ok ? strips.value : null, days: known } }
}

function overview(model: Model<Data>): TemplateResult {
  const { status, contact, route } = model
  if (status === null) return html`<section class="verdict unknown"><h1>${WORDS.connecting} …</h1></section>`
  const stale = contact.kind === 'stale'
  const tone = stale ? 'unknown' : toneOf(status.state, status.networks)
  const strips = byKey(model.data?.strips ?? null)
  const latencyOf = (network: string) => (endpoint: EndpointView) =>
    strips.get(`${network}/${endpoint.name}`)?.recent_latency_p95_seconds ?? null
  const order = networksWorstFirst((model.orderedBy?.status ?? status).networks)
  const wanted = inOrderOf(order, status.networks).map((network) => {
    const { endpoints: before } = order.find(({ name }) => name === network.name) ?? network
    const asked = query?.queried(network, route.query, latencyOf(network.name), before)
    return { network, endpoints: asked ?? inOrderOf(worstFirst(before), network.endpoints) }
  })
  const shown = wanted.reduce((sum, { endpoints }) => sum + endpoints.length, 0)
  return html`
    ${verdict(status, tone, model)} ${events?.incidentsSection(model, undefined, wall !== null && isWall(model) ? wall.incidentLines(status) : undefined) ?? nothing}
    ${events?.maintenanceSection(model) ?? nothing} ${tools(model, shown)}
    ${shown === 0 && status.networks.length > 0 ? html`<p class="no-match">${WORDS.noMatch} <a href="/">${WORDS.clear}</a></p>` : nothing}
    <div class=${isWall(model) ? 'networks wall' : 'networks'}>
    ${repeat(
      wanted.filter(({ network, endpoints }) => endpoints.length > 0 || network.endpoints.length === 0),
      ({ network }) => network.name,
      ({ network, endpoints }) => networkSection(network, endpoints, strips, model),
    )}
    </div>
  `
}

const keyed = new WeakMap<StripsView, ReadonlyMap<string, StripView>>()

/** Built once per set of strips, not per drawing. */
function byKey(of: StripsView | null): ReadonlyMap<string, StripView> {
  if (of === null) return NONE
  const known = keyed.get(of)
  if (known !== undefined) return known
  const strips = new Map(of.strips.map((strip) => [`${strip.network}/${strip.endpoint}`, strip]))
  keyed.set(of, strips)
  return strips
}

const NONE: ReadonlyMap<string, StripView> = new Map()

function verdict(
  status: StatusView,
  tone: StateView,
  { contact, nowMs, settings: { zone } }: Model<Data>,
): TemplateResult {
  const stale = contact.kind === 'stale'
  return html`
    <section class="verdict ${tone}">
      ${mark(tone)}
      <div role="status">
        <h1 tabindex="-1">${stale ? WORDS.staleVerdict(moment(nowMs, zone)) : unbroken(verdictSentence(status, zone))}</h1>
        ${stale ? html`<p>${unbroken(verdictSentence(status, zone))}</p>` : nothing} ${ownTrouble(status.observer)}
      </div>
    </section>
  `
}

/** Problems of Heartline itself. A store that cannot be written does not affect health states, but operators must know. */
function ownTrouble({ impaired, judging, reasons }: StatusView['observer']): TemplateResult | typeof nothing {
  if (!impaired && reasons.length === 0) return nothing
  const listed = reasons.length === 0 ? '.' : `: ${reasons.join(', ')}.`
  return html`<p class="impaired">${judging ? WORDS.ownTrouble : WORDS.impaired}${listed}</p>`
}

/** Search and filters are hidden without scripts, because the fields do nothing then; addresses work. */
function tools(model: Model<Data>, shown: number): TemplateResult {
  const { route, status } = model
  const { q = '', show = '', provider = '', label = '' } = route.query
  const all = countAll(status)
  return html`
    <form class="tools" role="search" data-act="none">
      <input
        id="search"
        type="search"
        name="query"
        autocomplete="off"
        spellcheck="false"
        placeholder=${WORDS.search}
        aria-label=${WORDS.search}
        aria-keyshortcuts="/"
        .value=${q}
      />
      <select id="filter" data-ask="show" aria-label=${WORDS.filter}>
        ${Object.entries(WORDS.filters).map(([value, text]) => html`<option value=${value} ?selected=${value === show}>${text}${value === '' ? nothing : wall?.counted(model, { show: value })}</option>`)}
        ${wall?.filters(model)}
      </select>
      ${wall?.choices(model, isWall(model))}
      <output for="search filter">${q + show + provider + label === '' ? nothing : WORDS.shown(shown, all)}</output>
    </form>
  `
}

function networkSection(
  network: NetworkView,
  endpoints: readonly EndpointView[],
  strips: ReadonlyMap<string, StripView>,
  model: Model<Data>,
): TemplateResult {
  const { settings, nowMs } = model
  const id = `network-${network.name}`
  const isFolded = settings.folded.includes(network.name)
  return html`
    <section class="network ${network.state}" aria-labelledby=${id}>
      <header>
        <h2 id=${id}>${mark(toneOf(network.state, [network]))}<a href=${networkPath(network.name)}>${network.title}</a></h2>
        <p class="facts">
          ${whereTheyAre(network)} ${stateCounts(network)}
        </p>
        ${network.halted ? html`<p class="alarm">${WORDS.halted}</p>` : nothing}
        ${network.forked ? html`<p class="alarm">${WORDS.forked}</p>` : nothing}
        <p class="tips">${network.heads.map((head) => headTip(head, settings.zone, nowMs))}</p>
        <button
          type="button"
          class="fold"
          data-fold=${network.name}
          aria-expanded=${isFolded ? 'false' : 'true'}
          aria-label=${isFolded ? WORDS.unfold(network.title) : WORDS.fold(network.title)}
        ></button>
      </header>
      ${isFolded ? html`<p class="folded">${WORDS.folded(endpoints.length)}</p>` : content(network, endpoints, strips, model)}
    </section>
  `
}

function content(
  network: NetworkView,
  endpoints: readonly EndpointView[],
  strips: ReadonlyMap<string, StripView>,
  model: Model<Data>,
): TemplateResult {
  if (wall === null || !isWall(model)) return table(network, endpoints, strips, model)
  return wall.onWall(network, endpoints, strips, { zone: model.settings.zone, nowMs: model.nowMs })
}

/** Left-aligned columns. */
const NOT_NUMBERS = new Set(['endpoint', 'day'])

function table(
  network: NetworkView,
  endpoints: readonly EndpointView[],
  strips: ReadonlyMap<string, StripView>,
  { settings: { zone }, nowMs, access, data, route }: Model<Data>,
): TemplateResult {
  const { columns } = WORDS
  const day = data?.strips ?? null
  const days = data?.days ?? null
  const dayHead =
    days !== null ? WORDS.days(bars?.dayCount(days) ?? 90) : day === null ? columns.day : WORDS.last(stripHours(day))
  // A column of dashes would look like a fault: the public sees no figures, and not every family's nodes have them.
  const left = access === 'public' ? 'bare' : emptyColumns(network.endpoints)
  return html`
    <table role="table" class=${left}>
      <colgroup>
        ${(Object.keys(columns) as (keyof typeof columns)[]).map((name) => html`<col class=${name} />`)}
      </colgroup>
      <thead role="rowgroup">
        <tr role="row">
          ${Object.entries(columns).map(([name, label]) => heading(name, name === 'day' ? dayHead : label, route.query))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${repeat(
          endpoints,
          ({ name }) => name,
          (endpoint) => {
            const { title } = endpoint
            const key = `${network.name}/${endpoint.name}`
            const of = strips.get(key)
            // Ages are updated separately, so a row only changes with its endpoint or its strip.
            return guard([endpoint, of, zone, days, network.halted, strip], () => {
              const past =
                days === null ? strip?.(of, key, title, day) : bars?.dayBars(byKey(days).get(key), key, title, days)
              const p95 = of?.recent_latency_p95_seconds ?? null
              return endpointRow({ network, endpoint, p95, past: past ?? nothing, zone, nowMs })
            })
          },
        )}
      </tbody>
    </table>
  `
}

/** Sorts by its column, and again to the worst first. */
function heading(name: string, text: string, query: Model['route']['query']): TemplateResult {
  const { sort: current, ...others } = query
  const sort = SORTED_BY[name]
  const isCurrent = sort !== undefined && sort === current
  const search = new URLSearchParams(isCurrent || sort === undefined ? others : { ...others, sort }).toString()
  return html`<th role="columnheader" scope="col" class="${NOT_NUMBERS.has(name) ? '' : 'n '}${name}" aria-sort=${isCurrent ? (sort === 'name' || sort === 'unavailable' ? 'ascending' : 'descending') : nothing}>${sort === undefined ? text : html`<a href="/?${search}">${text}</a>`}</th>`
}

const SORTED_BY: Readonly<Record<string, Sorting>> = {
  endpoint: 'name',
  lag: 'lag',
  latency: 'latency',
  available: 'unavailable',
}

/** The classes of the columns that no endpoint of a network fills. */
function emptyColumns(endpoints: readonly EndpointView[]): string | typeof nothing {
  const empty = [
    ...(endpoints.some(({ liveness }) => liveness !== null && liveness.heartbeat_lag_seconds !== null)
      ? []
      : ['no-beat']),
    ...(endpoints.some(({ liveness }) => liveness !== null) ? [] : ['no-failures']),
  ]
  return empty.length === 0 ? nothing : empty.join(' ')
}
