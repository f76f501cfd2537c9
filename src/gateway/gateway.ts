import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import type { Network, Shard } from '../core/network.ts'
import type { Log } from '../log.ts'
import { type Cancellation, createCancellation } from './cancellation.ts'
import { ERRORS, type GatewayError, OVERLOADED, restError, rpcError } from './errors.ts'
import { type Admission, type AdmissionRules, admit, type ServedNetwork } from './request/admission.ts'
import { type Caller, type CallerSettings, createCallers } from './request/callers.ts'
import { readBody } from './request/envelope.ts'
import { type Certificate, createListener, type ListenerOptions } from './request/listener.ts'
import { refuseCalls } from './request/refused-calls.ts'
import { answerAndLinger, type Backlog, declaredLength, hasBody, receive } from './request/request-body.ts'
import { createRequestHandler, type GatewayMetrics, type Load, type RpcAnswered } from './request/request-handler.ts'
import {
  type AnswerHeaders,
  NOTHING_ASKED,
  preflightHeaders,
  requestIdOf,
  respond,
  respondEmpty,
} from './request/respond.ts'
import type { AliasRoutes } from './request/route-target.ts'
import { createSlowReaders } from './request/slow-readers.ts'
import type { UpstreamHandler } from './upstream-request.ts'

/** What may change while it runs. */
export interface GatewayRules {
  readonly admin: boolean
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
  /** The row of those who can answer, from the aliases to the nodes themselves. */
  readonly upstream: UpstreamHandler
  readonly aliases: AliasRoutes
  readonly metrics: GatewayMetrics
  readonly clock: Clock
  readonly log: Log
  /** Calls that may be at work at once. */
  readonly maxInFlight?: number
  /** Of large answers that callers have not taken yet. */
  readonly maxUnreadBytes?: number
}

/** What others may see of a caller. */
export interface CallerReport {
  readonly name: string
  readonly networks: readonly string[]
  readonly admin: boolean
  readonly rateLimit: { readonly requests: number; readonly perMs: number } | null
  readonly methods: readonly string[]
  readonly requests: number
  readonly rejected: number
}

/** `{base_url}/<endpoint_id>/…`: takes requests in, has them answered, and tells the answer. */
export interface Gateway {
  listen(): Promise<{ readonly host: string; readonly port: number }>
  /** For every request from now on; those at work go on by the rules by which they came. */
  reconfigure(rules: GatewayRules): void
  useCertificate(certificate: Certificate): void
  callers(): readonly CallerReport[]
  /** Requests at work. */
  inFlight(): number
  /** Takes nothing new, lets what is at work finish for a while, and resolves when nothing is left open. */
  close(): Promise<void>
}

/**
 * Seconds of 500 requests a second that a node swallows before its first deadline passes: fewer would refuse requests which the
 * next endpoint could have answered. Each holds some 10 KB.
 */
const MOST_AT_WORK = 4096
/** Bodies that are still coming in, of all callers. */
const MOST_BACKLOG_BYTES = 64 * 2 ** 20
/** Answers that callers have not taken yet. */
const MOST_UNREAD_BYTES = 512 * 2 ** 20
/** A request that is refused before its body is read has its id read from it all the same, if it is no longer than this. */
const SMALL_BODY = 16 * 1024
/** For requests at work when the daemon stops; supervisors wait for ten seconds at least before they kill. */
const LONGEST_GRACE_MS = 8000
const SILENCE_MS = 20_000

