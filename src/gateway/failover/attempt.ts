import type { Clock } from '../../clock.ts'
import type { EndpointKey } from '../../core/endpoint.ts'
import { FAILURES, type Failure, isFault } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { Operation, OperationName } from '../../core/routing/operation.ts'
import type { AttemptOutcome } from '../../core/routing/request-outcome.ts'
import {
  type AttemptResult,
  isRateLimit,
  mayBeLarge,
  RATE_LIMIT_CODES,
  type RetryStep,
} from '../../core/routing/retry-policy.ts'
import type { ForwardedAnswer, NodeForwarder } from '../../nodes/forward.ts'
import type { TransportRequest } from '../../nodes/transport.ts'
import type { Slices } from '../json-scan.ts'
import type { LoopTurns } from '../loop-turns.ts'
import type { NodeReply, UpstreamRequest } from '../upstream-request.ts'
import { isNullResult, readNodeAnswer, readRestAnswer } from './node-answer.ts'
import { mismatchOf } from './requested-block.ts'
import type { Upstream } from './upstream.ts'

/** Sends a request to one endpoint, with a timeout of `withinMs`. Never rejects. */
export async function attempt(
  { nodes, slices }: NodeAccess,
  upstream: Upstream,
  request: UpstreamRequest,
  id: number,
  withinMs: number,
): Promise<Attempt> {
  const { call, operation, signal } = request
  const sent: TransportRequest = {
    method: call === null ? 'GET' : 'POST',
    path: pathFor(upstream, request),
    body: call === null ? null : bodyOf(call, id),
    once: !operation.isRead,
    caller: request.share ?? null,
  }
  const forwarded = await nodes.forward(upstream.address, sent, withinMs, signal)
  if (!forwarded.ok) {
    const { failure, stage, waited } = forwarded
    const isTooShort = failure.kind === 'timeout' && failure.afterMs < SHORTEST_FAIR_TIMEOUT_MS
    const isLocal = signal.aborted || waited || isTooShort
    return { ...failed(failure, stage === 'unsent', isLocal), waitedForConnection: waited && !signal.aborted }
  }
  const { answer } = forwarded
  const reading = call === null ? readRest(answer) : readRpc(answer, String(id), operation.name.startsWith('health.'))
  let step = reading.next()
  while (step.done !== true) {
    await slices.next(sent.caller ?? null)
    step = reading.next()
  }
  const read = step.value
  const mismatch =
    read.reply === null ? null : mismatchOf(request, read.reply, read.result.kind === 'result', upstream.target.chainId)
  if (mismatch !== null) return failed(mismatch)
  const attempted = withoutKeys(read, upstream)
  // A missing path that the caller chose is not a fault of the endpoint.
  const isPathMissing = answer.status === 404 && request.to.kind === 'path'
  const wantsNodeId = operation.name === 'admin.alias' || operation.name === 'alias'
  if (!isPathMissing && !wantsNodeId) return attempted
  return {
    ...attempted,
    isFault: attempted.isFault && !isPathMissing,
    nodeId: wantsNodeId ? answer.header('node-id') : null,
  }
}

export interface NodeAccess {
  readonly nodes: Pick<NodeForwarder, 'forward'>
  /** Turns of large answers. */
  readonly slices: LoopTurns
}

export interface Attempt {
  readonly result: AttemptResult
  /** The node's own bytes; `null` if the attempt failed. */
  readonly reply: NodeReply | null
  /** How long a rate-limited node asks to wait; `null` if unknown. */
  readonly retryAfterMs: number | null
  readonly nodeId: string | null
  /** The failure counts in the endpoint's circuit breaker. */
  readonly isFault: boolean
  /** The gateway or the caller caused the failure, so it says nothing about the node. */
  readonly isLocal: boolean
  /** The attempt spent most of its time waiting for a connection, memory or a turn. */
  readonly waitedForConnection?: boolean
}

/** Sends a request to an upstream and records the outcome there. */
export async function attemptOn(
  { clock, send, onDoubt }: AttemptDeps,
  upstream: Upstream,
  request: UpstreamRequest,
  withinMs: number,
): Promise<Attempt> {
  const began = clock.monotonic()
  upstream.begin(began)
  const attempted = await send(upstream, request, withinMs)
  const ended = clock.monotonic()
  if (settle(upstream, request.operation, attempted, began, ended)) {
    upstream.breakerOpenedAt = ended
    onDoubt(upstream.key)
  }
  return attempted
}

