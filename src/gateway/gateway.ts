import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { FairShare } from '../core/fair-share.ts'
import type { Network, Shard } from '../core/network.ts'
import { type Log, placeOf } from '../log.ts'
import { type GatewayError, gatewayError, INTERNAL_ERROR, OVERLOADED, rpcErrorWithoutId } from './errors.ts'
import { LoopTurns } from './loop-turns.ts'
import {
  type Admission,
  type AdmissionRules,
  admit,
  type ErrorFormat,
  type ServedNetwork,
} from './request/admission.ts'
import { type AnswerMemoryLimits, createAnswerMemory } from './request/answer-memory.ts'
import { type Caller, type CallerSettings, type CallerTally, createCallers } from './request/callers.ts'
import { type Certificate, createListener, type ListenerOptions } from './request/listener.ts'
import { type Exchange, rejectRequest } from './request/reject-request.ts'
import { BodyMemory, declaredLength, hasBody, receiveBody } from './request/request-body.ts'
import { type AdmittedRequest, type Answer, createRequestHandler } from './request/request-handler.ts'
import { createRequestRecorder, type GatewayMetrics } from './request/request-recorder.ts'
import {
  byteLength,
  preflightHeaders,
  type ResponseHeaders,
  requestIdOf,
  respond,
  respondEmpty,
} from './request/respond.ts'
import type { AliasRoutes } from './request/route.ts'
import { Cancellation, NOT_FORWARDED, type UpstreamHandler } from './upstream-request.ts'

export type Gateway = ReturnType<typeof createGateway>

/** The rules that a reload may change. */
export interface GatewayRules {
  readonly admin: boolean
  readonly publicUrl?: string | null
  readonly callers: readonly CallerSettings[]
  readonly networks: readonly {
    readonly network: Pick<Network, 'name' | 'family'>
    readonly shards: readonly Shard[]
    readonly host: string | null
    readonly endpoints: readonly string[]
  }[]
  readonly timeoutMs: number
  readonly bodyLimitBytes: number
  readonly batchLimit: number
}

export interface GatewayDeps {
  readonly listen: Omit<ListenerOptions, 'idleTimeoutMs'>
  readonly rules: GatewayRules
  readonly upstream: UpstreamHandler
  readonly aliases: AliasRoutes
  /** Turns of large answers. */
  readonly slices: LoopTurns
  readonly metrics: GatewayMetrics
  readonly clock: Clock
  readonly log: Log
  /** Limit of calls in flight; each element of a batch counts. */
  readonly maxInFlight?: number
  readonly answerMemory?: AnswerMemoryLimits
}

/** A caller as the API shows it. */
export type CallerReport = Pick<CallerSettings, 'name' | 'networks' | 'admin' | 'rateLimit' | 'methods'> &
  Readonly<CallerTally>

/**
 * Covers 500 requests/s to a hanging node for 8 s, the first deadline. A lower limit would reject requests that the
 * next endpoint can answer. Each call takes about 10 KB.
 */
const MAX_IN_FLIGHT = 4096
/** Time for requests in flight at shutdown; supervisors wait at least ten seconds before they kill. */
const MAX_GRACE_MS = 8000
const IDLE_TIMEOUT_MS = 20_000

