import type { IncidentListView, IncidentSummaryView } from '../../../src/http/wire/incidents.ts'
import { asOfEvents, asOfNow, stateNow, worstIncidentsFirst } from '../events.ts'
import { moment, unbroken, type Zone } from '../format.ts'
import { incidentSentence, incidentTime } from '../incident-sentence.ts'
import { html, nothing, repeat, svg, type TemplateResult } from '../lit.ts'
import { mark } from '../mark.ts'
import { incidentPath, type Route } from '../route.ts'
import { type Answer, defineView, type Model, type Sources } from '../view.ts'
import { clockOf, dated, dateOf, day, minute, sinceMidnight } from '../when.ts'
import { titleOf, WORDS } from '../words.ts'
import { incidentFilters } from './incident-filters.ts'
import { incidentQuery, isAskedFor } from './incident-query.ts'
import { INCIDENT_WORDS } from './words-incidents.ts'

/** Open incidents, then closed ones by day, newest first. */
export const view = defineView<IncidentListView>({
  title: ({ brand }) => `${INCIDENT_WORDS.title} · ${brand.title}`,
  load,
  draw,
  refreshMs: 5000,
  hasStyle: true,
})

async function load(sources: Sources, route: Route, nowMs: number): Promise<Answer<IncidentListView>> {
  const asked = incidentQuery(route, nowMs)
  // The API refuses what cannot be a name; nothing has it.
  const hasNames = [asked.network, asked.endpoint].every((name) => name === undefined || /^[a-z0-9-]{1,64}$/.test(name))
  return hasNames ? sources.incidents(asked) : { ok: true, value: { incidents: [], next_cursor: null } }
}

function draw(model: Model<IncidentListView>): TemplateResult {
  const { data, route } = model
  const list = withNews(model)
  const { cursor, ...filter } = route.query
  const isAll = Object.keys(filter).length === 0
  return html`
    <header class="subject"><h1 tabindex="-1">${INCIDENT_WORDS.title}</h1></header>
    ${incidentFilters(model)}
    ${list.length === 0 ? html`<p class="no-match">${isAll ? INCIDENT_WORDS.calm : html`${INCIDENT_WORDS.none} <a href="/incidents">${WORDS.clear}</a>`}</p>` : nothing}
    ${repeat(
      [...openFirst(list), ...byDay(list, model.settings.zone)],
      ([heading]) => heading,
      ([heading, incidents]) => html`
        <section class="day">
          <h2>${heading} <small>${INCIDENT_WORDS.ofDay(incidents.length)}</small></h2>
          ${AXIS}
          <ol>
            ${repeat(
              incidents,
              ({ id }) => id,
              (incident) => row(incident, model),
            )}
          </ol>
        </section>
      `,
    )}
    <p class="pages">
      ${cursor === undefined ? nothing : html`<a href="/incidents${searchOf(filter)}">${INCIDENT_WORDS.newest}</a>`}
      ${
        data.next_cursor === null
          ? nothing
          : html`<a rel="next" href="/incidents${searchOf({ ...filter, cursor: data.next_cursor })}">${INCIDENT_WORDS.older}</a>`
      }
    </p>
  `
}

/** Only the first page can have new ones. */
function withNews(model: Model<IncidentListView>): readonly IncidentSummaryView[] {
  const { data, route, nowMs } = model
  const asked = incidentQuery(route, nowMs)
  const isFirstPage = route.query.cursor === undefined
  return asOfEvents(data.incidents, model, (incident) => isFirstPage && isAskedFor(incident, asked)).filter(
    ({ closed_at: closedAt }) => closedAt === null || asked.open !== true,
  )
}

type Group = readonly [heading: string, incidents: readonly IncidentSummaryView[]]

/** Open incidents are listed above all days, worst first. */
function openFirst(incidents: readonly IncidentSummaryView[]): readonly Group[] {
  const open = worstIncidentsFirst(incidents.filter(({ closed_at: closedAt }) => closedAt === null))
  return open.length === 0 ? [] : [[INCIDENT_WORDS.open, open]]
}