export function createGateway({
  listen,
  upstream: answerer,
  aliases,
  metrics,
  clock,
  log,
  ...deps
}: GatewayDeps): Gateway {
  const { maxInFlight: mostAtWork = MOST_AT_WORK, maxUnreadBytes: mostUnreadBytes = MOST_UNREAD_BYTES } = deps
  const callers = createCallers({ clock })
  const backlog: Backlog = { bytes: 0 }
  const unread = createSlowReaders(mostUnreadBytes)
  const load: Load = { calls: 0, most: mostAtWork }
  const asker = createRequestHandler({ answerer, aliases, load, metrics, clock, log })
  const nextRequestId = requestIds()
  let rules = deps.rules
  let served = servedBy(rules)
  let atWork = 0

  function servedBy(next: GatewayRules): AdmissionRules {
    callers.configure(next.callers)
    const names = new Set(next.networks.map(({ network }) => network.name))
    const hosts = new Map(next.networks.flatMap(({ network, host }) => (host === null ? [] : [[host, network.name]])))
    return { callers, places: { names, hosts }, networks: new Map(next.networks.map(servedNetwork)) }
  }

  const listener = createListener({
    options: { ...listen, idleTimeoutMs: rules.timeoutMs + SILENCE_MS },
    clock,
    onRequest: handle,
  })

  function handle(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean): void {
    const receivedAt = clock.monotonic()
    const admission = admit(req, served)
    const headers: AnswerHeaders = {
      requestId: requestIdOf(req, nextRequestId),
      provenance: null,
      origin: admission.origin,
      closes: listener.closing,
    }
    if (admission.kind === 'turned-away') {
      const { rejection, shape } = admission
      return turnAway({ req, res, admission, headers, awaitsContinue }, rejection, shape)
    }
    if (admission.kind === 'preflight') return respondEmpty(res, headers, preflightHeaders(admission.allow))
    const request = { req, res, admission, headers, awaitsContinue }
    const isRest = admission.route.kind === 'rest'
    if (load.calls >= load.most || backlog.bytes > MOST_BACKLOG_BYTES) {
      return turnAway(request, OVERLOADED, isRest ? 'rest' : 'rpc')
    }
    const signal = begin(res, admission.network.name)
    const { caller, network, route, rest, query } = admission
    const pinned = pinnedBy(req)
    if (route.kind === 'rest') {
      const context = { caller, network, rules, signal, receivedAt, pinned, rest, query }
      const closing = hasBody(req) ? { ...headers, closes: true } : headers
      return void asker.rest(context).then((answer) => send(res, answer, closing))
    }
    const context = { caller, network, rules, signal, receivedAt, pinned, route }
    if (awaitsContinue && declaredLength(req) <= rules.bodyLimitBytes) res.writeContinue()
    receive(req, rules.bodyLimitBytes, backlog, (body) => {
      if (body === null) return turnAway(request, tooLarge(rules.bodyLimitBytes), 'rpc')
      void asker.rpc(context, body).then((answer) => send(res, answer, headers))
    })
  }

  function send(res: ServerResponse, answer: RpcAnswered, headers: AnswerHeaders): void {
    if (answer === 'nothing') return respondEmpty(res, headers)
    const { status, body, summary, retryAfterMs } = answer
    // Member by member: an object that is spread and then added to is a slow one, to make and to read.
    respond(res, status, body, {
      requestId: headers.requestId,
      provenance: summary,
      origin: headers.origin,
      closes: headers.closes === true || listener.closing,
      retryAfterMs,
    })
    if (typeof body !== 'string') unread.add(res, Buffer.isBuffer(body) ? body.length : body.value.length)
  }

  /** Counts it until it is answered, or its caller is gone. */
  function begin(res: ServerResponse, network: string): Cancellation {
    const presence = createCancellation()
    atWork++
    load.calls++
    metrics.inFlight(network, 1)
    res.on('close', () => {
      atWork--
      load.calls--
      metrics.inFlight(network, -1)
      if (!res.writableFinished) presence.abort()
    })
    return presence
  }

  interface Unwanted {
    readonly req: IncomingMessage
    readonly res: ServerResponse
    readonly admission: Admission
    readonly headers: AnswerHeaders
    readonly awaitsContinue: boolean
  }

  function turnAway(unwanted: Unwanted, because: GatewayError, shape: 'rpc' | 'rest'): void {
    const { req, res, admission, awaitsContinue } = unwanted
    const { caller, network } = admission
    metrics.rejected(network?.name ?? null, because.kind)
    if (caller !== null) {
      caller.tally.requests++
      caller.tally.rejected++
      if (network !== null) metrics.answered(network.name, 'none', caller.name, because.kind, null, null)
    }
    const row = ERRORS[because.kind]
    const { retryAfterMs, allow } = because
    // Of what is no request, whoever is in front of us may see another end than we do.
    const closes = unwanted.headers.closes === true || because.kind === 'no-request'
    const headers = { ...unwanted.headers, provenance: NOTHING_ASKED, retryAfterMs, allow, closes }
    const isRest = shape === 'rest'
    const status = isRest ? row.restStatus : row.status
    const withoutId = isRest ? restError(because) : `{"jsonrpc":"2.0","id":null,"error":${rpcError(because)}}`
    if (!hasBody(req)) return respond(res, status, withoutId, headers)
    const length = declaredLength(req)
    if (isRest || awaitsContinue || length === 0 || length > SMALL_BODY || because.kind === 'too-large') {
      const closing = { ...headers, closes: true }
      return answerAndLinger(req, res, clock, () => respond(res, status, withoutId, closing, true))
    }
    receive(req, SMALL_BODY, backlog, (body) => {
      if (body === null) return
      respond(res, status, refuseCalls(readBody(body, rules), because), headers)
    })
  }

  function pinnedBy({ headers }: IncomingMessage): string | null {
    const given = headers['x-heartline-endpoint']
    return typeof given === 'string' ? given : null
  }

  return {
    listen: () => listener.listen(),

    reconfigure(next) {
      served = servedBy(next)
      rules = next
    },

    useCertificate: (certificate) => listener.useCertificate(certificate),
    callers: () => callers.list().map(reportOf),
    inFlight: () => atWork,
    close: () => listener.close(Math.min(rules.timeoutMs, LONGEST_GRACE_MS), () => atWork === 0),
  }
}

function tooLarge(limit: number): GatewayError {
  return { kind: 'too-large', message: `the body may have ${limit} bytes` }
}

function servedNetwork({ network, shards, endpoints }: GatewayRules['networks'][number]): [string, ServedNetwork] {
  const { name, family } = network
  const numbers = shards.filter((shard) => shard !== null)
  return [name, { name, family, shards: numbers, endpoints: new Set(endpoints) }]
}

function reportOf({ name, networks, admin, methods, bucket, tally }: Caller): CallerReport {
  return { name, networks: [...networks], admin, methods, rateLimit: bucket?.limit ?? null, ...tally }
}

/** Unique over restarts and over daemons, and as cheap as counting. */
function requestIds(): () => string {
  const start = randomBytes(6).toString('base64url')
  let count = 0
  return () => `${start}-${(count++).toString(36)}`
}
