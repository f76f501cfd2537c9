import type { BlocksView, ShardBlocksView } from '../../../src/http/wire/blocks.ts'
import type { RoutingView } from '../../../src/http/wire/gateway.ts'
import type { DaysView, StripsView, StripView } from '../../../src/http/wire/history.ts'
import type { SilenceView } from '../../../src/http/wire/silences.ts'
import type { EndpointView, NetworkView, StatusView } from '../../../src/http/wire/status.ts'
import { attribute, badge, badgesSection } from '../badges.ts'
import { dayBars, dayCount, knownDays } from '../charts/day-bars.ts'
import { strip } from '../charts/strip.ts'
import { stripHours } from '../charts/strip-span.ts'
import { available, reason, shardName, standing } from '../endpoint-row.ts'
import { incidentsSection, maintenanceSection } from '../events.ts'
import { guard, html, nothing, repeat, type TemplateResult } from '../lit.ts'
import { endpointMark, mark } from '../mark.ts'
import { inOrderOf, isPublic, tally, toneOf, worstFirst } from '../model.ts'
import { stateCounts, whereTheyAre } from '../network-facts.ts'
import { endpointPath, networkPath, type Route } from '../route.ts'
import { silenceNotes } from '../silences.ts'
import { type Answer, defineView, type Model, type Sources } from '../view.ts'
import { WORDS } from '../words.ts'
import { blockArrival } from './block-arrival.ts'
import { arrivalsOf, disputedAt, median } from './block-arrival-figures.ts'
import { blockHashes } from './block-hashes.ts'
import { chainSentence } from './chain-sentence.ts'
import { clientsSection } from './clients.ts'
import { embedHeight } from './embed.ts'
import { routingOrder } from './routing-order.ts'
import { NETWORK, paceText } from './words-network.ts'

/** One network: chain status, routing order, block arrival and block hashes. */
export const view = defineView<Data>({
  title: (model) => `${current(model).title} · ${model.brand.title}`,
  load,
  draw,
  refreshMs: 3000,
  hasStyle: true,
})

interface Data {
  readonly network: NetworkView
  readonly strips: StripsView | null
  /** Empty without permission to see them. */
  readonly silences: readonly SilenceView[]
  readonly days: DaysView | null
  /** `null` without permission to see them. */
  readonly blocks: BlocksView | null
  readonly routing: RoutingView | null
}

async function load(sources: Sources, { params }: Route): Promise<Answer<Data>> {
  const name = params.network ?? ''
  const [network, strips, days, silences, blocks, routing] = await Promise.all([
    sources.network(name),
    sources.strips(),
    sources.days(),
    sources.silences(),
    sources.blocks(name),
    sources.routing(name),
  ])
  if (!network.ok) return network
  // If blocks cannot be read at the moment, the browser keeps the previous page. The public gets a page without blocks.
  if (!blocks.ok && blocks.why === 'away') return blocks
  return {
    ok: true,
    value: {
      network: network.value,
      strips: strips.ok ? strips.value : null,
      silences: silences.ok ? silences.value.silences : [],
      days: days.ok && days.value !== null ? knownDays(days.value, name) : null,
      blocks: blocks.ok ? blocks.value : null,
      routing: routing.ok ? routing.value : null,
    },
  }
}

/** The state of the latest event, with the worst endpoints first. */
function current({ status, data, orderedBy }: Model<Data>): NetworkView {
  const find = (of: StatusView | null | undefined) => of?.networks.find(({ name }) => name === data.network.name)
  const network = find(status) ?? data.network
  const before = find(orderedBy?.status) ?? network
  return { ...network, endpoints: [...inOrderOf(worstFirst(before.endpoints), network.endpoints)] }
}

