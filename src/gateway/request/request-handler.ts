import type { Clock } from '../../clock.ts'
import type { AskedOperation, RejectionReason, RequestOutcome } from '../../core/routing/request-outcome.ts'
import type { Log } from '../../log.ts'
import type { Cancellation } from '../cancellation.ts'
import { ERRORS, type GatewayError, gatewayError, OVERLOADED, restError, rpcError } from '../errors.ts'
import type { Call, ClassifiedRequest, Reply, UpstreamHandler, UpstreamRequest } from '../upstream-request.ts'
import type { ServedNetwork } from './admission.ts'
import { rateLimited } from './admission.ts'
import type { Caller } from './callers.ts'
import { type Entry, readBody } from './envelope.ts'
import { refuseCalls } from './refused-calls.ts'
import { type Framed, frame, frameBatch, frameError, NOTHING_ASKED, type Summary, summaryOf } from './respond.ts'
import { readRest } from './rest-target.ts'
import type { Route } from './route.ts'
import { type AliasRoutes, classifyCall, type RouteTarget, routeTargetOf } from './route-target.ts'

/** Who asks, and under which rules. */
export interface RequestContext {
  readonly caller: Caller
  readonly network: ServedNetwork
  readonly rules: { readonly admin: boolean; readonly timeoutMs: number; readonly batchLimit: number }
  readonly signal: Cancellation
  /** On the monotonic clock. */
  readonly receivedAt: number
  /** The endpoint that `x-heartline-endpoint` names. */
  readonly pinned: string | null
}

export interface RpcContext extends RequestContext {
  readonly route: Exclude<Route, { kind: 'rest' }>
}

export interface RestContext extends RequestContext {
  readonly rest: string
  readonly query: string | null
}

export interface Answered {
  readonly status: number
  readonly body: Buffer | string | Framed
  readonly summary: Summary
  readonly retryAfterMs: number | undefined
}

/** Nobody waits for an answer to a notification. */
export type RpcAnswered = Answered | 'nothing'

/** Calls of all callers that are at work, each of a batch by itself. */
export interface Load {
  calls: number
  readonly most: number
}

export interface RequestHandlerDeps {
  readonly load: Load
  readonly answerer: UpstreamHandler
  readonly aliases: AliasRoutes
  readonly metrics: GatewayMetrics
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
}

/** From an admitted request to the bytes of its answer. Never rejects. */
export interface RequestHandler {
  rpc(context: RpcContext, body: Buffer): Promise<RpcAnswered>
  rest(context: RestContext): Promise<Answered>
}

/** Elements of one batch that are asked at once: one caller's batch must not crowd out the calls of others. */
const BATCH_AT_ONCE = 16

/** One call's answer; `framed` is null where there is none. */
interface Told {
  readonly framed: Framed | null
  readonly status: number
  readonly summary: Summary
  readonly retryAfterMs: number | undefined
}

