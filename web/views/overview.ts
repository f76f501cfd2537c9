import type { StripsView, StripView } from '../../src/http/wire-history.ts'
import type { EndpointView, NetworkView, StateView, StatusView } from '../../src/http/wire-status.ts'
import { endpointRow, shardName, ticking } from './endpoint-row.ts'
import { incidentsSection, maintenanceSection } from './events.ts'
import { count, moment, unbroken } from './format.ts'
import { guard, html, nothing, repeat, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { atHead, isWanted, networksWorstFirst, tally, toneOf, worstFirst } from './model.ts'
import { networkPath } from './route.ts'
import { type Answer, defineView, type Filter, type Model, type Sources } from './view.ts'
import { verdictSentence, WORDS } from './words.ts'

/** The overview: verdict, open incidents and maintenance, then all networks with their endpoints, worst first. */
export const view = defineView<Data>({ title, load, draw: overview, refreshMs: 60_000, hasStyle: false })

type Data = StripsView | null

const TITLE_MARK = { up: '', degraded: '▲ ', down: '✕ ', maintenance: '', unknown: '? ' }

function title({ status, contact }: Model<Data>): string {
  const tone = contact.kind === 'stale' || status === null ? 'unknown' : toneOf(status.state, status.networks)
  return `${TITLE_MARK[tone]}Heartline`
}

/** Shows the current state even if the history cannot be read. */
async function load(sources: Sources): Promise<Answer<Data>> {
  const answer = await sources.strips()
  return { ok: true, value: answer.ok ? answer.value : null }
}

function overview(model: Model<Data>): TemplateResult {
  const { status, contact } = model
  if (status === null) return html`<section class="verdict unknown"><h1>${WORDS.connecting} …</h1></section>`
  const stale = contact.kind === 'stale'
  const all = status.networks.flatMap(({ endpoints }) => endpoints)
  const tone = stale ? 'unknown' : toneOf(status.state, status.networks)
  const { incidents, nowMs, settings } = model
  const wanted = networksWorstFirst(status.networks).map((network) => ({
    network,
    endpoints: worstFirst(network.endpoints.filter((endpoint) => isWanted(network, endpoint, settings))),
  }))
  const shown = wanted.reduce((sum, { endpoints }) => sum + endpoints.length, 0)
  const strips = byKey(model.data)
  return html`
    ${verdict(status, tone, model)} ${incidentsSection(incidents, status, settings.zone, nowMs)}
    ${maintenanceSection(status, nowMs)} ${tools(model, shown, all.length)}
    ${shown === 0 && status.networks.length > 0 ? html`<p class="no-match">${WORDS.noMatch}</p>` : nothing}
    ${repeat(
      wanted.filter(({ endpoints }) => shown === 0 || endpoints.length > 0),
      ({ network }) => network.name,
      ({ network, endpoints }) => networkSection(network, endpoints, strips, model),
    )}
  `
}

let keyed: { readonly of: Data; readonly strips: ReadonlyMap<string, StripView> } = { of: null, strips: new Map() }

/** Built once per set of strips, not per drawing. */
function byKey(of: Data): ReadonlyMap<string, StripView> {
  if (keyed.of !== of) {
    keyed = { of, strips: new Map(of?.strips.map((strip) => [`${strip.network}/${strip.endpoint}`, strip])) }
  }
  return keyed.strips
}

function verdict(
  status: StatusView,
  tone: StateView,
  { contact, nowMs, settings: { zone } }: Model<Data>,
): TemplateResult {
  const stale = contact.kind === 'stale'
  return html`
    <section class="verdict ${tone}">
      ${mark(tone)}
      <div role="status">
        <h1 tabindex="-1">${stale ? WORDS.staleVerdict(moment(nowMs, zone)) : unbroken(verdictSentence(status))}</h1>
        ${stale ? html`<p>${unbroken(verdictSentence(status))}</p>` : nothing} ${ownTrouble(status.observer)}
      </div>
    </section>
  `
}

/** Problems of Heartline itself. A store that cannot be written does not affect health states, but operators must know. */
function ownTrouble({ impaired, reasons }: StatusView['observer']): TemplateResult | typeof nothing {
  if (!impaired && reasons.length === 0) return nothing
  const listed = reasons.length === 0 ? '.' : `: ${reasons.join(', ')}.`
  return html`<p class="impaired">${impaired ? WORDS.impaired : WORDS.ownTrouble}${listed}</p>`
}

/** Hidden without scripts, because the fields do nothing then. */
function tools({ settings }: Model<Data>, shown: number, total: number): TemplateResult {
  const isAll = settings.filter === 'all' && settings.query === ''
  return html`
    <form class="tools" role="search" data-act="none">
      <input
        id="search"
        type="search"
        name="query"
        autocomplete="off"
        spellcheck="false"
        placeholder=${WORDS.search}
        aria-label=${WORDS.search}
        aria-keyshortcuts="/"
        .value=${settings.query}
      />
      <select id="filter" name="filter" aria-label=${WORDS.filter}>
        ${(Object.keys(WORDS.filters) as Filter[]).map(
          (filter) =>
            html`<option value=${filter} ?selected=${filter === settings.filter}>${WORDS.filters[filter]}</option>`,
        )}
      </select>
      <output for="search filter">${isAll ? nothing : WORDS.shown(shown, total)}</output>
    </form>
  `
}

function networkSection(
  network: NetworkView,
  endpoints: readonly EndpointView[],
  strips: ReadonlyMap<string, StripView>,
  model: Model<Data>,
): TemplateResult {
  const { settings, nowMs } = model
  const id = `network-${network.name}`
  const isFolded = settings.folded.includes(network.name)
  return html`
    <section class="network ${network.state}" aria-labelledby=${id}>
      <header>
        <h2 id=${id}>${mark(toneOf(network.state, [network]))}<a href=${networkPath(network.name)}>${network.title}</a></h2>
        <p class="facts">
          <span title=${WORDS.atHeadMeaning}>${whereTheyAre(network)}</span> ${facts(network)}
        </p>
        ${network.halted ? html`<p class="alarm">${WORDS.halted}</p>` : nothing}
        ${network.forked ? html`<p class="alarm">${WORDS.forked}</p>` : nothing}
        <p class="tips">${network.heads.map((head) => tip(head, settings.zone, nowMs))}</p>
        <button
          type="button"
          class="fold"
          data-fold=${network.name}
          aria-expanded=${isFolded ? 'false' : 'true'}
          aria-label=${isFolded ? WORDS.unfold(network.title) : WORDS.fold(network.title)}
        ></button>
      </header>
      ${isFolded ? html`<p class="folded">${WORDS.folded(endpoints.length)}</p>` : table(network, endpoints, strips, model)}
    </section>
  `
}

/** Left-aligned columns. */
const NOT_NUMBERS = new Set(['endpoint', 'day'])

function table(
  network: NetworkView,
  endpoints: readonly EndpointView[],
  strips: ReadonlyMap<string, StripView>,
  { settings: { zone }, nowMs, access }: Model<Data>,
): TemplateResult {
  const { columns } = WORDS
  // A column of dashes would look like a fault: the public sees no figures, and not every family's nodes have them.
  const left = access === 'public' ? 'bare' : emptyColumns(network.endpoints)
  return html`
    <table role="table" class=${left}>
      <colgroup>
        ${(Object.keys(columns) as (keyof typeof columns)[]).map((name) => html`<col class=${name} />`)}
      </colgroup>
      <thead role="rowgroup">
        <tr role="row">
          ${Object.entries(columns).map(
            ([name, label]) =>
              html`<th role="columnheader" scope="col" class="${NOT_NUMBERS.has(name) ? '' : 'n '}${name}">${label}</th>`,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${repeat(
          endpoints,
          ({ name }) => name,
          (endpoint) => {
            const strip = strips.get(`${network.name}/${endpoint.name}`)
            // Ages are updated separately, so a row only changes with its endpoint or its strip.
            return guard([endpoint, strip, zone], () => endpointRow({ network, endpoint, strip, zone, nowMs }))
          },
        )}
      </tbody>
    </table>
  `
}

/** The classes of the columns that no endpoint of a network fills. */
function emptyColumns(endpoints: readonly EndpointView[]): string | typeof nothing {
  const empty = [
    ...(endpoints.some(({ liveness }) => liveness !== null && liveness.heartbeat_lag_seconds !== null)
      ? []
      : ['no-beat']),
    ...(endpoints.some(({ liveness }) => liveness !== null) ? [] : ['no-failures']),
  ]
  return empty.length === 0 ? nothing : empty.join(' ')
}

function whereTheyAre({ endpoints, halted }: NetworkView): string {
  const tell = halted ? WORDS.atLastOf : WORDS.atHeadOf
  return tell(atHead(endpoints), endpoints.length)
}

function facts({ endpoints }: NetworkView): TemplateResult {
  const counts = tally(endpoints)
  const parts = (['down', 'degraded', 'unknown', 'maintenance'] as const).filter((state) => counts[state] > 0)
  return html`${parts.map((state) => html`<span class=${state}>${counts[state]} ${WORDS.states[state].toLowerCase()}</span>`)}`
}

function tip(head: NetworkView['heads'][number], zone: Model['settings']['zone'], nowMs: number): TemplateResult {
  return html`<span class="tip">
    ${head.shard === null ? nothing : html`<span class="shard">${shardName(head.shard)}</span>`}
    <b>${count(head.height)}</b>
    ${head.timestamp === null ? nothing : html`<small>${ticking(head.timestamp, zone, nowMs)} ${WORDS.blockAge}</small>`}
  </span>`
}
