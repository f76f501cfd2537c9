import type { ShardBlocksView } from '../../../src/http/wire/blocks.ts'
import type { EndpointView, NetworkView } from '../../../src/http/wire/status.ts'
import { headsNow, none, reason, shardName, standing, ticking } from '../endpoint-row.ts'
import { type Explored, inExplorer } from '../explorer.ts'
import { age, count, duration, type Zone } from '../format.ts'
import { guard, html, nothing, repeat, svg, type TemplateResult } from '../lit.ts'
import { endpointMark } from '../mark.ts'
import { isHealthy, lookOf } from '../model.ts'
import { endpointPath } from '../route.ts'
import { headWords, WORDS } from '../words.ts'
import {
  type Arrival,
  arrivalsOf,
  type EndpointArrivals,
  intervalsOf,
  median,
  sinceLastBlock,
} from './block-arrival-figures.ts'
import { blockArrivalTable } from './block-arrival-table.ts'
import { NETWORK, paceText } from './words-network.ts'

/** Heights of all endpoints of one chain, and how early each had the last blocks, below a row for the chain itself. */
export function blockArrival(of: BlockArrival): TemplateResult {
  const { shard, endpoints } = of
  const { columns } = NETWORK
  const racers = new Map(arrivalsOf(shard, of.lagBlocks).map((racer) => [racer.witness.name, racer]))
  const seen = shard.blocks.filter(({ first_seen_at: at }) => at !== null).length
  const all = endpoints.filter(
    ({ name, heads }) => racers.has(name) || heads.length === 0 || shard.endpoints_left_out === 0,
  )
  const shown = all.slice(0, MAX_ROWS)
  const rest = all.length - shown.length + shard.endpoints_left_out
  return html`
    <table class="race" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">${columns.endpoint}</th>
          <th role="columnheader" scope="col" class="n height">${columns.height}</th>
          <th role="columnheader" scope="col" class="n lag">${columns.lag}</th>
          <th role="columnheader" scope="col" class="n first" title=${NETWORK.sureMeaning}>${columns.first}</th>
          <th role="columnheader" scope="col" class="n later" title=${NETWORK.delayMeaning}>${columns.delay}</th>
          <th role="columnheader" scope="col" class="lanes">${NETWORK.lastBlocks(shard.blocks.length)}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${chainRow(of)}
        ${repeat(
          shown,
          ({ name }) => name,
          (endpoint) => {
            const racer = racers.get(endpoint.name)
            return guard([endpoint, shard, of.zone, of.network.halted], () => endpointRow(of, endpoint, racer, seen))
          },
        )}
      </tbody>
    </table>
    ${rest > 0 ? html`<p class="aside">${NETWORK.notListed(rest)}</p>` : nothing}
    ${legend([...racers.values()])} ${guard([shard, endpoints.length], () => blockArrivalTable({ shard, id: tableId(shard.shard), titleOf: titleOf(endpoints), nowMs: of.dataMs }))}
  `
}

export interface BlockArrival {
  readonly network: Explored & Pick<NetworkView, 'name' | 'halted'>
  readonly shard: ShardBlocksView
  /** The reference head of the latest event. */
  readonly reference: NetworkView['heads'][number] | undefined
  /** Worst first. */
  readonly endpoints: readonly EndpointView[]
  readonly lagBlocks: number
  readonly stallSeconds: number
  readonly zone: Zone
  readonly nowMs: number
  /** The time of the block data. */
  readonly dataMs: number
}

/** The overview lists all endpoints. */
const MAX_ROWS = 60

function titleOf(endpoints: readonly EndpointView[]): (name: string) => string {
  const titles = new Map(endpoints.map(({ name, title }) => [name, title]))
  return (name) => titles.get(name) ?? name
}

function tableId(shard: number | null): string {
  return `blocks-${shard ?? 'all'}`
}

