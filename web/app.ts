import type { DaysView, StripsView } from '../src/http/wire/history.ts'
import { loadStyle, markSnapshot, showState, styleFor } from './document.ts'
import { instant, type Moment, since } from './elapsed.ts'
import { checkDaemon, follow, type LiveConnection } from './live.ts'
import { followReader } from './load-tooltips.ts'
import { overviewApi } from './request.ts'
import { audienceName, storeToken, token } from './session.ts'
import { createSettings } from './settings.ts'
import { dropKept, takeOver } from './take-over.ts'
import { tick } from './ticking.ts'
import type { ChartGroup } from './views/charts/chart-group.ts'
import { frame } from './views/frame.ts'
import { render } from './views/lit.ts'
import { type Route, routeOf } from './views/route.ts'
import { LOADERS } from './views/table.ts'
import type { Access, Answer, Model, Sources, View } from './views/view.ts'
import { WORDS } from './views/words.ts'

interface Shown {
  readonly route: Route
  readonly view: View
  readonly answer: Answer<unknown>
  /** The view, or a notice why it cannot be shown. */
  readonly drawnView: View
  /** When it was loaded, by the daemon's clock. */
  readonly dataMs: number
  /** Whether it could not be loaded again. */
  readonly isOld?: true
}

const pageElement = document.getElementById('page')
if (pageElement === null) throw new Error('the document has no #page')
let page: HTMLElement = pageElement
const initialAccess = page.dataset.access as Access
const publicNetworks = initialAccess === 'closed' ? [] : page.dataset.networks?.split(' ')
const { version } = page.dataset
const brand = { title: page.dataset.title ?? 'Heartline', hasLogo: page.dataset.logo !== undefined }

let isTakenOver = false
let shown: Shown | null = null
let navigations = 0
let starts = 0
let frameRequest = 0
/** When data was last loaded; `null` if a hidden tab has to load it once it is shown. */
let loadedAt: Moment | null = instant()
/** How many times data was loaded again, and which of these is shown. */
let refreshes = 0
let shownRefresh = 0
let wasStale = false
let connection: LiveConnection | null = null
/** The address that the user opened while the daemon could not be reached. */
let failedNavigation: { readonly url: URL; readonly how: 'push' | 'back'; readonly navigations: number } | null = null
const settings = createSettings(draw)
const past = () =>
  shown?.answer.ok === true
    ? (shown.answer.value as { strips?: StripsView | null; days?: DaysView | null } | null)
    : null
const reading = followReader({
  strips: () => past()?.strips ?? null,
  days: () => past()?.days ?? null,
  zone: () => settings.current().zone,
  goTo,
})
/** By the daemon's clock, once it is known. */
const nowMs = () => connection?.current().nowMs ?? Date.now()
/** What endpoints and open incidents are ordered by. */
let order: Model | null = null

function access(): Access {
  return initialAccess !== 'open' && token() !== null ? 'signed-in' : initialAccess
}

function model(at: Shown): Model | null {
  const live = connection?.current()
  if (live === undefined) return null
  return {
    route: at.route,
    ...live,
    access: access(),
    settings: settings.current(),
    brand,
    ...(publicNetworks === undefined ? {} : { publicNetworks }),
    ...(version === undefined ? {} : { version }),
    origin: location.origin,
    isWaiting: failedNavigation?.navigations === navigations,
    ...(at.isOld ? { oldSinceMs: at.dataMs } : {}),
    data: at.answer.ok ? at.answer.value : null,
  }
}

/** Draws at most once per animation frame. A hidden tab has none, and needs no more than its title. */
function draw(): void {
  const hidden = document.hidden && isTakenOver && shown !== null ? model(shown) : null
  if (hidden !== null && shown !== null) showState(shown.drawnView, hidden)
  frameRequest ||= requestAnimationFrame(() => {
    frameRequest = 0
    drawNow()
  })
}

