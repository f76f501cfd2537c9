import type { ClusterDetailsView } from '../../src/http/wire/cluster.ts'
import { ticking } from './endpoint-row.ts'
import { figures, fine } from './figures.ts'
import { age, count, type Zone } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { exactTime } from './when.ts'
import { OBSERVER_WORDS } from './words-observer.ts'

const { cluster: WORDS } = OBSERVER_WORDS

/**
 * The members of the cluster, who polls what and keeps which incidents, and the database. `toldMs`: when the daemon
 * wrote it, since when leases were renewed.
 */
export function clusterSection(of: ClusterDetailsView, toldMs: number, zone: Zone, nowMs: number): TemplateResult {
  return html`
    <section class="card wide" aria-labelledby="cluster">
      <h2 id="cluster">${WORDS.title} <small>${WORDS.here(of.vantage)}</small></h2>
      ${database(of.store, zone, nowMs)}
      ${of.store.reachable ? nothing : html`<p class="besides">${WORDS.known} ${exactTime(of.store.since, zone)}${WORDS.lost}</p>`}
      ${members(of.members, zone, nowMs)}
      ${leases(of, toldMs)}
    </section>
  `
}

function database(
  { reachable, since, lag_seconds: lag, spool_rows: rows, rows_refused: refused }: ClusterDetailsView['store'],
  zone: Zone,
  nowMs: number,
): TemplateResult {
  return figures([
    {
      name: WORDS.database,
      value: reachable ? WORDS.reachable : WORDS.away,
      beside: html`${WORDS.since} ${ticking(since, zone, nowMs)}`,
      tone: reachable ? undefined : 'down',
    },
    { name: WORDS.lag, value: fine(lag) },
    { name: WORDS.spool, value: count(rows), tone: rows > 0 ? 'degraded' : undefined },
    { name: WORDS.refused, value: count(refused) },
  ])
}

function members(list: ClusterDetailsView['members'], zone: Zone, nowMs: number): TemplateResult {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${WORDS.members}>
      <table class="data">
        <thead>
          <tr>
            <th scope="col">${WORDS.member}</th>
            <th scope="col">${WORDS.place}</th>
            <th scope="col">${WORDS.version}</th>
            <th scope="col" class="n">${WORDS.heard}</th>
            <th scope="col">${WORDS.standing}</th>
          </tr>
        </thead>
        <tbody>
          ${list.map(
            ({ id, vantage, version, url, seen_at: seenAt, self, live, differs }) => html`<tr>
              <th scope="row">${url === null ? id : html`<a href=${url}>${id}</a>`}${self ? html` <small>${WORDS.self}</small>` : nothing}</th>
              <td data-label=${WORDS.place}>${vantage}</td>
              <td data-label=${WORDS.version}>${version}</td>
              <td class="n" data-label=${WORDS.heard}><span>${ticking(seenAt, zone, nowMs)} ${OBSERVER_WORDS.ago}</span></td>
              <td data-label=${WORDS.standing}><span>${live === null ? WORDS.notKnown : live ? WORDS.live : html`<b class="bad">${WORDS.gone}</b>`}${live && differs ? html`, <b class="bad">${WORDS.differs}</b>` : nothing}</span></td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `
}

function leases({ leases: polls, keepers, store }: ClusterDetailsView, toldMs: number): TemplateResult {
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${WORDS.leases}>
      <table class="data">
        <thead>
          <tr>
            <th scope="col">${WORDS.network}</th>
            <th scope="col">${WORDS.task}</th>
            <th scope="col">${WORDS.member}</th>
            <th scope="col" class="n">${WORDS.left}</th>
            <th scope="col" class="n">${WORDS.token}</th>
          </tr>
        </thead>
        <tbody>
          ${polls.map((lease) => leaseRow(lease, WORDS.polls(lease.vantage), toldMs, store.reachable))}
          ${keepers.map((lease) => leaseRow(lease, WORDS.keeps, toldMs, store.reachable))}
        </tbody>
      </table>
    </div>
  `
}

type Lease = ClusterDetailsView['keepers'][number]

function leaseRow(
  { network, member, token, expires_at: until }: Lease,
  task: string,
  toldMs: number,
  isKnown: boolean,
): TemplateResult {
  const left = (Date.parse(until) - toldMs) / 1000
  // Its holder may have renewed it, where only this member cannot reach the database.
  const over = isKnown || member === null ? html`<b class="bad">${WORDS.expired}</b>` : WORDS.notKnown
  return html`<tr>
    <th scope="row">${network}</th>
    <td data-label=${WORDS.task}>${task}</td>
    <td data-label=${WORDS.member}>${member ?? html`<b class="bad">${WORDS.noMember}</b>`}</td>
    <td class="n" data-label=${WORDS.left}>${left > 0 ? age(left) : over}</td>
    <td class="n" data-label=${WORDS.token}>${count(token)}</td>
  </tr>`
}
