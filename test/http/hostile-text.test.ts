import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HttpServer } from '../../src/http/server.ts'
import { Secret } from '../../src/secret.ts'
import { checkout } from '../support/project.ts'
import { setUp } from './setting.ts'

/** Text that makes regular expressions backtrack: runs of one character after something that begins like a valid value. */
const RUNS = [
  ' ',
  '\t',
  ';',
  ',',
  '=',
  '"',
  '/',
  '-',
  '.',
  ':',
  '0',
  '1',
  'a',
  'q',
  '[',
  '+',
  '%20',
  '*,',
  ';q=',
  ' ;',
  'W/',
]
const SMALL = 4096
const LARGE = 16_384
/** Linear code takes four times as long for four times the text, quadratic code sixteen times. */
const MOST_GROWTH = 8
/** Below this, a request costs more than the text in it. */
const SMALLEST_MS = 1
const MOST_ROUNDS = 20

/** For anyone, and with a token. Nothing that they are sent is kept. */
const SERVERS = [setUp().server, setUp({ options: { token: new Secret('a-token-of-the-operator') } }).server]

const ASSET = '/assets/app.js'

const HEADERS: Record<string, readonly string[]> = {
  accept: ['', 'application/openmetrics-text;', 'text/html;q', 'text/plain'],
  'accept-encoding': ['', 'gzip', 'gzip;q=0'],
  'if-none-match': ['', 'W/"a'],
  'last-event-id': ['', 'AAAAAAAA-1'],
  authorization: ['', 'Bearer a', 'Bearer '],
  host: ['', '127.0.0.1', '[::1'],
  'x-forwarded-for': ['', '10.0.0.1,'],
  forwarded: ['', 'for='],
  'x-real-ip': [''],
  'sec-fetch-site': [''],
  'x-prometheus-scrape-timeout-seconds': ['', '1'],
  upgrade: ['', 'websocket, '],
}
const URLS = [
  '/',
  '/metrics',
  '/api/v1/strips',
  '/probe?target=avalanche/own-1',
  '/nothing',
  '/badge/avalanche/own-1.svg',
]

test.each(Object.entries(HEADERS))('%s is read in linear time', async (header, beginnings) => {
  await expectLinear(
    beginnings.flatMap((beginning) => RUNS.map((run) => ({ beginning, run }))),
    (text, index) => ({ url: URLS[index % URLS.length] ?? '/', headers: { [header]: text.replaceAll('%20', ' ') } }),
  )
})

/** Headers that only @fastify/static reads. */
const ASSET_HEADERS: Record<string, readonly string[]> = {
  'accept-encoding': ['gzip'],
  range: ['', 'bytes=', 'bytes=0-1,'],
  'if-range': ['', 'W/"a'],
  'if-match': ['', '"a",'],
  'if-none-match': ['', 'W/"a",'],
  'if-modified-since': ['', 'Sun, 22 Nov 2026'],
  'if-unmodified-since': ['', 'Sun, 22 Nov 2026'],
  'cache-control': ['', 'no-cache,'],
}

test.each(Object.entries(ASSET_HEADERS))('%s of an asset is read in linear time', async (header, beginnings) => {
  for (const server of SERVERS) expect((await server.inject({ url: ASSET })).statusCode).toBe(200)

  await expectLinear(
    beginnings.flatMap((beginning) => RUNS.map((run) => ({ beginning, run }))),
    (text) => ({ url: ASSET, headers: { [header]: text.replaceAll('%20', ' ') } }),
  )
})

test('the content type of a body is read in linear time', async () => {
  await expectLinear(
    ['', 'application/json;'].flatMap((beginning) => RUNS.map((run) => ({ beginning, run }))),
    (text) => ({ url: '/api/v1/status', method: 'POST', payload: '{}', headers: { 'content-type': text } }),
  )
})

test.each([
  ['origin', ['', 'http://', 'http://[']],
  ['x-forwarded-for', ['', '127.0.0.1,']],
  ['forwarded', ['', 'for=', 'for="[::1', 'for=127.0.0.1;']],
  ['x-real-ip', ['']],
])('%s of a request that changes something is read in linear time', async (header, beginnings) => {
  await expectLinear(
    beginnings.flatMap((beginning) => [...RUNS, ';for=', ';'].map((run) => ({ beginning, run }))),
    (text) => ({ url: '/api/v1/silences', method: 'POST', payload: '{}', headers: { [header]: text } }),
  )
})

test('what a person writes is read in linear time', async () => {
  const runs = [...RUNS, '\n', '\n ', '\r', '\u200b', '\ud800', 'a\n']
  await expectLinear(
    runs.map((run) => ({ beginning: '', run })),
    (text, index) => {
      // Half of it, because a larger body is rejected unread.
      const half = text.slice(text.length / 2)
      return index % 2 === 0
        ? { url: '/api/v1/silences', method: 'POST', payload: { network: 'avalanche', reason: half } }
        : { url: '/api/v1/incidents/none/notes', method: 'POST', payload: { text: half } }
    },
  )
})

test('every header that the page reads is among them', () => {
  const folder = join(checkout, 'src/http')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const read = files.flatMap((file) =>
    [
      ...readFileSync(join(folder, file), 'utf8').matchAll(
        /\bheaders(?:\['([\w-]+)'\]|\.([a-z]+)\b)|\{ (\w+) \} = request\.headers/g,
      ),
    ].map(([, quoted, plain, taken]) => quoted ?? plain ?? taken),
  )

  expect(Object.keys(HEADERS)).toEqual(expect.arrayContaining([...new Set(read)]))
  expect(new Set(read).size).toBeGreaterThan(5)
})

