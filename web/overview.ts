import type { ConditionView, EndpointView, HeadView, NetworkView, StateView, StatusView } from '../src/http/views.ts'
import { incidentsSection, maintenanceSection } from './events.ts'
import { age, count, duration, latency, since, unbroken } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import type { Live } from './live.ts'
import { mark } from './mark.ts'
import { networksWorstFirst, tally, worstFirst, worstHead } from './model.ts'
import { verdictSentence, WORDS } from './words.ts'

/** The overview: the verdict, what is wrong and what is planned, then every network with its endpoints, the worst first. */
export function overview(live: Live): TemplateResult {
  const { status, contact } = live
  const stale = contact.kind === 'stale'
  const tone = stale || status === null ? 'unknown' : status.state
  return html`
    <header class="bar">
      <a class="brand" href="/">${pulse()}<span>Heartline</span></a>
      ${lamp(contact)}
    </header>
    <main class=${stale ? 'stale' : ''}>
      ${status === null ? html`<section class="verdict unknown"><h1>${WORDS.connecting} …</h1></section>` : body(live, status, tone, stale)}
    </main>
  `
}

function body({ incidents, nowMs }: Live, status: StatusView, tone: StateView, stale: boolean): TemplateResult {
  return html`
    <section class="verdict ${tone}" role="status">
      ${mark(tone)}
      <div>
        <h1>${stale ? WORDS.staleVerdict : unbroken(verdictSentence(status))}</h1>
        ${stale ? html`<p>${unbroken(verdictSentence(status))}</p>` : nothing}
        ${ownTrouble(status.observer)}
      </div>
    </section>
    ${incidentsSection(incidents, status, nowMs)} ${maintenanceSection(status, nowMs)}
    ${networksWorstFirst(status.networks).map((network) => networkSection(network, nowMs))}
  `
}

/** A store that cannot be written leaves the verdicts as good as ever, and is worth knowing all the same. */
function ownTrouble({ impaired, reasons }: StatusView['observer']): TemplateResult | typeof nothing {
  if (!impaired && reasons.length === 0) return nothing
  const listed = reasons.length === 0 ? '.' : `: ${reasons.join(', ')}.`
  return html`<p class="impaired">${impaired ? WORDS.impaired : WORDS.ownTrouble}${listed}</p>`
}

function lamp(contact: Live['contact']): TemplateResult {
  switch (contact.kind) {
    case 'connecting':
      return html`<p class="lamp wait"><i></i>${WORDS.connecting}</p>`
    case 'live':
      return html`<p class="lamp on"><i></i>${contact.by === 'events' ? WORDS.live : WORDS.polling}</p>`
    case 'stale':
      return html`<p class="lamp off"><i></i>${WORDS.stale(contact.forSeconds)}</p>`
  }
}

function networkSection(network: NetworkView, nowMs: number): TemplateResult {
  const id = `network-${network.name}`
  const { columns } = WORDS
  return html`
    <section class="network ${network.state}" aria-labelledby=${id}>
      <header>
        <h2 id=${id}>${mark(network.state)}${network.title}</h2>
        <p class="facts">${facts(network)}</p>
        ${network.halted ? html`<p class="alarm">${WORDS.halted}</p>` : nothing}
        ${network.forked ? html`<p class="alarm">${WORDS.forked}</p>` : nothing}
        <p class="tips">${network.heads.map((head) => tip(head, nowMs))}</p>
      </header>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col" class="endpoint">${columns.endpoint}</th>
            <th role="columnheader" scope="col">${columns.why}</th>
            <th role="columnheader" scope="col" class="n height">${columns.height}</th>
            <th role="columnheader" scope="col" class="n lag">${columns.lag}</th>
            <th role="columnheader" scope="col" class="n">${columns.heartbeat}</th>
            <th role="columnheader" scope="col" class="n">${columns.latency}</th>
            <th role="columnheader" scope="col" class="n">${columns.since}</th>
          </tr>
        </thead>
        <tbody role="rowgroup">${worstFirst(network.endpoints).map((endpoint) => endpointRow(endpoint, nowMs))}</tbody>
      </table>
    </section>
  `
}

