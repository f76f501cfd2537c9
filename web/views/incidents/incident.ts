import type { IncidentSummaryView, IncidentView } from '../../../src/http/wire/incidents.ts'
import { asOfNow, maintenanceSection, stateNow } from '../events.ts'
import { unbroken, type Zone } from '../format.ts'
import { incidentSentence, incidentTime, whoseFault } from '../incident-sentence.ts'
import { guard, html, nothing, type TemplateResult } from '../lit.ts'
import { mark } from '../mark.ts'
import { isPublic } from '../model.ts'
import { endpointPath, incidentPath, networkPath, type Route } from '../route.ts'
import { type Answer, defineView, type Model, type Sources } from '../view.ts'
import { exactTime } from '../when.ts'
import { titleOf } from '../words.ts'
import { incidentChanges } from './incident-changes.ts'
import { type IncidentData, incidentCharts, isMonitored, loadIncident, MAX_CHARTED } from './incident-charts.ts'
import { incidentConditions } from './incident-conditions.ts'
import { incidentNotes } from './incident-notes.ts'
import { incidentNotifications } from './incident-notifications.ts'
import { INCIDENT_WORDS, offset } from './words-incidents.ts'

/** One incident: summary, conditions, charts, timeline and post-mortem. */
export const view = defineView<IncidentData>({
  title: (model) => `${who(model)} · ${model.brand.title}`,
  load,
  draw,
  refreshMs: 10_000,
  hasStyle: true,
})

function load(sources: Sources, { params }: Route, nowMs: number, zone: Zone = 'utc'): Promise<Answer<IncidentData>> {
  return loadIncident(sources, params.id ?? '', nowMs, zone)
}

function who({ data: { incident }, status }: Model<IncidentData>): string {
  const { network, endpoint } = incident
  return status === null ? network : titleOf(status, network, endpoint === null ? null : [endpoint])
}

/** Draws the incident of the latest event, with the loaded changes and charts. */
function draw(model: Model<IncidentData>): TemplateResult {
  const { data, settings, nowMs, status } = model
  const latest = [...model.incidents, ...(model.ended ?? [])].find(({ id }) => id === data.incident.id)
  const known = { ...data.incident, ...latest }
  const incident = status === null ? known : asOfNow(known, status)
  const { network, endpoint, state, closed_at: closedAt, absorbed_by: absorbedBy } = incident
  const { zone } = settings
  const of = status?.networks.find(({ name }) => name === network)
  const path = endpoint === null ? networkPath(network) : endpointPath(network, endpoint)
  return html`
    <header class="subject incident">
      <h1 tabindex="-1">${mark(closedAt === null ? stateNow(incident) : state)}<span>${isMonitored(incident, status) ? html`<a href=${path}>${who(model)}</a>` : who(model)} ${unbroken(incidentSentence(incident))}</span></h1>
      <p class=${closedAt === null ? 'open' : 'over'}>
        ${
          closedAt === null
            ? html`${INCIDENT_WORDS.stillOpen}, ${INCIDENT_WORDS.lasts} ${incidentTime(incident, nowMs)}. <small>${whoseFault(incident, of)}</small>`
            : INCIDENT_WORDS.lasted(incidentTime(incident, nowMs))
        }
      </p>
    </header>
    ${maintenanceSection(model, network, endpoint)}
    ${
      absorbedBy === null
        ? nothing
        : html`<p class="part"><a href=${incidentPath(absorbedBy)}>${INCIDENT_WORDS.partOf}</a></p>`
    }
    <div class="sheet">
      <section class="card" aria-labelledby="facts">
        <h2 id="facts">${INCIDENT_WORDS.facts}</h2>
        ${facts(incident, model)}
      </section>
      <section class="card" aria-labelledby="why">
        <h2 id="why">${INCIDENT_WORDS.conditions}</h2>
        ${incidentConditions(incident, zone, nowMs)}
      </section>
      <section class="card wide" aria-labelledby="charts">
        <h2 id="charts">${INCIDENT_WORDS.charts}</h2>
        ${guard([data, zone, closedAt], () => incidentCharts(model, incident))}
        ${
          incident.affected.length > MAX_CHARTED && data.histories !== null
            ? html`<p class="quiet">${INCIDENT_WORDS.moreEndpoints(incident.affected.length - MAX_CHARTED)}</p>`
            : nothing
        }
      </section>
      <section class="card" aria-labelledby="changes">
        <h2 id="changes">${INCIDENT_WORDS.changes}</h2>
        ${incidentChanges(data.incident, zone, nowMs)}
      </section>
      ${incidentNotes(data.incident, model.access, zone)}
      ${incidentNotifications(data.incident, zone)}
      ${endpoint === null ? whole(model, incident) : nothing}
      ${
        data.text === null
          ? nothing
          : html`<section class=${endpoint === null ? 'card wide' : 'card'} aria-labelledby="post-mortem-title">
              <h2 id="post-mortem-title">${INCIDENT_WORDS.postMortem}</h2>
              <p class="acts">
                <button type="button" data-act="copy" data-copy="post-mortem" data-copied=${INCIDENT_WORDS.copied}>${INCIDENT_WORDS.copy}</button>
                ${
                  // A link carries no token, so it would lead to what the public sees.
                  model.access === 'signed-in'
                    ? nothing
                    : html`<a href="/api/v1/incidents/${encodeURIComponent(incident.id)}.txt">${INCIDENT_WORDS.asFile}</a>`
                }
              </p>
              <details>
                <summary>${INCIDENT_WORDS.show}</summary>
                <pre id="post-mortem" tabindex="0" role="region" aria-label=${INCIDENT_WORDS.asFile}>${data.text}</pre>
              </details>
            </section>`
      }
    </div>
  `
}

