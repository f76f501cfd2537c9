import type { IncomingMessage, ServerResponse } from 'node:http'
import { highestOf } from '../caller-heights.ts'
import { type GatewayError, rpcError } from '../errors.ts'
import type { Provenance } from '../upstream-request.ts'
import type { Body, Entry } from './envelope.ts'

/** Writes a JSON response, a large one in turns and no faster than the caller reads. */
export async function respond(
  res: ServerResponse,
  status: number,
  body: ResponseBody,
  headers: ResponseHeaders,
  { lingers = false, nextTurn }: ResponseWriting = {},
): Promise<void> {
  if (res.destroyed) return
  const length = byteLength(body)
  if (headers.closes === true) Object.assign(res, { [CLOSES]: true })
  res.writeHead(status, headerList(['content-type', 'application/json', 'content-length', String(length)], headers))
  if (lingers) res.write(joined(body, length))
  else if (length <= MAX_TEXT) endWithText(res, body, length)
  else if (length <= MAX_UNPACED) {
    // One system call without a copy: copying a block takes as long as sending it.
    res.cork()
    for (const piece of body) res.write(piece)
    res.end()
  } else {
    let left = 0
    for (const slice of slicesOf(body)) {
      if (slice.length > left) {
        await nextTurn?.()
        left = SLICE_BYTES
      }
      left -= slice.length
      if (!res.write(slice)) await drained(res)
      if (res.destroyed) return
    }
    res.end()
  }
}

export interface ResponseWriting {
  /** Leaves the response open. */
  readonly lingers?: boolean
  /** Returns `null` if the next slice may be written at once. */
  readonly nextTurn?: () => Promise<void> | null
}

/** The system copies as much in about a tenth of a millisecond. */
const SLICE_BYTES = 262_144

function* slicesOf(body: ResponseBody): Generator<Buffer | string> {
  for (const piece of body) {
    if (typeof piece === 'string' || piece.length <= SLICE_BYTES) yield piece
    else for (let at = 0; at < piece.length; at += SLICE_BYTES) yield piece.subarray(at, at + SLICE_BYTES)
  }
}

/** Marks a response after which the connection is closed. */
export const CLOSES = Symbol('closes')

export function byteLength(body: ResponseBody): number {
  return body.reduce((bytes, piece) => bytes + Buffer.byteLength(piece), 0)
}

/** Resolves when more can be written or the caller has left. */
function drained(res: ServerResponse): Promise<void> {
  if (res.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done)
      res.off('close', done)
      resolve()
    }
    res.on('drain', done)
    res.on('close', done)
  })
}

/** Pieces written in order: a node's own bytes and the text around them. */
export type ResponseBody = readonly (Buffer | string)[]

export interface ResponseHeaders {
  readonly requestId: string
  /** `null` for a response without content. */
  readonly provenance: Summary | null
  /** The origin whose pages may read the answer; `null` without CORS. */
  readonly origin: string | null
  readonly retryAfterMs?: number | undefined
  readonly allow?: string | undefined
  /** The connection is closed after this response. */
  readonly closes?: boolean
}

/** The provenance of an answer, or of all elements of a batch together. */
export type Summary = Pick<Provenance, 'endpoint' | 'attempts' | 'cache' | 'degraded' | 'height' | 'staleMs'>

const MAX_TEXT = 4096
/** A larger body is written no faster than the caller reads. */
const MAX_UNPACED = 65_536

/** Sends a small body as text, which Node writes together with the headers; only if every character is one byte. */
function endWithText(res: ServerResponse, body: ResponseBody, length: number): void {
  let text = ''
  for (const piece of body) text += typeof piece === 'string' ? piece : piece.toString('latin1')
  if (text.length === length) res.end(text, 'latin1')
  else res.end(joined(body, length))
}

function joined(body: ResponseBody, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const piece of body) at += typeof piece === 'string' ? bytes.write(piece, at) : piece.copy(bytes, at)
  return bytes
}

/** Responds with 204, to notifications and preflight requests. */
export function respondEmpty(res: ServerResponse, headers: ResponseHeaders, others: readonly string[] = []): void {
  if (res.destroyed) return
  if (headers.closes === true) Object.assign(res, { [CLOSES]: true })
  res.writeHead(204, headerList([...others], headers))
  res.end()
}