function facts({ endpoints }: NetworkView): TemplateResult {
  const counts = tally(endpoints)
  const parts = (['down', 'degraded', 'unknown', 'maintenance', 'up'] as const).filter((state) => counts[state] > 0)
  return html`${parts.map((state) => html`<span class=${state}>${counts[state]} ${WORDS.states[state].toLowerCase()}</span>`)}`
}

function tip(head: NetworkView['heads'][number], nowMs: number): TemplateResult {
  const blockAge = head.timestamp === null ? null : since(head.timestamp, nowMs)
  return html`<span class="tip">
    ${head.shard === null ? nothing : html`<span class="shard">${shardName(head.shard)}</span>`}
    <b>${count(head.height)}</b>${blockAge === null ? nothing : html`<small>${age(blockAge)} ${WORDS.blockAge}</small>`}
  </span>`
}

function endpointRow(endpoint: EndpointView, nowMs: number): TemplateResult {
  const { columns } = WORDS
  const head = worstHead(endpoint)
  const beat = endpoint.liveness?.heartbeat_lag_seconds ?? null
  return html`
    <tr role="row" class=${endpoint.state}>
      <th role="rowheader" scope="row">
        <div class="name">
          ${mark(endpoint.state)}
          <span>
            ${endpoint.title} <small>${WORDS.states[endpoint.state]}${endpoint.flapping ? `, ${WORDS.flapping}` : ''}</small>
          </span>
        </div>
      </th>
      <td role="cell" class="why">${endpoint.conditions.map((condition) => reason(condition))}</td>
      <td role="cell" class="n height" data-label=${columns.height}>${height(endpoint, head)}</td>
      <td role="cell" class="n lag" data-label=${columns.lag}>${lag(head)}</td>
      <td role="cell" class="n" data-label=${columns.heartbeat}>${beat === null ? none() : duration(beat)}</td>
      <td role="cell" class="n" data-label=${columns.latency}>
        ${endpoint.latency_seconds === null ? none() : latency(endpoint.latency_seconds)}
      </td>
      <td role="cell" class="n" data-label=${columns.since}>
        <time datetime=${endpoint.since} title=${endpoint.since}>${age(since(endpoint.since, nowMs))}</time>
      </td>
    </tr>
  `
}

function reason({ code, message }: ConditionView): TemplateResult {
  return html`<p><span class="code">${code}</span> ${unbroken(message)}</p>`
}

function height(endpoint: EndpointView, head: HeadView | undefined): TemplateResult {
  if (head === undefined) return none()
  const old = head.lag_blocks === null ? html`<small class="old">${WORDS.lastSeen}</small>` : nothing
  const shard =
    endpoint.heads.length > 1 && head.shard !== null ? html`<small>${shardName(head.shard)}</small>` : nothing
  return html`${count(head.height)}${shard}${old}`
}

function lag(head: HeadView | undefined): TemplateResult {
  if (head === undefined || head.lag_blocks === null) return none()
  if (head.lag_blocks === 0) return html`<span class="quiet">${WORDS.atHead}</span>`
  return html`${count(head.lag_blocks)}${head.lag_seconds === null ? nothing : html`<small>${duration(head.lag_seconds)}</small>`}`
}

function none(): TemplateResult {
  return html`<span class="quiet none" role="img" aria-label=${WORDS.notTold}>${WORDS.none}</span>`
}

const METACHAIN = 4_294_967_295

function shardName(shard: number): string {
  return shard === METACHAIN ? WORDS.metachain : WORDS.shard(shard)
}

function pulse(): TemplateResult {
  return html`<svg viewBox="0 0 24 14" aria-hidden="true"><path d="M1 8h5l2.5-6 4 11 3-8 1.5 3h6" /></svg>`
}
