import type { CancelSignal, Clock } from '../../clock.ts'
import type { FairShare } from '../../core/fair-share.ts'
import type { AskedOperation, RequestOutcome } from '../../core/routing/request-outcome.ts'
import { type Log, placeOf } from '../../log.ts'
import { ERRORS, type GatewayError, gatewayError, INTERNAL_ERROR, OVERLOADED, restError, rpcError } from '../errors.ts'
import type { LoopTurns } from '../loop-turns.ts'
import {
  type Call,
  type ClassifiedRequest,
  NOT_FORWARDED,
  type Reply,
  type UpstreamHandler,
  type UpstreamPath,
} from '../upstream-request.ts'
import { rateLimited, type ServedNetwork } from './admission.ts'
import type { AnswerMemory, BatchMemory } from './answer-memory.ts'
import type { Caller } from './callers.ts'
import { classifyCall } from './classify.ts'
import { type Body, type Entry, readBody } from './envelope.ts'
import { readRest } from './multiversx-routes.ts'
import type { RequestRecorder } from './request-recorder.ts'
import { frame, frameBatch, type ResponseBody, rejectCalls, type Summary, summaryOf } from './respond.ts'
import { type AliasRoutes, isRouteTarget, type RouteTarget, type RpcRoute, routeTargetOf } from './route.ts'

/** Answers admitted requests: parses them, forwards each call and builds the response. */
export interface RequestHandler {
  /** `no-content` if the request holds only notifications. */
  rpc(request: AdmittedRequest, route: RpcRoute, body: Buffer): Promise<Answer | 'no-content'>
  rest(request: AdmittedRequest, rest: string, query: string | null): Promise<Answer>
}

export interface AdmittedRequest {
  readonly caller: Caller
  readonly network: ServedNetwork
  /** Whose share of calls and connections the request uses; `null` if only one caller is configured. */
  readonly share: string | null
  readonly rules: { readonly admin: boolean; readonly timeoutMs: number; readonly batchLimit: number }
  /** Aborts when the caller disconnects. */
  readonly signal: CancelSignal
  /** On the monotonic clock. */
  readonly receivedAt: number
  /** From `x-heartline-endpoint`. */
  readonly pinned: string | null
  /** From `x-heartline-height`: the highest block that the caller has seen elsewhere. */
  readonly minHeight: number | null
}

export interface Answer {
  readonly status: number
  readonly body: ResponseBody
  readonly summary: Summary
  readonly retryAfterMs: number | undefined
}

export interface RequestHandlerDeps {
  /** Calls in flight; each element of a batch counts. */
  readonly calls: FairShare
  readonly turns: LoopTurns
  readonly upstream: UpstreamHandler
  readonly aliases: AliasRoutes
  readonly answerMemory: AnswerMemory
  readonly recorder: RequestRecorder
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
}

const BATCH_CONCURRENCY = 16

