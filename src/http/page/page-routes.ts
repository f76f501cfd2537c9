import type { FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { frame, iconOf, markedTitle, toneOfAll } from '../../../web/views/frame.ts'
import { noticeView } from '../../../web/views/notice.ts'
import { PATHS, type Route, VIEW_NAMES, type ViewName } from '../../../web/views/route.ts'
import { LOADERS } from '../../../web/views/table.ts'
import { type Access, DEFAULT_SETTINGS, type Model, type View } from '../../../web/views/view.ts'
import { clientAddress } from '../access.ts'
import { incidentSummary } from '../incident-views.ts'
import { type CompressibleText, compressFor, compressible, sendCompressed } from '../negotiation.ts'
import { sendProblem } from '../problem.ts'
import { type App, operation, problem, text } from '../route.ts'
import type { StatusWriter } from '../status/status-document.ts'
import { escaped, templateText } from '../template-text.ts'
import type { Audience, StatusView } from '../wire/status.ts'
import { DrawingTurns } from './drawing-turns.ts'
import { registerEmbed } from './embed.ts'
import { type Assets, registerAssets } from './page-assets.ts'
import { type PageSourcesDeps, pageSources } from './page-sources.ts'

export interface PageRoutesDeps extends PageSourcesDeps {
  readonly writers: Readonly<Record<Audience, StatusWriter>>
  /** Without a token everybody sees everything. */
  readonly hasToken: boolean
  readonly publicPage: PublicPage
}

export interface PublicPage {
  readonly title: string
  /** SVG; `null` for Heartline's own. */
  readonly logo: string | null
  /** Shown without the token; `null`: all. */
  readonly networks: readonly string[] | null
}

/** The overview without filter and order is drawn and compressed at most once in this time, for everybody. */
const OVERVIEW_HOLDS_MS = 1000

interface Page {
  readonly code: number
  readonly html: CompressibleText
}

interface Asker {
  /** Whose turns it uses; `null` for one that always may. */
  readonly client: string | null
  /** Aborts when it leaves; `null` if it never does. */
  readonly signal: AbortSignal | null
}

const EVERYBODY: Asker = { client: null, signal: null }

/** Links of a view repeat the filters of its address up to a hundred times, so no page has a longer address. */
const LONGEST_ADDRESS = 2048

/** Serves every view at its own path, rendered by the daemon for the first paint, and the page's assets. */
export function registerPage(app: App, deps: PageRoutesDeps) {
  const { clock, writers, scopes, hasToken } = deps
  const { title, logo, networks } = deps.publicPage
  const publicNetworks = hasToken ? networks : null
  const assets = registerAssets(app)
  registerEmbed(app, deps, assets)
  app.get('/logo.svg', LOGO_ROUTE, async (_, reply) => {
    if (logo === null) return sendProblem(reply, { status: 404, detail: 'There is no logo.' })
    return reply.type('image/svg+xml; charset=utf-8').send(logo)
  })
  const turns = new DrawingTurns(clock)
  const parsed = new Map<Audience, { readonly body: string; readonly status: StatusView }>()
  const overviews = new Map<Audience, { readonly page: Promise<Page | null>; at: number }>()

  async function draw(view: ViewName, request: FastifyRequest, asker: Asker): Promise<Page | null> {
    const { audience } = request
    const route: Route = {
      view,
      path: request.url.split('?', 1)[0] ?? '/',
      params: { ...(request.params as Record<string, string>) },
      query: lastOfEach(request.query as Record<string, string | string[]>),
    }
    const { view: chosen } = await LOADERS[view]()
    const load = () => chosen.load(pageSources(deps, audience), route, clock.now())
    return inTurn(request, asker, load, async (status, answer) => {
      const model = modelOf(route, audience, status)
      if (!answer.ok) return noticed(model, answer.why)
      const whole = { ...model, data: answer.value }
      await chosen.prepare?.(whole)
      return { code: 200, html: compressible(documentOf(chosen, view, whole)) }
    })
  }

  function inTurn<Data>(
    request: FastifyRequest,
    { client, signal }: Asker,
    load: () => Promise<Data>,
    work: (status: StatusView, data: Data) => Page | Promise<Page>,
  ): Promise<Page | null> {
    const { audience } = request
    const drawn = async (data: Data) => {
      await writers[audience].prepare()
      const page = await work(statusFor(audience), data)
      await compressFor(request, page.html)
      return page
    }
    return turns.draw(client, load, drawn, signal)
  }

  function statusFor(audience: Audience): StatusView {
    const { body } = writers[audience].whole()
    const known = parsed.get(audience)
    if (known?.body === body) return known.status
    const status = JSON.parse(body) as StatusView
    parsed.set(audience, { body, status })
    return status
  }

  function modelOf(route: Route, audience: Audience, status: StatusView | null): Model {
    const access: Access = hasToken ? (audience === 'private' ? 'signed-in' : 'public') : 'open'
    return {
      route,
      status,
      incidents: scopes[audience].incidents.open().map((incident) => incidentSummary(incident, audience)),
      contact: { kind: 'snapshot' },
      nowMs: clock.now(),
      access,
      ...(publicNetworks === null ? {} : { publicNetworks }),
      settings: { ...DEFAULT_SETTINGS, zone: 'utc' },
      brand: { title, hasLogo: logo !== null },
      version: deps.version,
      data: null,
    }
  }

  function noticed(model: Model, why: 'missing' | 'locked' | 'away'): Page {
    const code = { missing: 404, locked: 401, away: 503 }[why]
    return { code, html: compressible(documentOf(noticeView(why), null, model)) }
  }

  function documentOf(view: View, name: ViewName | null, model: Model): string {
    return pageDocument({
      title: markedTitle(view.title(model), model),
      icon: iconOf(toneOfAll(model)),
      model,
      view: name,
      styles: (name === null ? ['notice'] : stylesOf(view, name, model)).map((one) => `views/${one}.css`),
      body: templateText(frame(model, view.draw(model))),
      assets,
    })
  }

  async function send(request: FastifyRequest, reply: FastifyReply, page: Page | null) {
    if (page === null) return sendBusy(reply)
    if (page.code === 401) reply.header('www-authenticate', 'Bearer realm="heartline"')
    return sendCompressed(request, reply.code(page.code).type('text/html; charset=utf-8'), page.html)
  }

  for (const view of VIEW_NAMES) {
    app.get(PATHS[view], viewRoute(view), async (request, reply) => {
      if (request.url.length > LONGEST_ADDRESS) return sendMissing(request, reply)
      const page = request.url === '/' ? overview(request) : draw(view, request, askerOf(request, reply, hasToken))
      return send(request, reply, await page)
    })
  }

  /** For everybody who asks meanwhile, so it takes no client's place, and goes on when the first of them has left. */
  function overview(request: FastifyRequest): Promise<Page | null> {
    const { audience } = request
    const kept = overviews.get(audience)
    if (kept !== undefined && clock.monotonic() - kept.at < OVERVIEW_HOLDS_MS) return kept.page
    const drawn = { at: Number.POSITIVE_INFINITY, page: draw('overview', request, EVERYBODY) }
    overviews.set(audience, drawn)
    const ended = () => {
      drawn.at = clock.monotonic()
    }
    drawn.page.then(ended, () => overviews.delete(audience))
    return drawn.page
  }

  /** Sends 404 as a page instead of a problem document. */
  async function sendMissing(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { audience } = request
    const nothing = async () => null
    const page = await inTurn(request, askerOf(request, reply, hasToken), nothing, (status) =>
      noticed(modelOf(NO_ROUTE, audience, status), 'missing'),
    )
    return send(request, reply, page)
  }

  return {
    sendMissing,

    sendLocked(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const model = {
        ...modelOf(NO_ROUTE, 'public', null),
        incidents: [],
        access: 'closed' as const,
        publicNetworks: [],
      }
      return send(request, reply, noticed(model, 'locked'))
    },
  }
}

function askerOf(request: FastifyRequest, reply: FastifyReply, hasToken: boolean): Asker {
  const left = new AbortController()
  const leave = () => left.abort()
  reply.raw.once('close', leave)
  // The response to a request that was sent behind others hears nothing of their connection. A request that was read closes too.
  request.raw.once('close', () => request.raw.readableEnded || leave())
  return { client: hasToken && request.audience === 'private' ? null : clientAddress(request), signal: left.signal }
}

export type Pages = ReturnType<typeof registerPage>

const LOGO_ROUTE = operation({
  visibility: 'always',
  summary: 'The logo of the page',
  answers: { 200: text('The configured logo', 'image/svg+xml'), 404: problem('No logo is configured') },
})

/** Errors of a view are pages, too. */
function viewRoute(view: ViewName) {
  const names = [...PATHS[view].matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const html = (description: string) => text(description, 'text/html')
  const { config, schema } = operation({
    visibility: 'public',
    summary: `The page: ${view}`,
    answers: {
      200: html('A page that is readable without scripts'),
      401: html('The sign-in form'),
      ...(names.length === 0 ? {} : { 404: html('Not known here') }),
      503: {
        description: 'What it shows cannot be read now; as a problem, if too many pages wait to be drawn',
        content: { ...html('').content, ...problem('').content },
      },
    },
    ...(names.length === 0 ? {} : { params: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) }),
  })
  return { config: { ...config, isPage: true }, schema }
}

function sendBusy(reply: FastifyReply): FastifyReply {
  reply.header('retry-after', '5')
  return sendProblem(reply, { status: 503, detail: 'Too many pages wait to be drawn.' })
}

const NO_ROUTE: Route = { view: 'overview', params: {}, query: {} }

function lastOfEach(query: Record<string, string | string[]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, given]) => [name, Array.isArray(given) ? (given.at(-1) ?? '') : given]),
  )
}