export interface AttemptDeps {
  readonly clock: Clock
  readonly send: (upstream: Upstream, request: UpstreamRequest, withinMs: number) => Promise<Attempt>
  /** Called when an endpoint's circuit breaker opens, so that the endpoint is polled at once. */
  readonly onDoubt: (key: EndpointKey) => void
  readonly onAttempt?: ((upstream: Upstream, operation: OperationName, outcome: AttemptOutcome) => void) | undefined
}

/** Returns whether the attempt opened the circuit breaker. */
function settle(
  upstream: Upstream,
  operation: Operation,
  { result, isLocal, isFault, retryAfterMs }: Attempt,
  began: number,
  ended: number,
): boolean {
  const isAnswer = result.kind !== 'failed'
  const failure = isAnswer ? null : result.failure.kind
  const isNodeTimeout = failure === 'timeout' && !isLocal
  // The time until a connection was refused says nothing about how fast the node answers.
  upstream.end(ended, isAnswer || isNodeTimeout ? ended - began : null, !isLocal && !isFault)
  const isLimited = result.kind === 'error' ? isRateLimit(operation, result) : failure === 'rate-limited'
  if (isLimited) upstream.rateLimit.begin(retryAfterMs, ended)
  // A caller may know methods that take longer than the timeout, which says nothing about a node that answers others.
  const isLongCall = isNodeTimeout && mayBeLarge(operation) && upstream.hasAnsweredSince(began)
  if (!isLocal && !isLongCall) upstream.isAnswering = isAnswer && !isLimited
  if (isFault && !isLongCall) return upstream.breaker.fail(ended, began)
  if (!isAnswer || isLimited) upstream.breaker.ignore(began)
  else {
    upstream.breaker.succeed()
    upstream.rateLimit.reset()
  }
  return false
}

/** The outcome under which the metric counts an attempt. */
export function outcomeOf(
  { result, isLocal }: Attempt,
  step: RetryStep,
  isBehind: boolean,
  { operation, signal }: UpstreamRequest,
): AttemptOutcome {
  if (result.kind === 'failed') {
    if (signal.aborted) return 'cancelled'
    return isLocal && result.failure.kind !== 'timeout' ? 'local' : FAILURES[result.failure.kind].attempt
  }
  if (isBehind) return 'behind'
  if (step === 'absent') return 'absent'
  if (result.kind === 'result') return 'answered'
  return isRateLimit(operation, result) ? 'rate-limited' : 'node-error'
}

/** A timeout shorter than this does not count against the node. */
const SHORTEST_FAIR_TIMEOUT_MS = 500

/** Providers may include our key in an error ("Project 7f3a… has no access"), which callers must not see. */
function withoutKeys(attempted: Attempt, upstream: Upstream): Attempt {
  const { result, reply } = attempted
  if (result.kind !== 'error' || reply === null || reply.kind === 'result') return attempted
  const original = reply.kind === 'error' ? reply.error : reply.body
  if (original.length > MAX_ERROR_BYTES) return failed({ kind: 'too-large', limitBytes: MAX_ERROR_BYTES })
  const text = original.toString()
  const redacted = upstream.redactJson(text)
  if (redacted === text) return attempted
  // Also `null` if a key made of digits occurred as a JSON number.
  if (redacted === null) return failed({ kind: 'not-json' })
  const bytes = Buffer.from(redacted)
  return { ...attempted, reply: reply.kind === 'error' ? { ...reply, error: bytes } : { ...reply, body: bytes } }
}

/** Allows for the long data of a reverted call. */
const MAX_ERROR_BYTES = 2 ** 18

function pathFor({ target, servesOneShard }: Upstream, { to }: UpstreamRequest): string {
  if (to.kind === 'rpc') return target.rpcPath
  return servesOneShard ? (to.singleShardPath ?? to.path) : to.path
}

/** Uses the gateway's own id, because two callers may send the same one. */
function bodyOf({ method, params }: NonNullable<UpstreamRequest['call']>, id: number): string {
  const name = PLAIN_NAME.test(method) ? `"${method}"` : JSON.stringify(method)
  return params === null
    ? `{"jsonrpc":"2.0","id":${id},"method":${name}}`
    : `{"jsonrpc":"2.0","id":${id},"method":${name},"params":${params}}`
}