export function createRequestHandler(deps: RequestHandlerDeps): RequestHandler {
  const { upstream, aliases, calls, turns, answerMemory, recorder, clock, log } = deps

  /** Catches every error, so that a bug does not leave a caller without an answer. */
  async function forward(
    request: AdmittedRequest,
    { operation, chainOperation, canonical }: ClassifiedRequest,
    to: UpstreamPath,
    call: Call | null,
  ): Promise<Reply> {
    const { caller, network, share, rules, receivedAt, signal, minHeight } = request
    await turns.next(share)
    try {
      return await upstream.handle({
        network: network.name,
        caller: caller.name,
        share,
        operation,
        chainOperation,
        canonical,
        to,
        call,
        minHeight,
        deadlineAt: receivedAt + rules.timeoutMs,
        signal,
      })
    } catch (error) {
      log.error({ network: network.name, operation: operation.name, error: placeOf(error) }, 'request failed')
      return { kind: 'rejected', rejection: INTERNAL_ERROR, ...NOT_FORWARDED }
    }
  }

  function rejectCall(
    { caller, network }: AdmittedRequest,
    id: string,
    rejection: GatewayError,
    operation: AskedOperation,
    startedAt: number,
  ): Answer {
    recorder.ended(caller, network, operation, rejection.kind, startedAt, null)
    return rejectedAnswer(id, rejection, NOT_FORWARDED)
  }

  /** `null` for a notification. */
  async function answerEntry(
    request: AdmittedRequest,
    entry: Entry,
    target: RouteTarget,
    startedAt: number,
    memory: BatchMemory | null,
  ): Promise<Answer | null> {
    if (entry.kind === 'rejected') return rejectCall(request, entry.id, entry.rejection, 'none', startedAt)
    const { call } = entry
    const { caller, network, rules } = request
    const classified = classifyCall(call, caller, network, target, rules.admin)
    if (classified.kind !== 'operation') {
      const answer = rejectCall(request, call.id, classified, 'none', startedAt)
      return call.isNotification ? null : answer
    }
    const { name, isRead } = classified.operation
    // A read whose answer is discarded would only load a node.
    if (call.isNotification && isRead) {
      recorder.ended(caller, network, name, 'answered', startedAt, null)
      return null
    }
    const wouldNotFit = isRead && memory?.hasRefused(call.method) === true
    const reply = wouldNotFit ? WOULD_NOT_FIT : await forward(request, classified, target.to, call)
    // Unreachable: no handler answers a call with a REST reply.
    if (reply.kind === 'rest') return rejectCall(request, call.id, INTERNAL_ERROR, name, startedAt)
    if (!call.isNotification && memory?.take(sizeOf(reply), call.method) === false) {
      recorder.ended(caller, network, name, ANSWER_TOO_LARGE.kind, startedAt, reply)
      return answerTooLarge(call.id, reply)
    }
    recorder.ended(caller, network, name, outcomeOf(reply, request), startedAt, reply)
    if (call.isNotification) return null
    if (reply.kind === 'rejected') return rejectedAnswer(call.id, reply.rejection, reply)
    if (reply.kind === 'error') return answerOf(200, frame(call.id, 'error', reply.error), reply)
    const result = name === 'admin.alias' ? asSuccess(reply.result) : reply.result
    return answerOf(200, frame(call.id, 'result', result), reply)
  }

  async function answerBatch(
    request: AdmittedRequest,
    entries: readonly Entry[],
    target: RouteTarget,
    memory: BatchMemory,
  ): Promise<Answer | 'no-content'> {
    const answers = new Array<Answer | null>(entries.length).fill(null)
    let next = 0
    const work = async () => {
      while (next < entries.length && !request.signal.aborted) {
        const at = next++
        answers[at] = await answerEntry(request, entries[at] as Entry, target, clock.monotonic(), memory)
      }
    }
    await Promise.all(Array.from({ length: Math.min(BATCH_CONCURRENCY, entries.length) }, work))
    const given = answers.filter((answer) => answer !== null)
    if (given.length === 0) return 'no-content'
    return answerOf(200, frameBatch(given.map(({ body }) => body)), summaryOf(given.map(({ summary }) => summary)))
  }

  function rejectAll({ caller, network }: AdmittedRequest, body: Body, rejection: GatewayError): Answer {
    recorder.rejected(caller, network, rejection.kind, body.kind === 'batch' ? body.entries.length : 1)
    const { status } = ERRORS[rejection.kind]
    return answerOf(status, rejectCalls(body, rejection), NOT_FORWARDED, rejection.retryAfterMs)
  }

  return {
    async rpc(request, route, bytes) {
      const { caller, network, rules, receivedAt, pinned, share } = request
      const body = readBody(bytes, rules)
      if (body.kind === 'rejected') return rejectCall(request, 'null', body.rejection, 'none', receivedAt)
      const target = routeTargetOf(route, network.name, pinned, aliases)
      if (!isRouteTarget(target)) return rejectAll(request, body, target)
      if (body.kind === 'single')
        return (await answerEntry(request, body.entry, target, receivedAt, null)) ?? 'no-content'
      const overLimit = overRateLimit(caller, body.entries.length)
      if (overLimit !== null) return rejectAll(request, body, overLimit)
      // The request itself is counted. A batch may exceed the limit once: a large one would never fit otherwise.
      const more = body.entries.length - 1
      if (more > 0 && !calls.mayTake(share)) return rejectAll(request, body, OVERLOADED)
      calls.take(share, more)
      const memory = answerMemory.openBatch(caller.name, share === null)
      try {
        return await answerBatch(request, body.entries, target, memory)
      } finally {
        memory.release()
        calls.release(share, more)
      }
    },

    async rest(request, rest, query) {
      const { caller, network, receivedAt } = request
      const classified = readRest({ rest, query, shards: network.shards, extraMethods: caller.methods })
      if (classified.kind !== 'operation') {
        recorder.ended(caller, network, 'none', classified.kind, receivedAt, null)
        return rejectedRest(classified, NOT_FORWARDED)
      }
      const reply = await forward(request, classified, classified.to, null)
      const { name } = classified.operation
      // Unreachable: no handler answers a REST request with a JSON-RPC reply.
      if (reply.kind === 'result' || reply.kind === 'error') {
        recorder.ended(caller, network, name, INTERNAL_ERROR.kind, receivedAt, null)
        return rejectedRest(INTERNAL_ERROR, NOT_FORWARDED)
      }
      recorder.ended(caller, network, name, outcomeOf(reply, request), receivedAt, reply)
      return reply.kind === 'rest' ? answerOf(reply.status, [reply.body], reply) : rejectedRest(reply.rejection, reply)
    },
  }
}

