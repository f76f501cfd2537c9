import type { DaysView, HistoryBucketView, PollView, RulesView } from '../../../src/http/wire/history.ts'
import type { IncidentSummaryView } from '../../../src/http/wire/incidents.ts'
import type { SilenceView } from '../../../src/http/wire/silences.ts'
import type { EndpointView } from '../../../src/http/wire/status.ts'
import { badge, badgesSection } from '../badges.ts'
import type { ChartGroup } from '../charts/chart-group.ts'
import { knownDays } from '../charts/day-bars.ts'
import { type Cell, cellsOf, cellsOfStrip } from '../charts/timeline-cells.ts'
import { codeLink, standing, ticking } from '../endpoint-row.ts'
import { asOfEvents, maintenanceSection } from '../events.ts'
import { unbroken, type Zone } from '../format.ts'
import { guard, html, nothing, type TemplateResult } from '../lit.ts'
import { endpointMark } from '../mark.ts'
import { concerns, isPublic, lookOf } from '../model.ts'
import { endpointPath, networkPath, type Route } from '../route.ts'
import { silenceNotes } from '../silences.ts'
import { type Endpoint, type Span, spanOf, spanSince } from '../time-range.ts'
import { type Answer, defineView, type Model, type Sources } from '../view.ts'
import { WORDS } from '../words.ts'
import { ENDPOINT } from '../words-endpoint.ts'
import { NEXT_STEPS } from '../words-runbooks.ts'
import { incidentsPanel, rulesPanel } from './endpoint-about.ts'
import { endpointCharts } from './endpoint-charts.ts'
import { historySection } from './endpoint-history.ts'
import { checksSection, disagreement, isDisputed, nowFacts } from './endpoint-now.ts'
import { placesSection } from './endpoint-places.ts'

/** One endpoint: its current health, history, incidents and thresholds. */
export const view = defineView<Data>({
  title: (model) => `${current(model).title} · ${model.brand.title}`,
  load,
  draw,
  charts: (model) => groupOf(model.data, model.settings.zone, model.route),
  refreshMs: 30_000,
  hasStyle: true,
})

interface Data {
  readonly endpoint: EndpointView
  readonly rules: RulesView | null
  /** Empty without permission to see them. */
  readonly silences: readonly SilenceView[]
  /** Only its own; `null` until they are read. */
  readonly days: DaysView | null
  readonly span: Span
  readonly cells: readonly Cell[]
  readonly buckets: readonly HistoryBucketView[]
  readonly polls: readonly PollView[] | null
  /** Its own incidents, outages that include it, and events of its whole network, newest first. */
  readonly incidents: readonly IncidentSummaryView[]
  /** Whether some of them cannot be read now. */
  readonly incidentsAway: boolean
  /** How much history can be shown: the public sees only the states of the last day. */
  readonly detail: 'all' | 'states' | 'away'
  readonly loadedMs: number
}

const MOST_INCIDENTS = 100

async function load(sources: Sources, route: Route, nowMs: number): Promise<Answer<Data>> {
  const { network = '', endpoint = '' } = route.params
  const [answer, rules, silences, days, past, own, whole] = await Promise.all([
    sources.endpoint(network, endpoint),
    sources.rules(network, endpoint),
    sources.silences(),
    sources.days(),
    loadFitting(sources, route, nowMs),
    sources.incidents({ network, endpoint, limit: MOST_INCIDENTS }),
    sources.incidents({ network, limit: MOST_INCIDENTS }),
  ])
  if (!answer.ok) return answer
  const ofWhole = whole.ok ? whole.value.incidents.filter((incident) => incident.scope === 'network') : []
  const incidents = [...(own.ok ? own.value.incidents : []), ...ofWhole]
  return {
    ok: true,
    value: {
      endpoint: answer.value,
      rules: rules.ok ? rules.value : null,
      silences: silences.ok ? silences.value.silences : [],
      days: days.ok && days.value !== null ? ownDays(days.value, network, endpoint) : null,
      ...past,
      incidents: incidents.sort((a, b) => Date.parse(b.opened_at) - Date.parse(a.opened_at)),
      incidentsAway: !own.ok || !whole.ok,
      loadedMs: nowMs,
    },
  }
}

