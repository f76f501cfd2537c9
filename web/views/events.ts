import type { IncidentSummaryView } from '../../src/http/wire-incidents.ts'
import type { MaintenanceView, StatusView } from '../../src/http/wire-status.ts'
import { ticking } from './endpoint-row.ts'
import { age, unbroken, type Zone } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { planAt } from './model.ts'
import { incidentPath } from './route.ts'
import { incidentSentence, titleOf, WORDS, whoseFault } from './words.ts'

/** The open incidents of all networks. */
export function incidentsSection(
  incidents: readonly IncidentSummaryView[],
  status: StatusView,
  zone: Zone,
  nowMs: number,
): TemplateResult | typeof nothing {
  if (incidents.length === 0) return nothing
  const more = incidents.length - MOST_INCIDENTS
  return html`
    <section class="events incidents ${worst(incidents)}" aria-labelledby="incidents">
      <h2 id="incidents">${WORDS.incidents}</h2>
      <ul>
        ${incidents.slice(0, MOST_INCIDENTS).map((incident) => incidentItem(incident, status, zone, nowMs))}
        ${more > 0 ? html`<li><a href="/incidents">${WORDS.more(more)}</a></li>` : nothing}
      </ul>
    </section>
  `
}

const MOST_INCIDENTS = 12
const MOST_AHEAD = 3

function worst(incidents: readonly IncidentSummaryView[]): 'down' | 'degraded' {
  return incidents.some(({ state }) => state === 'down') ? 'down' : 'degraded'
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

function incidentItem(incident: IncidentSummaryView, status: StatusView, zone: Zone, nowMs: number): TemplateResult {
  const { id, state, network, endpoint, opened_at: openedAt } = incident
  const who = titleOf(status, network, endpoint === null ? null : [endpoint])
  const fault = whoseFault(
    incident,
    status.networks.find(({ name }) => name === network),
  )
  return html`
    <li>
      ${mark(state)}
      <p><a href=${incidentPath(id)}>${who}</a> ${unbroken(incidentSentence(asOfNow(incident, status)))}${fault === '' ? nothing : html`. <small>${fault}</small>`}</p>
      <span class="when">${WORDS.since} ${ticking(openedAt, zone, nowMs)}</span>
    </li>
  `
}

/** Running maintenance, and the next planned windows. */
export function maintenanceSection(status: StatusView, nowMs: number): TemplateResult | typeof nothing {
  const { running, ahead } = planAt(status.maintenance, nowMs)
  if (running.length + ahead.length === 0) return nothing
  const more = ahead.length - MOST_AHEAD
  return html`
    <section class="events maintenance" aria-labelledby="maintenance">
      <h2 id="maintenance">${WORDS.maintenance}</h2>
      <ul>
        ${running.map((period) => maintenanceItem(period, status, WORDS.until(until(period.until, nowMs)), period.until))}
        ${ahead
          .slice(0, MOST_AHEAD)
          .map((period) => maintenanceItem(period, status, WORDS.ahead(until(period.from, nowMs)), period.from))}
        ${more > 0 ? html`<li>${WORDS.more(more)}</li>` : nothing}
      </ul>
    </section>
  `
}

function maintenanceItem(
  { name, network, endpoints }: MaintenanceView,
  status: StatusView,
  when: string,
  at: string,
): TemplateResult {
  return html`
    <li>
      ${mark('maintenance')}
      <p><b>${titleOf(status, network, endpoints)}</b> ${name}</p>
      <time datetime=${at} title=${at}>${when}</time>
    </li>
  `
}

function until(time: string, nowMs: number): string {
  return age((Date.parse(time) - nowMs) / 1000)
}
