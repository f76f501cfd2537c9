import type { StateView } from '../../src/http/wire/status.ts'
import { moment, zoneName } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { toneOf } from './model.ts'
import type { Route, ViewName } from './route.ts'
import type { Model, Settings } from './view.ts'
import { WORDS } from './words.ts'

/** The frame around every view: navigation, connection status and settings. */
export function frame(model: Model, view: TemplateResult): TemplateResult {
  const { contact, route, access, settings, brand } = model
  const isClosed = model.publicNetworks?.length === 0
  return html`
    <a class="skip" href="#main">${WORDS.skip}</a>
    <header class="bar">
      <a class="brand" href="/">${brand.hasLogo ? html`<img src="/logo.svg" alt="" height="22" />` : pulse()}<span>${brand.title}</span></a>
      <nav aria-label=${WORDS.pages}>
        ${PLACES.map(({ view: place, href, isLocked }) =>
          isLocked && access === 'public'
            ? nothing
            : html`<a href=${href} aria-current=${currentOf(place, route.view)}>${WORDS.places[place]}</a>`,
        )}
        ${access === 'public' ? signIn(route) : nothing}
      </nav>
      ${lamp(model)}
      <p class="printed">${WORDS.asOf(moment(model.nowMs, settings.zone))}</p>
    </header>
    <main id="main" tabindex="-1" class=${contact.kind === 'stale' ? 'stale' : nothing}>
      ${announcements(model)} ${clusterNotes(model)} ${staleNote(model)} ${view}
    </main>
    <footer class="foot">
      <p class="choices">${choices(settings)}</p>
      <p>
        ${access === 'closed' ? nothing : html`<a href="/runbooks/README">${WORDS.runbooks}</a> ${isClosed ? nothing : html`<a href="/openapi.json">${WORDS.api}</a> ${access === 'open' ? html`<a href="/metrics">${WORDS.metrics}</a>` : nothing} <a href="/feed.xml">${WORDS.feed}</a> <a href="/badge.svg">${WORDS.badge}</a>`} <small>Heartline ${model.version}</small>`} ${access === 'signed-in' ? html`<button type="button" data-act="sign-out">${WORDS.signOut}</button>` : nothing}
      </p>
    </footer>
  `
}

const TITLE_MARK = { up: '', degraded: '▲ ', down: '✕ ', maintenance: '', unknown: '? ' }

/** The state of everything, to be seen in a tab without opening it. */
export function toneOfAll({ status, contact, access }: Model): StateView {
  if (access === 'closed') return 'up'
  return contact.kind === 'stale' || status === null ? 'unknown' : toneOf(status.state, status.networks)
}

/** The file of the tab's icon for a state. */
export function iconOf(tone: StateView): string {
  return tone === 'up' || tone === 'maintenance' ? 'icon.svg' : `icon-${tone}.svg`
}

/** The title of a view, after the mark of that state. */
export function markedTitle(title: string, model: Model): string {
  return `${TITLE_MARK[toneOfAll(model)]}${title}`
}

/** Where the navigation leads; the public only gets a sign-in form at those that are locked. */
const PLACES: readonly Place[] = [
  { view: 'overview', href: '/' },
  { view: 'incidents', href: '/incidents' },
  { view: 'gateway', href: '/gateway', isLocked: true },
  { view: 'notifications', href: '/notifications', isLocked: true },
  { view: 'observer', href: '/observer' },
]

interface Place {
  readonly view: keyof typeof WORDS.places
  readonly href: string
  readonly isLocked?: true
}

function announcements({ status, nowMs }: Model): readonly TemplateResult[] {
  const shown = (status?.announcements ?? []).filter(
    ({ from, until }) => (from === null || Date.parse(from) <= nowMs) && (until === null || Date.parse(until) > nowMs),
  )
  return shown.map(
    ({ text, links }) =>
      html`<p class="announcement" role="note">${text} ${links.map((link) => html`<a href=${link.url}>${link.text}</a> `)}</p>`,
  )
}

