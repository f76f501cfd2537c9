import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { admit } from '../../src/gateway/request/admission.ts'
import { isOwnPath } from '../../src/gateway/request/aliases.ts'
import { isAllowed } from '../../src/gateway/request/allowed-methods.ts'
import { createCallers } from '../../src/gateway/request/callers.ts'
import { classify } from '../../src/gateway/request/classify.ts'
import { readBody } from '../../src/gateway/request/envelope.ts'
import { readAlias, readBlockByNumber } from '../../src/gateway/request/params.ts'
import { readTarget } from '../../src/gateway/request/request-target.ts'
import { requestIdOf } from '../../src/gateway/request/respond.ts'
import { readRest } from '../../src/gateway/request/rest-target.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { caller, ID } from './setting.ts'

const callers = createCallers({ clock: createFakeClock() })
callers.configure([caller('wallet', ID, { cors: ['https://example.org'] })])
const ADDRESSES = { names: new Set(['ethereum']), hosts: new Map([['eth.example.org', 'ethereum']]) }
const NETWORK = { name: 'ethereum', family: 'ethereum', shards: [], endpoints: new Set<string>() } as const
const RULES = { callers, networks: new Map([['ethereum', NETWORK]]), addresses: ADDRESSES }

function admitted(url: string, headers: Record<string, string>): void {
  const rawHeaders = Object.entries({ host: 'x', ...headers }).flat()
  admit({ method: 'POST', url, httpVersion: '1.1', headers, rawHeaders } as IncomingMessage, RULES)
}

const classified = (method: string, params: string | null) =>
  classify({
    family: 'avalanche',
    surface: 'chain',
    call: { id: '1', isNotification: false, method, params },
    extraMethods: ['*', 'debug_*', `${method.slice(0, 3)}*`],
    adminAllowed: true,
  })

/** Everything that reads a part of a caller's request. */
const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  'the path': (text) => readTarget(`/ethereum/${ID}/${text}`, 'x', ADDRESSES),
  'the query': (text) => readTarget(`/ethereum/${ID}?${text}`, 'x', ADDRESSES),
  'the Host': (text) => readTarget(`/${ID}`, text, ADDRESSES),
  'the endpoint_id': (text) => callers.find(text),
  'the content type': (text) => admitted(`/ethereum/${ID}`, { 'content-type': text }),
  'the content encoding': (text) =>
    admitted(`/ethereum/${ID}`, { 'content-type': 'application/json', 'content-encoding': text }),
  'the transfer encoding': (text) => admitted(`/ethereum/${ID}`, { 'transfer-encoding': text }),
  'the Origin': (text) => admitted(`/ethereum/${ID}`, { origin: text }),
  'the request id': (text) => requestIdOf({ headers: { 'x-request-id': text } }, () => ''),
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
