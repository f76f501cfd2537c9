import type { ShardBlocksView } from '../../../src/http/wire/blocks.ts'
import { CHART_WORDS } from '../charts/words-small-charts.ts'
import { count } from '../format.ts'
import { html, type TemplateResult } from '../lit.ts'
import { intervalsOf, median, sinceLastBlock } from './block-arrival-figures.ts'
import { NETWORK, paceText } from './words-network.ts'

/** The contents of the lanes as a table, for screen readers and for the cursor. */
export function blockArrivalTable({ shard, id, titleOf, nowMs }: BlockArrivalTable): TemplateResult {
  const isWide = shard.endpoints.length <= MAX_COLUMNS
  return html`
    <details class="behind">
      <summary>${CHART_WORDS.table}</summary>
      <div class="scroll" tabindex="0" role="region" aria-label=${NETWORK.arrival}>
        <table class="data" id=${id}>
          <thead>
            <tr>
              <th scope="col">${NETWORK.height}</th>
              <th scope="col" class="n">${NETWORK.interval}</th>
              ${
                isWide
                  ? shard.endpoints.map(({ name }) => html`<th scope="col" class="n">${titleOf(name)}</th>`)
                  : html`<th scope="col">${NETWORK.firstBy}</th>
                      <th scope="col" class="n">${NETWORK.columns.delay}</th>
                      <th scope="col">${NETWORK.lastBy}</th>`
              }
            </tr>
          </thead>
          <tbody>
            ${rows(shard, isWide, titleOf)}
            ${waiting(sinceLastBlock(shard, nowMs), isWide ? shard.endpoints.length : 3)}
          </tbody>
        </table>
      </div>
    </details>
  `
}

export interface BlockArrivalTable {
  readonly shard: ShardBlocksView
  readonly id: string
  readonly titleOf: (name: string) => string
  /** The time of this data. */
  readonly nowMs: number
}

const MAX_COLUMNS = 6

function rows(shard: ShardBlocksView, isWide: boolean, titleOf: (name: string) => string): TemplateResult[] {
  const intervals = intervalsOf(shard)
  return shard.blocks.map(({ height }, at) => {
    const interval = intervals[at] ?? null
    return html`<tr>
      <th scope="row">${count(height)}</th>
      <td class="n">${interval === null ? CHART_WORDS.none : paceText(interval)}</td>
      ${isWide ? shard.endpoints.map((_, of) => html`<td class="n">${cell(shard, of, at)}</td>`) : summary(shard, at, titleOf)}
    </tr>`
  })
}

function cell({ blocks, endpoints }: ShardBlocksView, of: number, at: number): string {
  const later = endpoints[of]?.later_seconds[at] ?? null
  if (later !== null) return later === 0 ? NETWORK.together : NETWORK.laterBy(paceText(later))
  return (endpoints[of]?.height ?? 0) < (blocks[at]?.height ?? 0) ? NETWORK.notThere : NETWORK.notSeen
}

function summary({ endpoints }: ShardBlocksView, at: number, titleOf: (name: string) => string): TemplateResult {
  const seen = endpoints
    .flatMap(({ name, later_seconds: later }) => {
      const by = later[at] ?? null
      return by === null ? [] : [{ name, by }]
    })
    .sort((a, b) => a.by - b.by)
  const [first] = seen
  const last = seen.at(-1)
  const middle = median(seen.map(({ by }) => by))
  return html`<td>${first === undefined ? CHART_WORDS.none : titleOf(first.name)}</td>
    <td class="n">${middle === null ? CHART_WORDS.none : NETWORK.laterBy(paceText(middle))}</td>
    <td>${last === undefined ? CHART_WORDS.none : `${titleOf(last.name)} ${NETWORK.laterBy(paceText(last.by))}`}</td>`
}

/** The row of the next block. */
function waiting(seconds: number | null, columns: number): TemplateResult {
  return html`<tr>
    <th scope="row">${NETWORK.next}</th>
    <td class="n">${seconds === null ? CHART_WORDS.none : paceText(Math.round(seconds))}</td>
    ${Array.from({ length: columns }, () => html`<td class="n">${NETWORK.notThere}</td>`)}
  </tr>`
}
