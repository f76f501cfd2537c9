import type { IncidentListView } from '../../../src/http/wire/incidents.ts'
import type { Zone } from '../format.ts'
import { html, nothing, repeat, type TemplateResult } from '../lit.ts'
import { RANGES } from '../time-range.ts'
import type { Model } from '../view.ts'
import { fieldTime, fromTo } from '../when.ts'
import { NEXT_STEPS } from '../words-runbooks.ts'
import { TIME_RANGES, timeOf } from './incident-query.ts'
import { INCIDENT_WORDS } from './words-incidents.ts'

/** Filters are links: they work without JavaScript, and each list has its own address. */
export function incidentFilters({ route, status, nowMs, settings }: Model<IncidentListView>): TemplateResult {
  const { cursor: _, ...query } = route.query
  const networks = status?.networks ?? []
  const network = networks.find(({ name }) => name === query.network)
  const endpoints = (network === undefined ? networks : [network]).flatMap((of) =>
    of.endpoints.map(({ name, title }) => ({
      title: network === undefined ? `${of.title}: ${title}` : title,
      to: { ...query, network: of.name, endpoint: name },
    })),
  )
  const chosen = network?.endpoints.find(({ name }) => name === query.endpoint)
  return html`
    <nav class="sieve" aria-label=${INCIDENT_WORDS.filters}>
      <p class="choice">
        ${[
          [INCIDENT_WORDS.all, undefined],
          [INCIDENT_WORDS.open, 'true'],
          [INCIDENT_WORDS.closed, 'false'],
        ].map(([title, open]) => choice(title ?? '', { ...query, open }, query.open === open))}
      </p>
      ${menu({
        label: INCIDENT_WORDS.network,
        value: network?.title ?? query.network,
        toAll: { ...query, network: undefined, endpoint: undefined },
        links: networks.map(({ name, title }) => ({ title, to: { ...query, network: name, endpoint: undefined } })),
      })}
      ${endpoints.length > MOST_LISTED && query.endpoint === undefined && network === undefined ? nothing : menu({ label: INCIDENT_WORDS.endpoint, value: chosen?.title ?? query.endpoint, toAll: { ...query, endpoint: undefined }, links: endpoints })}
      ${timeMenu(query, nowMs, settings.zone)}
      ${menu({
        label: INCIDENT_WORDS.condition,
        value: query.condition,
        toAll: { ...query, condition: undefined },
        links: Object.keys(NEXT_STEPS).map((code) => ({ title: code, to: { ...query, condition: code } })),
      })}
    </nav>
  `
}

/** Of a larger fleet, endpoints are listed once a network is chosen. */
const MOST_LISTED = 40

type Query = Readonly<Record<string, string>>

type Wanted = Readonly<Record<string, string | undefined>>

function choice(title: string, to: Wanted, isCurrent: boolean): TemplateResult {
  return html`<a href=${addressOf(to)} aria-current=${isCurrent ? 'true' : nothing}>${title}</a>`
}

/** Named ranges up to now; with JavaScript any other. */
function timeMenu(query: Query, nowMs: number, zone: Zone): TemplateResult {
  const time = timeOf(query, nowMs)
  const { fromMs, toMs } = time ?? { fromMs: nowMs - RANGES['24h'], toMs: nowMs }
  const anyTime = { ...query, range: undefined, from: undefined, to: undefined }
  const { ranges } = INCIDENT_WORDS
  return menu({
    label: INCIDENT_WORDS.time,
    value: time === null ? undefined : time.range === null ? fromTo(fromMs, toMs, zone) : ranges[time.range],
    toAll: anyTime,
    links: TIME_RANGES.map((range) => ({ title: ranges[range], to: { ...anyTime, range } })),
    form: html`<form data-act="pick-time">
      <label>${INCIDENT_WORDS.from} <input type="datetime-local" name="from" required value=${fieldTime(fromMs, zone)} /></label>
      <label>${INCIDENT_WORDS.to} <input type="datetime-local" name="to" required value=${fieldTime(toMs, zone)} /></label>
      <button>${INCIDENT_WORDS.showTime}</button>
    </form>`,
  })
}

interface Menu {
  readonly label: string
  /** What is chosen. */
  readonly value: string | undefined
  readonly toAll: Wanted
  readonly links: readonly { readonly title: string; readonly to: Wanted }[]
  readonly form?: TemplateResult
}

function menu({ label, value, toAll, links, form }: Menu): TemplateResult {
  // A new key makes a new element, so the menu closes after a choice.
  return html`${repeat(
    [`${label} ${value}`],
    (key) => key,
    () => html`
      <details class="menu">
        <summary>${label}: <b>${value ?? INCIDENT_WORDS.all}</b></summary>
        <ul>
          <li>${choice(INCIDENT_WORDS.all, toAll, value === undefined)}</li>
          ${links.map(({ title, to }) => html`<li>${choice(title, to, title === value)}</li>`)}
          ${form === undefined ? nothing : html`<li>${form}</li>`}
        </ul>
      </details>
    `,
  )}`
}

function addressOf(to: Wanted): string {
  const query: Query = Object.fromEntries(
    Object.entries(to).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const search = new URLSearchParams(query)
  return search.size === 0 ? '/incidents' : `/incidents?${search.toString()}`
}
