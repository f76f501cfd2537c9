import type { ShardBlocksView } from '../../../src/http/wire/blocks.ts'
import type { EndpointView, NetworkView } from '../../../src/http/wire/status.ts'
import { type Explored, inExplorer } from '../explorer.ts'
import { count } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { endpointMark } from '../mark.ts'
import { endpointPath } from '../route.ts'
import { disputedAt, verdictAt } from './block-arrival-figures.ts'
import { NETWORK } from './words-network.ts'

/** The block hash of each endpoint at each of the last heights, with minority blocks marked. */
export function blockHashes({ network, shard, endpoints }: BlockHashes): TemplateResult {
  const columns = columnsOf(shard)
  if (columns.length === 0) return html`<p class="aside">${NETWORK.noBlocks}</p>`
  const dispute = disputeOf(shard)
  const rows = rowsOf(shard, endpoints, columns, dispute)
  const rest = shard.endpoints.length - rows.length
  return html`
    <p class=${dispute === null ? 'aside' : 'disputed'}>${dispute === null ? NETWORK.agree : sentence(dispute, shard, endpoints)}</p>
    <div class="heights">
      <table class="lens" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">${NETWORK.columns.endpoint}</th>
            ${columns.map((at, place) => html`<th role="columnheader" scope="col" class=${age(place, columns)}>${inExplorer(network, shard.blocks[at]?.hashes[0], tail(shard.blocks[at]?.height ?? 0, place))}</th>`)}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.map(
            ({ endpoint, reported }) => html`<tr role="row">
              <th role="rowheader" scope="row">${endpointMark(endpoint)} <a href=${endpointPath(network.name, endpoint.name)}>${endpoint.title}</a></th>
              ${columns.map((at, place) => {
                const verdict = verdictAt(shard, at)
                const hashIndex = reported[at] ?? null
                // While the verdict is open, the previous minority stays marked.
                const wasMinority = dispute?.verdict === 'majority' ? dispute.minority.has(endpoint.name) : null
                const isMinority = verdict === 'majority' ? hashIndex !== 0 : verdict === 'open' ? wasMinority : null
                return cell({
                  network,
                  hashes: shard.blocks[at]?.hashes ?? [],
                  hashIndex,
                  isMinority,
                  when: age(place, columns),
                })
              })}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${rest > 0 ? html`<p class="aside">${NETWORK.others(rest)}</p>` : nothing}
  `
}

export interface BlockHashes {
  readonly network: Explored & Pick<NetworkView, 'name'>
  readonly shard: ShardBlocksView
  /** Worst first. */
  readonly endpoints: readonly EndpointView[]
}

/** Number of heights that fit side by side. */
const HEIGHTS = 14
/** Number of rows; endpoints with a minority block are always included. */
const ROWS = 16

/** The newest heights with a reported block, and the first disputed height, where the branches diverged. */
function columnsOf(shard: ShardBlocksView): readonly number[] {
  const known = shard.blocks.flatMap(({ hashes }, at) => (hashes.length > 0 ? [at] : []))
  const newest = known.slice(-HEIGHTS)
  const [forkedAt] = disputedAt(shard)
  if (forkedAt === undefined || newest.includes(forkedAt)) return newest
  const before = known[known.indexOf(forkedAt) - 1]
  const kept = [...(before === undefined ? [] : [before]), forkedAt]
  return [...kept, ...newest.slice(kept.length)]
}

interface Row {
  readonly endpoint: EndpointView
  readonly reported: readonly (number | null)[]
}

function rowsOf(
  shard: ShardBlocksView,
  endpoints: readonly EndpointView[],
  columns: readonly number[],
  dispute: Dispute | null,
): readonly Row[] {
  const reports = new Map(shard.endpoints.map((witness) => [witness.name, witness.told]))
  const all = endpoints.flatMap((endpoint) => {
    const reported = reports.get(endpoint.name)
    return reported === undefined ? [] : [{ endpoint, reported }]
  })
  const named = all.filter(({ endpoint }) => dispute?.minority.has(endpoint.name) === true)
  const odd = all.filter((row) => !named.includes(row) && columns.some((at) => (row.reported[at] ?? 0) > 0))
  const first = [...named, ...odd]
  return [...first, ...all.filter((row) => !first.includes(row)).slice(0, Math.max(2, ROWS - first.length))]
}

/** The disagreement at the newest height with a verdict. */
interface Dispute {
  readonly at: number
  readonly verdict: 'majority' | 'split' | 'open'
  /** Endpoints with a different block than the majority. */
  readonly minority: ReadonlySet<string>
}

function disputeOf(shard: ShardBlocksView): Dispute | null {
  const disputed = disputedAt(shard)
  const at = disputed.findLast((one) => verdictAt(shard, one) !== 'open') ?? disputed.at(-1)
  if (at === undefined) return null
  const verdict = verdictAt(shard, at)
  const minority = shard.endpoints.filter(({ told }) => verdict === 'majority' && (told[at] ?? 0) > 0)
  return { at, verdict, minority: new Set(minority.map(({ name }) => name)) }
}

interface Cell {
  readonly network: Explored
  readonly hashes: readonly string[]
  readonly hashIndex: number | null
  /** Whether it differs from the majority; `null` without a majority. */
  readonly isMinority: boolean | null
  readonly when: string
}

function cell({ network, hashes, hashIndex, isMinority, when }: Cell): TemplateResult {
  if (hashIndex === null)
    return html`<td role="cell" class="blank ${when}"><span class="unseen">${NETWORK.notReported}</span></td>`
  const hash = hashes[hashIndex] ?? ''
  if (hashes.length < 2) return html`<td role="cell" class=${when} title=${hash}>${short(hash)}</td>`
  // Of undisputed blocks the heights are links: one for each cell would be hundreds.
  const text = inExplorer(network, hash, short(hash))
  if (isMinority === false) return html`<td role="cell" class="most ${when}" title=${hash}>${text}</td>`
  const label = isMinority === true ? NETWORK.otherBlock : NETWORK.branch(letter(hashIndex))
  const look = isMinority === true ? Math.max(1, Math.min(hashIndex, 3)) : Math.min(hashIndex, 3)
  return html`<td role="cell" class="odd b${look} ${when}" title=${hash}><span class="unseen">${label} </span>${text}</td>`
}

function letter(hashIndex: number): string {
  return String.fromCharCode(65 + Math.min(hashIndex, 25))
}

function short(hash: string): string {
  return hash.replace(/^0x/, '').slice(0, 5)
}

/** Old heights are hidden on narrow screens. */
function age(place: number, columns: readonly number[]): string {
  const fromEnd = columns.length - place
  const isAfterGap = place > 0 && (columns[place] ?? 0) > (columns[place - 1] ?? 0) + 1
  return `${fromEnd > 9 ? 'old' : fromEnd > 4 ? 'older' : 'new'}${isAfterGap ? ' gap' : ''}`
}

/** The first height in full, of the others only the last digits. */
function tail(height: number, place: number): TemplateResult | string {
  const text = count(height)
  return place === 0 || text.length <= 5
    ? text
    : html`<span aria-hidden="true">…${text.slice(-3)}</span><span class="unseen">${text}</span>`
}

function sentence(
  { at, verdict, minority }: Dispute,
  shard: ShardBlocksView,
  endpoints: readonly EndpointView[],
): string {
  const { height, hashes } = shard.blocks[at] ?? { height: 0, hashes: [] }
  const first = shard.blocks[disputedAt(shard)[0] ?? at]?.height ?? height
  const titles = [...minority].slice(0, 3).map((name) => endpoints.find((one) => one.name === name)?.title ?? name)
  const more = minority.size > titles.length ? ` +${minority.size - titles.length}` : ''
  const parts = [
    NETWORK.disputed(height, hashes.length),
    ...(first === height ? [] : [NETWORK.disputedSince(first)]),
    ...(verdict === 'split' ? [NETWORK.noMajority] : []),
    ...(titles.length > 0 ? [NETWORK.minority(`${titles.join(', ')}${more}`)] : []),
  ]
  return `${parts.join('; ')}.`
}
