import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { heightSeen, pinnedEndpoint } from '../../src/gateway/gateway.ts'
import { admit } from '../../src/gateway/request/admission.ts'
import { isOwnPath } from '../../src/gateway/request/aliases.ts'
import { isAllowed } from '../../src/gateway/request/allowed-methods.ts'
import { createCallers } from '../../src/gateway/request/callers.ts'
import { classify, classifyCall } from '../../src/gateway/request/classify.ts'
import { readBody } from '../../src/gateway/request/envelope.ts'
import { readRest } from '../../src/gateway/request/multiversx-routes.ts'
import { readAlias, readBlockByNumber } from '../../src/gateway/request/params.ts'
import { declaredLength, hasBody } from '../../src/gateway/request/request-body.ts'
import { requestIdOf } from '../../src/gateway/request/respond.ts'
import { readRoute, readTarget, routeTargetOf } from '../../src/gateway/request/route.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { checkout } from '../support/project.ts'
import { caller, ID } from './setting.ts'

const callers = createCallers({ clock: createFakeClock() })
callers.configure([caller('wallet', ID, { cors: ['https://example.org'] })])
const ADDRESSES = { names: new Set(['ethereum']), hosts: new Map([['eth.example.org', 'ethereum']]) }
const NETWORK = { name: 'ethereum', family: 'ethereum', shards: [], endpoints: new Set<string>() } as const
const RULES = { callers, networks: new Map([['ethereum', NETWORK]]), addresses: ADDRESSES }

function withHeaders(headers: Record<string, string>, method = 'POST'): IncomingMessage {
  const rawHeaders = Object.entries({ host: 'x', ...headers }).flat()
  return { method, url: `/ethereum/${ID}`, httpVersion: '1.1', headers, rawHeaders } as IncomingMessage
}
const admitted = (headers: Record<string, string>, method?: string) => admit(withHeaders(headers, method), RULES)

/** Until the name of the endpoint is compared with those of the network. */
function healthOf(endpoint: string | null) {
  const route = readRoute('avalanche', '/ext/health', null)
  if (route.kind !== 'rpc') throw new Error('no route')
  const target = routeTargetOf(route, 'ethereum', endpoint, { resolve: () => ({ kind: 'no-request', message: '' }) })
  if (target.kind !== 'rpc') throw new Error('no target')
  const call = { id: '1', isNotification: false, method: 'health.health', params: null }
  return classifyCall(call, callers.find(ID)!, NETWORK, target, false)
}

const classified = (method: string, params: string | null) =>
  classify({
    family: 'avalanche',
    surface: 'chain',
    call: { id: '1', isNotification: false, method, params },
    extraMethods: ['*', 'debug_*', `${method.slice(0, 3)}*`],
    adminAllowed: true,
  })

/** Everything that reads the value of a caller's header. */
const HEADERS: Readonly<Record<string, (text: string) => unknown>> = {
  host: (text) => readTarget(`/${ID}`, text, ADDRESSES),
  origin: (text) => admitted({ origin: text }),
  'access-control-request-method': (text) =>
    admitted({ origin: 'https://example.org', 'access-control-request-method': text }, 'OPTIONS'),
  'content-type': (text) => admitted({ 'content-type': text }),
  'content-encoding': (text) => admitted({ 'content-type': 'application/json', 'content-encoding': text }),
  'content-length': (text) => [declaredLength, hasBody].map((read) => read(withHeaders({ 'content-length': text }))),
  'transfer-encoding': (text) => admitted({ 'transfer-encoding': text }),
  'x-request-id': (text) => requestIdOf({ headers: { 'x-request-id': text } }, () => ''),
  'x-heartline-endpoint': (text) => healthOf(pinnedEndpoint(withHeaders({ 'x-heartline-endpoint': text }))),
  'x-heartline-height': (text) => heightSeen(withHeaders({ 'x-heartline-height': text })),
}

/** Everything that reads a part of a caller's request. */
const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  ...Object.fromEntries(Object.entries(HEADERS).map(([name, read]) => [`the header ${name}`, read])),
  'the path': (text) => readTarget(`/ethereum/${ID}/${text}`, 'x', ADDRESSES),
  'the query': (text) => readTarget(`/ethereum/${ID}?${text}`, 'x', ADDRESSES),
  'the endpoint_id': (text) => callers.find(text),
  'a REST path': (text) =>
    readRest({ rest: `/block/${text}`, query: null, shards: [0], extraMethods: ['GET /block/*'] }),
  'a REST query': (text) =>
    readRest({ rest: '/block/0/by-nonce/7', query: text, shards: [0], extraMethods: ['GET /block/*'] }),
  'an alias path': (text) => isOwnPath(text),
  'a method': (text) => classified(`debug_${text}`, null),
  'an allowed method': (text) => isAllowed(`debug_trace${text}`, ['debug_*']),
  'the params of a block': (text) => readBlockByNumber(JSON.stringify([text, true])),
  'the params of an alias': (text) => readAlias(JSON.stringify({ endpoint: text, alias: text })),
  'the params of a filter': (text) => classified('eth_getLogs', JSON.stringify([{ toBlock: text }])),
  'a body': (text) => readBody(Buffer.from(text), { batchLimit: 100 }),
  'a string in a body': (text) =>
    readBody(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: text })), { batchLimit: 100 }),
}

/** What made parsers backtrack: runs of one character, and of two in turn, with an end that does not fit. */
const RUNS = [
  ' ',
  '\t',
  '/',
  './',
  '../',
  'a',
  'a/',
  'a=',
  '&',
  'a=true&',
  ';',
  ',',
  '0',
  ':',
  '"',
  '\\',
  '\\"',
  '{"a":',
  '[',
  '[[],',
  'File',
  'admin/',
  '\n',
]

/** CPU time of many calls, the least of several rounds: other processes only ever add to it. */
function costOf(parse: (text: string) => unknown, text: string, calls: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    const before = process.cpuUsage()
    for (let at = 0; at < calls; at++) parse(text)
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / calls)
  }
  return least
}

test.each(Object.keys(PARSERS))('%s is read in linear time, whatever is in it', (name) => {
  const parse = PARSERS[name]!
  for (const run of RUNS) {
    const text = (length: number) => `${run.repeat(length / run.length)}x`
    for (let at = 0; at < 200; at++) parse(text(1024))

    const short = costOf(parse, text(1024), 20)
    const long = costOf(parse, text(16_384), 5)

    // Sixteen times as long: linear work is 16 times as much, quadratic work 256 times.
    expect([run, long / Math.max(short, 20) < 80]).toEqual([run, true])
  }
})

test('every header that the gateway reads is among them', () => {
  const folder = join(checkout, 'src/gateway')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const read = files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/\bheaders(?:\['([\w-]+)'\]|\.([a-z]+)\b)/g)].map(
      ([, quoted, plain]) => quoted ?? plain,
    ),
  )
  // Members of `ResponseHeaders`, and a header that is not read, only noticed.
  const others = new Set(['closes', 'allow', 'upgrade'])

  const found = new Set(read.map(String))
  expect(new Set([...found].filter((name) => !others.has(name)))).toEqual(new Set(Object.keys(HEADERS)))
})
