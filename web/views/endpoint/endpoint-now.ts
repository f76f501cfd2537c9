import type { RulesView } from '../../../src/http/wire/history.ts'
import type { EndpointView, LivenessView, NetworkView, NodeCheckView } from '../../../src/http/wire/status.ts'
import { headsNow, shardName, ticking } from '../endpoint-row.ts'
import { type Explored, inExplorer } from '../explorer.ts'
import { age, count, duration, latency, unbroken, type Zone } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { mark } from '../mark.ts'
import { worstHead } from '../model.ts'
import { headWords, WORDS } from '../words.ts'
import { ENDPOINT } from '../words-endpoint.ts'

/** Both statements, if the node reports itself healthy but Heartline does not agree. */
export function disagreement({ endpoint, zone, nowMs }: Now): TemplateResult | typeof nothing {
  const { state, since, conditions } = endpoint
  if (!isDisputed(endpoint)) return nothing
  const found = conditions.map(({ message }) => unbroken(message)).join('; ')
  return html`
    <section class="disagree ${state}" aria-labelledby="disagree">
      <h2 id="disagree">${ENDPOINT.disagree}</h2>
      <dl>
        <dt>${ENDPOINT.node}</dt>
        <dd>${mark('up')} ${ENDPOINT.healthy}</dd>
        <dt>${ENDPOINT.heartline}</dt>
        <dd>${mark(state)} <span><b>${WORDS.states[state]}</b> ${WORDS.since} ${ticking(since, zone, nowMs)}: ${found}</span></dd>
      </dl>
    </section>
  `
}

/** Whether the node runs checks of its own; others answer single questions. */
function hasOwnChecks({ syncing }: LivenessView): boolean {
  return syncing === undefined
}

/** Whether the node itself says that it is healthy, which answers to single questions do not, but Heartline does not agree. */
export function isDisputed({ liveness, state, conditions }: EndpointView): boolean {
  if (liveness?.healthy !== true || !hasOwnChecks(liveness)) return false
  // Where only some places see it down, the node may well be right.
  return (state === 'down' || state === 'degraded') && conditions.every(({ code }) => code !== 'partial')
}

export interface Now {
  readonly endpoint: EndpointView
  readonly network: (Explored & Pick<NetworkView, 'halted'>) | undefined
  readonly rules: RulesView | null
  readonly zone: Zone
  readonly nowMs: number
}

/** Current values with their limits. */
export function nowFacts({ endpoint, network, rules, zone, nowMs }: Now): TemplateResult | typeof nothing {
  const { liveness, client, latency_seconds: took } = endpoint
  const heads = headsNow(endpoint)
  if (heads.length === 0 && liveness === null && took === null) return nothing
  const head = worstHead({ heads })
  const limits = rules?.thresholds
  const beat = liveness?.heartbeat_lag_seconds ?? null
  return html`
    <dl class="now" aria-label=${ENDPOINT.facts}>
      ${head === undefined ? nothing : fact(ENDPOINT.height, blockHeight(head, network), html`${head.shard === null ? nothing : shardName(head.shard)} ${ticking(head.timestamp, zone, nowMs)} ${WORDS.blockAge}`)}
      ${head === undefined ? nothing : lagFact(head, network, limits?.lag_blocks)}
      ${beat === null ? nothing : fact(ENDPOINT.beat, duration(beat), limitText(limits?.heartbeat_seconds, duration), beat >= (limits?.heartbeat_seconds ?? Infinity))}
      ${liveness === null ? nothing : fact(ENDPOINT.failures, count(liveness.contiguous_failures), limitText(limits?.contiguous_failures, count), liveness.contiguous_failures >= (limits?.contiguous_failures ?? Infinity))}
      ${liveness === null ? nothing : reportFacts(liveness, limits)}
      ${client === undefined ? nothing : fact(ENDPOINT.client, client.name, html`${client.version ?? nothing}`)}
      ${took === null ? nothing : fact(ENDPOINT.latency, latency(took), limitText(limits?.latency_seconds, latency), took >= (limits?.latency_seconds ?? Infinity))}
    </dl>
    ${heads.length > 1 ? headsTable(heads, network, zone, nowMs) : nothing}
  `
}

/** What the node answers to single questions. */
function reportFacts(
  { syncing = null, blocks_to_go: blocks = null, peers = null, consensus = null }: LivenessView,
  limits: RulesView['thresholds'] | undefined,
): TemplateResult {
  const fewest = limits?.min_peers ?? 0
  const state = consensus?.state ?? null
  const slots = consensus?.slots_to_go ?? null
  return html`
    ${syncing === null ? nothing : fact(ENDPOINT.sync, syncing ? ENDPOINT.syncing : ENDPOINT.synced, html`${blocks === null ? nothing : ENDPOINT.toGo(count(blocks))}`, syncing)}
    ${peers === null ? nothing : fact(ENDPOINT.peers, count(peers), nothing, peers < fewest)}
    ${state === null ? nothing : fact(ENDPOINT.consensus, ENDPOINT.consensusStates[state], html`${slots === null || slots === 0 ? nothing : ENDPOINT.slotsToGo(count(slots))}`, state !== 'synced')}
    ${consensus === null || consensus.peers === null ? nothing : fact(ENDPOINT.consensusPeers, count(consensus.peers), nothing, consensus.peers < fewest)}
  `
}