function draw(model: Model<Data>): TemplateResult {
  const network = current(model)
  const { blocks, routing } = model.data
  return html`
    <header class="subject">
      <p class="within"><a href="/">${WORDS.places.overview}</a> <span aria-hidden="true">/</span></p>
      <h1 tabindex="-1">${mark(toneOf(network.state, [network]))}${network.title}</h1>
      <p class="facts">${whereTheyAre(network)} ${stateCounts(network)}</p>
      ${network.halted ? html`<p class="alarm">${WORDS.halted}</p>` : nothing}
      ${network.forked ? html`<p class="alarm">${WORDS.forked}</p>` : nothing}
    </header>
    ${silenceNotes(model.data.silences, { network: network.name }, model.settings.zone)}
    ${incidentsSection(model, network.name)} ${maintenanceSection(model, network.name)} ${lastDay(network, model)}
    ${lastDays(network, model)}
    ${blocks === null ? names(network, model) : chains(network, blocks, routing, model)}
    ${isPublic(model, network.name) ? guard([network.title, model.origin, badgeVersion(network)], () => badges(network, model.origin ?? '')) : nothing}
  `
}

/** For other pages: a picture of its state, and a frame with its 90 days. */
function badges(network: NetworkView, origin: string): TemplateResult {
  const { name, title } = network
  const alt = NETWORK.badgeAlt(title)
  const picture = badge({
    name: 'state',
    title: NETWORK.badge,
    address: `/badge/${encodeURIComponent(name)}.svg`,
    page: networkPath(name),
    alt,
    origin,
    version: badgeVersion(network),
  })
  const frame = `<iframe src="${attribute(`${origin}/embed/${encodeURIComponent(name)}`)}" title="${attribute(alt)}" width="520" height="${embedHeight(network.endpoints.length)}"></iframe>`
  const codes = origin === '' ? {} : { HTML: frame }
  return badgesSection([picture, { name: 'frame', title: NETWORK.frame, codes }], 'card wide')
}

/** Changes with what the badge shows. */
function badgeVersion(network: NetworkView): string {
  const { state, halted, forked, endpoints } = network
  return [state, Number(halted), Number(forked), tally(endpoints).up, toneOf(state, [network])].join('.')
}

const MOST_STRIPS = 6
const MOST_BARS = 30

/** The last hours of the worst endpoints, with their availability. */
function lastDay(network: NetworkView, { data: { strips } }: Model<Data>): TemplateResult | typeof nothing {
  if (strips === null) return nothing
  return pastSection(network, {
    id: 'last-day',
    heading: WORDS.last(stripHours(strips)),
    most: MOST_STRIPS,
    strips: strips.strips,
    draw: (of, key, { title, availability }) =>
      html`${strip(of, key, title, strips)} <span class="n">${available(availability['24h'], 1)}</span>`,
  })
}

/** A bar for each of the last 90 days, for each endpoint. */
function lastDays(network: NetworkView, { data: { days } }: Model<Data>): TemplateResult | typeof nothing {
  if (days === null) return nothing
  return pastSection(network, {
    id: 'last-days',
    heading: WORDS.days(dayCount(days)),
    most: MOST_BARS,
    strips: days.strips,
    draw: (of, key, { title, availability }) =>
      html`${dayBars(of, key, title, days)} <span class="n">${available(availability['90d'], 90)}</span>`,
  })
}

interface Past {
  readonly id: string
  readonly heading: string
  /** How many endpoints are listed. */
  readonly most: number
  readonly strips: readonly StripView[]
  readonly draw: (of: StripView | undefined, key: string, endpoint: EndpointView) => TemplateResult
}

/** The past of the worst endpoints. */
function pastSection({ name, endpoints }: NetworkView, { id, heading, most, strips, draw }: Past): TemplateResult {
  return html`
    <section class="card wide days" aria-labelledby=${id}>
      <h2 id=${id}>${heading}</h2>
      <ul class="plain">
        ${endpoints.slice(0, most).map((endpoint) => {
          const of = strips.find((one) => one.network === name && one.endpoint === endpoint.name)
          const row =
            () => html`<span>${endpointMark(endpoint)} <a href=${endpointPath(name, endpoint.name)}>${endpoint.title}</a></span>
            ${draw(of, `${name}/${endpoint.name}`, endpoint)}`
          return html`<li>${guard([endpoint, of], row)}</li>`
        })}
      </ul>
      ${endpoints.length > most ? html`<p class="aside">${NETWORK.notListed(endpoints.length - most)}</p>` : nothing}
    </section>
  `
}