function byDay(incidents: readonly IncidentSummaryView[], zone: Zone): readonly Group[] {
  const days = new Map<string, IncidentSummaryView[]>()
  for (const incident of incidents.filter(({ closed_at: closedAt }) => closedAt !== null)) {
    const day = dateOf(Date.parse(incident.opened_at), zone)
    const of = days.get(day)
    if (of === undefined) days.set(day, [incident])
    else of.push(incident)
  }
  return [...days]
}

function searchOf(query: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(query)
  return search.size === 0 ? '' : `?${search.toString()}`
}

function row(incident: IncidentSummaryView, { status, settings, nowMs }: Model<IncidentListView>): TemplateResult {
  const { id, network, endpoint, scope, state, opened_at: openedAt, closed_at: closedAt } = incident
  const look = closedAt === null ? stateNow(incident) : state
  const { zone } = settings
  const who = status === null ? network : titleOf(status, network, endpoint === null ? null : [endpoint])
  const codes = [...new Set(incident.conditions.map(({ code }) => code))]
  const endMs = closedAt === null ? nowMs : Date.parse(closedAt)
  const openedMs = Date.parse(openedAt)
  // Start and end of a short incident would show the same minute.
  const timeText = endMs - openedMs < SHORT_MS ? clockOf : minute
  const isOld = closedAt === null && dateOf(openedMs, zone) !== dateOf(nowMs, zone)
  return html`
    <li class="incident ${look} ${closedAt === null ? 'open' : 'over'}">
      ${mark(look)}
      <p class="what">
        <a href=${incidentPath(id)}>${who}</a> ${unbroken(incidentSentence(status === null ? incident : asOfNow(incident, status)))}
        <span class="codes"
          >${codes.map((code) => html`<span class="code">${code}</span>`)}${scope === 'endpoint' ? nothing : html`<small>${INCIDENT_WORDS.scopes[scope]}</small>`}</span
        >
      </p>
      ${hours(openedMs, endMs, state, zone)}
      <p class="span">
        <time datetime=${openedAt} title=${moment(openedAt, zone)}>${isOld ? `${day(openedMs, zone)}, ` : ''}${timeText(openedMs, zone)}</time
        >${
          closedAt === null
            ? nothing
            : html`–<time datetime=${closedAt} title=${moment(closedAt, zone)}>${dated(timeText(endMs, zone), endMs, endMs - openedMs, zone)}</time>`
        }
        <small class=${closedAt === null ? 'lasting' : nothing}>${closedAt === null ? `${INCIDENT_WORDS.lasts} ` : ''}${unbroken(incidentTime(incident, nowMs))}</small>
      </p>
    </li>
  `
}

/** The hours of the strips below. */
const AXIS = html`<p class="axis" aria-hidden="true"><span>${[0, 6, 12, 18, 24].map((hour) => html`<i>${hour}</i>`)}</span></p>`

const SHORT_MS = 600_000
const DAY_MIN = 1440
/** Shorter incidents would be narrower than a few pixels. */
const LEAST_MIN = 8

/** The incident on a strip of its day, cut at midnight. The times next to it carry the same information. */
function hours(openedMs: number, endMs: number, state: string, zone: Zone): TemplateResult {
  const from = Math.min(DAY_MIN - LEAST_MIN, Math.round(sinceMidnight(openedMs, zone) / 60_000))
  const width = Math.min(DAY_MIN - from, Math.max(LEAST_MIN, Math.round((endMs - openedMs) / 60_000)))
  return html`<svg class="hours" viewBox="0 0 1440 12" preserveAspectRatio="none" aria-hidden="true" focusable="false">
    <rect class="ground" y="3" width="1440" height="6" />
    ${[360, 720, 1080].map((at) => svg`<path class="tick" d="M${at} 1v10" vector-effect="non-scaling-stroke" />`)}
    <rect class=${state} x=${from} y=${state === 'down' ? 0 : 2} width=${width} height=${state === 'down' ? 12 : 8} />
  </svg>`
}
