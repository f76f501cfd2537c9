import type { IncidentView } from '../../../src/http/wire/incidents.ts'
import { shardName } from '../endpoint-row.ts'
import { moment, unbroken, type Zone } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { mark } from '../mark.ts'
import { clockOf, dated } from '../when.ts'
import { changeSentence, INCIDENT_WORDS, offset, sampleSentence } from './words-incidents.ts'

/** The timeline of an incident, with measurements. */
export function incidentChanges(incident: IncidentView, zone: Zone, nowMs: number): TemplateResult {
  const openedMs = Date.parse(incident.opened_at)
  const endMs = incident.closed_at === null ? nowMs : Date.parse(incident.closed_at)
  const when = (at: string) => changedAt(at, { openedMs, endMs, zone })
  const confirmed = incident.confirmed_at
  const later = incident.changes.findIndex(({ at }) => Date.parse(at) > Date.parse(confirmed))
  const place = later === -1 ? incident.changes.length : later
  const item = (change: IncidentView['changes'][number]) => html`
    <li>
      ${when(change.at)} ${mark(change.state)}
      <div>
        <p>${changeSentence(change)}</p>
        ${samples(incident, change, incident.changes[incident.changes.indexOf(change) - 1])}
      </div>
    </li>
  `
  const confirmation = html`<li class="quiet">${when(confirmed)}<span class="dot" aria-hidden="true"></span><p>${INCIDENT_WORDS.confirmed}</p></li>`
  const items = [
    ...incident.changes.slice(0, place).map(item),
    confirmation,
    ...incident.changes.slice(place).map(item),
  ]
  const folded = items.length > MOST_ITEMS ? items.slice(FIRST_ITEMS, -LAST_ITEMS) : []
  if (folded.length === 0) return html`<ol class="changes">${items}</ol>`
  return html`
    <ol class="changes">${items.slice(0, FIRST_ITEMS)}</ol>
    <details class="cycles">
      <summary>${INCIDENT_WORDS.moreChanges(folded.length)}</summary>
      <ol class="changes">${folded}</ol>
    </details>
    <ol class="changes">${items.slice(-LAST_ITEMS)}</ol>
  `
}

/** An incident that flaps repeats itself: its beginning and its end tell most. */
const MOST_ITEMS = 10
const FIRST_ITEMS = 4
const LAST_ITEMS = 3

/** A change of a whole network has one sample per endpoint and shard. */
const MOST_SAMPLES = 12

interface Extent {
  readonly openedMs: number
  readonly endMs: number
  readonly zone: Zone
}

function changedAt(at: string, { openedMs, endMs, zone }: Extent): TemplateResult {
  const ms = Date.parse(at)
  const clock = dated(clockOf(ms, zone), ms, endMs - openedMs, zone)
  return html`<p class="at"><time datetime=${at} title=${moment(at, zone)}>${clock}</time> <small>${offset((ms - openedMs) / 1000)}</small></p>`
}

function samples(
  { endpoint, cause }: IncidentView,
  { samples: measured }: IncidentView['changes'][number],
  previous: IncidentView['changes'][number] | undefined,
): TemplateResult | typeof nothing {
  const news = measured.filter((sample) => isNews(sample, previous))
  const all = news.length === 0 ? measured.slice(0, 1) : news
  if (all.length === 0) return nothing
  const more = all.length - MOST_SAMPLES
  return html`
    <ul class="samples">
      ${all.slice(0, MOST_SAMPLES).map((sample) => {
        const names = [
          ...(endpoint === null ? [sample.endpoint] : []),
          ...(sample.shard === null ? [] : [shardName(sample.shard)]),
        ]
        return html`<li>${names.length === 0 ? nothing : html`<b>${names.join(', ')}</b> `}${unbroken(sampleSentence(sample, cause === 'halted'))}</li>`
      })}
      ${more > 0 ? html`<li>${INCIDENT_WORDS.moreSamples(more)}</li>` : nothing}
    </ul>
  `
}

type Sample = IncidentView['changes'][number]['samples'][number]

/** A shard that was at head before, and still is, tells nothing. */
function isNews(sample: Sample, previous: IncidentView['changes'][number] | undefined): boolean {
  const before = previous?.samples.find(({ endpoint, shard }) => endpoint === sample.endpoint && shard === sample.shard)
  if (before === undefined || (before.latency_seconds === null) !== (sample.latency_seconds === null)) return true
  return (before.lag_blocks ?? 0) !== 0 || (sample.lag_blocks ?? 0) !== 0
}
