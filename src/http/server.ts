import type { Server as HttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import { validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Clock } from '../clock.ts'
import { paceHandshakes } from '../gateway/paced-handshakes.ts'
import { PacedReads } from '../gateway/paced-reads.ts'
import { headFault } from '../gateway/request/admission.ts'
import type { ArrivalTimeouts, Certificate } from '../gateway/request/listener.ts'
import { type AccessOptions, createAccess, sendMisdirected, sendRefusal, type Visibility } from './access.ts'
import { registerCluster } from './cluster-route.ts'
import { type Connections, limitConnections } from './connections.ts'
import { addErrors, clientErrorHandler, knownPaths } from './error-handlers.ts'
import { registerGateway } from './gateway-routes.ts'
import { registerBlocks } from './history/blocks.ts'
import { createDaySource, registerDays } from './history/days.ts'
import { registerEndpoint } from './history/endpoint-routes.ts'
import { createStripSource, registerStrips } from './history/strips.ts'
import { createIncidentSource } from './incident-source.ts'
import { registerFeed } from './incidents/feed.ts'
import { registerIncidents } from './incidents/incident-routes.ts'
import { registerNotes } from './incidents/note-routes.ts'
import { registerNotifications } from './incidents/notification-routes.ts'
import { createPostMortemWriter } from './incidents/post-mortem.ts'
import { readRunbooks, registerRunbooks } from './incidents/runbooks.ts'
import { registerSilences } from './incidents/silence-routes.ts'
import { prefersHtml } from './negotiation.ts'
import { registerObserver } from './observer-route.ts'
import { describeRoutes } from './openapi.ts'
import { type Pages, type PublicPage, registerPage } from './page/page-routes.ts'
import { registerProbe } from './probe-route.ts'
import { sendProblem } from './problem.ts'
import { registerPrometheus } from './prometheus-routes.ts'
import type { App, RouteDeps } from './route.ts'
import { createScopes } from './scopes.ts'
import { registerBadge } from './status/badge.ts'
import { createEventStream } from './status/event-stream.ts'
import { registerEvents } from './status/events-route.ts'
import { createStatusWriter } from './status/status-document.ts'
import { registerStatus } from './status/status-routes.ts'
import type { Audience } from './wire/status.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    visibility?: Visibility
    /** Errors are sent as pages, not as problem documents. */
    isPage?: boolean
  }
  interface FastifyRequest {
    audience: Audience
  }
}

/** The daemon's own HTTP server: page, API and metrics. */
export function createHttpServer({ options, ...deps }: HttpServerDeps) {
  const { board, incidents, metrics, clock, observer, cluster } = deps
  const app = createApp(options, clock)
  const connections = limitConnections(app.server, options.maxConnections, clock)
  const reads = new PacedReads(app.server, options.tls !== null)
  app.server.prependListener('request', (request, response) => reads.begin(request.socket, response))
  // Unknown expectations are ignored (RFC 9110, section 10.1.1); Node would answer 417 without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  const source = createIncidentSource({ ...deps, storeStatus: () => metrics.daemonStatus().store })
  const scopes = createScopes({ board, incidents, source, publicNetworks: options.publicPage.networks })
  const writerFor = (audience: Audience) =>
    createStatusWriter({ ...scopes[audience], clock, observer, cluster, audience })
  const writers = { private: writerFor('private'), public: writerFor('public') }
  const events = createEventStream({ board, incidents, clock, writers, scopes })
  const postMortems = createPostMortemWriter(deps)
  const strips = createStripSource({ ...deps, scopes })
  const days = createDaySource({ ...deps, scopes })
  const runbooks = readRunbooks()

  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(() => JSON.stringify)
  app.decorateRequest('audience', 'public')
  // A web page can send a form or plain text anywhere, but no JSON.
  app.removeContentTypeParser('text/plain')
  const paths = knownPaths(app)
  app.addHook('onResponse', (request, reply, done) => {
    metrics.httpRequest(request.routeOptions.url ?? 'none', reply.statusCode, reply.elapsedTime)
    done()
  })
  app.addHook('preClose', (done) => {
    events.close()
    done()
  })
  const hasToken = options.token !== null
  const { grafanaUrl, publicPage } = options
  describeRoutes(app, deps.version)
  const pages = registerPage(app, {
    ...deps,
    scopes,
    strips,
    days,
    postMortems,
    runbooks,
    writers,
    hasToken,
    publicPage,
    grafanaUrl,
  })
  addAccess(app, options, pages)
  addMemoryLimit(app, connections)
  addErrors(app, deps, pages, paths)
  void app.register(async (routes: App) => {
    registerStatus(routes, { clock, scopes, writers })
    registerBlocks(routes, deps)
    registerGateway(routes, { ...deps, grafanaUrl })
    registerEndpoint(routes, { ...deps, grafanaUrl })
    registerStrips(routes, strips)
    registerDays(routes, days)
    registerIncidents(routes, { ...deps, scopes, postMortems })
    registerNotes(routes, { ...deps, source })
    registerNotifications(routes, deps)
    registerSilences(routes, deps)
    registerRunbooks(routes, runbooks)
    registerBadge(routes, { clock, scopes, title: publicPage.title })
    registerFeed(routes, { ...deps, scopes, title: publicPage.title, publicUrl: options.publicUrl })
    registerObserver(routes, { ...deps, grafanaUrl })
    registerCluster(routes, { ...deps, publicUrl: options.publicUrl })
    registerEvents(routes, { events, metrics, connections, hasToken })
    registerProbe(routes, deps)
    registerPrometheus(routes, deps)
  })

  return {
    /** Rejects if the address cannot be used. */
    async listen() {
      await app.listen({ host: options.host, port: options.port })
      const { address, port } = app.server.address() as AddressInfo
      return { host: address, port }
    },
    /** Applies to new connections only. */
    useCertificate(certificate: Certificate): void {
      if ('setSecureContext' in app.server) (app.server as HttpsServer).setSecureContext(certificate)
    },
    /** Ends the event streams, lets requests in flight finish, and resolves when no connection is open. */
    async close(): Promise<void> {
      // While closing, Node enforces no timeouts and counts a connection that has sent nothing as busy.
      const grace = clock.after(CLOSING_GRACE_MS, () => connections.closeAll())
      await app.close()
      grace.cancel()
      connections.stop()
    },
    /** For tests: handles a request without a socket. */
    inject: app.inject.bind(app),
  }
}