/** The public view: names and states only. */
function names(network: NetworkView, { settings, nowMs }: Model<Data>): TemplateResult {
  return html`
    <ul class="plain card">
      ${network.endpoints.map(
        (endpoint) => html`<li>
          ${endpointMark(endpoint)} <a href=${endpointPath(network.name, endpoint.name)}>${endpoint.title}</a>
          <small class="standing"> ${standing(endpoint, settings.zone, nowMs)}</small>
          ${endpoint.conditions.map(reason)}
        </li>`,
      )}
    </ul>
    <p class="aside">${NETWORK.reserved}</p>
  `
}

function chains(
  network: NetworkView,
  blocks: BlocksView,
  routing: RoutingView | null,
  model: Model<Data>,
): TemplateResult {
  return html`
    <p class="pulse">${chainSentence(network, blocks, model.nowMs)}</p>
    <div class="sheet">
      ${repeat(
        troubledFirst(blocks),
        ({ shard }) => shard.shard,
        (shard) => chain(network, shard, blocks, model),
      )}
      ${routing === null ? nothing : routingOrder(routing, network.endpoints)}
      ${clientsSection(network.name, network.endpoints)}
    </div>
  `
}

function chain(
  network: NetworkView,
  { shard, isOpen, isFirst }: Shown,
  { thresholds, generated_at: dataAt }: BlocksView,
  { settings, nowMs }: Model<Data>,
): TemplateResult {
  const id = `chain-${shard.shard ?? 'all'}`
  const ofShard = network.endpoints.filter(
    ({ name, heads }) =>
      heads.some((head) => head.shard === shard.shard) ||
      shard.endpoints.some((of) => of.name === name) ||
      (isFirst && heads.length === 0),
  )
  const sharpness = median(arrivalsOf(shard, thresholds.lag_blocks).flatMap(({ withinSeconds }) => withinSeconds ?? []))
  const title = shard.shard === null ? NETWORK.arrival : NETWORK.arrivalOf(shardName(shard.shard))
  const content = html`
      ${blockArrival({
        network,
        shard,
        reference: network.heads.find((head) => head.shard === shard.shard),
        endpoints: ofShard,
        lagBlocks: thresholds.lag_blocks,
        stallSeconds: thresholds.stall_seconds,
        zone: settings.zone,
        nowMs,
        dataMs: Date.parse(dataAt),
      })}
      ${sharpness === null ? nothing : html`<p class="aside">${NETWORK.resolution(paceText(sharpness))}</p>`}
      <h3>${NETWORK.hashes}</h3>
      ${guard([shard, ...ofShard.map(({ state }) => state)], () => blockHashes({ network, shard, endpoints: ofShard }))}
  `
  if (isOpen)
    return html`<section class="card wide" aria-labelledby=${id}><h2 id=${id}>${title}</h2>${content}</section>`
  return html`<section class="card wide" aria-labelledby=${id}>
    <details class="calm"><summary><h2 id=${id}>${title}</h2> <span class="aside">${network.halted ? NETWORK.agree : NETWORK.calm}</span></summary>${content}</details>
  </section>`
}

interface Shown {
  readonly shard: ShardBlocksView
  /** Calm shards are folded, except for one if all are calm. */
  readonly isOpen: boolean
  readonly isFirst: boolean
}

/** Shards with a lagging endpoint or a disagreement first. */
function troubledFirst({ shards, thresholds }: BlocksView): readonly Shown[] {
  const isCalm = (shard: ShardBlocksView) =>
    disputedAt(shard).length === 0 &&
    arrivalsOf(shard, thresholds.lag_blocks).every(({ arrivals: places }) => !places.includes('missing'))
  const calm = new Set(shards.filter(isCalm))
  const troubled = shards.filter((shard) => !calm.has(shard))
  return [...troubled, ...calm].map((shard, at) => ({
    shard,
    isOpen: at === 0 || at < troubled.length,
    isFirst: at === 0,
  }))
}
