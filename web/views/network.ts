import type { BlocksView, ShardBlocksView } from '../../src/http/wire-blocks.ts'
import type { RoutingView } from '../../src/http/wire-gateway.ts'
import type { EndpointView, NetworkView } from '../../src/http/wire-status.ts'
import { blockArrival } from './block-arrival.ts'
import { arrivalsOf, disputedAt, median } from './block-arrival-figures.ts'
import { blockHashes } from './block-hashes.ts'
import { chainSentence } from './chain-sentence.ts'
import { clientsSection } from './clients.ts'
import { shardName, ticking } from './endpoint-row.ts'
import { unbroken } from './format.ts'
import { guard, html, nothing, repeat, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { atHead, toneOf, worstFirst } from './model.ts'
import { endpointPath, type Route } from './route.ts'
import { routingOrder } from './routing-order.ts'
import { type Answer, defineView, type Model, type Sources } from './view.ts'
import { WORDS } from './words.ts'
import { NETWORK, paceText } from './words-network.ts'

/** One network: chain status, routing order, block arrival and block hashes. */
export const view = defineView<Data>({
  title: (model) => `${current(model).title} · Heartline`,
  load,
  draw,
  refreshMs: 3000,
  hasStyle: true,
})

interface Data {
  readonly network: NetworkView
  /** `null` without permission to see them. */
  readonly blocks: BlocksView | null
  readonly routing: RoutingView | null
}

async function load(sources: Sources, { params }: Route): Promise<Answer<Data>> {
  const name = params.network ?? ''
  const [network, blocks, routing] = await Promise.all([
    sources.network(name),
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
      blocks: blocks.ok ? blocks.value : null,
      routing: routing.ok ? routing.value : null,
    },
  }
}

/** The state of the latest event. */
function current({ status, data }: Model<Data>): NetworkView {
  return status?.networks.find(({ name }) => name === data.network.name) ?? data.network
}

function draw(model: Model<Data>): TemplateResult {
  const network = current(model)
  const { blocks, routing } = model.data
  return html`
    <header class="subject">
      <h1 tabindex="-1">${mark(toneOf(network.state, [network]))}${network.title}</h1>
      <p title=${WORDS.atHeadMeaning}>${WORDS.atHeadOf(atHead(network.endpoints), network.endpoints.length)}</p>
      ${network.halted ? html`<p class="alarm">${WORDS.halted}</p>` : nothing}
      ${network.forked ? html`<p class="alarm">${WORDS.forked}</p>` : nothing}
    </header>
    ${blocks === null ? names(network, model) : chains(network, blocks, routing, model)}
  `
}

/** The public view: names and states only. */
function names(network: NetworkView, { settings, nowMs }: Model<Data>): TemplateResult {
  return html`
    <ul class="plain card">
      ${worstFirst(network.endpoints).map(
        (endpoint) => html`<li>
          ${mark(endpoint.state)} <a href=${endpointPath(network.name, endpoint.name)}>${endpoint.title}</a>
          <small>${WORDS.states[endpoint.state]} ${WORDS.since} ${ticking(endpoint.since, settings.zone, nowMs)}</small>
          ${endpoint.conditions.map(({ message }) => html`<p class="why">${unbroken(message)}</p>`)}
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
  const endpoints = worstFirst(network.endpoints)
  return html`
    <p class="pulse">${chainSentence(network, blocks, model.nowMs)}</p>
    <div class="sheet">
      ${routing === null ? nothing : routingOrder(routing, network.endpoints)}
      ${clientsSection(network.name, network.endpoints)}
      ${repeat(
        troubledFirst(blocks),
        ({ shard }) => shard,
        (shard) => chain(network, endpoints, shard, blocks, model),
      )}
    </div>
  `
}

function chain(
  network: NetworkView,
  endpoints: readonly EndpointView[],
  shard: ShardBlocksView,
  { thresholds, generated_at: dataAt }: BlocksView,
  { settings, nowMs }: Model<Data>,
): TemplateResult {
  const id = `chain-${shard.shard ?? 'all'}`
  const ofShard = endpoints.filter(
    ({ name, heads }) =>
      heads.some((head) => head.shard === shard.shard) || shard.endpoints.some((of) => of.name === name),
  )
  const sharpness = median(arrivalsOf(shard, thresholds.lag_blocks).flatMap(({ withinSeconds }) => withinSeconds ?? []))
  return html`
    <section class="card wide" aria-labelledby=${id}>
      <h2 id=${id}>${shard.shard === null ? NETWORK.arrival : NETWORK.arrivalOf(shardName(shard.shard))}</h2>
      ${blockArrival({
        network: network.name,
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
      ${guard([shard, ...ofShard.map(({ state }) => state)], () => blockHashes({ network: network.name, shard, endpoints: ofShard }))}
    </section>
  `
}

/** Shards with a lagging endpoint or a disagreement first. */
function troubledFirst({ shards, thresholds }: BlocksView): readonly ShardBlocksView[] {
  const isCalm = (shard: ShardBlocksView) =>
    disputedAt(shard).length === 0 &&
    arrivalsOf(shard, thresholds.lag_blocks).every(({ arrivals: places }) => !places.includes('missing'))
  const calm = new Set(shards.filter(isCalm))
  return [...shards.filter((shard) => !calm.has(shard)), ...calm]
}