function drawNow(): void {
  const current = shown === null ? null : model(shown)
  if (shown === null || current === null) return
  // Another address asks for another order.
  if (order?.route !== shown.route || !reading.holdsOrder(page)) order = current
  const now = { ...current, orderedBy: order }
  wasStale = now.contact.kind === 'stale'
  if (now.status === null && !isTakenOver) return markSnapshot(page, now)
  const view = shown.drawnView
  const isFirst = !isTakenOver
  const styling = styleFor(view, now)
  const missing = view.prepare?.(now, isFirst) ?? null
  if (missing !== null) void missing.then(draw, () => {})
  if (styling !== null) return void styling.then(draw)
  if (missing !== null && isFirst) return markSnapshot(page, now)
  const drawing = frame(now, view.draw(now))
  if (isFirst) page = takeOver(page, drawing)
  else {
    render(drawing, page)
    dropKept(page, missing === null)
  }
  // Text that was typed before the scripts had loaded.
  const typed = page.querySelector<HTMLInputElement>('#search')?.value
  if (isFirst && typed !== undefined && typed !== (now.route.query.q ?? '')) ask('q', typed)
  isTakenOver = true
  if (isFirst) draw()
  showState(view, now)
  const charts = view.charts?.(now)
  if (charts !== undefined) drawCharts(charts)
}

function drawCharts(group: ChartGroup): void {
  void import('./charts.ts').then(({ showCharts }) =>
    showCharts({ page, group, goTo, theme: settings.current().theme }),
  )
}

/** Opens another view without a page load; falls back to a page load. */
async function navigate(url: URL, how: 'start' | 'push' | 'back'): Promise<void> {
  const route = routeOf(url.pathname, Object.fromEntries(url.searchParams))
  if (route === null) {
    if (how !== 'start') return location.assign(url)
    // A closed page has no view at this address, so leave it after signing in.
    return initialAccess === 'closed' && access() !== 'closed' ? location.replace('/') : undefined
  }
  const mine = ++navigations
  let next: Shown
  try {
    const { view } = await LOADERS[route.view]()
    if (view.hasStyle) await loadStyle(route.view)
    next = await showAnswer(route, view, await load(view, route))
    const now = model(next)
    // Drawn at once as it stays: not a list before the wall, nor without its style sheet.
    if (how !== 'start' && now !== null)
      await Promise.all([styleFor(next.drawnView, now), next.drawnView.prepare?.(now)])
  } catch {
    // Until then the page stays as the daemon drew it.
    if (how === 'start') return void setTimeout(() => mine === navigations && navigate(url, how), 5000)
    // The view's files are gone because the daemon was updated. If the daemon is gone, a page load would show the browser's error page.
    if ((await checkDaemon()) !== 'gone') return location.assign(url)
    if (mine === navigations) failedNavigation = { url, how, navigations }
    return draw()
  }
  if (mine !== navigations) return
  const isSame = shown !== null && how === 'push' && url.pathname === location.pathname
  if (how === 'push') history.pushState(null, '', url)
  shown = next
  const layout = route.view === 'overview' ? route.query.view : undefined
  if (layout === 'list' || layout === 'wall') settings.change({ layout })
  if (how === 'start') return draw()
  drawNow()
  // Another part of the same page: keep scroll position and focus.
  if (isSame) return
  if (how === 'push') scrollTo(0, 0)
  ;(page.querySelector('h1') ?? page.querySelector('main'))?.focus({ preventScroll: true })
}

async function load(view: View, route: Route): Promise<Answer<unknown>> {
  loadedAt = instant()
  // The overview needs no others, and is the first view of most.
  const sources = route.view === 'overview' ? (overviewApi as Sources) : (await import('./api.ts')).api
  return view.load(sources, route, nowMs(), settings.current().zone)
}

function goTo(path: string): void {
  void navigate(new URL(path, location.href), 'push')
}