export interface HttpServerDeps extends RouteDeps {
  readonly options: HttpServerOptions
}

export interface HttpServerOptions extends AccessOptions {
  /** 0 selects any free port. */
  readonly port: number
  readonly tls: Certificate | null
  readonly maxConnections: number
  readonly grafanaUrl: string | null
  /** Of this page, for people, by the present configuration. */
  readonly publicUrl: () => string | null
  readonly publicPage: PublicPage
  readonly timeouts?: ArrivalTimeouts
}

export type HttpServer = ReturnType<typeof createHttpServer>

function addAccess(app: App, options: AccessOptions, pages: Pages): void {
  const access = createAccess(options)
  const ended = new WeakSet<Socket>()
  app.addHook('onRequest', async (request, reply) => {
    // What follows a request without a clear end may be a part of it.
    if (ended.has(request.socket)) return reply.hijack()
    const fault = headFault(request.raw)
    // Before anything is awaited: the next request of the same packet arrives in between.
    if (fault !== null) ended.add(request.socket)
    await access.turn(request)
    if (fault !== null) {
      reply.headers(HEADERS).header('connection', 'close')
      return sendProblem(reply, { status: 400, detail: `The request cannot be read: ${fault.message}.` })
    }
    reply.headers(HEADERS)
    if (options.token !== null) reply.header('vary', 'Authorization')
    const { visibility = 'public', isPage = false } = request.routeOptions.config
    const audience = access.judge(request, visibility)
    if (audience === 'misdirected') return sendMisdirected(reply)
    if (audience === 'refused') {
      const wantsPage = request.is404 ? prefersHtml(request) : isPage
      return wantsPage ? pages.sendLocked(request, reply) : sendRefusal(reply)
    }
    request.audience = audience
    if (request.is404 || request.method === 'GET' || request.method === 'HEAD') return
    const refused = access.refusedWrite(request)
    if (refused !== null) return sendProblem(reply, { status: 403, detail: refused })
  })
}

/** Bounds the memory of responses that clients do not read. */
function addMemoryLimit(app: App, connections: Connections): void {
  app.addHook('onSend', async (_request, _reply, payload) => {
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) connections.makeRoom(payload.length)
  })
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

const CLOSING_GRACE_MS = 3000

const TIMEOUTS: ArrivalTimeouts = { headersMs: 10_000, requestMs: 15_000, checkEveryMs: 1000 }
/** Ends a connection whose client stopped reading; longer than the longest probe. */
const SILENT_MS = 75_000

/** Stands for Fastify's own compilers, so that a start does not load Ajv; `createHttpServer` sets others. */
function noCompiler(): never {
  throw new Error('a route has no compiler')
}

/** Sets the limits of a server without a proxy in front; Fastify's defaults expect one. */
function createApp({ tls, timeouts = TIMEOUTS }: HttpServerOptions, clock: Pick<Clock, 'monotonic' | 'after'>): App {
  const { headersMs, requestMs, checkEveryMs } = timeouts
  const limits = { headersTimeout: headersMs, maxHeaderSize: 8192, connectionsCheckingInterval: checkEveryMs }
  const common = {
    logger: false,
    requestTimeout: requestMs,
    connectionTimeout: SILENT_MS,
    keepAliveTimeout: 65_000,
    maxRequestsPerSocket: 10_000,
    bodyLimit: 16_384,
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    routerOptions: { maxParamLength: 256 },
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    clientErrorHandler,
    frameworkErrors: (_error: unknown, _request: unknown, reply: Parameters<typeof sendProblem>[0]) => {
      sendProblem(reply.headers(HEADERS), { status: 400, detail: 'The URL cannot be read.' })
    },
  } as const
  const app: FastifyInstance =
    tls === null
      ? fastify({ ...common, http: limits })
      : fastify({ ...common, https: { ...limits, cert: tls.cert, key: tls.key } })
  if ('setSecureContext' in app.server) paceHandshakes(app.server as HttpsServer, clock, headersMs)
  return app.withTypeProvider<ZodTypeProvider>()
}
