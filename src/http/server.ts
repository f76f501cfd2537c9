import type { Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Inspect } from '../core/verdict/inspection.ts'
import type { GatewayReport } from '../gateway/service.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { MinuteStats } from '../metrics/minute-stats.ts'
import type { Board } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { Journal } from '../state/journal.ts'
import type { Sightings } from '../state/sightings.ts'
import type { Store } from '../store/store.ts'
import { prefersHtml } from './accept.ts'
import { type AccessOptions, createAccess, sendRefusal, type Visibility } from './access.ts'
import { registerBadge } from './badge-route.ts'
import { createEventStream } from './event-stream.ts'
import { registerEvents } from './events-route.ts'
import { registerFeed } from './feed-route.ts'
import { registerGateway } from './gateway-route.ts'
import { registerHistory } from './history-route.ts'
import { registerIncidents } from './incident-routes.ts'
import { createIncidentSource } from './incident-source.ts'
import { registerMetrics } from './metrics-route.ts'
import { registerNetwork } from './network-routes.ts'
import { registerObserver } from './observer-route.ts'
import { registerOpenApi } from './openapi-route.ts'
import { registerPage } from './page-routes.ts'
import { registerPolls } from './polls-route.ts'
import { createPostMortemWriter } from './post-mortem-writer.ts'
import { registerProbe } from './probe-route.ts'
import { problemBody, sendProblem } from './problem.ts'
import { registerProcess } from './process-routes.ts'
import { registerRules } from './rules-route.ts'
import { registerDiscovery } from './sd-route.ts'
import { createStatusWriter } from './status-document.ts'
import { registerStatus } from './status-routes.ts'
import { createStripSource } from './strip-source.ts'
import { registerStrips } from './strips-route.ts'
import type { Audience, ObserverView } from './wire-status.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    visibility?: Visibility
    /** Whether it is for people, who get a page that says what is wrong and no problem document. */
    isPage?: boolean
  }
  interface FastifyRequest {
    audience: Audience
  }
}

export interface Certificate {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

export interface HttpServerOptions extends AccessOptions {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  readonly tls: Certificate | null
}

export interface HttpServerDeps {
  readonly board: Board
  readonly incidents: IncidentLog
  readonly store: Pick<Store, 'history' | 'polls' | 'incidents' | 'incident'>
  readonly metrics: Pick<Metrics, 'exposition' | 'httpRequest' | 'traffic' | 'daemonStatus'>
  readonly clock: Clock
  readonly log: Log
  readonly options: HttpServerOptions
  readonly version: string
  /** The store is open and the first round of polls is done. */
  readonly ready: () => boolean
  readonly stopping: () => boolean
  readonly observer: () => ObserverView
  readonly journal: Pick<Journal, 'entries'>
  readonly recorder: Pick<MinuteStats, 'minutes' | 'since'>
  readonly sightings: Sightings
  /** Polls beside the schedule; none where there is none. */
  readonly inspect?: Inspect
  /** `null` where it is not enabled. */
  readonly gateway?: () => GatewayReport | null
}

/** The daemon's own HTTP: page, API, metrics. */
export interface HttpServer {
  /** Rejects when the address cannot be had. */
  listen(): Promise<{ readonly host: string; readonly port: number }>
  /** For new connections from now on. */
  useCertificate(certificate: Certificate): void
  /** Ends the event streams, lets requests in flight finish, and resolves when nothing is left open. */
  close(): Promise<void>
  /** For tests: answers without a socket. */
  readonly inject: FastifyInstance['inject']
}

const HEADERS = {
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
}

/** For requests in flight, when the daemon stops. */
const CLOSING_GRACE_MS = 3000

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const { board, incidents, store, metrics, clock, log, options, observer, journal, recorder, sightings } = deps
  const app = createApp(options.tls)
  const access = createAccess(options)
  const writers = {
    private: createStatusWriter({ board, incidents, clock, observer, audience: 'private' }),
    public: createStatusWriter({ board, incidents, clock, observer, audience: 'public' }),
  }
  const events = createEventStream({ board, incidents, clock, writers })
  const source = createIncidentSource({ store, incidents, clock, log })
  const postMortems = createPostMortemWriter({ board, store, clock, log })
  const strips = createStripSource({ board, store, clock, log })
  const gateway = deps.gateway ?? (() => null)
  const routes: RegExp[] = []