async function showAnswer(route: Route, view: View, answer: Answer<unknown>): Promise<Shown> {
  const dataMs = nowMs()
  if (answer.ok) return { route, view, answer, drawnView: view, dataMs }
  const [{ noticeView }] = await Promise.all([import('./views/notice.ts'), loadStyle('notice')])
  return { route, view, answer, drawnView: noticeView(answer.why), dataMs }
}

/** Search, filter and order are in the address, so that it can be sent. */
function ask(name: string, value: string): void {
  if (shown === null) return
  const url = new URL(location.href)
  if (value === '') url.searchParams.delete(name)
  else url.searchParams.set(name, value)
  history.replaceState(null, '', url)
  shown = { ...shown, route: { ...shown.route, query: Object.fromEntries(url.searchParams) } }
  draw()
}

/** Loads the data of the view again. */
async function refresh(): Promise<void> {
  const at = shown
  if (at === null || document.hidden) return void (loadedAt = null)
  const mine = ++refreshes
  const answer = await load(at.view, at.route)
  // Old data is better than none, if it is said to be old.
  const isAway = !answer.ok && answer.why === 'away' && at.answer.ok
  const next: Shown = isAway ? { ...at, isOld: true } : await showAnswer(at.route, at.view, answer)
  if (shown?.route !== at.route || mine < shownRefresh) return
  shownRefresh = mine
  shown = next
  draw()
}

async function start(): Promise<void> {
  const mine = ++starts
  const audience = await audienceName()
  if (mine !== starts) return
  connection?.stop()
  connection =
    access() === 'closed'
      ? null
      : follow({ audience, changed: draw, returned: () => void reconnect(), refused: signOut })
  void navigate(new URL(location.href), 'start')
}

/** An updated daemon no longer has the files of this page, and may send other data: reload. */
async function reconnect(): Promise<void> {
  const wanted = failedNavigation?.navigations === navigations ? failedNavigation : null
  failedNavigation = null
  if ((await checkDaemon()) === 'other') return wanted === null ? location.reload() : location.assign(wanted.url)
  if (wanted !== null) return navigate(wanted.url, wanted.how)
  void refresh()
}

/** Without its token, or without the right to see what it shows, the page is loaded again. */
function signOut(): void {
  if (token() === null && !isTakenOver) return
  storeToken(null)
  location.reload()
}

// What one tab has written, the others of this browser load at once.
const otherTabs = new BroadcastChannel('heartline')
otherTabs.addEventListener('message', () => void refresh())

async function submitForm(form: HTMLFormElement): Promise<void> {
  const forms = await import('./forms.ts').catch(() => null)
  if (forms !== null)
    return forms.submit(form, { zone: settings.current().zone, nowMs, goTo, signedIn: start, written: showWritten })
  const alert = form.querySelector('[role=alert]')
  if (alert !== null) alert.textContent = WORDS.noResponse
}

async function showWritten(): Promise<void> {
  otherTabs.postMessage('written')
  await refresh()
  drawNow()
}

document.addEventListener('submit', (event) => {
  if (event.target instanceof HTMLFormElement && event.target.method === 'dialog') return
  // No form is submitted by the browser: the token must not appear in an address.
  event.preventDefault()
  if (event.target instanceof HTMLFormElement) void submitForm(event.target)
})

// Until it is loaded, links are the browser's.
function loadActions(): void {
  const actions = {
    settings,
    signOut,
    ask,
    goTo,
    tellFirst: reading.tellFirst,
    known: () => connection?.current() ?? null,
  }
  void import('./actions.ts').then((loaded) => loaded.followActions(actions)).catch(() => setTimeout(loadActions, 5000))
}
loadActions()

addEventListener('popstate', () => void navigate(new URL(location.href), 'back'))

// Ages grow and silence must be noticed without any event.
setInterval(() => {
  if (loadedAt === null || since(loadedAt) >= (shown?.view.refreshMs ?? Number.POSITIVE_INFINITY)) void refresh()
  const live = connection?.current()
  if (live === undefined) return
  tick(page, live.nowMs)
  if (wasStale || live.contact.kind === 'stale') draw()
}, 1000)

void start()
