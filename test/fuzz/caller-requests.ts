import { connect } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { readBody } from '../../src/gateway/request/envelope.ts'
import { readTarget } from '../../src/gateway/request/route.ts'
import type { UpstreamRequest } from '../../src/gateway/upstream-request.ts'
import { ADMIN_ID, call, echo, ID, open, post } from '../gateway/setting.ts'
import { below, pick, type Random, randomOf } from './hostile-responses.ts'

/**
 * Sends damaged requests to the gateway over real sockets, and damaged bodies and paths to its parsers. Nothing may throw or hang, reach a
 * node that is not allowed, or be read otherwise than by JSON.parse. For hours: `npx tsx test/fuzz/caller-requests.ts --minutes 60 [--seed N]`.
 */
export async function fuzzCallerRequests({ forMs, seed, maxCases = Number.POSITIVE_INFINITY }: FuzzOptions): Promise<{
  readonly problems: readonly string[]
  readonly cases: number
  readonly forwarded: number
}> {
  const problems: string[] = []
  let next = seed
  const note = (problem: string, at: number): void => void problems.push(`${problem} (seed ${at})`)
  const onThrow = (error: unknown): void =>
    note(`thrown: ${error instanceof Error ? error.stack : String(error)}`, next - 1)
  process.on('uncaughtException', onThrow).on('unhandledRejection', onThrow)
  let forwarded = 0
  const { port, url, gateway, close } = await open({
    answer(request) {
      forwarded++
      const fault = faultOf(request)
      if (fault !== null) note(`forwarded ${fault}`, next - 1)
      return echo(request)
    },
  })
  const endAt = performance.now() + forMs

  async function run(): Promise<void> {
    while (performance.now() < endAt && problems.length === 0 && next - seed < maxCases) {
      const at = next++
      const random = randomOf(at)
      const fault = bodyFault(damagedBody(random)) ?? targetFault(damagedTarget(random))
      if (fault !== null) note(fault, at)
      const answered = await exchange(port, damagedRequests(random))
      if (answered !== null) note(answered, at)
    }
  }

  await Promise.all(Array.from({ length: 8 }, run))
  const { status } = await post(`${url}/ethereum/${ID}`, call('eth_chainId'))
  if (status !== 200) note(`a good request is answered ${status}`, next - 1)
  if (gateway.inFlight() !== 0) note(`${gateway.inFlight()} requests stay in flight`, next - 1)
  await close()
  process.off('uncaughtException', onThrow).off('unhandledRejection', onThrow)
  return { problems, cases: next - seed, forwarded }
}

export interface FuzzOptions {
  readonly forMs: number
  readonly seed: number
  readonly maxCases?: number
}

const ALLOWED = new Set(['eth_chainId', 'eth_blockNumber', 'eth_getBlockByNumber', 'eth_getTransactionByHash'])

/** What the damaged requests must never make of themselves. */
function faultOf({ call: sent, to, operation, caller }: UpstreamRequest): string | null {
  if (operation.name === 'admin.alias' && caller !== 'operator') return 'admin.alias of a caller without admin'
  if (to.kind === 'path' && !/^(?:\/[A-Za-z0-9._~:-]+)*(?:\?[A-Za-z0-9=&]+)?$/.test(to.path)) return `path ${to.path}`
  if (sent === null || operation.name === 'admin.alias' || operation.name.startsWith('health.')) return null
  if (!ALLOWED.has(sent.method) && sent.method !== 'net_version') return `method ${sent.method}`
  if (sent.params !== null) JSON.parse(sent.params)
  return null
}

const CALLS = [
  '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
  '{"jsonrpc":"2.0","id":"a","method":"eth_getBlockByNumber","params":["0x10",false]}',
  '{"jsonrpc":"2.0","method":"eth_blockNumber","params":[]}',
  `{"jsonrpc":"2.0","id":null,"method":"eth_getTransactionByHash","params":["0x${'ab'.repeat(32)}"]}`,
  '{"jsonrpc":"2.0","id":1.5e3,"method":"eth_sendTransaction","params":[{"a":"\\u0062\\"","c":[[],{},-0]}]}',
  '{"jsonrpc":"2.0","id":7,"method":"admin.alias","params":{"endpoint":"bc/C","alias":"mine"}}',
]
const TARGETS = [
  `/ethereum/${ID}`,
  `/ethereum/${ID}/`,
  `/avalanche/${ID}/ext/bc/C/rpc`,
  `/avalanche/${ID}/ext/health`,
  `/avalanche/${ID}/ext/admin`,
  `/avalanche/${ADMIN_ID}/ext/admin`,
  `/avalanche/${ID}/ext/mine/rpc`,
  `/multiversx/${ID}/network/status/1`,
  `/multiversx/${ID}/block/0/by-nonce/7?withTxs=true`,
]
const TOKENS = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  'null',
  '\\u0000',
  '\\ud800',
  '1e999',
  '-',
  '0x',
  ' ',
  '\t',
  '\0',
  'é',
]
const PIECES = [
  '/',
  '//',
  '..',
  '.',
  '%2e',
  '%2f',
  '?',
  '#',
  '&',
  '=',
  ';',
  '@',
  '\\',
  ' ',
  '\0',
  'é',
  ID,
  'ext/admin',
  'http://x',
]
const FRAMING = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  ' ',
  ':',
  '\0',
  'content-length: 5\r\n',
  'content-length: 0\r\n',
  'transfer-encoding: chunked\r\n',
  'transfer-encoding: identity\r\n',
  'host: eth.example.org\r\n',
  'expect: 100-continue\r\n',
  'connection: close\r\n',
  'upgrade: h2c\r\n',
  '0\r\n\r\n',
  'ffffffff\r\n',
  'x-heartline-endpoint: b\r\n',
]