function ownDays(days: DaysView, network: string, endpoint: string): DaysView | null {
  const strips = days.strips.filter((strip) => strip.network === network && strip.endpoint === endpoint)
  return strips.length === 0 ? null : knownDays({ ...days, strips })
}

const YOUNG_MS = 6 * 3_600_000

/** A new endpoint is shown since its first poll, unless the address asks for a range: most of a day would be empty. */
async function loadFitting(sources: Sources, { params, query }: Route, nowMs: number): Promise<Past> {
  const { network = '', endpoint = '' } = params
  const past = await loadPast(sources, network, endpoint, spanOf({ query }, nowMs))
  if (query.range !== undefined || past.span.range === null || past.detail !== 'all') return past
  const first = past.cells.find(({ state }) => state !== 'unknown')
  if (first === undefined || first.fromMs <= nowMs - YOUNG_MS) return past
  return loadPast(sources, network, endpoint, spanSince(first.fromMs, nowMs))
}

/** More points than pixels would be a black area; steps show their p50, p95 and maximum. */
const MOST_POINTS = 400

type Past = Pick<Data, 'span' | 'cells' | 'buckets' | 'polls' | 'detail'>

async function loadPast(sources: Sources, network: string, endpoint: string, span: Span): Promise<Past> {
  const query = { network, endpoint, fromMs: span.fromMs, toMs: span.toMs }
  const [history, polls] = await Promise.all([
    sources.history({ ...query, stepSeconds: span.stepMs / 1000 }),
    span.isClose ? sources.polls(query) : null,
  ])
  if (history.ok) {
    const { buckets } = history.value
    const all = polls?.ok === true && polls.value.next_from === null ? polls.value.polls : []
    const single = all.length > 0 && all.length <= MOST_POINTS ? all : null
    return { span, cells: cellsOf(buckets, span), buckets, polls: single, detail: 'all' }
  }
  const strips = history.why === 'locked' ? await sources.strips() : null
  if (strips?.ok !== true || strips.value === null) {
    const detail = history.why === 'locked' ? 'states' : 'away'
    return { span, cells: [], buckets: [], polls: null, detail }
  }
  const { from, to, step_seconds: step } = strips.value
  const cells = cellsOfStrip(strips.value, network, endpoint)
  const day: Span = {
    fromMs: cells[0]?.fromMs ?? Date.parse(from),
    toMs: Date.parse(to),
    stepMs: step * 1000,
    range: '24h',
    isClose: false,
  }
  return { span: day, cells, buckets: [], polls: null, detail: 'states' }
}

let kept: { readonly data: Data; readonly zone: Zone; readonly group: ChartGroup } | null = null

/** Built once per data, not per drawing. */
function groupOf(data: Data, zone: Zone, { params }: Route): ChartGroup {
  if (kept?.data !== data || kept.zone !== zone) {
    const of = { network: params.network ?? '', endpoint: params.endpoint ?? '' }
    kept = {
      data,
      zone,
      group: endpointCharts({ ...data, of, canZoom: data.detail === 'all', nowMs: data.loadedMs }, zone),
    }
  }
  return kept.group
}

/** The state of the latest event. */
function current({ status, route, data }: Model<Data>): EndpointView {
  const network = status?.networks.find(({ name }) => name === route.params.network)
  return network?.endpoints.find(({ name }) => name === route.params.endpoint) ?? data.endpoint
}