const PLAIN_NAME = /^[\w.]{1,128}$/

function* readRpc(answer: ForwardedAnswer, id: string, isHealth: boolean): Slices<Attempt> {
  const { status, body } = answer
  // A JSON-RPC error may come with a 4xx or 5xx status. Any other status except 200 means that the request failed.
  if (status !== 200 && (status < 400 || REJECTING.has(status))) return rejected(answer)
  const read = yield* readNodeAnswer(body, id)
  switch (read.kind) {
    case 'result':
      // Some nodes report with this status that they are unhealthy.
      if (status !== 200 && !(status === 503 && isHealth)) return rejected(answer)
      return answered(
        { kind: 'result', isNull: isNullResult(body, read) },
        { kind: 'result', result: body.subarray(read.start, read.end) },
      )
    case 'error': {
      if (status >= 500 && !FINAL_CODES.has(read.code)) return rejected(answer)
      const error = body.subarray(read.start, read.end)
      const result: AttemptResult = {
        kind: 'error',
        code: read.code,
        message: messageOf(error),
        hasNullId: read.idIsNull,
      }
      return { ...answered(result, { kind: 'error', error }), retryAfterMs: answer.retryAfterMs() }
    }
    case 'wrong-id':
      return status === 200 ? failed({ kind: 'wrong-id' }) : rejected(answer)
    case 'garbage':
      return status === 200 ? failed({ kind: 'not-json' }) : rejected(answer)
  }
}

/** Errors of the request itself, also with a 5xx status: invalid request, method or params, and reverted calls. */
const FINAL_CODES: ReadonlySet<number | null> = new Set([-32_600, -32_601, -32_602, 3])

/** Statuses that reject the gateway or its key, not the caller's request. */
const REJECTING: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429])

function* readRest(answer: ForwardedAnswer): Slices<Attempt> {
  const { status, body } = answer
  if (status >= 300 && status < 400) return rejected(answer)
  const envelope = yield* readRestAnswer(body)
  if (envelope === null) return status === 200 ? failed({ kind: 'not-json' }) : rejected(answer)
  const { code, message, isNull } = envelope
  if (code === 'successful') {
    // Clients fail on an empty answer, so it is passed on only if no endpoint has a better one.
    return status === 200 ? answered({ kind: 'result', isNull }, { kind: 'rest', status, body }) : rejected(answer)
  }
  // Not passed on, because the limit applies to the gateway and not to the caller.
  if (status === 429 || RATE_LIMIT_CODES.has(code)) return limited(answer)
  if (REJECTING.has(status) || (status >= 500 && code !== 'internal_issue')) return rejected(answer)
  return answered({ kind: 'error', code, message }, { kind: 'rest', status, body })
}

function rejected(answer: ForwardedAnswer): Attempt {
  const { status } = answer
  if (status === 429) return limited(answer)
  return failed(status >= 300 && status < 400 ? { kind: 'redirect', status } : { kind: 'http', status })
}

function limited(answer: ForwardedAnswer): Attempt {
  const retryAfterMs = answer.retryAfterMs()
  return { ...failed({ kind: 'rate-limited', retryAfterMs }), retryAfterMs }
}

function failed(failure: Failure, unsent = false, isLocal = false): Attempt {
  return {
    result: { kind: 'failed', failure, unsent },
    reply: null,
    retryAfterMs: null,
    nodeId: null,
    isFault: !isLocal && isFault(failure),
    isLocal: isLocal || failure.kind === 'local-resources',
  }
}

function answered(result: AttemptResult, reply: NodeReply): Attempt {
  return { result, reply, retryAfterMs: null, nodeId: null, isFault: false, isLocal: false }
}

function messageOf(error: Buffer): string {
  const value = error.length > LONGEST_ERROR ? undefined : parseJson(error)
  return isObject(value) && typeof value.message === 'string' ? value.message.slice(0, LONGEST_MESSAGE) : ''
}

const LONGEST_MESSAGE = 512
/** Longer errors are not parsed for their message. */
const LONGEST_ERROR = 65_536