  app.decorateRequest('audience', 'public')
  app.addHook('onRoute', ({ url }) => void routes.push(patternOf(url)))
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS)
    if (options.token !== null) reply.header('vary', 'Authorization')
    const audience = access.judge(request, request.routeOptions.config.visibility ?? 'public')
    if (audience === 'refused') {
      const isPage = request.is404 ? wantsPage(request) : request.routeOptions.config.isPage === true
      return isPage ? pages.sendLocked(request, reply) : sendRefusal(reply)
    }
    request.audience = audience
  })
  app.addHook('onResponse', (request, reply, done) => {
    metrics.httpRequest(request.routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime)
    done()
  })
  app.addHook('preClose', (done) => {
    events.close()
    done()
  })
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    if (wantsPage(request)) return pages.sendMissing(request, reply)
    if (request.method === 'GET' || request.method === 'HEAD' || !routes.some((route) => route.test(path))) {
      return sendProblem(reply, { status: 404, detail: 'There is nothing here.' })
    }
    reply.header('allow', 'GET, HEAD')
    return sendProblem(reply, { status: 405, detail: 'This can only be read: use GET or HEAD.' })
  })
  app.setErrorHandler((error: Error & { statusCode?: number; code?: string }, request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 400 && status < 500) return sendProblem(reply, { status, detail: 'The request cannot be read.' })
    // Its message may repeat the request, so it stays out of the log too.
    const { name, code, stack } = error
    const at = stack
      ?.split('\n')
      .find((line) => line.trimStart().startsWith('at '))
      ?.trim()
    log.error(
      { route: request.routeOptions.url ?? null, error: name, code: code ?? null, at: at ?? null },
      'request failed',
    )
    return sendProblem(reply, { status: 500, detail: 'Something is wrong in Heartline; its log says more.' })
  })

  registerProcess(app, deps)
  registerMetrics(app, metrics)
  registerProbe(app, { board, incidents, clock, inspect: deps.inspect ?? (async () => ({ kind: 'no-place' })) })
  registerDiscovery(app, board)
  registerStatus(app, { board, incidents, clock, writers })
  registerHistory(app, { board, store, clock, log })
  registerPolls(app, { board, store, clock, log })
  registerRules(app, { board })
  registerIncidents(app, { source, postMortems })
  registerFeed(app, { source, clock })
  registerBadge(app, { board, incidents, clock })
  registerGateway(app, { gateway, metrics, recorder })
  registerObserver(app, { metrics, observer, journal, recorder, clock })
  registerEvents(app, { events, metrics })
  registerOpenApi(app, deps.version)
  registerStrips(app, { strips })
  registerNetwork(app, { board, sightings, gateway, clock })
  const pages = registerPage(app, {
    board,
    incidents,
    source,
    store,
    strips,
    postMortems,
    gateway,
    metrics,
    observer,
    journal,
    recorder,
    sightings,
    clock,
    writers,
    hasToken: options.token !== null,
  })

  return {
    async listen() {
      await app.listen({ host: options.host, port: options.port })
      const { address, port } = app.server.address() as AddressInfo
      return { host: address, port }
    },
    useCertificate(certificate) {
      if ('setSecureContext' in app.server) (app.server as HttpsServer).setSecureContext(certificate)
    },
    async close() {
      // Node no longer times connections out once it is closing, and one that has sent nothing counts as busy.
      const grace = clock.after(CLOSING_GRACE_MS, () => app.server.closeAllConnections())
      await app.close()
      grace.cancel()
    },
    inject: app.inject.bind(app),
  }
}

function wantsPage({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && prefersHtml(headers.accept ?? '')
}

/** Fastify's defaults are for servers behind a proxy; these hold on their own. */
function createApp(tls: Certificate | null): FastifyInstance {
  const limits = { headersTimeout: 10_000, maxHeaderSize: 16_384 }
  const common = {
    logger: false,
    requestTimeout: 15_000,
    keepAliveTimeout: 65_000,
    maxRequestsPerSocket: 10_000,
    bodyLimit: 16_384,
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    routerOptions: { maxParamLength: 256 },
    clientErrorHandler,
    frameworkErrors: (_error: unknown, _request: unknown, reply: Parameters<typeof sendProblem>[0]) => {
      sendProblem(reply.headers(HEADERS), { status: 400, detail: 'The URL cannot be read.' })
    },
  } as const
  if (tls === null) return fastify({ ...common, http: limits })
  return fastify({ ...common, https: { ...limits, cert: tls.cert, key: tls.key } })
}

/** What is not HTTP at all, or too slow or too large for it. */
function clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  const [status, reason]: [number, string] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? [408, 'Request Timeout']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? [431, 'Request Header Fields Too Large']
        : [400, 'Bad Request']
  const body = JSON.stringify(problemBody({ status, detail: 'The request cannot be read.' }))
  const head = `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/problem+json; charset=utf-8\r\n`
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
}

/** The paths that a route's pattern matches. */
function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:\w+/g, '[^/]+').replace(/\*$/, '.*')}$`)
}
