import type { EndpointView, ShardBlocksView } from '../../src/http/views.ts'
import { count } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { disputedAt, hasMajority } from './race-figures.ts'
import { endpointPath } from './route.ts'
import { NETWORK } from './words-network.ts'

export interface ForkLens {
  readonly network: string
  readonly shard: ShardBlocksView
  /** The worst first. */
  readonly endpoints: readonly EndpointView[]
}

/** The last heights that fit beside each other. */
const HEIGHTS = 14
/** Rows that are read; whoever has another block than most is always among them. */
const ROWS = 16

/** Which block each endpoint has at each of the last heights: who has another one stands out. */
export function forkLens({ network, shard, endpoints }: ForkLens): TemplateResult {
  const columns = columnsOf(shard)
  if (columns.length === 0) return html`<p class="aside">${NETWORK.nothingTold}</p>`
  const rows = rowsOf(shard, endpoints, columns)
  const rest = shard.endpoints.length - rows.length
  return html`
    <p class=${disputedAt(shard).length > 0 ? 'disputed' : 'aside'}>${sentence(shard, endpoints)}</p>
    <div class="heights">
      <table class="lens" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">${NETWORK.columns.endpoint}</th>
            ${columns.map((at, place) => html`<th role="columnheader" scope="col" class=${age(place, columns)}>${tail(shard.blocks[at]?.height ?? 0, place)}</th>`)}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.map(
            ({ endpoint, told }) => html`<tr role="row">
              <th role="rowheader" scope="row">${mark(endpoint.state)} <a href=${endpointPath(network, endpoint.name)}>${endpoint.title}</a></th>
              ${columns.map((at, place) => cell(shard, at, told[at] ?? null, age(place, columns)))}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${rest > 0 ? html`<p class="aside">${NETWORK.others(rest)}</p>` : nothing}
  `
}

/** The newest of which anybody told a block; where endpoints disagree, of those the first too: it tells where they parted. */
function columnsOf(shard: ShardBlocksView): readonly number[] {
  const told = shard.blocks.flatMap(({ hashes }, at) => (hashes.length > 0 ? [at] : []))
  const newest = told.slice(-HEIGHTS)
  const [parted] = disputedAt(shard)
  if (parted === undefined || newest.includes(parted)) return newest
  const before = told[told.indexOf(parted) - 1]
  const kept = [...(before === undefined ? [] : [before]), parted]
  return [...kept, ...newest.slice(kept.length)]
}

interface Row {
  readonly endpoint: EndpointView
  readonly told: readonly (number | null)[]
}

function rowsOf(
  shard: ShardBlocksView,
  endpoints: readonly EndpointView[],
  columns: readonly number[],
): readonly Row[] {
  const told = new Map(shard.endpoints.map((witness) => [witness.name, witness.told]))
  const all = endpoints.flatMap((endpoint) => {
    const of = told.get(endpoint.name)
    return of === undefined ? [] : [{ endpoint, told: of }]
  })
  const odd = all.filter((row) => columns.some((at) => (row.told[at] ?? 0) > 0))
  return [...odd, ...all.filter((row) => !odd.includes(row)).slice(0, Math.max(2, ROWS - odd.length))]
}

function cell(shard: ShardBlocksView, at: number, word: number | null, when: string): TemplateResult {
  if (word === null)
    return html`<td role="cell" class="blank ${when}"><span class="unseen">${NETWORK.blank}</span></td>`
  const hashes = shard.blocks[at]?.hashes ?? []
  const hash = hashes[word] ?? ''
  const isDisputed = hashes.length > 1
  if (!isDisputed) return html`<td role="cell" class=${when} title=${hash}>${short(hash)}</td>`
  const isDecided = hasMajority(shard, at)
  const isOdd = !isDecided || word > 0
  const said = isDecided ? NETWORK.otherBlock : NETWORK.branch(letter(word))
  return html`<td role="cell" class="${isOdd ? `odd b${Math.min(word, 3)}` : 'most'} ${when}" title=${hash}>
    ${isOdd ? html`<span class="unseen">${said} </span>` : nothing}${short(hash)}
  </td>`
}

function letter(word: number): string {
  return String.fromCharCode(65 + Math.min(word, 25))
}

/** Without what all of them begin with. */
function short(hash: string): string {
  return hash.replace(/^0x/, '').slice(0, 5)
}

/** On a phone only the newest have room. */
function age(place: number, columns: readonly number[]): string {
  const fromEnd = columns.length - place
  const isAfterGap = place > 0 && (columns[place] ?? 0) > (columns[place - 1] ?? 0) + 1
  return `${fromEnd > 9 ? 'old' : fromEnd > 4 ? 'older' : 'new'}${isAfterGap ? ' gap' : ''}`
}

/** The first in full, of the others what changes. */
function tail(height: number, place: number): TemplateResult | string {
  const text = count(height)
  return place === 0 || text.length <= 5
    ? text
    : html`<span aria-hidden="true">…${text.slice(-3)}</span><span class="unseen">${text}</span>`
}

function sentence(shard: ShardBlocksView, endpoints: readonly EndpointView[]): string {
  const disputes = disputedAt(shard)
  const latest = disputes.at(-1)
  const first = disputes[0]
  if (latest === undefined || first === undefined) return NETWORK.oneMind
  const { height, hashes } = shard.blocks[latest] ?? { height: 0, hashes: [] }
  const parts = [NETWORK.disputed(height, hashes.length)]
  if (first !== latest) parts.push(NETWORK.disputedSince(shard.blocks[first]?.height ?? 0))
  if (!hasMajority(shard, latest)) parts.push(NETWORK.noMajority)
  else {
    const odd = shard.endpoints.filter(({ told }) => (told[latest] ?? 0) > 0).map(({ name }) => name)
    const titles = odd.slice(0, 3).map((name) => endpoints.find((endpoint) => endpoint.name === name)?.title ?? name)
    const more = odd.length - titles.length
    parts.push(NETWORK.minority(`${titles.join(', ')}${more > 0 ? ` +${more}` : ''}`))
  }
  return `${parts.join('; ')}.`
}