export function createRequestHandler({
  answerer,
  aliases,
  load,
  metrics,
  clock,
  log,
}: RequestHandlerDeps): RequestHandler {
  /** A bug must not leave a caller without an answer. */
  async function answerOf(question: UpstreamRequest): Promise<Reply> {
    try {
      return await answerer.handle(question)
    } catch (error) {
      log.error(
        { network: question.network, operation: question.operation.name, error: nameOf(error) },
        'request failed',
      )
      return { kind: 'rejected', rejection: BROKEN, ...NOTHING_ASKED, nodeMs: 0 }
    }
  }

  function note(
    { caller, network }: RequestContext,
    operation: AskedOperation,
    outcome: RequestOutcome,
    startedAt: number,
    reply: Reply | null,
  ): void {
    const ms = clock.monotonic() - startedAt
    caller.tally.requests++
    if ((reply === null || reply.kind === 'rejected') && outcome !== 'cancelled') {
      caller.tally.rejected++
      if (outcome !== 'answered' && outcome !== 'node-error') metrics.rejected(network.name, outcome)
    }
    if (reply !== null && reply.cache !== 'none') metrics.cacheLookup(network.name, reply.cache)
    if (reply?.degraded === true) metrics.degraded(network.name)
    metrics.answered(network.name, operation, caller.name, outcome, ms, Math.max(0, ms - (reply?.nodeMs ?? 0)))
    const endpoint = reply?.endpoint ?? null
    log.debug({ caller: caller.name, network: network.name, operation, endpoint, outcome, ms }, 'request')
  }

  function refuse(
    context: RequestContext,
    id: string,
    because: GatewayError,
    operation: AskedOperation,
    at: number,
  ): Told {
    note(context, operation, because.kind, at, null)
    return told(frameError(id, rpcError(because)), ERRORS[because.kind].status, NOTHING_ASKED, because.retryAfterMs)
  }

  async function answerEntry(entry: Entry, context: RpcContext, place: RouteTarget, startedAt: number): Promise<Told> {
    if (entry.kind === 'rejected') return refuse(context, entry.id, entry.rejection, 'none', startedAt)
    const { call } = entry
    const asked = classifyCall(call, context, place)
    if (asked.kind !== 'operation') {
      const answer = refuse(context, call.id, asked, 'none', startedAt)
      return call.isNotification ? SILENCE : answer
    }
    // A read whose answer nobody gets is not worth a node's time.
    if (call.isNotification && asked.operation.isRead) {
      note(context, asked.operation.name, 'answered', startedAt, SKIPPED)
      return SILENCE
    }
    const reply = await answerOf(questionOf(context, asked, place.to, call))
    return tellCall(call, asked, reply, context, startedAt)
  }

  function tellCall(
    call: Call,
    { operation }: ClassifiedRequest,
    reply: Reply,
    context: RequestContext,
    startedAt: number,
  ): Told {
    switch (reply.kind) {
      case 'result': {
        note(context, operation.name, 'answered', startedAt, reply)
        if (call.isNotification) return SILENCE
        const result = operation.name === 'admin.alias' ? asSuccess(reply.result) : reply.result
        return told(frame(call.id, 'result', result), 200, reply, undefined)
      }
      case 'error':
        note(context, operation.name, 'node-error', startedAt, reply)
        return call.isNotification ? SILENCE : told(frame(call.id, 'error', reply.error), 200, reply, undefined)
      case 'rejected': {
        const { rejection: because } = reply
        note(context, operation.name, outcomeOf(because, context), startedAt, reply)
        if (call.isNotification) return SILENCE
        const error = frameError(call.id, rpcError(because))
        return told(error, ERRORS[because.kind].status, reply, because.retryAfterMs)
      }
      case 'rest':
        // No answerer gives one to a call.
        return refuse(context, call.id, BROKEN, operation.name, startedAt)
    }
  }

  async function answerBatch(entries: readonly Entry[], context: RpcContext, place: RouteTarget): Promise<RpcAnswered> {
    const answers = new Array<Told>(entries.length)
    let next = 0
    const work = async () => {
      while (next < entries.length && !context.signal.aborted) {
        const at = next++
        answers[at] = await answerEntry(entries[at] as Entry, context, place, clock.monotonic())
      }
    }
    await Promise.all(Array.from({ length: Math.min(BATCH_AT_ONCE, entries.length) }, work))
    const given = answers.filter((answer) => answer?.framed !== null)
    if (given.length === 0) return 'nothing'
    const body = frameBatch(given.map(({ framed }) => framed as Framed))
    return { status: 200, body, summary: summaryOf(given.map(({ summary }) => summary)), retryAfterMs: undefined }
  }

  return {
    async rpc(context, bytes) {
      const { caller, network, rules, receivedAt } = context
      const body = readBody(bytes, rules)
      if (body.kind === 'rejected') {
        const { framed, ...answer } = refuse(context, 'null', body.rejection, 'none', receivedAt)
        return { ...answer, body: framed as Framed }
      }
      const place = routeTargetOf(context, aliases)
      if ('refused' in place) return refuseAll(place.refused)
      if (body.kind === 'single') {
        const { framed, status, summary, retryAfterMs } = await answerEntry(body.entry, context, place, receivedAt)
        return framed === null ? 'nothing' : { status, body: framed, summary, retryAfterMs }
      }
      const over = overLimit(caller, body.entries.length)
      if (over !== null) return refuseAll(over)
      // The request itself is counted; a batch that stands alone is always taken.
      const more = body.entries.length - 1
      if (load.calls + more > load.most + rules.batchLimit) return refuseAll(OVERLOADED)
      load.calls += more
      try {
        return await answerBatch(body.entries, context, place)
      } finally {
        load.calls -= more
      }

      function refuseAll(because: GatewayError): Answered {
        const calls = body.kind === 'batch' ? body.entries.length : 1
        caller.tally.requests += calls
        caller.tally.rejected += calls
        metrics.rejected(network.name, because.kind)
        metrics.answered(network.name, 'none', caller.name, because.kind, null, null)
        return {
          status: ERRORS[because.kind].status,
          body: refuseCalls(body, because),
          summary: NOTHING_ASKED,
          retryAfterMs: because.retryAfterMs,
        }
      }
    },

    async rest(context) {
      const { caller, network, rest, query, receivedAt } = context
      const asked = readRest({ rest, query, shards: network.shards, extraMethods: caller.methods })
      if (asked.kind !== 'operation') {
        note(context, 'none', asked.kind, receivedAt, null)
        return tellRest(asked, NOTHING_ASKED)
      }
      const reply = await answerOf(questionOf(context, asked, asked.to, null))
      const { name } = asked.operation
      switch (reply.kind) {
        case 'rest':
          note(context, name, reply.status < 400 ? 'answered' : 'node-error', receivedAt, reply)
          return { status: reply.status, body: reply.body, summary: reply, retryAfterMs: undefined }
        case 'rejected':
          note(context, name, outcomeOf(reply.rejection, context), receivedAt, reply)
          return tellRest(reply.rejection, reply)
        case 'result':
        case 'error':
          // No answerer gives one to a REST request.
          note(context, name, BROKEN.kind, receivedAt, null)
          return tellRest(BROKEN, NOTHING_ASKED)
      }
    },
  }
}