/** What readers must know of a cluster: that they see only a part of it, or that its members disagree on what to monitor. */
function clusterNotes({ status, settings }: Model): TemplateResult | typeof nothing {
  if (status?.cluster === undefined) return nothing
  const { own_view_since: since, vantage, networks_differ: differs } = status.cluster
  return html`
    ${since === null ? nothing : clusterNote(WORDS.ownView(moment(since, settings.zone), vantage))}
    ${differs ? clusterNote(html`${WORDS.networksDiffer} <a href="/observer">${WORDS.places.observer}</a>`) : nothing}
  `
}

function clusterNote(text: string | TemplateResult): TemplateResult {
  return html`<p class="announcement" role="note">${mark('degraded')} ${text}</p>`
}

/** The overview shows the first sentence as its verdict. */
function staleNote(model: Model): TemplateResult | typeof nothing {
  const { contact, route, isWaiting = false, nowMs, settings, oldSinceMs } = model
  if (contact.kind === 'live' && oldSinceMs !== undefined)
    return html`<p class="lost" role="alert">${WORDS.oldData(moment(oldSinceMs, settings.zone))}</p>`
  if (contact.kind !== 'stale' || (route.view === 'overview' && !isWaiting)) return nothing
  const waiting = isWaiting ? ` ${WORDS.waiting}` : ''
  return html`<p class="lost" role="alert">${WORDS.staleVerdict(moment(nowMs, settings.zone))}${waiting}</p>`
}

/** An incident page belongs to the incidents, networks and endpoints to the overview. */
function currentOf(place: ViewName, shown: ViewName): 'page' | 'true' | typeof nothing {
  if (place === shown) return 'page'
  const isWithin =
    place === 'incidents' ? shown === 'incident' : place === 'overview' && (shown === 'network' || shown === 'endpoint')
  return isWithin ? 'true' : nothing
}

function lamp({ contact, nowMs, settings }: Pick<Model, 'contact' | 'nowMs' | 'settings'>): TemplateResult {
  switch (contact.kind) {
    case 'snapshot':
      return html`<p class="lamp wait"><i></i>${WORDS.asOf(moment(nowMs, settings.zone))}</p>`
    case 'connecting':
      return html`<p class="lamp wait"><i></i>${WORDS.connecting}</p>`
    case 'live':
      return html`<p class="lamp on"><i></i>${contact.by === 'events' ? WORDS.live : WORDS.polling} <small>${zoneName(settings.zone)}</small></p>`
    case 'stale':
      return html`<p class="lamp off"><i></i>${WORDS.stale(contact.forSeconds)}</p>`
  }
}

function choices({ theme, zone, density }: Settings): TemplateResult {
  return html`
    <button type="button" data-set="theme">${WORDS.themes[theme]}</button>
    <button type="button" data-set="zone">${WORDS.zones[zone]}</button>
    <button type="button" data-set="density">${WORDS.densities[density]}</button>
    <button type="button" data-act="palette" aria-keyshortcuts="Control+K">${WORDS.palette}</button>
    <button type="button" data-act="help" aria-keyshortcuts="?">${WORDS.help}</button>
  `
}

/** Signing in leads back to this address. */
function signIn({ view, path = '/', query }: Route): TemplateResult {
  const search = new URLSearchParams(query).toString()
  const here = search === '' ? path : `${path}?${search}`
  const to = view === 'sign-in' ? (query.to ?? '/') : here
  return html`<a href="/sign-in${to === '/' ? '' : `?to=${encodeURIComponent(to)}`}">${WORDS.signIn}</a>`
}

function pulse(): TemplateResult {
  return html`<svg viewBox="0 0 24 14" aria-hidden="true"><path d="M1 8h5l2.5-6 4 11 3-8 1.5 3h6" /></svg>`
}
