import type { RulesView } from '../../src/http/wire-history.ts'
import type { IncidentSummaryView } from '../../src/http/wire-incidents.ts'
import { count, duration, latency, moment, unbroken, type Zone } from './format.ts'
import { incidentSentence, incidentTime } from './incident-sentence.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { incidentPath } from './route.ts'
import type { Endpoint } from './span.ts'
import { ENDPOINT } from './words-endpoint.ts'

/** The endpoint's incidents, newest first. */
export function incidentsPanel(
  incidents: readonly IncidentSummaryView[],
  { network, endpoint }: Endpoint,
  zone: Zone,
  nowMs: number,
): TemplateResult {
  return html`
    <section class="panel" aria-labelledby="incidents">
      <h2 id="incidents">${ENDPOINT.incidents}</h2>
      ${
        incidents.length === 0
          ? html`<p>${ENDPOINT.noIncidents}</p>`
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
        <a href=${incidentPath(id)}><time datetime=${openedAt}>${moment(openedAt, zone)}</time></a>
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

const BADGES = ['state', 'availability', 'lag'] as const

/**
 * The endpoint's badges with embed code. The code needs the origin, which only the browser knows. Each `version` is a
 * picture of its own to the browser, which otherwise keeps showing the first one.
 */
export function badgePanel(
  { network, endpoint }: Endpoint,
  { title, origin, version }: { readonly title: string; readonly origin: string; readonly version: string },
): TemplateResult {
  const path = `/badge/${encodeURIComponent(network)}/${encodeURIComponent(endpoint)}.svg`
  const page = `${origin}/endpoints/${encodeURIComponent(network)}/${encodeURIComponent(endpoint)}`
  return html`
    <section class="panel badges" aria-labelledby="badges">
      <h2 id="badges">${ENDPOINT.badge}</h2>
      ${BADGES.map((type, at) => {
        const address = type === 'state' ? path : `${path}?type=${type}`
        const picture = `${address}${type === 'state' ? '?' : '&'}v=${encodeURIComponent(version)}`
        const alt = ENDPOINT.badgeAlt(title, ENDPOINT.badgeTypes[type].toLowerCase())
        const codes = {
          html: `<a href="${attribute(page)}"><img src="${attribute(origin + address)}" alt="${attribute(alt)}"></a>`,
          markdown: `[![${alt.replace(/[[\]\\]/g, '\\$&')}](${origin}${address})](${page})`,
        }
        return html`
          <details name="badge" ?open=${at === 0}>
            <summary><img src=${picture} alt=${alt} height="20" /> <span>${ENDPOINT.badgeTypes[type]}</span></summary>
            ${(origin === '' ? [] : (['html', 'markdown'] as const)).map(
              (markup) => html`
              <p class="embed">
                <span>${ENDPOINT.markups[markup]}</span>
                <code id="embed-${type}-${markup}" tabindex="0">${codes[markup]}</code>
                <button type="button" data-act="copy" data-copy="embed-${type}-${markup}" data-copied=${ENDPOINT.copied} aria-label="${ENDPOINT.copy}: ${ENDPOINT.badgeTypes[type]}, ${ENDPOINT.markups[markup]}">${ENDPOINT.copy}</button>
              </p>
            `,
            )}
          </details>
        `
      })}
    </section>
  `
}

/** Escapes a title for an attribute of the shown code. */
function attribute(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;')
}