const ENDPOINT = '/api/v1/endpoints/avalanche/own-1'
const QUERIES = [
  '/api/v1/status?fail_on=',
  '/api/v1/status?',
  `${ENDPOINT}/history?from=2026-01-01T00:00:00`,
  `${ENDPOINT}/history?from=1`,
  `${ENDPOINT}/history?to=1`,
  `${ENDPOINT}/history?step=1`,
  `${ENDPOINT}/polls?from=1`,
  `${ENDPOINT}/polls?to=2026-01-01 00:00:00.`,
  '/api/v1/strips?hours=1',
  '/api/v1/incidents?network=a',
  '/api/v1/incidents?limit=1',
  '/api/v1/incidents?cursor=MSBh',
  '/api/v1/incidents?endpoint=a',
  '/api/v1/incidents?open=t',
  '/api/v1/incidents?from=1',
  '/api/v1/incidents?to=1',
  '/api/v1/incidents?condition=s',
  '/api/v1/incidents?part_of=a',
  '/api/v1/incidents/none.txt?zone=Europe/',
  '/badge/avalanche/own-1.svg?type=s',
  '/badge/avalanche/own-1.svg?v=1',
  '/badge/avalanche.svg?v=1',
  '/badge.svg?v=1',
  '/probe?target=avalanche/',
  '/probe?debug=t',
  '/probe?target=a&debug=t',
  '/incidents?network=a',
]

test.each(QUERIES)('the query of %s is read in linear time', async (beginning) => {
  await expectLinear(
    RUNS.map((run) => ({ beginning, run: encodeURI(run) })),
    (url) => ({ url }),
  )
})

const PATHS = [
  '/',
  '//',
  '/api/v1/',
  '/api/v1/networks/',
  '/api/v1/endpoints/',
  '/api/v1/endpoints/a/',
  '/api/v1/incidents/',
  '/api/v1/runbooks/',
  '/api/v1/silences/',
  '/badge/',
  '/badge/a/',
  '/assets/',
  '/embed/',
  '/incidents/',
  '/networks/',
  '/endpoints/',
  '/endpoints/a/',
  '/runbooks/',
]

test.each(PATHS)('paths below %s are read in linear time', async (beginning) => {
  const changing = beginning === '/api/v1/silences/' ? 'DELETE' : 'POST'
  await expectLinear(
    RUNS.map((run) => ({ beginning, run: encodeURI(run) })),
    (url, index) => ({ url, method: index % 2 === 0 ? 'GET' : changing, headers: { accept: 'text/html' } }),
  )
})

test('every query and path of /openapi.json is among them', async () => {
  const { paths }: { paths: Record<string, Record<string, { parameters?: { in: string; name: string }[] }>> } = (
    await setUp().server.inject('/openapi.json')
  ).json()
  const NAMES: Record<string, string> = { network: 'avalanche', endpoint: 'own-1', id: 'none' }
  const queries = Object.entries(paths).flatMap(([path, operations]) =>
    Object.values(operations)
      .flatMap(({ parameters = [] }) => parameters)
      .filter((parameter) => parameter.in === 'query')
      .map(({ name }) => `${path.replace(/\{(\w+)\}/g, (_, of: string) => NAMES[of] ?? of)}?${name}=`),
  )
  // What is before each parameter.
  const beginnings = Object.keys(paths).flatMap((path) =>
    [...path.matchAll(/\{/g)].map(({ index }) => path.slice(0, index).replace(/\{\w+\}/g, 'a')),
  )

  expect(queries.length).toBeGreaterThan(20)
  expect(queries.filter((query) => !QUERIES.some((known) => known.startsWith(query)))).toEqual([])
  expect(beginnings.filter((beginning) => !PATHS.includes(beginning))).toEqual([])
})

type Request = {
  url: string
  method?: 'GET' | 'POST' | 'DELETE'
  payload?: string | object
  headers?: Record<string, string>
}

async function expectLinear(
  texts: readonly { readonly beginning: string; readonly run: string }[],
  requestWith: (text: string, index: number) => Request,
): Promise<void> {
  const timeOf = async (server: HttpServer, request: Request) => {
    const before = process.cpuUsage()
    await server.inject(request)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
  for (const [index, { beginning, run }] of texts.entries()) {
    for (const server of SERVERS) {
      const requestOf = (length: number) =>
        requestWith(`${beginning}${run.repeat(Math.ceil(length / run.length))}x`, index)
      let [small, large] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
      // CPU time, the least of several rounds: garbage collection and other processes only ever add to it.
      for (let round = 0; round < MOST_ROUNDS; round++) {
        large = Math.min(large, await timeOf(server, requestOf(LARGE)))
        // Then the small one does not matter.
        if (large < MOST_GROWTH * SMALLEST_MS) break
        small = Math.min(small, await timeOf(server, requestOf(SMALL)))
        if (round > 2 && large < MOST_GROWTH * Math.max(small, SMALLEST_MS)) break
      }
      expect(large, JSON.stringify({ beginning, run })).toBeLessThan(MOST_GROWTH * Math.max(small, SMALLEST_MS))
    }
  }
}