function damaged(random: Random, text: string, tokens: readonly string[]): string {
  let result = text
  for (let damages = below(random, 4); damages > 0; damages--) {
    const at = below(random, result.length + 1)
    const end = Math.min(result.length, at + below(random, 8))
    switch (below(random, 4)) {
      case 0:
        result = result.slice(0, at) + result.slice(end)
        break
      case 1:
        result = result.slice(0, at) + pick(random, tokens) + result.slice(at)
        break
      case 2:
        result = result.slice(0, end) + result.slice(at)
        break
      case 3:
        result = result.slice(0, at) + String.fromCharCode(below(random, 256)) + result.slice(at + 1)
        break
    }
  }
  return result
}

function damagedBody(random: Random): string {
  const one = () => damaged(random, pick(random, CALLS), TOKENS)
  return below(random, 3) > 0 ? one() : damaged(random, `[${one()},${one()}]`, TOKENS)
}

function damagedTarget(random: Random): string {
  return damaged(random, pick(random, TARGETS), PIECES)
}

/** One to three requests on one connection, with lengths that are mostly right. */
function damagedRequests(random: Random): Buffer {
  let text = ''
  for (let left = 1 + below(random, 3); left > 0; left--) {
    const target = below(random, 3) > 0 ? pick(random, TARGETS) : damagedTarget(random)
    const body = Buffer.from(below(random, 3) > 0 ? pick(random, CALLS) : damagedBody(random)).toString('latin1')
    const isGet = target.startsWith('/multiversx') && below(random, 4) > 0
    const head = `${isGet ? 'GET' : 'POST'} ${target} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`
    const chunks = `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const framed = below(random, 3) > 0 ? `content-length: ${body.length}\r\n\r\n${body}` : chunks
    const request = isGet ? `${head}\r\n` : head + framed
    text += below(random, 2) > 0 ? request : damaged(random, request, FRAMING)
  }
  return Buffer.from(text, 'latin1')
}

/** The gateway must read a body as JSON.parse does, or reject it. */
function bodyFault(text: string): string | null {
  const bytes = Buffer.from(text)
  const body = readBody(bytes, { batchLimit: 10 })
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    return body.kind === 'rejected' ? null : `${JSON.stringify(text)} is not JSON, and is read`
  }
  if (body.kind === 'rejected') return null
  const entries = body.kind === 'single' ? [body.entry] : body.entries
  const values: readonly unknown[] = body.kind === 'single' ? [value] : (value as unknown[])
  for (const [at, entry] of entries.entries()) {
    if (entry.kind !== 'call') continue
    const { id, method, params } = values[at] as Record<string, unknown>
    const isSame =
      entry.call.method === method &&
      isDeepStrictEqual(entry.call.params === null ? undefined : JSON.parse(entry.call.params), params) &&
      isDeepStrictEqual(JSON.parse(entry.call.id), id ?? null)
    if (!isSame) return `${JSON.stringify(text)} is read differently`
  }
  return null
}

const ADDRESSES = {
  names: new Set(['ethereum', 'avalanche', 'multiversx']),
  hosts: new Map([['eth.example.org', 'ethereum']]),
}

function targetFault(url: string): string | null {
  const target = readTarget(url, 'x', ADDRESSES)
  if (target.kind !== 'target') return null
  const { endpointId, rest, query } = target
  const isPlain = /^[A-Za-z0-9._~:-]+$/.test(endpointId) && /^(?:\/[A-Za-z0-9._~:-]+)*\/?$/.test(rest)
  const isWhole = url.endsWith(`/${endpointId}${rest}${query === null ? '' : `?${query}`}`)
  return isPlain && isWhole && !/(?:^|\/)\.\.?(?:\/|$)/.test(rest) ? null : `target ${JSON.stringify(url)} is read`
}

const HANGS_AFTER_MS = 15_000

/** Writes, ends, and reads to the end; a text if that is not HTTP, or never ends. */
function exchange(port: number, bytes: Buffer): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    let text = ''
    const timer = setTimeout(() => {
      socket.destroy()
      resolve('a connection hangs')
    }, HANGS_AFTER_MS)
    socket.on('data', (chunk) => {
      text += String(chunk)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text === '' || text.startsWith('HTTP/1.1 ') ? null : `no HTTP: ${JSON.stringify(text.slice(0, 100))}`)
    })
    socket.end(bytes)
  })
}

if (process.argv[1]?.endsWith('caller-requests.ts') === true) {
  const option = (name: string) => Number(process.argv[process.argv.indexOf(name) + 1])
  const minutes = process.argv.includes('--minutes') ? option('--minutes') : 1
  const seed = process.argv.includes('--seed') ? option('--seed') : Date.now() % 2 ** 31
  const report = await fuzzCallerRequests({ forMs: minutes * 60_000, seed })
  console.log(JSON.stringify({ seed, ...report }, null, 2))
  process.exitCode = report.problems.length === 0 ? 0 : 1
}
