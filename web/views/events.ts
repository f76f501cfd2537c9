import type { IncidentSummaryView } from '../../src/http/wire/incidents.ts'
import type { MaintenanceView, StatusView } from '../../src/http/wire/status.ts'
import { ticking } from './endpoint-row.ts'
import { age, moment, unbroken, type Zone } from './format.ts'
import { countedFrom, incidentSentence, incidentTime, whoseFault } from './incident-sentence.ts'
import { html, nothing, repeat, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { incidentPath } from './route.ts'
import type { Model } from './view.ts'
import { minute } from './when.ts'
import { titleOf, WORDS } from './words.ts'
import { EVENT_WORDS } from './words-events.ts'

/**
 * The open incidents of all networks, or of one, worst first; many of the same cause are one line. While the reader is
 * among them, each line stays where it is: one that closes says so, and a new one comes last.
 */
export function incidentsSection(
  { incidents: all, status, settings: { zone }, nowMs, orderedBy }: Model,
  network?: string,
  most = MOST_LINES,
): TemplateResult | typeof nothing {
  const own = (of: readonly IncidentSummaryView[]) =>
    of.filter((one) => network === undefined || one.network === network)
  const incidents = own(all)
  const before = own(orderedBy?.incidents ?? all)
  if (status === null || incidents.length + before.length === 0) return nothing
  const open = new Map(incidents.map((incident) => [incident.id, incident]))
  const news = incidents.filter(({ id }) => before.every((known) => known.id !== id))
  const lines = [before, news].flatMap((of) => byCause(worstIncidentsFirst(of)))
  const shown = lines.slice(0, most)
  const more = lines.slice(most).flatMap((line) => line.filter(({ id }) => open.has(id))).length
  return html`
    <section class="events incidents ${worst(incidents)} ${most < MOST_LINES ? 'brief' : ''}" aria-labelledby="incidents">
      <h2 id="incidents">${EVENT_WORDS.incidents}${most < MOST_LINES ? html` <a href="/incidents?open=true">${EVENT_WORDS.all(incidents.length)}</a>` : nothing}</h2>
      <ul>
        ${repeat(
          shown,
          ([first]) => first?.id,
          (line) => {
            const now = line.flatMap(({ id }) => open.get(id) ?? [])
            if (now.length === 0) return closedItem(line, status)
            const current = now.map((incident) => asOfNow(incident, status))
            return line.length > 1
              ? groupItem(current, status, zone, nowMs)
              : current.map((incident) => incidentItem(incident, status, zone, nowMs))
          },
        )}
        ${more > 0 && most === MOST_LINES ? html`<li><a href="/incidents?open=true">${EVENT_WORDS.more(more)}</a></li>` : nothing}
      </ul>
    </section>
  `
}

/** Down before degraded, then the oldest first. */
export function worstIncidentsFirst(incidents: readonly IncidentSummaryView[]): readonly IncidentSummaryView[] {
  return incidents.toSorted((a, b) => badness(a) - badness(b) || Date.parse(a.opened_at) - Date.parse(b.opened_at))
}

function badness(incident: IncidentSummaryView): number {
  return stateNow(incident) === 'down' ? 0 : incident.cause === 'endpoint' ? 2 : 1
}

/** Of an open incident: an endpoint that is up at the moment is unstable, whatever was worst. */
export function stateNow({ cause, state, conditions }: IncidentSummaryView): IncidentSummaryView['state'] {
  if (cause !== 'endpoint' || conditions.length === 0) return state
  return conditions.some(({ until, state: of }) => until === null && of === 'down') ? 'down' : 'degraded'
}

/** Incidents of endpoints of one network that have the same reason, in the order of the first of each. */
function byCause(incidents: readonly IncidentSummaryView[]): readonly (readonly IncidentSummaryView[])[] {
  const groups = new Map<string, IncidentSummaryView[]>()
  for (const incident of incidents) {
    const { id, network, cause, flapping, conditions } = incident
    const codes = conditions.flatMap(({ code, until }) => (until === null ? [code] : []))
    const key = cause === 'endpoint' ? JSON.stringify([network, stateNow(incident), flapping, ...codes.sort()]) : id
    const of = groups.get(key)
    if (of === undefined) groups.set(key, [incident])
    else of.push(incident)
  }
  return [...groups.values()].flatMap((group) => (group.length < LEAST_GROUPED ? group.map((one) => [one]) : [group]))
}

const LEAST_GROUPED = 3
const MOST_LINES = 6

const MOST_AHEAD = 3

function worst(incidents: readonly IncidentSummaryView[]): 'down' | 'degraded' {
  return incidents.some((incident) => stateNow(incident) === 'down') ? 'down' : 'degraded'
}

/**
 * Loaded incidents as later events changed them, with those open that `isAsked` accepts but were not loaded: opened since, or
 * older than the page; newest first. Without events at most ten of the latter: a fleet that is down has thousands.
 */
export function asOfEvents(
  loaded: readonly IncidentSummaryView[],
  { incidents, ended = [], contact }: Pick<Model, 'incidents' | 'ended' | 'contact'>,
  isAsked: (incident: IncidentSummaryView) => boolean,
): readonly IncidentSummaryView[] {
  // Without contact, what was loaded may be later.
  const changed = contact.kind === 'stale' ? [] : [...ended, ...incidents]
  const latest = new Map(changed.map((incident) => [incident.id, incident]))
  const known = loaded.map((incident) => latest.get(incident.id) ?? incident)
  const news = incidents.filter((incident) => known.every(({ id }) => id !== incident.id) && isAsked(incident))
  return [...(contact.kind === 'live' ? news : news.slice(0, 10)), ...known]
    .filter(({ absorbed_by: whole }) => whole === null)
    .sort((a, b) => Date.parse(b.opened_at) - Date.parse(a.opened_at))
}

/** Replaces the messages of an incident, which are as old as its start, with the current ones of the status. */
export function asOfNow(incident: IncidentSummaryView, { networks }: StatusView): IncidentSummaryView {
  const of = networks.find(({ name }) => name === incident.network)
  const holding = of?.endpoints.find(({ name }) => name === incident.endpoint)?.conditions ?? []
  const conditions = incident.conditions.map((condition) => {
    const now = condition.until === null ? holding.find(({ code }) => code === condition.code) : undefined
    return now === undefined ? condition : { ...condition, message: now.message }
  })
  return { ...incident, conditions }
}

/** `Avalanche: 9 of 30 endpoints down: answered HTTP 503`. */
function groupItem(
  group: readonly IncidentSummaryView[],
  status: StatusView,
  zone: Zone,
  nowMs: number,
): TemplateResult {
  const [first] = group
  if (first === undefined) return html``
  const { network, flapping } = first
  const state = stateNow(first)
  const of = status.networks.find(({ name }) => name === network)
  const reasons = new Set(group.map((incident) => mainReason(incident)))
  const [message = ''] = reasons
  const codes = [...new Set(first.conditions.flatMap(({ code, until }) => (until === null ? [code] : [])))]
  const why = reasons.size === 1 ? message : codes.join(', ')
  const [oldest = countedFrom(first)] = group.map(countedFrom).sort()
  return html`
    <li>
      ${mark(state)}
      <p><b>${of?.title ?? network}: ${EVENT_WORDS.endpointsOf(group.length, of?.endpoints.length ?? group.length)}</b> <a href="/incidents?open=true&network=${encodeURIComponent(network)}">${flapping ? WORDS.flapping : WORDS.states[state].toLowerCase()}${why === '' ? nothing : `: ${unbroken(why)}`}</a></p>
      <span class="when">${WORDS.since} ${ticking(oldest, zone, nowMs)}</span>
    </li>
  `
}

/** A line whose incidents have all closed since the reader came to it. */
function closedItem(line: readonly IncidentSummaryView[], status: StatusView): TemplateResult {
  const [{ id, network, endpoint }] = line as [IncidentSummaryView]
  const [path, title] =
    line.length === 1
      ? [incidentPath(id), titleOf(status, network, endpoint === null ? null : [endpoint])]
      : [
          `/incidents?network=${encodeURIComponent(network)}`,
          `${titleOf(status, network, null)}: ${EVENT_WORDS.incidentsOf(line.length)}`,
        ]
  return html`<li>${mark('up')}<p><b>${title}</b> <a href=${path}>${EVENT_WORDS.closed}</a></p></li>`
}

function mainReason({ conditions, state }: IncidentSummaryView): string {
  const holding = conditions.filter(({ until }) => until === null)
  return (holding.find((condition) => condition.state === state) ?? holding[0])?.message ?? ''
}

function incidentItem(incident: IncidentSummaryView, status: StatusView, zone: Zone, nowMs: number): TemplateResult {
  const { id, network, endpoint } = incident
  const who = titleOf(status, network, endpoint === null ? null : [endpoint])
  const fault = whoseFault(
    incident,
    status.networks.find(({ name }) => name === network),
  )
  const lasted = incidentTime(incident, nowMs)
  return html`
    <li>
      ${mark(stateNow(incident))}
      <p><b>${who}</b> <a href=${incidentPath(id)}>${unbroken(incidentSentence(incident))}</a>${fault === '' ? nothing : html`. <small>${fault}</small>`}</p>
      <span class="when">${WORDS.since} ${/^[^,]+$/.test(lasted) ? ticking(countedFrom(incident), zone, nowMs) : unbroken(lasted)}</span>
    </li>
  `
}

/** Running maintenance, and the next occurrence of each window. The daemon sends them ordered by time. */
export function planAt(
  maintenance: readonly MaintenanceView[],
  nowMs: number,
): { readonly running: readonly MaintenanceView[]; readonly ahead: readonly MaintenanceView[] } {
  const left = maintenance.filter(({ until }) => Date.parse(until) > nowMs)
  const later = left.filter(({ from }) => Date.parse(from) > nowMs)
  const next = new Map(later.toReversed().map((period) => [`${period.network}/${period.name}`, period]))
  return {
    running: left.filter(({ from }) => Date.parse(from) <= nowMs),
    ahead: later.filter((period) => next.get(`${period.network}/${period.name}`) === period),
  }
}

/** Running maintenance, and the next planned windows, each with its end: of everything, or of one network or endpoint. */
export function maintenanceSection(
  { status, nowMs, settings: { zone } }: Pick<Model, 'status' | 'nowMs' | 'settings'>,
  network?: string,
  endpoint?: string | null,
): TemplateResult | typeof nothing {
  if (status === null) return nothing
  const isOurs = (of: MaintenanceView) =>
    (network === undefined || of.network === network) &&
    (typeof endpoint !== 'string' || of.endpoints === null || of.endpoints.includes(endpoint))
  const { running, ahead } = planAt(status.maintenance.filter(isOurs), nowMs)
  if (running.length + ahead.length === 0) return nothing
  const more = ahead.length - MOST_AHEAD
  return html`
    <section class="events maintenance" aria-labelledby="maintenance">
      <h2 id="maintenance">${EVENT_WORDS.maintenance}</h2>
      <ul>
        ${running.map((period) => maintenanceItem(period, status, html`${countdown(period.until, zone, nowMs)} ${EVENT_WORDS.left}, ${EVENT_WORDS.until} ${clock(period.until, zone, nowMs)}`))}
        ${ahead
          .slice(0, MOST_AHEAD)
          .map((period) =>
            maintenanceItem(
              period,
              status,
              html`${EVENT_WORDS.ahead} ${countdown(period.from, zone, nowMs)}, ${clock(period.from, zone, nowMs)} ${EVENT_WORDS.to} ${clock(period.until, zone, Date.parse(period.from))}`,
            ),
          )}
        ${more > 0 ? html`<li>${EVENT_WORDS.more(more)}</li>` : nothing}
      </ul>
    </section>
  `
}

function maintenanceItem(
  { name, network, endpoints }: MaintenanceView,
  status: StatusView,
  when: TemplateResult,
): TemplateResult {
  return html`
    <li>
      ${mark('maintenance')}
      <p><b>${titleOf(status, network, endpoints)}</b> ${name}</p>
      <span class="when">${when}</span>
    </li>
  `
}

/** The time left until then, which `web/ticking.ts` counts down. */
function countdown(time: string, zone: Zone, nowMs: number): TemplateResult {
  return html`<time datetime=${time} title=${moment(time, zone)} data-until>${age((Date.parse(time) - nowMs) / 1000)}</time>`
}

/** `14:30`, after the day if that is another one than that of `nearMs`. */
function clock(time: string, zone: Zone, nearMs: number): string {
  const date = (at: string | number) => moment(at, zone).split(',', 1)[0]
  const text = minute(Date.parse(time), zone)
  return date(time) === date(nearMs) ? text : `${date(time)}, ${text}`
}