function facts(
  incident: IncidentSummaryView,
  { data, settings: { zone }, nowMs, status }: Model<IncidentData>,
): TemplateResult {
  const { id, cause, state, flaps, vantages } = incident
  const { opened_at: openedAt, confirmed_at: confirmedAt, closed_at: closedAt } = incident
  const openedMs = Date.parse(openedAt)
  return html`
    <dl>
      <dt>${INCIDENT_WORDS.opened[cause]}</dt>
      <dd>${exactTime(openedAt, zone)}</dd>
      ${incident.planned_until === null ? nothing : html`<dt>${INCIDENT_WORDS.planned}</dt><dd>${exactTime(incident.planned_until, zone)}</dd>`}
      <dt>${INCIDENT_WORDS.confirmed}</dt>
      <dd>${exactTime(confirmedAt, zone)} <small>${offset((Date.parse(confirmedAt) - openedMs) / 1000)}</small></dd>
      <dt>${ending(incident, data.incident)}</dt>
      <dd>${closedAt === null ? INCIDENT_WORDS.notYet : exactTime(closedAt, zone)}</dd>
      <dt>${INCIDENT_WORDS.duration}</dt>
      <dd>
        ${incidentTime(incident, nowMs)}${closedAt === null ? ` ${INCIDENT_WORDS.until}` : ''}
      </dd>
      <dt>${INCIDENT_WORDS.worst}</dt>
      <dd>${state}</dd>
      ${status?.cluster === undefined || vantages.length === 0 ? nothing : html`<dt>${INCIDENT_WORDS.seenFrom}</dt><dd>${vantages.join(', ')}</dd>`}
      ${flaps === 0 ? nothing : html`<dt>${INCIDENT_WORDS.flaps}</dt><dd>${INCIDENT_WORDS.times(flaps)}</dd>`}
      <dt>${INCIDENT_WORDS.id}</dt>
      <dd><a class="id" href=${incidentPath(id)}>${id}</a></dd>
    </dl>
  `
}

/** How it ended, or would end. What it recovered to is known by what was loaded: events tell no changes. */
function ending({ cause, absorbed_by: absorbedBy }: IncidentSummaryView, loaded: IncidentView): string {
  if (absorbedBy !== null) return INCIDENT_WORDS.partOf
  const isLost = loaded.closed_at !== null && loaded.changes.at(-1)?.state !== 'up'
  return isLost ? INCIDENT_WORDS.unmonitored : INCIDENT_WORDS.over[cause]
}

/** A provider's outage has thousands; the API lists them all. */
const MAX_NAMED = 100

/** For an incident of several endpoints: those affected, and incidents that are part of it. */
function whole(model: Model<IncidentData>, { id, network, affected }: IncidentSummaryView): TemplateResult {
  const { parts } = model.data
  const endpoints = model.status?.networks.find(({ name }) => name === network)?.endpoints ?? []
  const more = affected.length - MAX_NAMED
  const moreText = INCIDENT_WORDS.moreSamples(more)
  return html`
    <section class="card" aria-labelledby="affected">
      <h2 id="affected">${INCIDENT_WORDS.affected}</h2>
      <ul class="plain">
        ${affected.slice(0, MAX_NAMED).map((name) => {
          const title = endpoints.find((one) => one.name === name)?.title ?? name
          return html`<li><a href=${endpointPath(network, name)}>${title}</a></li>`
        })}
        ${more > 0 ? html`<li>${isPublic(model, network) ? html`<a href="/api/v1/incidents/${encodeURIComponent(id)}">${moreText}</a>` : moreText}</li>` : nothing}
      </ul>
      ${
        parts.length === 0
          ? nothing
          : html`<h2>${INCIDENT_WORDS.parts}</h2>
              <ul class="plain">
                ${parts.map(
                  (part) =>
                    html`<li>${mark(part.state)} <a href=${incidentPath(part.id)}>${part.endpoint ?? network}</a>
                      ${unbroken(incidentSentence(part))}</li>`,
                )}
              </ul>`
      }
    </section>
  `
}
