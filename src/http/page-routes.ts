import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { frame } from '../../web/views/frame.ts'
import { noticeView } from '../../web/views/notice.ts'
import { PATHS, type Route, VIEW_NAMES, type ViewName } from '../../web/views/route.ts'
import { LOADERS } from '../../web/views/table.ts'
import { type Access, type Answer, DEFAULT_SETTINGS, type Model, type View } from '../../web/views/view.ts'
import type { Clock } from '../clock.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { sendCompressed } from './compressed.ts'
import { incidentSummary } from './incident-views.ts'
import { registerAssets } from './page-assets.ts'
import { pageDocument } from './page-document.ts'
import { type PageSourcesDeps, pageSources } from './page-sources.ts'
import type { StatusWriter } from './status-document.ts'
import { templateText } from './template-text.ts'
import type { Audience, StatusView } from './wire-status.ts'

export interface PageRoutesDeps extends PageSourcesDeps {
  readonly incidents: Pick<IncidentLog, 'of' | 'open'>
  readonly writers: Readonly<Record<Audience, StatusWriter>>
  readonly clock: Clock
  /** Whether there is a token; without it everybody sees everything. */
  readonly hasToken: boolean
}

/** The status page. */
export interface Pages {
  /** Instead of a problem document, where a page was asked for. */
  sendMissing(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  sendLocked(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

/** However many ask for the overview, it is drawn so often. */
const OVERVIEW_HOLDS_MS = 1000

/** Every view at its own address, drawn here for the first paint; what a browser then loads, under a name of its content. */
export function registerPage(app: FastifyInstance, deps: PageRoutesDeps): Pages {
  const { clock, writers, incidents, hasToken } = deps
  const assets = registerAssets(app)
  const drawn = new Map<Audience, { readonly at: number; readonly html: string }>()

  async function draw(view: ViewName, request: FastifyRequest): Promise<{ code: number; html: string }> {
    const { audience } = request
    const route: Route = {
      view,
      params: { ...(request.params as Record<string, string>) },
      query: lastOfEach(request.query as Record<string, string | string[]>),
    }
    const [{ view: chosen }] = await Promise.all([LOADERS[view](), writers[audience].prepare()])
    const sources = pageSources(deps, audience)
    const answer = await chosen.load(sources, route, clock.now())
    const model = modelOf(route, audience, JSON.parse(writers[audience].whole().body) as StatusView)
    return answered(chosen, view, { ...model, data: null }, answer)
  }

  function modelOf(route: Route, audience: Audience, status: StatusView | null): Omit<Model, 'data'> {
    const access: Access = hasToken ? (audience === 'private' ? 'signed-in' : 'public') : 'open'
    return {
      route,
      status,
      incidents: incidents
        .open()
        .filter(({ absorbedBy }) => absorbedBy === null)
        .sort((a, b) => b.openedAt - a.openedAt)
        .map((incident) => incidentSummary(incident, audience)),
      contact: { kind: 'snapshot' },
      nowMs: clock.now(),
      access,
      settings: { ...DEFAULT_SETTINGS, zone: 'utc' },
    }
  }

  function answered(view: View, name: ViewName, model: Model, answer: Answer<unknown>): { code: number; html: string } {
    if (!answer.ok) return noticed(model, answer.why)
    return { code: 200, html: documentOf(view, name, { ...model, data: answer.value }) }
  }

  function noticed(model: Model, why: 'missing' | 'locked' | 'away'): { code: number; html: string } {
    const code = { missing: 404, locked: 401, away: 503 }[why]
    return { code, html: documentOf(noticeView(why), null, model) }
  }

  function documentOf(view: View, name: ViewName | null, model: Model): string {
    return pageDocument({
      title: view.title(model),
      access: model.access,
      view: name === null ? null : { name, hasStyle: view.hasStyle },
      body: templateText(frame(model, view.draw(model))),
      assets,
    })
  }

  async function send(request: FastifyRequest, reply: FastifyReply, code: number, html: string): Promise<FastifyReply> {
    return sendCompressed(request, reply.code(code).type('text/html; charset=utf-8'), html)
  }

  for (const view of VIEW_NAMES) {
    app.get(PATHS[view], { config: { visibility: 'public', isPage: true } }, async (request, reply) => {
      const { audience } = request
      const kept = view === 'overview' ? drawn.get(audience) : undefined
      if (kept !== undefined && clock.monotonic() - kept.at < OVERVIEW_HOLDS_MS)
        return send(request, reply, 200, kept.html)
      const { code, html } = await draw(view, request)
      if (view === 'overview') drawn.set(audience, { at: clock.monotonic(), html })
      return send(request, reply, code, html)
    })
  }

  return {
    async sendMissing(request, reply) {
      const route: Route = { view: 'overview', params: {}, query: {} }
      const { audience } = request
      const status = JSON.parse(writers[audience].whole().body) as StatusView
      const { code, html } = noticed({ ...modelOf(route, audience, status), data: null }, 'missing')
      return send(request, reply, code, html)
    },
    async sendLocked(request, reply) {
      reply.header('www-authenticate', 'Bearer realm="heartline"')
      const route: Route = { view: 'overview', params: {}, query: {} }
      const model = { ...modelOf(route, 'public', null), incidents: [], access: 'closed' as const, data: null }
      const { code, html } = noticed(model, 'locked')
      return send(request, reply, code, html)
    },
  }
}

function lastOfEach(query: Record<string, string | string[]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, given]) => [name, Array.isArray(given) ? (given.at(-1) ?? '') : given]),
  )
}
