import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { isObject, parseJson } from '../core/json.ts'
import { type Answer, text } from './answer.ts'
import { digest } from './chain.ts'
import type { BadHeight } from './fault.ts'
import type { FaultSet } from './fault-set.ts'
import { envelope } from './multiversx.ts'

/** An answer after the faults that change its content. */
export interface HostileAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

const HTML = `<!DOCTYPE html>
<html><head><title>502 Bad Gateway</title></head>
<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx/1.24.0</center></body></html>
`
const MEBIBYTE = 2 ** 20
const JSON_TYPE = { 'content-type': 'application/json' }

/** The first fault in this order takes precedence; faults that keep the body readable are combined. */
export function hostileAnswer(answer: Answer, faults: FaultSet, multiversx: boolean): HostileAnswer {
  const http = faults.get('http')
  if (http) return plain(text(http.fault.status, `HTTP ${http.fault.status}`))
  const rateLimit = faults.get('rate-limit')
  if (rateLimit) return plain(rateLimited(answer, rateLimit.fault.retryAfterMs, multiversx))
  if (faults.has('redirect')) return plain({ ...text(302, 'Found'), headers: { location: '/elsewhere' } })
  if (faults.has('empty')) return { status: 200, headers: JSON_TYPE, body: Buffer.alloc(0) }
  if (faults.has('html')) return plain({ status: 200, headers: { 'content-type': 'text/html' }, body: HTML })
  if (faults.has('garbage')) return { status: 200, headers: JSON_TYPE, body: garbage(answer.body) }
  const bomb = faults.get('gzip-bomb')
  if (bomb) {
    return { status: 200, headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: gzipBomb(bomb.fault.bytes) }
  }
  const deep = faults.get('deep')
  if (deep) {
    const nested = '['.repeat(deep.fault.levels) + ']'.repeat(deep.fault.levels)
    return plain({ ...answer, body: `{"jsonrpc":"2.0","id":${idText(answer.body)},"result":${nested}}` })
  }
  return plain(altered(answer, faults, multiversx))
}

function altered(answer: Answer, faults: FaultSet, multiversx: boolean): Answer {
  let { body, status } = answer
  if (faults.has('error-200')) return errorIn200(answer, multiversx)
  const badHeight = faults.get('bad-height')
  if (badHeight) body = withHeight(body, badHeight.fault.value)
  if (faults.has('wrong-id')) body = body.replace(`"id":${idText(body)}`, '"id":"another request"')
  if (faults.has('proto')) {
    const members = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},'
    body = body.replaceAll('{"', `{${members}"`)
  }
  if (faults.has('valid-503')) status = 503
  return { ...answer, status, body }
}

function plain({ status, headers, body }: Answer): HostileAnswer {
  return { status, headers, body: Buffer.from(body) }
}

function rateLimited(answer: Answer, retryAfterMs: number | null, multiversx: boolean): Answer {
  const refusal = multiversx
    ? envelope(null, 429, 'system_busy', 'system busy')
    : jsonRpcError(answer, 429, -32005, 'too many requests')
  const retryAfter = retryAfterMs === null ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }
  return { ...refusal, headers: { ...refusal.headers, ...retryAfter } }
}

function errorIn200(answer: Answer, multiversx: boolean): Answer {
  if (multiversx) return envelope(null, 200, 'internal_issue', 'sending request error, getting block failed')
  return jsonRpcError(answer, 200, -32000, 'header not found')
}

function jsonRpcError(answer: Answer, status: number, code: number, message: string): Answer {
  const error = JSON.stringify({ code, message })
  return {
    status,
    headers: { ...answer.headers, ...JSON_TYPE },
    body: `{"jsonrpc":"2.0","id":${idText(answer.body)},"error":${error}}`,
  }
}

function idText(body: string): string {
  const parsed = parseJson(body)
  return isObject(parsed) ? JSON.stringify(parsed.id ?? null) : 'null'
}

const BAD_QUANTITIES: Record<BadHeight, string> = {
  negative: '"-0x5"',
  decimal: '"12345678"',
  unsafe: '"0x20000000000001"',
  latest: '"latest"',
}
const BAD_NONCES: Record<BadHeight, string> = {
  negative: '-5',
  decimal: '12345.5',
  unsafe: '9007199254740993',
  latest: '"latest"',
}

function withHeight(body: string, value: BadHeight): string {
  return body
    .replace(/"number":"0x[0-9a-f]+"/, `"number":${BAD_QUANTITIES[value]}`)
    .replace(/"result":"0x[0-9a-f]+"/, `"result":${BAD_QUANTITIES[value]}`)
    .replace(/"(nonce|erd_nonce)":\d+/, `"$1":${BAD_NONCES[value]}`)
}

/** Bytes that are neither UTF-8 nor JSON; the same bytes for the same answer. */
function garbage(seed: string): Buffer {
  return Buffer.concat(Array.from({ length: 32 }, (_, index) => Buffer.from(digest(seed, index), 'hex')))
}

/** Repeats one gzip member (1 MiB of spaces, about 1 KB compressed), because a gzip file may have several members. */
function gzipBomb(bytes: number): Buffer {
  const member = gzipSync(Buffer.alloc(MEBIBYTE, ' '))
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / MEBIBYTE) }, () => member))
}

/** A long JSON string that starts correctly. */
export function hugeBody(bytes: number): Readable {
  const chunk = Buffer.alloc(64 * 1024, 'a')
  function* chunks() {
    yield Buffer.from('{"jsonrpc":"2.0","id":1,"result":"')
    for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk
    yield Buffer.from('"}')
  }
  return Readable.from(chunks(), { objectMode: false })
}