/** Serves HTTP at `{base_url}/<endpoint_id>/…`, from the listener to the response. */
export function createGateway({ listen, upstream, aliases, slices, metrics, clock, log, ...deps }: GatewayDeps) {
  const { maxInFlight = MAX_IN_FLIGHT } = deps
  const callers = createCallers({ clock })
  const bodies = new BodyMemory(callers)
  const answerMemory = createAnswerMemory(deps.answerMemory)
  const calls = new FairShare(maxInFlight)
  const turns = new LoopTurns()
  const recorder = createRequestRecorder({ metrics, clock, log })
  const reject = (exchange: Exchange, of: Admission, rejection: GatewayError, format: ErrorFormat) =>
    rejectRequest(exchange, of, rejection, format, { recorder, bodies, clock })
  const handler = createRequestHandler({ upstream, aliases, calls, turns, answerMemory, recorder, clock, log })
  const nextRequestId = createRequestIds()
  let { rules } = deps
  let admissionRules = applyRules(rules)
  let inFlight = 0

  function applyRules(next: GatewayRules): AdmissionRules {
    callers.configure(next.callers)
    bodies.configure(next.bodyLimitBytes)
    const names = new Set(next.networks.map(({ network }) => network.name))
    const hosts = new Map(next.networks.flatMap(({ network, host }) => (host === null ? [] : [[host, network.name]])))
    const base = next.publicUrl ? new URL(next.publicUrl).pathname.replace(/\/$/, '') : ''
    return { callers, addresses: { names, hosts, base }, networks: new Map(next.networks.map(servedNetwork)) }
  }

  const listener = createListener({
    options: { ...listen, idleTimeoutMs: rules.timeoutMs + IDLE_TIMEOUT_MS },
    clock,
    onRequest: (req, res, awaitsContinue) => {
      serve(req, res, awaitsContinue).catch((error: unknown) => fail(res, error))
    },
  })

  async function serve(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean): Promise<void> {
    const receivedAt = clock.monotonic()
    const admission = admit(req, admissionRules)
    const headers = {
      requestId: requestIdOf(req, nextRequestId),
      provenance: null,
      origin: admission.origin,
      // Node discards any data after a request with an Upgrade header.
      closes: listener.closing || req.headers.upgrade !== undefined,
    }
    const exchange = { req, res, receivedAt, awaitsContinue, headers, rules }
    if (admission.kind === 'rejected') return reject(exchange, admission, admission.rejection, admission.format)
    if (admission.kind === 'preflight') return respondEmpty(res, headers, preflightHeaders(admission.allow))
    const format = admission.route.kind === 'rest' ? 'rest' : 'rpc'
    const share = callers.shareOf(admission.caller)
    if (!calls.mayTake(share) || !bodies.mayTake(admission.caller, 1)) {
      // Otherwise a caller that retries at once would get more of the event loop than one whose calls are served.
      await turns.next(share, 2 * maxInFlight)
      return reject(exchange, admission, OVERLOADED, format)
    }
    return handle(exchange, admission, share)
  }

  /** Limits the damage of a bug to one request. */
  function fail(res: ServerResponse, error: unknown): void {
    log.error({ error: placeOf(error) }, 'request failed')
    if (res.headersSent) return void res.destroy()
    const headers = { requestId: nextRequestId(), provenance: NOT_FORWARDED, origin: null, closes: true }
    respond(res, 500, [rpcErrorWithoutId(INTERNAL_ERROR)], headers).catch(() => res.destroy())
  }

  async function handle(
    exchange: Exchange,
    admission: Extract<Admission, { kind: 'admitted' }>,
    share: string | null,
  ): Promise<void> {
    const { req, res, receivedAt, headers } = exchange
    const { caller, network, route, rest, query } = admission
    const request: AdmittedRequest = {
      caller,
      network,
      share,
      rules,
      signal: trackInFlight(res, network.name, share),
      receivedAt,
      pinned: pinnedEndpoint(req),
      minHeight: heightSeen(req),
    }
    if (route.kind === 'rest') {
      const answer = await handler.rest(request, rest, query)
      return send(res, caller, answer, hasBody(req) ? { ...headers, closes: true } : headers)
    }
    const { bodyLimitBytes } = rules
    if (exchange.awaitsContinue && declaredLength(req) <= bodyLimitBytes) res.writeContinue()
    const body = await receiveBody(req, bodyLimitBytes, bodies, caller)
    if (body === 'gone') return
    if (body === 'overloaded') return reject(exchange, admission, OVERLOADED, 'rpc')
    if (body === 'too-large')
      return reject(
        exchange,
        admission,
        gatewayError('too-large', `the body is limited to ${bodyLimitBytes} bytes`),
        'rpc',
      )
    if (body === 'too-many-chunks') return reject(exchange, admission, TOO_MANY_CHUNKS, 'rpc')
    const answer = await handler.rpc(request, route, body)
    if (answer === 'no-content') respondEmpty(res, headers)
    else await send(res, caller, answer, headers)
  }

  function send(res: ServerResponse, caller: Caller, answer: Answer, headers: ResponseHeaders): Promise<void> {
    const { status, body, summary, retryAfterMs } = answer
    const closes = headers.closes === true || listener.closing
    answerMemory.written(res, caller.name, byteLength(body))
    const { requestId, origin } = headers
    const head = { requestId, provenance: summary, origin, closes, retryAfterMs }
    return respond(res, status, body, head, { nextTurn: () => slices.next(callers.shareOf(caller)) })
  }

  /** Counts the request until it is answered or its caller leaves. */
  function trackInFlight(res: ServerResponse, network: string, share: string | null): Cancellation {
    const cancellation = new Cancellation()
    inFlight++
    calls.take(share)
    metrics.inFlight(network, 1)
    res.on('close', () => {
      inFlight--
      calls.release(share)
      metrics.inFlight(network, -1)
      if (!res.writableFinished) cancellation.abort()
    })
    return cancellation
  }

  return {
    listen: (): Promise<{ readonly host: string; readonly port: number }> => listener.listen(),

    /** Applies to new requests; requests in flight keep their rules. */
    reconfigure(next: GatewayRules): void {
      admissionRules = applyRules(next)
      rules = next
      listener.useIdleTimeout(next.timeoutMs + IDLE_TIMEOUT_MS)
    },

    useCertificate: (certificate: Certificate): void => listener.useCertificate(certificate),
    callers: (): readonly CallerReport[] => callers.list().map(reportOf),
    inFlight: (): number => inFlight,
    /** Stops accepting, gives requests in flight some time to finish, and resolves when no connection is left. */
    close: (): Promise<void> => listener.close(Math.min(rules.timeoutMs, MAX_GRACE_MS), () => inFlight === 0),
  }
}

const TOO_MANY_CHUNKS = gatewayError('too-large', 'the body has too many small chunks')

function servedNetwork({ network, shards, endpoints }: GatewayRules['networks'][number]): [string, ServedNetwork] {
  const { name, family } = network
  const numbers = shards.filter((shard) => shard !== null)
  return [name, { name, family, shards: numbers, endpoints: new Set(endpoints) }]
}

export function pinnedEndpoint({ headers }: IncomingMessage): string | null {
  const given = headers['x-heartline-endpoint']
  return typeof given === 'string' ? given : null
}

/** A malformed height is ignored. */
export function heightSeen({ headers }: IncomingMessage): number | null {
  const given = headers['x-heartline-height']
  return typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : null
}

function reportOf({ name, networks, admin, methods, rateLimiter, tally }: Caller): CallerReport {
  return { name, networks: [...networks], admin, methods, rateLimit: rateLimiter?.limit ?? null, ...tally }
}

/** Request ids are unique across restarts and daemons. */
function createRequestIds(): () => string {
  const start = randomBytes(6).toString('base64url')
  let count = 0
  return () => `${start}-${(count++).toString(36)}`
}
