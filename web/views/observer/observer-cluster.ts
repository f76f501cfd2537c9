import type { ClusterDetailsView } from '../../../src/http/wire/cluster.ts'
import { dataTable } from '../data-table.ts'
import { ticking } from '../endpoint-row.ts'
import { figures, fine } from '../figures.ts'
import { age, count, type Zone } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { exactTime } from '../when.ts'
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

type Member = ClusterDetailsView['members'][number]

function members(list: readonly Member[], zone: Zone, nowMs: number): TemplateResult {
  return dataTable(WORDS.members, list, [
    [
      WORDS.member,
      ({ id, url, self }) =>
        html`${url === null ? id : html`<a href=${url}>${id}</a>`}${self ? html` <small>${WORDS.self}</small>` : nothing}`,
      'head',
    ],
    [WORDS.place, ({ vantage }) => vantage],
    [WORDS.version, ({ version }) => version],
    [
      WORDS.heard,
      ({ seen_at: seenAt }) => html`<span>${ticking(seenAt, zone, nowMs)} ${OBSERVER_WORDS.ago}</span>`,
      'n',
    ],
    [WORDS.standing, standing],
  ])
}

function standing({ live, differs }: Member): TemplateResult {
  return html`<span>${live === null ? WORDS.notKnown : live ? WORDS.live : html`<b class="bad">${WORDS.gone}</b>`}${live && differs ? html`, <b class="bad">${WORDS.differs}</b>` : nothing}</span>`
}

function leases({ leases: polls, keepers, store }: ClusterDetailsView, toldMs: number): TemplateResult {
  const all = [
    ...polls.map((lease) => ({ ...lease, task: WORDS.polls(lease.vantage) })),
    ...keepers.map((lease) => ({ ...lease, task: WORDS.keeps })),
  ]
  return dataTable(WORDS.leases, all, [
    [WORDS.network, ({ network }) => network, 'head'],
    [WORDS.task, ({ task }) => task],
    [WORDS.member, ({ member }) => member ?? html`<b class="bad">${WORDS.noMember}</b>`],
    [
      WORDS.left,
      ({ member, expires_at: until }) => {
        const left = (Date.parse(until) - toldMs) / 1000
        if (left > 0) return age(left)
        // Its holder may have renewed it, where only this member cannot reach the database.
        return store.reachable || member === null ? html`<b class="bad">${WORDS.expired}</b>` : WORDS.notKnown
      },
      'n',
    ],
    [WORDS.token, ({ token }) => count(token), 'n'],
  ])
}