const EXPOSED =
  'x-heartline-endpoint, x-heartline-attempts, x-heartline-cache, x-heartline-degraded, x-heartline-height, x-heartline-stale, x-request-id, retry-after'

/** Headers of nodes are never passed on. */
function headerList(list: string[], headers: ResponseHeaders): string[] {
  const { provenance, requestId, origin } = headers
  if (provenance !== null) {
    if (provenance.endpoint !== null) list.push('x-heartline-endpoint', provenance.endpoint)
    list.push('x-heartline-attempts', String(provenance.attempts), 'x-heartline-cache', provenance.cache)
    if (provenance.degraded) list.push('x-heartline-degraded', '1')
    const { height, staleMs } = provenance
    if (typeof height === 'number') list.push('x-heartline-height', String(height))
    if (typeof staleMs === 'number') list.push('x-heartline-stale', String(Math.ceil(staleMs / 1000)))
  }
  list.push('x-request-id', requestId)
  if (headers.retryAfterMs !== undefined) list.push('retry-after', String(Math.ceil(headers.retryAfterMs / 1000)))
  if (headers.allow !== undefined) list.push('allow', headers.allow)
  if (origin !== null) {
    list.push('access-control-allow-origin', origin, 'vary', 'origin', 'access-control-expose-headers', EXPOSED)
  }
  if (headers.closes === true) list.push('connection', 'close')
  return list
}

export function preflightHeaders(allow: string): readonly string[] {
  return [
    'access-control-allow-methods',
    allow,
    'access-control-allow-headers',
    'content-type, x-request-id, x-heartline-endpoint, x-heartline-height',
    'access-control-max-age',
    '600',
  ]
}

/** Keeps the header of a batch short. */
const MAX_ENDPOINTS = 8

/** Summarises a batch: all endpoints and attempts, highest height and age, `hit` only if every cacheable call hit. */
export function summaryOf(parts: readonly Summary[]): Summary {
  const endpoints = new Set<string>()
  let attempts = 0
  let cache: Summary['cache'] = 'none'
  let degraded = false
  let height: number | null = null
  let staleMs: number | null = null
  for (const part of parts) {
    if (part.endpoint !== null && endpoints.size < MAX_ENDPOINTS) endpoints.add(part.endpoint)
    attempts += part.attempts
    if (part.cache === 'miss' || (part.cache === 'hit' && cache === 'none')) cache = part.cache
    degraded ||= part.degraded
    height = highestOf(height, part.height ?? null)
    staleMs = highestOf(staleMs, part.staleMs ?? null)
  }
  const endpoint = endpoints.size === 0 ? null : [...endpoints].join(', ')
  return { endpoint, attempts, cache, degraded, height, staleMs }
}

/** A JSON-RPC response around the node's own bytes. `id` is JSON text. */
export function frame(id: string, member: 'result' | 'error', value: Buffer | string): ResponseBody {
  return [`{"jsonrpc":"2.0","id":${id},"${member}":`, value, '}']
}

export function frameBatch(responses: readonly ResponseBody[]): ResponseBody {
  return ['[', ...responses.flatMap((response, at) => (at === 0 ? response : [',', ...response])), ']']
}

/** The same error for every call, under its own id. If all calls are notifications, one error under `null`. */
export function rejectCalls(body: Body, rejection: GatewayError): ResponseBody {
  const error = rpcError(rejection)
  if (body.kind === 'rejected') return frame('null', 'error', error)
  if (body.kind === 'single') return frame(idOf(body.entry), 'error', error)
  const answered = body.entries.filter((entry) => entry.kind === 'rejected' || !entry.call.isNotification)
  if (answered.length === 0) return frame('null', 'error', error)
  return frameBatch(answered.map((entry) => frame(idOf(entry), 'error', error)))
}

function idOf(entry: Entry): string {
  return entry.kind === 'call' ? entry.call.id : entry.id
}

const PLAIN_REQUEST_ID = /^[\w.:/+=@-]{1,64}$/

/** The caller's own request id if it is safe in a header and a log, else a fresh one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>, fresh: () => string): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && PLAIN_REQUEST_ID.test(given) ? given : fresh()
}
