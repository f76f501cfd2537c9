import type { NetworkView } from '../../src/http/wire/status.ts'
import { shardName, ticking } from './endpoint-row.ts'
import { count } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { atHead, isUnstable, tally } from './model.ts'
import type { Model } from './view.ts'
import { WORDS } from './words.ts'

/** `2 of 3 at head`; a halted chain has no current head. */
export function whereTheyAre({ endpoints, halted }: NetworkView): TemplateResult {
  const tell = halted ? WORDS.atLastOf : WORDS.atHeadOf
  const meaning = halted ? WORDS.atLastMeaning : WORDS.atHeadMeaning
  return html`<span title=${meaning}>${tell(atHead(endpoints), endpoints.length)}</span>`
}

/** `1 down, 2 degraded`: how many endpoints are in each state but up, and how many of those are unstable. */
export function stateCounts({ endpoints }: NetworkView): TemplateResult {
  const counts = tally(endpoints)
  const parts = (['down', 'degraded', 'unknown', 'maintenance'] as const).filter((state) => counts[state] > 0)
  const unstable = endpoints.filter(isUnstable).length
  return html`${parts.map((state) => html`<span class=${state}>${counts[state]} ${WORDS.states[state].toLowerCase()}</span>`)}${unstable === 0 ? nothing : html`<span class="degraded">${unstable} ${WORDS.unstable.toLowerCase()}</span>`}`
}

/** The newest block of a shard. */
export function headTip(
  head: NetworkView['heads'][number],
  zone: Model['settings']['zone'],
  nowMs: number,
): TemplateResult {
  return html`<span class="tip">
    ${head.shard === null ? nothing : html`<span class="shard">${shardName(head.shard)}</span>`}
    <b>${count(head.height)}</b>
    ${head.timestamp === null ? nothing : html`<small>${ticking(head.timestamp, zone, nowMs)} ${WORDS.blockAge}</small>`}
  </span>`
}