function draw(model: Model<Data>): TemplateResult {
  const endpoint = current(model)
  const { route, settings, nowMs, data, status, origin = '' } = model
  const { network = '' } = route.params
  const { zone } = settings
  const of = { network, endpoint: endpoint.name }
  const group = groupOf(data, zone, route)
  const whole = status?.networks.find(({ name }) => name === network)
  const now = { endpoint, network: whole, rules: data.rules, zone, nowMs }
  const title = whole?.title ?? network
  const version = badgeVersion(endpoint, whole?.halted === true)
  return html`
    <header class="subject endpoint ${lookOf(endpoint)}">
      <p class="within"><a href="/">${WORDS.places.overview}</a> <span aria-hidden="true">/</span> <a href=${networkPath(network)}>${title}</a></p>
      <h1 tabindex="-1">${endpointMark(endpoint)}${endpoint.title}</h1>
      ${whole?.halted ? html`<p class="alarm">${WORDS.halted}</p>` : nothing}
      ${whole?.forked ? html`<p class="alarm">${WORDS.forked}</p>` : nothing}
      <p class="state">${standing(endpoint, zone, nowMs)}</p>
      <p class="polled">${endpoint.last_polled_at === null ? ENDPOINT.never : html`${ENDPOINT.polled} ${ticking(endpoint.last_polled_at, zone, nowMs)} ${ENDPOINT.ago}`}</p>
    </header>
    ${silenceNotes(data.silences, of, zone)} ${maintenanceSection(model, network, endpoint.name)}
    <div class="endpoint">
      ${reasons(endpoint)} ${disagreement(now)} ${placesSection(now)} ${nowFacts(now)}
      ${guard([group, JSON.stringify(endpoint.availability), endpoint.title], () => historySection({ of, title: endpoint.title, availability: endpoint.availability, group, ...data }))}
      <div class="panels">
        ${checksSection(now)}
        ${incidentsPanel({ ...data, incidents: incidentsNow(model, endpoint.name) }, of, zone, nowMs)}
        ${rulesPanel(data.rules)}
        ${isPublic(model, network) ? guard([endpoint.title, origin, version], () => badges(of, endpoint.title, origin, version)) : nothing}
      </div>
    </div>
  `
}

function incidentsNow(model: Model<Data>, name: string): readonly IncidentSummaryView[] {
  const { network } = model.route.params
  return asOfEvents(
    model.data.incidents,
    model,
    (incident) => incident.network === network && (incident.scope === 'network' || concerns(incident, name)),
  )
}

const BADGES = ['state', 'availability', 'lag'] as const

function badges({ network, endpoint }: Endpoint, title: string, origin: string, version: string): TemplateResult {
  const path = `/badge/${encodeURIComponent(network)}/${encodeURIComponent(endpoint)}.svg`
  const all = BADGES.map((type) =>
    badge({
      name: type,
      title: ENDPOINT.badgeTypes[type],
      address: type === 'state' ? path : `${path}?type=${type}`,
      page: endpointPath(network, endpoint),
      alt: ENDPOINT.badgeAlt(title, ENDPOINT.badgeTypes[type].toLowerCase()),
      origin,
      version,
    }),
  )
  return badgesSection(all, 'panel')
}

/** Changes with what the badges show: state, lag and availability. */
function badgeVersion(endpoint: EndpointView, isHalted: boolean): string {
  const { since, heads, conditions, availability } = endpoint
  const lags = heads.map(({ lag_blocks: lag }) => lag)
  const lag = lags.length === 0 || lags.includes(null) ? '-' : Math.max(...lags.map((lag) => lag ?? 0))
  const isBehind = conditions.some(({ code }) => code === 'lagging' || code === 'stalled' || code === 'forked')
  return [
    lookOf(endpoint),
    Date.parse(since),
    lag,
    Number(isBehind),
    Number(isHalted),
    availability['30d'].ratio?.toFixed(5) ?? '-',
  ].join('.')
}

/** Current conditions, unless the disagreement above already lists them. */
function reasons(endpoint: EndpointView): TemplateResult | typeof nothing {
  const { conditions, state } = endpoint
  if (isDisputed(endpoint) || conditions.length === 0) return nothing
  return html`<div class="reasons-now ${state}">
    ${conditions.map(({ code, message }) => html`<p class="why">${codeLink(code)} ${unbroken(message)} <small>${NEXT_STEPS[code]}</small></p>`)}
  </div>`
}