/** The chain's own row: one bar per block interval, and one for the time since the last block. */
function chainRow({ network, shard, reference, stallSeconds, zone, nowMs }: BlockArrival): TemplateResult {
  const { blocks, block_time: pace } = shard
  // Block data is loaded every few seconds; events arrive in between.
  const latest = blocks.at(-1)
  const newest = reference !== undefined && reference.height > (latest?.height ?? -1) ? reference : latest
  const hash = newest === latest ? latest?.hashes[0] : reference?.hash
  const typical = pace.measured_seconds ?? median(intervalsOf(shard).filter((each) => each !== null))
  return html`
    <tr role="row" class="chain">
      <th role="rowheader" scope="row"><b>${shard.shard === null ? NETWORK.chain : shardName(shard.shard)}</b></th>
      <td role="cell" class="n height">${newest === undefined ? WORDS.none : inExplorer(network, hash, count(newest.height))}</td>
      <td role="cell" class="n lag">
        ${newest === undefined || newest.timestamp === null ? nothing : html`<small>${ticking(newest.timestamp, zone, nowMs)} ${WORDS.blockAge}</small>`}
      </td>
      <td role="cell" class="n pace" colspan="2">
        ${typical === null ? nothing : html`${NETWORK.every(paceText(typical))}`}
        <small>${NETWORK.expected(paceText(pace.expected_seconds))}</small>
      </td>
      <td role="cell" class="lanes">${chainBand(shard, stallSeconds, nowMs)}</td>
    </tr>
  `
}

const BAND = 44
/** Longer intervals are cut off, so that normal block intervals stay visible. */
const MOST_STALLS = 2.5

function chainBand(shard: ShardBlocksView, stallSeconds: number, nowMs: number): TemplateResult {
  const intervals = intervalsOf(shard)
  const running = sinceLastBlock(shard, nowMs)
  const known = intervals.filter((each) => each !== null)
  const typical = median(known)
  const longest = Math.max(0, ...known)
  const top = Math.min(Math.max(longest, running ?? 0, stallSeconds), MOST_STALLS * stallSeconds) * 1.08
  const cells = intervals.length + 1
  const heightOf = (value: number) => round((Math.min(value, top) / top) * BAND)
  const bar = (value: number | null, at: number) =>
    value === null ? '' : `M${at} ${BAND}v-${Math.max(1, heightOf(value))}h.8v${Math.max(1, heightOf(value))}z`
  const isOver = (value: number | null) => value !== null && value >= stallSeconds
  const calm = intervals.map((value, at) => (isOver(value) ? '' : bar(value, at))).join('')
  const over = intervals.map((value, at) => (isOver(value) ? bar(value, at) : '')).join('')
  const line = (value: number) => `M0 ${round(BAND - heightOf(value))}h${cells}`
  const text =
    typical === null ? NETWORK.noBand : NETWORK.bandSummary(intervals.length, paceText(typical), paceText(longest))
  return html`
    <div
      class="track band"
      role="slider"
      tabindex="0"
      data-chart-table=${tableId(shard.shard)}
      aria-label=${NETWORK.band(shard.shard === null ? NETWORK.chain : shardName(shard.shard))}
      aria-orientation="horizontal"
      aria-readonly="true"
      aria-valuemin="1"
      aria-valuemax=${cells}
      aria-valuenow=${cells}
      aria-valuetext=${text}
    >
      <svg viewBox="0 0 ${cells} ${BAND}" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <path class="interval" d=${calm} />
        <path class="over" d=${over} />
        <path class=${isOver(running) ? 'running over' : 'running'} d=${bar(running, cells - 1)} />
        <path class="typical" d=${line(typical ?? shard.block_time.expected_seconds)} vector-effect="non-scaling-stroke" />
        <path class="limit" d=${line(stallSeconds)} vector-effect="non-scaling-stroke" />
      </svg>
      <span class="mostly">${NETWORK.threshold(duration(stallSeconds))}</span>
    </div>
  `
}

