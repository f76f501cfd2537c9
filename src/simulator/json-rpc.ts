import { isObject, type JsonObject, parseJson } from '../core/json.ts'
import { type Answer, json, mediaType, type Request, text } from './answer.ts'

export type CallResult =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly code: number; readonly message: string }

export type Call = (method: string, params: unknown) => CallResult

export const success = (result: unknown): CallResult => ({ ok: true, result })
export const failure = (code: number, message: string): CallResult => ({ ok: false, code, message })

const BATCH_LIMIT = 1000
const BODY_LIMIT = 5 * 1024 * 1024

/** Answers JSON-RPC over HTTP like an EVM node: supports batches; notifications get no answer. */
export function answerEvm(request: Request, call: Call, { emptyStatus }: { readonly emptyStatus: 200 | 204 }): Answer {
  const { method, body, headers } = request
  if (method === 'GET' && body === '') return { status: 200, headers: {}, body: '' }
  if (method === 'PUT' || method === 'DELETE') return text(405, 'method not allowed')
  if (Buffer.byteLength(body) > BODY_LIMIT) return text(413, `content length too large (${body.length}>${BODY_LIMIT})`)
  if (mediaType(headers) !== 'application/json') {
    return text(415, 'invalid content type, only application/json is supported')
  }
  const reply = answerText(body, call)
  return reply === undefined ? { status: emptyStatus, headers: {}, body: '' } : json(200, reply, 'application/json')
}

function answerText(body: string, call: Call): unknown {
  const parsed = parseJson(body)
  if (parsed === undefined) return errorReply(null, -32700, 'parse error')
  if (!Array.isArray(parsed)) return answerOne(parsed, call)
  if (parsed.length === 0) return errorReply(null, -32600, 'empty batch')
  if (parsed.length > BATCH_LIMIT) return errorReply(null, -32600, 'batch too large')
  const replies = parsed.map((entry) => answerOne(entry, call)).filter((reply) => reply !== undefined)
  return replies.length === 0 ? undefined : replies
}

/** `undefined` for a notification. */
function answerOne(entry: unknown, call: Call): unknown {
  if (!isObject(entry) || entry.jsonrpc !== '2.0' || typeof entry.method !== 'string') {
    return errorReply(isObject(entry) ? idOf(entry) : null, -32600, 'invalid request')
  }
  const outcome = call(entry.method, entry.params)
  if (!Object.hasOwn(entry, 'id')) return undefined
  const id = idOf(entry)
  return outcome.ok ? { jsonrpc: '2.0', id, result: outcome.result } : errorReply(id, outcome.code, outcome.message)
}

function idOf({ id }: JsonObject): string | number | null {
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

function errorReply(id: string | number | null, code: number, message: string) {
  return { jsonrpc: '2.0', id, error: { code, message } }
}
