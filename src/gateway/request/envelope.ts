import { isUtf8 } from 'node:buffer'
import { type GatewayError, gatewayError } from '../errors.ts'
import { MALFORMED, readString, scanObject, skipBlank, skipValue, TOO_DEEP, TWICE } from '../json-scan.ts'
import { openScan, type Scan } from '../json-text.ts'
import type { Call } from '../upstream-request.ts'

/**
 * Reads the envelopes of JSON-RPC 2.0 requests and keeps their params as text. The body must be UTF-8 without byte
 * order mark. Repeated members are rejected, because nodes differ in which one they use.
 */
export function readBody(body: Buffer, { batchLimit }: BodyLimits): Body {
  if (!isUtf8(body)) return NOT_UTF8
  const scan = openScan(body)
  const start = skipBlank(scan, 0)
  if (scan.bytes[start] === BRACKET) return readBatch(scan, start, batchLimit)
  const end = scanEntry(scan, start, MAX_DEPTH)
  if (end < 0 || skipBlank(scan, end) !== scan.length) return unparsable(end)
  return { kind: 'single', entry: entryAt(scan, start) }
}

export type Body =
  | { readonly kind: 'single'; readonly entry: Entry }
  /** In the caller's order; never empty. */
  | { readonly kind: 'batch'; readonly entries: readonly Entry[] }
  /** The whole body is rejected, under the id `null`. */
  | { readonly kind: 'rejected'; readonly rejection: GatewayError }

/** One element of a body. An invalid one is rejected under its id. */
export type Entry =
  | { readonly kind: 'call'; readonly call: Call }
  | { readonly kind: 'rejected'; readonly id: string; readonly rejection: GatewayError }

export interface BodyLimits {
  readonly batchLimit: number
}

/** Levels of objects and arrays, including those of the envelope. No valid request has more: a call with access lists has 6. */
export const MAX_DEPTH = 64

function readBatch(scan: Scan, start: number, batchLimit: number): Body {
  const { bytes } = scan
  const entries: Entry[] = []
  let here = skipBlank(scan, start + 1)
  if (bytes[here] === BRACKET_END) {
    return skipBlank(scan, here + 1) === scan.length ? EMPTY_BATCH : unparsable(MALFORMED)
  }
  for (;;) {
    if (entries.length === batchLimit) {
      return {
        kind: 'rejected',
        rejection: gatewayError('too-large', `a batch may hold at most ${batchLimit} requests`),
      }
    }
    const end = scanEntry(scan, here, MAX_DEPTH - 1)
    if (end < 0) return unparsable(end)
    entries.push(entryAt(scan, here))
    here = skipBlank(scan, end)
    if (bytes[here] === BRACKET_END) break
    if (bytes[here] !== COMMA) return unparsable(MALFORMED)
    here = skipBlank(scan, here + 1)
  }
  return skipBlank(scan, here + 1) === scan.length ? { kind: 'batch', entries } : unparsable(MALFORMED)
}

const COMMA = 44
const BRACKET = 91
const BRACKET_END = 93
const BRACE = 123
const QUOTE = 34

const NAMES = [Buffer.from('jsonrpc'), Buffer.from('id'), Buffer.from('method'), Buffer.from('params')]
/** Spans of the current entry's members, in the order of `NAMES`. */
const spans = new Int32Array(2 * NAMES.length + 1)
const [JSONRPC, ID, METHOD, PARAMS] = [0, 2, 4, 6] as const

function scanEntry(scan: Scan, at: number, maxDepth: number): number {
  return scan.bytes[at] === BRACE ? scanObject(scan, at, NAMES, spans, maxDepth) : skipValue(scan, at, maxDepth)
}

/** The entry that `scanEntry` has just scanned. */
function entryAt(scan: Scan, at: number): Entry {
  const { bytes } = scan
  if (bytes[at] !== BRACE) return { kind: 'rejected', id: 'null', rejection: NOT_AN_OBJECT }
  const idAt = spans[ID] as number
  if (idAt === TWICE) return { kind: 'rejected', id: 'null', rejection: REPEATED }
  if (idAt > 0 && !isIdStart(bytes[idAt] as number)) return { kind: 'rejected', id: 'null', rejection: BAD_ID }
  const id = idAt === 0 ? 'null' : bytes.toString('utf8', idAt, spans[ID + 1])
  const fault = faultOf(bytes)
  if (fault !== null) return { kind: 'rejected', id, rejection: fault }
  const method = readString(bytes, spans[METHOD] as number, spans[METHOD + 1] as number)
  const params = spans[PARAMS] === 0 ? null : bytes.toString('utf8', spans[PARAMS], spans[PARAMS + 1])
  return { kind: 'call', call: { id, isNotification: idAt === 0, method, params } }
}

/** The first byte of a string, a number or null. */
function isIdStart(byte: number): boolean {
  return byte === QUOTE || byte === 45 || byte === 110 || (byte >= 48 && byte <= 57)
}

function faultOf(bytes: Buffer): GatewayError | null {
  const jsonrpc = spans[JSONRPC] as number
  const method = spans[METHOD] as number
  const params = spans[PARAMS] as number
  if (jsonrpc === TWICE || method === TWICE || params === TWICE) return REPEATED
  if (jsonrpc === 0 || bytes[jsonrpc] !== QUOTE) return BAD_VERSION
  if (readString(bytes, jsonrpc, spans[JSONRPC + 1] as number) !== '2.0') return BAD_VERSION
  if (method === 0 || bytes[method] !== QUOTE) return BAD_METHOD
  if (params > 0 && bytes[params] !== BRACKET && bytes[params] !== BRACE) return BAD_PARAMS
  return null
}

const NOT_AN_OBJECT = gatewayError('no-request', 'a request must be an object')
const REPEATED = gatewayError('no-request', 'jsonrpc, id, method and params must not be repeated')
const BAD_ID = gatewayError('no-request', 'id must be a string, a number or null')
const BAD_VERSION = gatewayError('no-request', 'jsonrpc must be "2.0"')
const BAD_METHOD = gatewayError('no-request', 'method must be a string')
const BAD_PARAMS = gatewayError('no-request', 'params must be an array or an object')

const NOT_UTF8: Body = { kind: 'rejected', rejection: gatewayError('unparsable', 'the body must be UTF-8') }
const NOT_JSON: Body = { kind: 'rejected', rejection: gatewayError('unparsable', 'the body must be JSON') }
const NESTED_TOO_DEEP: Body = {
  kind: 'rejected',
  rejection: gatewayError('unparsable', 'the body is nested too deeply'),
}
const EMPTY_BATCH: Body = {
  kind: 'rejected',
  rejection: gatewayError('no-request', 'a batch must hold at least one request'),
}

function unparsable(end: number): Body {
  return end === TOO_DEEP ? NESTED_TOO_DEEP : NOT_JSON
}
