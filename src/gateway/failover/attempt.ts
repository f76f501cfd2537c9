import type { Failure } from '../../core/failure.ts'
import { type AttemptResult, isFault, RATE_LIMIT_CODES } from '../../core/routing/retry-policy.ts'
import type { ForwardedAnswer, NodeForwarder } from '../../nodes/forward.ts'
import type { TransportRequest } from '../../nodes/transport.ts'
import type { NodeReply, UpstreamRequest } from '../upstream-request.ts'
import { isNullResult, readNodeAnswer, readRestAnswer } from './node-answer.ts'
import type { Upstream } from './upstream.ts'

/** What came of asking one endpoint: how it is to be judged, and the node's own bytes where it answered. */
export interface Attempt {
  readonly result: AttemptResult
  readonly reply: NodeReply | null
  /** For a node that limits our rate. */
  readonly retryAfterMs: number | null
  readonly nodeId: string | null
  /** It says that the endpoint is not well. */
  readonly isFault: boolean
  /** Nothing of it is the node's doing. */
  readonly isLocal: boolean
  /** Most of its time went by in want of a connection. */
  readonly waitedForConnection?: boolean
}

/** Sends one question to one endpoint; given up `withinMs` from now. Never rejects. */
export async function attempt(
  nodes: Pick<NodeForwarder, 'forward'>,
  upstream: Upstream,
  question: UpstreamRequest,
  id: number,
  withinMs: number,
): Promise<Attempt> {
  const { call, operation, signal } = question
  const path = pathFor(upstream, question)
  const request: TransportRequest = {
    method: call === null ? 'GET' : 'POST',
    path,
    body: call === null ? null : bodyOf(call, id),
    once: !operation.isRead,
  }
  const forwarded = await nodes.forward(upstream.address, request, withinMs, signal)
  if (!forwarded.ok) {
    const { failure, stage, waited } = forwarded
    // A deadline of hardly any length says nothing of the node that missed it.
    const tooShort = failure.kind === 'timeout' && failure.afterMs < TELLING_MS
    const isOurs = signal.aborted || waited || tooShort
    return { ...failed(failure, stage === 'unsent', isOurs), waitedForConnection: waited && !signal.aborted }
  }
  const { answer } = forwarded
  const attempted = withoutKeys(call === null ? readRest(answer) : readRpc(answer, String(id)), upstream)
  // A path that only this endpoint is asked for says nothing of the endpoint.
  const isPathMissing = answer.status === 404 && question.to.kind === 'path'
  const wantsNodeId = operation.name === 'admin.alias' || operation.name === 'alias'
  if (!isPathMissing && !wantsNodeId) return attempted
  return {
    ...attempted,
    isFault: attempted.isFault && !isPathMissing,
    nodeId: wantsNodeId ? answer.header('node-id') : null,
  }
}

const TELLING_MS = 500

/** "Project 7f3a… has no access": a provider may name our key in its error, which goes to callers who must not have it. */
function withoutKeys(attempted: Attempt, upstream: Upstream): Attempt {
  const { result: came, reply } = attempted
  if (came.kind !== 'error' || reply === null || reply.kind === 'result') return attempted
  const said = reply.kind === 'error' ? reply.error : reply.body
  if (said.length > LONGEST_TOLD) return failed({ kind: 'too-large', limitBytes: LONGEST_TOLD }, false, false)
  const text = said.toString()
  const told = upstream.redact(text)
  if (told === text) return attempted
  const bytes = Buffer.from(told)
  // A key of digits may have stood there as a number.
  if (parseObject(bytes, Number.POSITIVE_INFINITY) === null) return failed({ kind: 'not-json' }, false, false)
  return {
    ...attempted,
    reply: reply.kind === 'error' ? { ...reply, error: bytes } : { ...reply, body: bytes },
  }
}

/** What a reverted call returns may be long; nobody writes a megabyte of reasons. */
const LONGEST_TOLD = 2 ** 20

function pathFor({ target, servesOneShard }: Upstream, { to }: UpstreamRequest): string {
  if (to.kind === 'rpc') return target.rpcPath
  return servesOneShard ? (to.singleShardPath ?? to.path) : to.path
}

