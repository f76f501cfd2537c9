import type { RulesView } from '../../../src/http/wire/history.ts'
import type { IncidentSummaryView } from '../../../src/http/wire/incidents.ts'
import { count, duration, latency, unbroken, type Zone } from '../format.ts'
import { incidentSentence, incidentTime } from '../incident-sentence.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { mark } from '../mark.ts'
import { incidentPath } from '../route.ts'
import type { Endpoint } from '../time-range.ts'
import { exactTime } from '../when.ts'
import { ENDPOINT } from '../words-endpoint.ts'

interface Incidents {
  readonly incidents: readonly IncidentSummaryView[]
  readonly incidentsAway: boolean
}

/** The endpoint's incidents, newest first. */
export function incidentsPanel(
  { incidents, incidentsAway }: Incidents,
  { network, endpoint }: Endpoint,
  zone: Zone,
  nowMs: number,
): TemplateResult {
  return html`
    <section class="panel" aria-labelledby="incidents">
      <h2 id="incidents">${ENDPOINT.incidents}</h2>
      ${incidentsAway ? html`<p>${ENDPOINT.incidentsAway(incidents.length)}</p>` : incidents.length === 0 ? html`<p>${ENDPOINT.noIncidents}</p>` : nothing}
      ${
        incidents.length === 0
          ? nothing
          : html`<ol class="happened">
              ${incidents.slice(0, MOST_INCIDENTS).map((incident) => incidentItem(incident, zone, nowMs))}
            </ol>`
      }
      <p><a href="/incidents?network=${encodeURIComponent(network)}&endpoint=${encodeURIComponent(endpoint)}">${ENDPOINT.allIncidents}</a></p>
    </section>
  `
}

const MOST_INCIDENTS = 8

function incidentItem(incident: IncidentSummaryView, zone: Zone, nowMs: number): TemplateResult {
  const { id, state, opened_at: openedAt, closed_at: closedAt } = incident
  return html`
    <li>
      ${mark(state)}
      <p>
        <a href=${incidentPath(id)}>${exactTime(openedAt, zone)}</a>
        ${unbroken(incidentSentence(incident))}
      </p>
      <span class="when">${closedAt === null ? `${ENDPOINT.ongoing}, ` : ''}${incidentTime(incident, nowMs)}</span>
    </li>
  `
}

/** The endpoint's thresholds. */
export function rulesPanel(rules: RulesView | null): TemplateResult | typeof nothing {
  if (rules === null) return nothing
  const { thresholds: limits, checks } = rules
  const { rule } = ENDPOINT
  const rows = [
    rule.polled(duration(rules.interval_seconds), ENDPOINT.tiers[rules.tier]),
    rule.lagging(count(limits.lag_blocks), count(limits.lag_recover_blocks), count(limits.lag_blocks_down)),
    rule.stalled(duration(limits.stall_seconds), duration(rules.block_time_seconds)),
    rule.slow(latency(limits.latency_seconds)),
    ...(checks.includes('liveness')
      ? [
          rule.beat(duration(limits.heartbeat_seconds)),
          rule.failing(count(limits.contiguous_failures)),
          rule.peers(count(limits.min_peers)),
        ]
      : []),
    rule.skewed(duration(limits.clock_skew_seconds)),
    rule.confirmed(limits.fail_after, limits.recover_after),
  ]
  return html`
    <section class="panel" aria-labelledby="rules">
      <h2 id="rules">${ENDPOINT.rules}</h2>
      <dl class="rules">${rows.map(({ name, text }) => html`<dt>${name}</dt><dd>${unbroken(text)}</dd>`)}</dl>
    </section>
  `
}