function answerOf(status: number, body: ResponseBody, summary: Summary, retryAfterMs?: number): Answer {
  return { status, body, summary, retryAfterMs }
}

function rejectedAnswer(id: string, rejection: GatewayError, summary: Summary): Answer {
  const { kind, retryAfterMs } = rejection
  return answerOf(ERRORS[kind].status, frame(id, 'error', rpcError(rejection)), summary, retryAfterMs)
}

/** With a copy of the summary: the reply holds the answer, and the batch may take a while. */
function answerTooLarge(id: string, reply: Summary): Answer {
  return rejectedAnswer(id, ANSWER_TOO_LARGE, summaryOf([reply]))
}

function rejectedRest(rejection: GatewayError, summary: Summary): Answer {
  const { kind, retryAfterMs } = rejection
  return answerOf(ERRORS[kind].restStatus, [restError(rejection)], summary, retryAfterMs)
}

function sizeOf(reply: Reply): number {
  return reply.kind === 'result' ? reply.result.length : reply.kind === 'error' ? reply.error.length : 0
}

function outcomeOf(reply: Reply, { signal }: AdmittedRequest): RequestOutcome {
  switch (reply.kind) {
    case 'result':
      return 'answered'
    case 'error':
      return 'node-error'
    case 'rest':
      return reply.status < 400 ? 'answered' : 'node-error'
    case 'rejected': {
      const { kind } = reply.rejection
      // A request that failed because its caller left counts as cancelled, unless a write may have been executed.
      return signal.aborted && kind !== 'outcome-unknown' ? 'cancelled' : kind
    }
  }
}

/** Checks a batch against its caller's rate limit; admission has already counted its first element. */
function overRateLimit({ rateLimiter }: Caller, count: number): GatewayError | null {
  if (rateLimiter === null) return null
  const { requests } = rateLimiter.limit
  if (count <= requests) {
    const waitMs = rateLimiter.take(count - 1)
    if (waitMs === 0) return null
    rateLimiter.giveBack(1)
    return rateLimited(waitMs)
  }
  rateLimiter.giveBack(1)
  // Without a time: no wait helps.
  return gatewayError('rate-limited', `larger than the rate limit: a batch may hold at most ${requests} requests`)
}

/** avalanchego answers `{}` since v1.7.14, but clients expect `success` as in earlier versions. */
function asSuccess(result: Buffer): Buffer | string {
  return result.toString('latin1').replace(/\s/g, '') === '{}' ? '{"success":true}' : result
}

const ANSWER_TOO_LARGE = gatewayError('answer-too-large', 'answer too large')
const WOULD_NOT_FIT: Reply = { kind: 'rejected', rejection: ANSWER_TOO_LARGE, ...NOT_FORWARDED }