/** With an id of ours: another request of the caller's may carry the same one. */
function bodyOf({ method, params }: NonNullable<UpstreamRequest['call']>, id: number): string {
  const name = PLAIN_NAME.test(method) ? `"${method}"` : JSON.stringify(method)
  return params === null
    ? `{"jsonrpc":"2.0","id":${id},"method":${name}}`
    : `{"jsonrpc":"2.0","id":${id},"method":${name},"params":${params}}`
}

const PLAIN_NAME = /^[\w.]{1,128}$/

function readRpc(answer: ForwardedAnswer, id: string): Attempt {
  const { status, body } = answer
  // An error of the node's own may come with a status of its own; anything else that is no 200 says nothing.
  if (status !== 200 && (status < 400 || status >= 500 || REFUSING.has(status))) return refused(answer)
  const read = readNodeAnswer(body, id)
  switch (read.kind) {
    case 'result':
      if (status !== 200) return refused(answer)
      return answered(
        { kind: 'result', isNull: isNullResult(body, read) },
        { kind: 'result', result: body.subarray(read.start, read.end) },
      )
    case 'error': {
      const error = body.subarray(read.start, read.end)
      const came: AttemptResult = { kind: 'error', code: read.code, message: messageOf(error), toNobody: read.idIsNull }
      return { ...answered(came, { kind: 'error', error }), retryAfterMs: answer.retryAfterMs() }
    }
    case 'wrong-id':
      return status === 200 ? failed({ kind: 'wrong-id' }, false, false) : refused(answer)
    case 'garbage':
      return status === 200 ? failed({ kind: 'not-json' }, false, false) : refused(answer)
  }
}

/** Of us, not of the request. */
const REFUSING: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429])

function readRest(answer: ForwardedAnswer): Attempt {
  const { status, body } = answer
  if (status >= 300 && status < 400) return refused(answer)
  const envelope = readRestAnswer(body)
  if (envelope === null) return status === 200 ? failed({ kind: 'not-json' }, false, false) : refused(answer)
  const { code, message, isNull } = envelope
  if (code === 'successful') {
    // With nothing in it clients fall over it: it is the last word only where everybody says so.
    return status === 200 ? answered({ kind: 'result', isNull }, { kind: 'rest', status, body }) : refused(answer)
  }
  // Whoever limits our rate says so to us: callers have limits of their own.
  if (status === 429 || RATE_LIMIT_CODES.has(code)) return limited(answer)
  if (REFUSING.has(status) || (status >= 500 && code !== 'internal_issue')) return refused(answer)
  return answered({ kind: 'error', code, message }, { kind: 'rest', status, body })
}

function refused(answer: ForwardedAnswer): Attempt {
  const { status } = answer
  if (status === 429) return limited(answer)
  return failed(status >= 300 && status < 400 ? { kind: 'redirect', status } : { kind: 'http', status }, false, false)
}

function limited(answer: ForwardedAnswer): Attempt {
  const retryAfterMs = answer.retryAfterMs()
  return { ...failed({ kind: 'rate-limited', retryAfterMs }, false, false), retryAfterMs }
}

function failed(failure: Failure, unsent: boolean, isOurs: boolean): Attempt {
  return {
    result: { kind: 'failed', failure, unsent },
    reply: null,
    retryAfterMs: null,
    nodeId: null,
    isFault: !isOurs && isFault(failure),
    isLocal: isOurs || failure.kind === 'local-resources',
  }
}

function answered(came: AttemptResult, reply: NodeReply): Attempt {
  return { result: came, reply, retryAfterMs: null, nodeId: null, isFault: false, isLocal: false }
}

function messageOf(error: Buffer): string {
  const message = parseObject(error, LONGEST_ERROR)?.message
  return typeof message === 'string' ? message.slice(0, LONGEST_MESSAGE) : ''
}

const LONGEST_MESSAGE = 512
/** No error is longer that says anything. */
const LONGEST_ERROR = 65_536

function parseObject(text: Buffer, longest: number): Record<string, unknown> | null {
  if (text.length > longest) return null
  try {
    const value: unknown = JSON.parse(text.toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