function stylesOf(view: View, name: ViewName, model: Model): readonly string[] {
  return [view.hasStyle ? name : null, view.styleOf?.(model) ?? null].filter((one) => one !== null)
}

interface PageDocument {
  readonly title: string
  /** Its file. */
  readonly icon: string
  readonly model: Model
  /** `null` for a notice, which has no script of its own. */
  readonly view: string | null
  /** Besides that of all views. */
  readonly styles: readonly string[]
  /** HTML. */
  readonly body: string
  readonly assets: Assets
}

/** The document around a view, readable before any script has run. */
function pageDocument({ title, icon, model, view, body, styles: own, assets }: PageDocument): string {
  const { access, brand, publicNetworks, version = '' } = model
  const script = view === null ? [] : [`views/${view}.js`]
  const styles = ['style.css', ...own]
  const networks = publicNetworks === undefined ? '' : ` data-networks="${escaped(publicNetworks.join(' '))}"`
  const preloads = assets.closure('app.js', ...script)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Health of the blockchain nodes monitored here.">
<title>${escaped(title)}</title>
<script src="${assets.href('boot.js')}"></script>
${styles.map((path) => `<link rel="stylesheet" href="${assets.href(path)}">`).join('\n')}
<link rel="icon" href="${assets.href(icon)}" type="image/svg+xml">
${access === 'closed' ? '' : '<link rel="alternate" href="/feed.xml" type="application/atom+xml" title="Incidents">'}
${preloads.map((path) => `<link rel="modulepreload" href="${assets.href(path)}">`).join('\n')}
<script type="module" src="${assets.href('app.js')}"></script>
</head>
<body>
<div id="page" data-access="${access}" data-title="${escaped(brand.title)}"${brand.hasLogo ? ' data-logo' : ''}${access === 'closed' ? '' : ` data-version="${escaped(version)}"`}${networks}>${body}</div>
</body>
</html>
`
}
