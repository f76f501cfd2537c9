import type { IncomingMessage, ServerResponse } from 'node:http'
import { giveBack, LONGEST_PIECE, shortLived } from '../../nodes/buffer-pool.ts'
import type { Provenance } from '../upstream-request.ts'

/** The headers that an answer can have, besides those of HTTP itself; a node's own never pass. */
export interface AnswerHeaders {
  readonly requestId: string
  /** `null` where there is no answer but 204. */
  readonly provenance: Summary | null
  /** The origin whose page may read the answer; `null` without CORS. */
  readonly origin: string | null
  readonly retryAfterMs?: number | undefined
  readonly allow?: string | undefined
  /** The connection ends with this answer. */
  readonly closes?: boolean
}

/** How an answer came about, as its headers tell; of a batch all of its elements together. */
export interface Summary {
  readonly endpoint: string | null
  readonly attempts: number
  readonly cache: Provenance['cache']
  readonly degraded: boolean
}

/** Of what was refused before anybody was asked. */
export const NOTHING_ASKED: Summary = { endpoint: null, attempts: 0, cache: 'none', degraded: false }

const NONE: readonly string[] = []
const EXPOSED =
  'x-heartline-endpoint, x-heartline-attempts, x-heartline-cache, x-heartline-degraded, x-request-id, retry-after'

/** A JSON-RPC answer that is not put together yet: its beginning, and the bytes that come before its closing brace. */
export interface Framed {
  readonly head: string
  readonly value: Buffer
}

/**
 * Writes the whole answer at once, and ends it unless it `lingers`. `body` is JSON, and given up with this: its memory is used for the
 * next answer.
 */
export function respond(
  res: ServerResponse,
  status: number,
  body: Buffer | string | Framed,
  headers: AnswerHeaders,
  lingers = false,
): void {
  if (res.destroyed) return
  const length = lengthOf(body)
  const list = ['content-type', 'application/json', 'content-length', String(length)]
  addHeaders(list, headers)
  res.writeHead(status, list)
  if (lingers) res.write(bytesOf(body))
  else if (typeof body === 'string') res.end(body)
  else if (Buffer.isBuffer(body)) endWith(res, body)
  else if (length <= LONGEST_PIECE) endFramed(res, body, length)
  else {
    // So large a value is not worth a copy.
    res.write(body.head)
    res.write(body.value)
    res.end('}')
  }
}

function endFramed(res: ServerResponse, { head, value }: Framed, length: number): void {
  if (length <= SMALL && length === head.length + value.length + 1) {
    // As text it goes out with the headers in one piece.
    res.end(`${head}${value.toString('latin1')}}`, 'latin1')
    giveBack(value)
    return
  }
  const whole = shortLived(length)
  const valueAt = whole.write(head)
  value.copy(whole, valueAt)
  whole[length - 1] = BRACE_END
  giveBack(value)
  endWith(res, whole)
}

/** Where the kernel takes all of it at once, its memory is free for the next answer. */
function endWith(res: ServerResponse, bytes: Buffer): void {
  const { socket } = res
  res.end(bytes)
  if (socket !== null && socket.writableLength === 0 && res.writableLength === 0) giveBack(bytes)
}

const BRACE_END = 125
const SMALL = 4096

function lengthOf(body: Buffer | string | Framed): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  return Buffer.isBuffer(body) ? body.length : Buffer.byteLength(body.head) + body.value.length + 1
}

function bytesOf(body: Buffer | string | Framed): Buffer | string {
  return typeof body === 'string' || Buffer.isBuffer(body) ? body : put(body)
}

/** An answer of which only that it arrived is told. */
export function respondEmpty(res: ServerResponse, headers: AnswerHeaders, others: readonly string[] = NONE): void {
  if (res.destroyed) return
  const list = [...others]
  addHeaders(list, headers)
  res.writeHead(204, list)
  res.end()
}

function addHeaders(list: string[], headers: AnswerHeaders): void {
  const { provenance, requestId, origin } = headers
  if (provenance !== null) {
    if (provenance.endpoint !== null) list.push('x-heartline-endpoint', provenance.endpoint)
    list.push('x-heartline-attempts', String(provenance.attempts), 'x-heartline-cache', provenance.cache)
    if (provenance.degraded) list.push('x-heartline-degraded', '1')
  }
  list.push('x-request-id', requestId)
  if (headers.retryAfterMs !== undefined) list.push('retry-after', String(Math.ceil(headers.retryAfterMs / 1000)))
  if (headers.allow !== undefined) list.push('allow', headers.allow)
  if (origin !== null) {
    list.push('access-control-allow-origin', origin, 'vary', 'origin', 'access-control-expose-headers', EXPOSED)
  }
  if (headers.closes === true) list.push('connection', 'close')
}

/** What a browser asks before it sends a request of a page to another origin. */
export function preflightHeaders(allow: string): readonly string[] {
  return [
    'access-control-allow-methods',
    allow,
    'access-control-allow-headers',
    'content-type, x-request-id, x-heartline-endpoint',
    'access-control-max-age',
    '600',
  ]
}

/** More names would say nothing to anybody, and a header must stay short. */
const MOST_ENDPOINTS = 8

/** Of a batch: whose answers they are, all attempts, a hit if all that could be were. */
export function summaryOf(parts: readonly Summary[]): Summary {
  const endpoints = new Set<string>()
  let attempts = 0
  let cache: Summary['cache'] = 'none'
  let degraded = false
  for (const part of parts) {
    if (part.endpoint !== null && endpoints.size < MOST_ENDPOINTS) endpoints.add(part.endpoint)
    attempts += part.attempts
    if (part.cache === 'miss' || (part.cache === 'hit' && cache === 'none')) cache = part.cache
    degraded ||= part.degraded
  }
  return { endpoint: endpoints.size === 0 ? null : [...endpoints].join(', '), attempts, cache, degraded }
}

/** `{"jsonrpc":"2.0","id":…,"result":…}`, around the node's own bytes. `id` is JSON text. */
export function frame(id: string, member: 'result' | 'error', value: Buffer): Framed {
  const head = member === 'result' ? `{"jsonrpc":"2.0","id":${id},"result":` : `{"jsonrpc":"2.0","id":${id},"error":`
  return { head, value }
}

export function frameError(id: string, error: string): Framed {
  return frame(id, 'error', Buffer.from(error))
}

/** A JSON array of what is framed. */
export function frameBatch(parts: readonly Framed[]): Buffer {
  const pieces: Buffer[] = []
  for (const { head, value } of parts) {
    pieces.push(Buffer.from(pieces.length === 0 ? `[${head}` : `},${head}`), value)
  }
  pieces.push(END_OF_BATCH)
  return Buffer.concat(pieces)
}

const END_OF_BATCH = Buffer.from('}]')

function put({ head, value }: Framed): Buffer {
  return Buffer.concat([Buffer.from(head), value, END])
}

const END = Buffer.from('}')

const PLAIN_REQUEST_ID = /^[\w.:/+=@-]{1,64}$/

/** The caller's own, where it can stand in a header and a log; else one that `fresh` makes. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>, fresh: () => string): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && PLAIN_REQUEST_ID.test(given) ? given : fresh()
}
