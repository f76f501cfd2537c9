import type { IncidentView } from '../../src/http/wire-incidents.ts'
import { shardName } from './endpoint-row.ts'
import { moment, unbroken, type Zone } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { clockOf } from './when.ts'
import { changeSentence, INCIDENT_WORDS, offset, sampleSentence } from './words-incidents.ts'

/** The timeline of an incident, with measurements. */
export function incidentChanges(incident: IncidentView, zone: Zone): TemplateResult {
  const openedMs = Date.parse(incident.opened_at)
  const confirmed = incident.confirmed_at
  const later = incident.changes.findIndex(({ at }) => Date.parse(at) > Date.parse(confirmed))
  const place = later === -1 ? incident.changes.length : later
  const item = (change: IncidentView['changes'][number]) => html`
    <li>
      ${when(change.at, openedMs, zone)} ${mark(change.state)}
      <div>
        <p>${changeSentence(change)}</p>
        ${samples(incident, change)}
      </div>
    </li>
  `
  return html`
    <ol class="changes">
      ${incident.changes.slice(0, place).map(item)}
      <li class="quiet">${when(confirmed, openedMs, zone)}<span class="dot" aria-hidden="true"></span><p>${INCIDENT_WORDS.confirmed}</p></li>
      ${incident.changes.slice(place).map(item)}
    </ol>
  `
}

/** A change of a whole network has one sample per endpoint and shard. */
const MOST_SAMPLES = 12

function when(at: string, openedMs: number, zone: Zone): TemplateResult {
  const ms = Date.parse(at)
  return html`<p class="at"><time datetime=${at} title=${moment(at, zone)}>${clockOf(ms, zone)}</time> <small>${offset((ms - openedMs) / 1000)}</small></p>`
}

function samples(
  { endpoint }: IncidentView,
  { samples: all }: IncidentView['changes'][number],
): TemplateResult | typeof nothing {
  if (all.length === 0) return nothing
  const more = all.length - MOST_SAMPLES
  return html`
    <ul class="samples">
      ${all.slice(0, MOST_SAMPLES).map((sample) => {
        const names = [
          ...(endpoint === null ? [sample.endpoint] : []),
          ...(sample.shard === null ? [] : [shardName(sample.shard)]),
        ]
        return html`<li>${names.length === 0 ? nothing : html`<b>${names.join(', ')}</b> `}${unbroken(sampleSentence(sample))}</li>`
      })}
      ${more > 0 ? html`<li>${INCIDENT_WORDS.moreSamples(more)}</li>` : nothing}
    </ul>
  `
}
