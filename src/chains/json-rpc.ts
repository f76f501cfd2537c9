import type { Failure } from '../core/failure.ts'
import { isObject, parseJson } from '../core/json.ts'
import { RATE_LIMIT_CODES, RATE_LIMIT_WORDS } from '../core/routing/retry-policy.ts'
import type { ChainMemory, NodeAnswer, NodeRequest, Reading } from './chain.ts'
import { printable } from './parse.ts'

/** A JSON-RPC 2.0 call: the request, and the id that its response must carry. */
export interface Call {
  readonly request: NodeRequest
  readonly id: number
}

export function createCall(path: string, method: string, params: readonly unknown[], memory: ChainMemory): Call {
  memory.lastId = memory.lastId >= Number.MAX_SAFE_INTEGER ? 1 : memory.lastId + 1
  const id = memory.lastId
  const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${JSON.stringify(params)}}`
  return { request: { method: 'POST', path, body }, id }
}

/** Reads `result` from a response with a 2xx status; with another one, the body may report a rate limit. */
export function readResult(answer: NodeAnswer, call: Call): Reading<unknown> {
  return readWithStatus(answer, call, ({ kind }) => kind === 'rate-limited')
}

/** Reads `result`; an error in the body of a response with status 400 or 5xx is more precise than the status. */
export function readResultOrError(answer: NodeAnswer, call: Call): Reading<unknown> {
  return readWithStatus(
    answer,
    call,
    ({ kind }, status) => kind === 'rate-limited' || (kind === 'rpc' && !isRefusal(status)),
  )
}

/** With a status that is a failure, reads the body only for a failure that is more precise. */
function readWithStatus(
  answer: NodeAnswer,
  call: Call,
  isMorePrecise: (told: Failure, status: Failure) => boolean,
): Reading<unknown> {
  const status = statusFailure(answer)
  if (status !== null && status.kind !== 'http') return fail(status)
  const reading = readEnvelope(parseJson(answer.body), answer, call)
  return status === null || (!reading.ok && isMorePrecise(reading.failure, status)) ? reading : fail(status)
}

/** Reads `result` from a parsed body, whatever the HTTP status. */
export function readEnvelope(body: unknown, answer: NodeAnswer, call: Call): Reading<unknown> {
  if (body === undefined) return fail({ kind: 'not-json' })
  if (Array.isArray(body)) return malformed('an array (a batch) in answer to one request')
  if (!isObject(body)) return malformed('not an object')
  const { id, error, result } = body
  if (error !== undefined && error !== null) {
    // The id is null if the node could not read the request (JSON-RPC 2.0, section 5); the error is then more precise.
    if (id !== call.id && id !== null) return fail({ kind: 'wrong-id' })
    return fail(readError(error, answer))
  }
  if (id !== call.id) return fail({ kind: 'wrong-id' })
  if (result === undefined) return malformed('neither result nor error')
  return { ok: true, value: result }
}

function readError(error: unknown, { retryAfterMs }: NodeAnswer): Failure {
  if (!isObject(error)) return { kind: 'malformed', what: 'error is not an object' }
  const { code, message } = error
  if (RATE_LIMIT_CODES.has(code) || (typeof message === 'string' && RATE_LIMIT_WORDS.test(message))) {
    return { kind: 'rate-limited', retryAfterMs }
  }
  return {
    kind: 'rpc',
    // Codes are integers. Any other code could put arbitrary text of the node into our messages.
    code: typeof code === 'number' && Number.isSafeInteger(code) ? code : 'unknown',
    message: typeof message === 'string' ? printable(message) : '',
  }
}

/** gorilla/rpc returns -32000 with this text instead of the specified -32601. */
export function isUnknownMethod(failure: Failure): boolean {
  if (failure.kind !== 'rpc') return false
  return failure.code === -32601 || (failure.code === -32000 && failure.message.includes("can't find method"))
}

/** Statuses by which servers and providers refuse a method or path that they do not offer, or not on this plan. */
const REFUSING_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 410, 501])

/** JSON-RPC 2.0 and EIP-1474 (method not supported), and MultiversX's words. */
const REFUSING_CODES: ReadonlySet<unknown> = new Set([-32_601, -32_004, 'unauthorized', 'forbidden'])

/** Providers use other codes too: `Unsupported method: net_peerCount`, `this method is not available on your plan`. */
const REFUSING_WORDS =
  /\b(?:unsupported|unknown|disabled|forbidden|restricted) (?:rpc )?method\b|\bmethod\b.*(?:\bnot\b|n't\b).*\b(?:support|allow|avail|exist|found|find|whitelist|enable|implement|permit|include|recogni[sz]e)/i

/** Whether the node or its provider does not offer what was asked: that says nothing about the node's health. */
export function isRefusal(failure: Failure): boolean {
  if (failure.kind === 'http') return REFUSING_STATUSES.has(failure.status)
  if (failure.kind !== 'rpc') return false
  return REFUSING_CODES.has(failure.code) || isUnknownMethod(failure) || REFUSING_WORDS.test(failure.message)
}

/** The failure that the HTTP status implies; `null` for 2xx. */
export function statusFailure({ status, retryAfterMs }: NodeAnswer): Failure | null {
  if (status >= 200 && status < 300) return null
  if (status === 429) return { kind: 'rate-limited', retryAfterMs }
  if (status >= 300 && status < 400) return { kind: 'redirect', status }
  return { kind: 'http', status }
}

export function fail(failure: Failure): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure }
}

export function malformed(what: string): { readonly ok: false; readonly failure: Failure } {
  return fail({ kind: 'malformed', what })
}