function questionOf(
  context: RequestContext,
  asked: ClassifiedRequest,
  to: UpstreamRequest['to'],
  call: Call | null,
): UpstreamRequest {
  return {
    network: context.network.name,
    caller: context.caller.name,
    operation: asked.operation,
    canonical: asked.canonical,
    to,
    call,
    deadlineAt: context.receivedAt + context.rules.timeoutMs,
    signal: context.signal,
  }
}

/** What a caller's own leaving cut short did not fail; what may have been done all the same stays on record. */
function outcomeOf({ kind }: GatewayError, { signal: presence }: RequestContext): RequestOutcome {
  return presence.aborted && kind !== 'outcome-unknown' ? 'cancelled' : kind
}

/** Why a batch of so many is too much for its caller's limit; its first element has been counted already. */
function overLimit({ bucket }: Caller, count: number): GatewayError | null {
  if (bucket === null) return null
  const { requests, perMs } = bucket.limit
  // What can never pass is told so in words: clients know the code.
  const waitMs = count > requests ? perMs : bucket.take(count - 1)
  if (waitMs === 0) return null
  bucket.giveBack(1)
  if (count <= requests) return rateLimited(waitMs)
  return { ...rateLimited(waitMs), message: `rate limit reached: it allows batches of ${requests} at most` }
}

function told(framed: Framed, status: number, summary: Summary, retryAfterMs: number | undefined): Told {
  return { framed, status, summary, retryAfterMs }
}

function tellRest(because: GatewayError, summary: Summary): Answered {
  const status = ERRORS[because.kind].restStatus
  return { status, body: restError(because), summary, retryAfterMs: because.retryAfterMs }
}

/** avalanchego has said `{}` since v1.7.14, and clients wait for the `success` of before (section 3 of the protocols). */
function asSuccess(result: Buffer): Buffer {
  return result.toString('latin1').replace(/\s/g, '') === '{}' ? SUCCESS : result
}
const SUCCESS = Buffer.from('{"success":true}')

/** What has been taken is still answered in time: it is no more than one process does in a second or two. */

const SILENCE: Told = { framed: null, status: 204, summary: NOTHING_ASKED, retryAfterMs: undefined }
const SKIPPED: Reply = { kind: 'result', result: SUCCESS, ...NOTHING_ASKED, nodeMs: 0 }
const BROKEN = gatewayError('all-failed', 'something is wrong in the gateway; its log says more')

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}

/** What the gateway reports of its requests. Every method is called for each request and must cost next to nothing. */
export interface GatewayMetrics {
  /**
   * `durationMs` from the first byte of the request to its answer, `overheadMs` without the time spent waiting for nodes; both are
   * `null` if the request was rejected before it was handled.
   */
  answered(
    network: string,
    operation: AskedOperation,
    caller: string,
    outcome: RequestOutcome,
    durationMs: number | null,
    overheadMs: number | null,
  ): void
  /** The gateway rejected a request itself; `network` is `null` if unknown. */
  rejected(network: string | null, reason: RejectionReason): void
  /** A cacheable request was looked up in the cache. */
  cacheLookup(network: string, result: 'hit' | 'miss'): void
  /** No endpoint was healthy, and the least unhealthy one answered. */
  degraded(network: string): void
  /** The number of requests in flight changed. */
  inFlight(network: string, by: 1 | -1): void
}