function endpointRow(
  { network, shard, zone, nowMs }: BlockArrival,
  endpoint: EndpointView,
  racer: EndpointArrivals | undefined,
  seen: number,
): TemplateResult {
  const head = headsNow(endpoint).find((one) => one.shard === shard.shard)
  const lag = head?.lag_blocks ?? null
  const { columns } = NETWORK
  return html`
    <tr role="row" class=${lookOf(endpoint)}>
      <th role="rowheader" scope="row">
        <div class="name">
          ${endpointMark(endpoint)}
          <div>
            <a href=${endpointPath(network.name, endpoint.name)}>${endpoint.title}</a>
            ${isHealthy(endpoint) ? nothing : html`<small class="standing">${standing(endpoint, zone, nowMs)}</small>`}
            ${conditionsOn(endpoint, shard.shard).map(reason)}
          </div>
        </div>
      </th>
      <td role="cell" class="n height" data-label=${columns.height}>
        ${head === undefined ? none() : inExplorer(network, head.hash, count(head.height))}
        ${head !== undefined && lag === null ? html`<small>${WORDS.lastSeen}</small>` : nothing}
      </td>
      <td role="cell" class="n lag" data-label=${columns.lag}>
        ${lag === null ? none() : lag === 0 ? html`<span class="quiet">${headWords(network)}</span>` : html`<b>${count(lag)}</b> <small>${lagAge(head?.lag_seconds ?? null)}</small>`}
      </td>
      <td role="cell" class="n first" data-label=${columns.first} title=${racer === undefined ? nothing : NETWORK.sure(racer.sure)}>
        ${racer === undefined || seen === 0 ? none() : html`${NETWORK.firsts(racer.firsts, seen)}${racer.sure > 0 ? html`<small>${NETWORK.sure(racer.sure)}</small>` : nothing}`}
      </td>
      <td role="cell" class="n later" data-label=${columns.delay}>${racer === undefined ? none() : later(racer)}</td>
      <td role="cell" class="lanes">${racer === undefined ? html`<div class="track"></div>` : lane(racer, tableId(shard.shard))}</td>
    </tr>
  `
}

/** Conditions, without those of other shards. */
function conditionsOn({ conditions, heads }: EndpointView, shard: number | null): EndpointView['conditions'] {
  const others = heads.flatMap((head) => (head.shard === null || head.shard === shard ? [] : [shardName(head.shard)]))
  return conditions.filter(({ message }) => !others.some((other) => message.startsWith(`${other}:`)))
}

function lagAge(seconds: number | null): string {
  return seconds === null ? '' : age(seconds)
}

function later({ laterSeconds, withinSeconds }: EndpointArrivals): TemplateResult {
  // Below the precision of polling, the delay says nothing.
  if (laterSeconds === null || laterSeconds <= (withinSeconds ?? 0)) return none()
  return html`+${paceText(laterSeconds)}
    <small>${NETWORK.plusMinus(paceText(withinSeconds ?? 0))}</small>`
}

const LANE = 20
/** Arrivals differ by height, not only by colour. */
const SHAPES: Readonly<Record<Exclude<Arrival, 'unknown' | 'awaited'>, readonly [from: number, to: number]>> = {
  first: [2, LANE],
  with: [8, LANE],
  late: [13, LANE],
  there: [17, LANE],
  missing: [17, LANE],
}

/** One cell per block, and one for the time since. */
function lane({ arrivals: places }: EndpointArrivals, table: string): TemplateResult {
  const cells = places.length + 1
  return html`<div class="track" data-chart-table=${table}>
    <svg viewBox="0 0 ${cells} ${LANE}" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <path class="ground" d=${`${row(places, (place) => place !== 'unknown', 0, LANE, 1)}M${places.length} 0h1v${LANE}h-1z`} />
      ${(Object.keys(SHAPES) as (keyof typeof SHAPES)[]).map((name) => {
        const [from, to] = SHAPES[name]
        const d = row(places, (place) => place === name, from, to, name === 'missing' ? 1 : 0.8)
        return d === '' ? nothing : svg`<path class=${name} d=${d} />`
      })}
    </svg>
  </div>`
}

function row(
  places: readonly Arrival[],
  isIn: (place: Arrival) => boolean,
  from: number,
  to: number,
  width: number,
): string {
  return places.map((place, at) => (isIn(place) ? `M${at} ${from}h${width}v${to - from}h-${width}z` : '')).join('')
}

/** Explains only the kinds of arrival that are shown. */
function legend(racers: readonly EndpointArrivals[]): TemplateResult {
  const seen = new Set(racers.flatMap(({ arrivals: places }) => places))
  const names = (Object.keys(NETWORK.legend) as (keyof typeof NETWORK.legend)[]).filter((name) => seen.has(name))
  return html`<ul class="legend">
    ${names.map((name) => html`<li><i class=${name}></i>${NETWORK.legend[name]}</li>`)}
  </ul>`
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