function lagFact(
  { lag_blocks: blocks, lag_seconds: seconds }: Heads[number],
  network: Now['network'],
  limit: number | undefined,
): TemplateResult {
  if (blocks === null) return fact(ENDPOINT.lag, WORDS.none, html`${WORDS.lastSeen}`)
  const isBad = blocks >= (limit ?? Infinity)
  const value = blocks === 0 ? headWords(network) : `${count(blocks)}${seconds === null ? '' : ` (${age(seconds)})`}`
  return fact(ENDPOINT.lag, value, limitText(limit, count), isBad)
}

function fact(
  name: string,
  value: string | TemplateResult,
  more: TemplateResult | typeof nothing,
  isBad = false,
): TemplateResult {
  return html`<div class=${isBad ? 'bad' : nothing}><dt>${name}</dt><dd><b>${value}</b> <small>${more}</small></dd></div>`
}

function limitText(limit: number | undefined, text: (value: number) => string): TemplateResult | typeof nothing {
  return limit === undefined ? nothing : html`${ENDPOINT.limit(text(limit))}`
}

type Heads = EndpointView['heads']

function blockHeight({ height, hash }: Heads[number], network: Now['network']): TemplateResult {
  return network === undefined ? html`${count(height)}` : inExplorer(network, hash, count(height))
}

function headsTable(heads: Heads, network: Now['network'], zone: Zone, nowMs: number): TemplateResult {
  return html`
    <table class="chart-table heads">
      <thead>
        <tr>
          <th scope="col">${ENDPOINT.shard}</th>
          <th scope="col" class="n">${ENDPOINT.height}</th>
          <th scope="col" class="n">${ENDPOINT.lag}</th>
          <th scope="col" class="n">${ENDPOINT.blockAge}</th>
        </tr>
      </thead>
      <tbody>
        ${heads.map((head) => {
          const { shard, lag_blocks: lag, timestamp } = head
          return html`<tr>
            <th scope="row">${shard === null ? WORDS.none : shardName(shard)}</th>
            <td class="n">${blockHeight(head, network)}</td>
            <td class="n">${lag === null ? WORDS.lastSeen : lag === 0 ? headWords(network) : count(lag)}</td>
            <td class="n">${ticking(timestamp, zone, nowMs)}</td>
          </tr>`
        })}
      </tbody>
    </table>
  `
}

/** The node's own checks, failing ones first. */
export function checksSection({ endpoint, zone, nowMs }: Now): TemplateResult | typeof nothing {
  const { liveness } = endpoint
  if (liveness === null) return nothing
  const checks = [...liveness.checks].sort((a, b) => badness(b) - badness(a))
  return html`
    <section class="panel checks" aria-labelledby="checks">
      <h2 id="checks">${hasOwnChecks(liveness) ? ENDPOINT.checks : ENDPOINT.questions}</h2>
      ${hasOwnChecks(liveness) ? saying(liveness) : nothing} ${checks.length === 0 ? html`<p>${ENDPOINT.noChecks}</p>` : checksTable(checks, zone, nowMs)}
    </section>
  `
}

function badness({ healthy, contiguous_failures: failures }: NodeCheckView): number {
  return (healthy ? 0 : 1e12) + failures
}

function saying({ healthy }: LivenessView): TemplateResult {
  return html`<p class="saying">${mark(healthy ? 'up' : 'down')} ${ENDPOINT.theNode(healthy ? ENDPOINT.healthy : ENDPOINT.unhealthy)}</p>`
}

function checksTable(checks: readonly NodeCheckView[], zone: Zone, nowMs: number): TemplateResult {
  return html`
    <div class="chart-scroll" tabindex="0" role="group" aria-labelledby="checks">
      <table class="chart-table">
        <thead>
          <tr>
            <th scope="col">${ENDPOINT.check}</th>
            <th scope="col">${ENDPOINT.result}</th>
            <th scope="col" class="n">${ENDPOINT.failures}</th>
            <th scope="col" class="n">${ENDPOINT.failingSince}</th>
            <th scope="col" class="n">${ENDPOINT.checkedAt}</th>
          </tr>
        </thead>
        <tbody>
          ${checks.map((check) => {
            const {
              name,
              healthy,
              contiguous_failures: failures,
              failing_since: failing,
              checked_at: checked,
              message,
              offered = true,
            } = check
            return html`<tr class=${healthy ? nothing : 'fails'}>
              <th scope="row">${name}${message === undefined ? nothing : html`<small>${ENDPOINT.quoted(message)}</small>`}</th>
              <td>${!offered ? html`<span class="quiet">${ENDPOINT.notOffered}</span>` : healthy ? html`<span class="passes">✓ ${ENDPOINT.passes}</span>` : html`<b>✕ ${ENDPOINT.fails}</b>`}</td>
              <td class="n">${count(failures)}</td>
              <td class="n">${failing === null ? WORDS.none : ticking(failing, zone, nowMs)}</td>
              <td class="n">${checked === null ? WORDS.none : html`${ticking(checked, zone, nowMs)} ${ENDPOINT.ago}`}</td>
            </tr>`
          })}
        </tbody>
      </table>
    </div>
  `
}
