import type { ConditionView, EndpointView, HeadView, NetworkView } from '../../src/http/wire/status.ts'
import { age, count, duration, latency, moment, percent, since, unbroken, type Zone } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { endpointMark } from './mark.ts'
import { isHealthy, isUnstable, lookOf, worstHead } from './model.ts'
import { endpointPath } from './route.ts'
import { headWords, METACHAIN, WORDS } from './words.ts'

/** One endpoint in the overview's table. */
export function endpointRow({ network, endpoint, p95, past, zone, nowMs }: EndpointRow): TemplateResult {
  const { columns } = WORDS
  const head = worstHead({ heads: headsNow(endpoint) })
  const beat = endpoint.liveness?.heartbeat_lag_seconds ?? null
  const failures = endpoint.liveness?.contiguous_failures ?? null
  return html`
    <tr role="row" class=${lookOf(endpoint)} id="e-${network.name}-${endpoint.name}">
      <th role="rowheader" scope="row">
        <div class="name">
          ${endpointMark(endpoint)}
          <div>
            <a href=${endpointPath(network.name, endpoint.name)}>${endpoint.title}</a>
            ${isHealthy(endpoint) ? nothing : html`<small class="standing">${standing(endpoint, zone, nowMs)}</small>`}
            ${endpoint.conditions.map((condition) => reason(condition))}
          </div>
        </div>
      </th>
      <td role="cell" class="n height" data-label=${columns.height}>${height(endpoint, head)}</td>
      <td role="cell" class="n lag" data-label=${columns.lag}>${lag(head, endpoint, network)}</td>
      <td role="cell" class="n beat" data-label=${columns.beat}>${beat === null ? none() : duration(beat)}</td>
      <td role="cell" class="n failures" data-label=${columns.failures}>${failures === null ? none() : quietZero(failures)}</td>
      <td role="cell" class="n latency" data-label=${columns.latency}>${p95 === null ? none() : latency(p95)}</td>
      <td role="cell" class="day">${past}</td>
      <td role="cell" class="n available" data-label=${columns.available}>${available(endpoint.availability['30d'])}</td>
    </tr>
  `
}

export interface EndpointRow {
  readonly network: Pick<NetworkView, 'name' | 'halted'>
  readonly endpoint: EndpointView
  /** Its latency of the last hour, in seconds. */
  readonly p95: number | null
  /** The strip of its last 24 hours, or the bars of its last 90 days. */
  readonly past: TemplateResult | typeof nothing
  readonly zone: Zone
  readonly nowMs: number
}

/** `Down for 2 min`, `Down for 2 min, flapping`, `Unstable: up for 12 s, flapping`. */
export function standing(endpoint: EndpointView, zone: Zone, nowMs: number): TemplateResult {
  const { state, since: from, flapping } = endpoint
  const age = ticking(from, zone, nowMs)
  const how = flapping ? `, ${WORDS.flapping}` : ''
  if (isUnstable(endpoint)) {
    const word = WORDS.states[state].toLowerCase()
    return html`<b>${WORDS.unstable}</b>: ${word} ${WORDS.since} ${age}${how}`
  }
  return html`<b>${WORDS.states[state]}</b> ${WORDS.since} ${age}${how}`
}

/** An age that `web/ticking.ts` updates every second. */
export function ticking(from: string, zone: Zone, nowMs: number): TemplateResult {
  return html`<time datetime=${from} title=${moment(from, zone)} data-since>${age(since(from, nowMs))}</time>`
}

/** Why an endpoint is not healthy. */
export function reason({ code, message }: ConditionView): TemplateResult {
  return html`<p class="why">${codeLink(code)} ${unbroken(message)}</p>`
}

/** A condition, linked to its runbook. */
export function codeLink(code: string): TemplateResult {
  return html`<a class="code" href="/runbooks/${code}" title=${WORDS.runbook}>${code}</a>`
}

function height(endpoint: EndpointView, head: HeadView | undefined): TemplateResult {
  if (head === undefined) return none()
  const old = head.lag_blocks === null ? html`<small>${WORDS.lastSeen}</small>` : nothing
  const shard =
    endpoint.heads.length > 1 && head.shard !== null ? html`<small>${shardName(head.shard)}</small>` : nothing
  return html`${count(head.height)} ${shard} ${old}`
}

/** Its heads, without lag if it does not respond: the last result stays in place for a while. */
export function headsNow({ heads, conditions }: Pick<EndpointView, 'heads' | 'conditions'>): EndpointView['heads'] {
  const isHeard = conditions.every(({ code }) => code !== 'unreachable' && code !== 'bad-answer')
  return isHeard ? heads : heads.map((head) => ({ ...head, lag_blocks: null, lag_seconds: null }))
}

function lag(
  head: HeadView | undefined,
  { conditions }: EndpointView,
  network: Pick<NetworkView, 'halted'>,
): TemplateResult {
  if (head === undefined || head.lag_blocks === null) return none()
  if (conditions.some(({ code }) => code === 'forked')) return html`<span class="quiet">${WORDS.otherBranch}</span>`
  if (head.lag_blocks === 0) {
    // "lagging" holds until recovery is confirmed; without "again" the row would contradict itself.
    const again = conditions.some(({ code }) => code === 'lagging') ? html` <small>${WORDS.again}</small>` : nothing
    return html`<span class="quiet">${headWords(network)}${again}</span>`
  }
  return html`${count(head.lag_blocks)} ${head.lag_seconds === null ? nothing : html`<small>${age(head.lag_seconds)}</small>`}`
}

function quietZero(value: number): TemplateResult {
  return value === 0 ? html`<span class="quiet">0</span>` : html`<b>${count(value)}</b>`
}

const DAY_SECONDS = 86_400
const ENOUGH = 0.5
const ALL_BUT_STARTING = 0.99

/** A percentage of so many days, or of as much as is known, in grey. */
export function available(
  { ratio, coverage }: EndpointView['availability']['30d'],
  days: 1 | 30 | 90 = 30,
): TemplateResult {
  const share = `${Math.floor(coverage * 100)} %`
  if (ratio === null) return html`<small class="quiet">${WORDS.noData}</small>`
  if (coverage < ENOUGH) {
    const known = unbroken(age(coverage * days * DAY_SECONDS))
    return html`<small class="quiet" title=${WORDS.coverageMeaning(share)}>${percent(ratio)} ${WORDS.coverage(known)}</small>`
  }
  const known = coverage < ALL_BUT_STARTING ? html`<small>${WORDS.coverage(share)}</small>` : nothing
  return html`<span title=${WORDS.coverageMeaning(share)}>${percent(ratio)}</span> ${known}`
}

export function none(): TemplateResult {
  return html`<span class="quiet none" role="img" aria-label=${WORDS.notKnown}>${WORDS.none}</span>`
}

export function shardName(shard: number): string {
  return shard === METACHAIN ? WORDS.metachain : WORDS.shard(shard)
}
