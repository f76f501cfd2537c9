import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type NodeOptions, type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type RunningDaemon, removeFolder, startDaemon, until } from '../support/daemon.ts'

/** The table of errors that callers are promised, row by row, through the whole daemon with networks of all three families. */

const WALLET = 'wallet-0123456789abcdef'
const OPERATOR = 'operator-0123456789abcdef'
const STRANGER = 'stranger-0123456789abcdef'
const LIMITED = 'limited-0123456789abcdef'
const BODY_LIMIT = 2048
const BATCH_LIMIT = 5

const cleanups: (() => unknown)[] = []
let daemon: RunningDaemon
let gateway = ''
/** What nodes of the networks that are well were asked by callers, by method or path. */
const asked: string[] = []

async function startNode(name: string, kind: NodeOptions['kind']): Promise<SimulatedNode> {
  const shards = kind.family === 'multiversx' ? [0, 1, 2, 4294967295] : [null]
  const chain = createChain({ clock: systemClock, seed: name, blockTimeMs: 500, shards })
  const node = await startSimulatedNode({
    clock: systemClock,
    chain,
    kind,
    name,
    onRequest: ({ path, body }) => void asked.push(`${path} ${body}`),
  })
  cleanups.push(() => node.stop())
  return node
}

/** A node's own front, behind which the admin API takes a call and never says what came of it. */
async function startMuteAdmin(url: string): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/ext/admin') return
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: Buffer.concat(chunks) }
      fetch(`${url}${request.url}`, init)
        .then(async (answer) => response.writeHead(answer.status).end(await answer.text()))
        .catch(() => response.destroy())
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  cleanups.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeAll(async () => {
  const avax = { family: 'avalanche', adminEnabled: true } as const
  const [eth, avalanche, egld, hungEth, hungAvax, hungEgld, observer] = await Promise.all([
    startNode('eth', { family: 'ethereum' }),
    startNode('avax', avax),
    startNode('egld', { family: 'multiversx', kind: 'proxy' }),
    startNode('hung-eth', { family: 'ethereum' }),
    startNode('hung-avax', avax),
    startNode('hung-egld', { family: 'multiversx', kind: 'proxy' }),
    startNode('observer', { family: 'multiversx', kind: 'observer', shard: 0 }),
  ])
  const mute = await startMuteAdmin(avalanche.url)
  const network = (name: string, family: string, url: string, over: object = {}, one: object = {}) => ({
    name,
    family,
    block_time: '500ms',
    ...over,
    endpoints: [{ name: 'n', url, ...one }],
  })
  const closed = 'http://127.0.0.1:1'
  daemon = await startDaemon({
    poll: { interval: '500ms', timeout: '400ms' },
    networks: [
      network('ethereum', 'ethereum', eth.url),
      {
        ...network('avalanche', 'avalanche', avalanche.url),
        endpoints: [
          { name: 'n', url: avalanche.url },
          { name: 'mute', url: mute },
        ],
      },
      network('multiversx', 'multiversx', egld.url),
      network('eth-gone', 'ethereum', closed),
      network('avax-gone', 'avalanche', closed),
      network('egld-gone', 'multiversx', closed),
      network('eth-unseen', 'ethereum', closed, { chain_id: 1 }),
      network('avax-unseen', 'avalanche', closed, { chain_id: 43_114 }),
      network('egld-part', 'multiversx', observer.url, { shards: [0, 1] }, { kind: 'observer', shard: 0 }),
      network('eth-hung', 'ethereum', hungEth.url),
      network('avax-hung', 'avalanche', hungAvax.url),
      network('egld-hung', 'multiversx', hungEgld.url),
    ],
    gateway: {
      enabled: true,
      admin: true,
      listen: '127.0.0.1:0',
      timeout: '1500ms',
      body_limit: `${BODY_LIMIT / 1024}KiB`,
      batch_limit: BATCH_LIMIT,
      callers: [
        { name: 'wallet', endpoint_id: WALLET },
        { name: 'operator', endpoint_id: OPERATOR, admin: true },
        { name: 'stranger', endpoint_id: STRANGER, networks: ['eth-gone'], admin: true },
        { name: 'limited', endpoint_id: LIMITED, rate_limit: { requests: 1, per: '1h' } },
      ],
    },
  })
  cleanups.push(
    () => removeFolder(daemon.folder),
    () => daemon.stop('SIGKILL'),
  )
  gateway = /"url":"(http[^"]+)\/"[^\n]*"msg":"gateway listening"/.exec(daemon.log())?.[1] ?? ''
  for (const node of [hungEth, hungAvax, hungEgld]) node.inject({ kind: 'hang' })
  await until(
    async () =>
      (await daemon.status()).networks.every(({ name, state }) => !/gone|hung|unseen/.test(name) || state === 'down'),
    'what is to be down is down',
    60_000,
  )
}, 120_000)

afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Sent {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

async function send(path: string, { method = 'POST', body, headers = {} }: Sent) {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await fetch(`${gateway}${path}`, {
    method,
    headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(text !== undefined && { body: text }),
  })
  const said = await answer.text()
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('x-request-id')).toMatch(/./)
  return { status: answer.status, headers: answer.headers, json: JSON.parse(said), said }
}

const call = (method: string, params: unknown = [], id: unknown = 'mine') => ({ jsonrpc: '2.0', id, method, params })
/** By what is behind the `endpoint_id`: a call that is good there, and one with bad params. */
const PLACES = [
  ['ethereum', '', call('eth_chainId'), call('eth_getBlockByNumber', ['latest'])],
  ['avalanche', '', call('eth_chainId'), call('eth_getTransactionByHash', ['0x12'])],
  ['avalanche', '/ext/bc/C/rpc', call('eth_blockNumber'), call('eth_getBlockByNumber', ['0x01', false])],
  ['avalanche', '/ext/health', call('health.health', {}), call('health.health', { tags: 'x' })],
  ['avalanche', '/ext/admin', null, call('admin.alias', { endpoint: 'bc/C', alias: '../x' })],
] as const

interface Row {
  readonly what: string
  readonly code: number
  readonly status: number
  readonly id: unknown
  readonly path: string
  readonly sent: Sent
  readonly header?: readonly [name: string, value: RegExp]
  readonly message?: RegExp
}

const rows: readonly Row[] = PLACES.flatMap(([network, rest, good, bad]): Row[] => {
  const at = `/${network}/${rest === '/ext/admin' ? OPERATOR : WALLET}${rest}`
  const usable = good ?? bad
  const row = (what: string, code: number, status: number, id: unknown, sent: Sent, more: Partial<Row> = {}): Row => ({
    what: `${what}, at /${network}${rest}`,
    code,
    status,
    id,
    path: at,
    sent,
    ...more,
  })
  const instead = (id: string) => `/${network}/${id}${rest}`
  return [
    row('an unparsable body', -32_700, 400, null, { body: '{"jsonrpc"' }),
    row('no body', -32_700, 400, null, { body: '' }),
    row('no request', -32_600, 400, null, { body: '"x"' }),
    row('an empty batch', -32_600, 400, null, { body: [] }),
    row('a wrong version', -32_600, 400, 'mine', { body: { ...usable, jsonrpc: '1.0' } }),
    row('no version', -32_600, 400, 'mine', { body: { id: 'mine', method: usable.method } }),
    row('an id of a bad type', -32_600, 400, null, { body: { ...usable, id: {} } }),
    row('an unknown method', -32_601, 200, 'mine', { body: call('no_such') }),
    row('a method of another place', -32_601, 200, 'mine', {
      body: rest.startsWith('/ext/') && rest !== '/ext/bc/C/rpc' ? call('eth_chainId') : call('health.health'),
    }),
    row('bad params', -32_602, 200, 'mine', { body: bad }),
    row('a wrong content type', -32_600, 415, 'mine', { body: usable, headers: { 'content-type': 'text/plain' } }),
    row('a wrong HTTP method', -32_600, 405, 'mine', { method: 'PUT', body: usable }, { header: ['allow', /^POST$/] }),
    row('GET', -32_600, 405, null, { method: 'GET' }, { header: ['allow', /^POST$/] }),
    row('an unknown route', -32_600, 404, 'mine', { body: usable }, { path: `${at}/nowhere` }),
    row('a body that is too large', -32_600, 413, null, { body: { ...usable, more: 'x'.repeat(BODY_LIMIT) } }),
    row('a batch that is too large', -32_600, 413, null, {
      body: Array.from({ length: BATCH_LIMIT + 1 }, () => usable),
    }),
    row(
      'an unknown endpoint_id',
      -32_099,
      401,
      'mine',
      { body: usable },
      {
        path: instead(`${WALLET}x`),
        message: /^Authentication failed$/,
      },
    ),
    row('a network that is not allowed', -32_099, 403, 'mine', { body: usable }, { path: instead(STRANGER) }),
    row('a network that is not there', -32_099, 403, 'mine', { body: usable }, { path: `/nowhere/${WALLET}${rest}` }),
    row(
      'a limit that is reached',
      -32_005,
      429,
      'mine',
      { body: usable },
      {
        path: instead(LIMITED),
        header: ['retry-after', /^[1-9]\d*$/],
      },
    ),
  ]
})

const ALIAS = call('admin.alias', { endpoint: 'bc/C', alias: 'mine' })
const admin = (more: Partial<Row> & Pick<Row, 'what' | 'code' | 'status'>): Row => ({
  id: 'mine',
  path: `/avalanche/${OPERATOR}/ext/admin`,
  sent: { body: ALIAS },
  ...more,
})
const failing = (what: string, code: number, status: number, network: string, rest: string, body: unknown): Row => ({
  what: `${what}, of ${network}${rest}`,
  code,
  status,
  id: 'mine',
  path: `/${network}/${OPERATOR}${rest}`,
  sent: { body },
})

const more: readonly Row[] = [
  admin({
    what: 'admin.alias of a caller who may not',
    code: -32_099,
    status: 403,
    path: `/avalanche/${WALLET}/ext/admin`,
  }),
  ...[
    ['an alias of 513 bytes', { endpoint: 'bc/C', alias: 'a'.repeat(513) }],
    ['an alias of 257 letters of two bytes', { endpoint: 'bc/C', alias: 'é'.repeat(257) }],
    ['an alias that is no plain path', { endpoint: 'bc/C', alias: 'a//b' }],
    ['an endpoint that is no plain path', { endpoint: '../admin', alias: 'a' }],
    ['no alias', { endpoint: 'bc/C' }],
  ].map(([what, params]) =>
    admin({ what: what as string, code: -32_602, status: 200, sent: { body: call('admin.alias', params) } }),
  ),
  admin({
    what: 'an endpoint that is not there',
    code: -32_602,
    status: 200,
    sent: { body: ALIAS, headers: { 'x-heartline-endpoint': 'missing' } },
  }),
  admin({ what: 'another admin method', code: -32_601, status: 200, sent: { body: call('admin.getConfig', {}) } }),
  admin({
    what: 'admin.alias that was sent, with an unknown outcome',
    code: -32_603,
    status: 504,
    message: /outcome unknown/,
    sent: { body: ALIAS, headers: { 'x-heartline-endpoint': 'mute' } },
  }),
  {
    what: 'an alias that is not there',
    code: -32_600,
    status: 404,
    id: 'mine',
    path: `/avalanche/${WALLET}/ext/nobodys/rpc`,
    sent: { body: call('eth_chainId') },
  },
  failing('every attempt failed', -32_603, 502, 'eth-gone', '', call('eth_chainId')),
  failing('every attempt failed', -32_603, 502, 'avax-gone', '/ext/bc/C/rpc', call('eth_chainId')),
  failing('no usable endpoint', -32_603, 503, 'eth-unseen', '', call('eth_chainId')),
  failing('no usable endpoint', -32_603, 503, 'avax-unseen', '', call('eth_chainId')),
  failing('no usable endpoint for admin.alias', -32_603, 503, 'avax-gone', '/ext/admin', ALIAS),
  failing('a deadline', -32_603, 504, 'eth-hung', '', call('eth_chainId')),
  failing('a deadline', -32_603, 504, 'avax-hung', '', call('eth_chainId')),
  failing('a deadline', -32_603, 504, 'avax-hung', '/ext/health', call('health.health', {})),
]

describe('as JSON-RPC', () => {
  beforeAll(async () => {
    // The one request that there is.
    await send(`/ethereum/${LIMITED}`, { body: call('eth_chainId') })
    asked.length = 0
  })

  test.each([...rows, ...more].map((row) => [row.what, row.code, row.status, row] as const))(
    '%s: %i, HTTP %i',
    async (_what, code, status, row) => {
      const { id, path, sent, header, message } = row
      const answer = await send(path, sent)

      const error = {
        code,
        message: message === undefined ? expect.stringMatching(/./) : expect.stringMatching(message),
      }
      expect(answer.json).toEqual({ jsonrpc: '2.0', id, error })
      expect(answer.status).toBe(status)
      if (header !== undefined) expect(answer.headers.get(header[0])).toMatch(header[1])
      expect(answer.headers.get('x-heartline-cache')).toMatch(/^(?:none|miss)$/)
      expect(answer.said).not.toMatch(/0123456789abcdef/)
    },
  )

  test('none of it reached a node that is well', () => {
    // Polls ask of their own accord, with numbers for ids and these methods.
    const callers = asked.filter((one) => /admin|no_such|tags|0x12|0x01|getConfig|nowhere/.test(one))
    expect(callers).toEqual([])
  })

  test('in a batch, every element has its own: HTTP 200', async () => {
    const { status, json } = await send(`/ethereum/${WALLET}`, {
      body: [call('no_such', [], 1), call('eth_getBlockByNumber', [], 2), 3, call('eth_chainId', [], 4)],
    })

    expect(status).toBe(200)
    expect(json.map(({ id, error }: any) => [id, error?.code])).toEqual([
      [1, -32_601],
      [2, -32_602],
      [null, -32_600],
      [4, undefined],
    ])
  })

  test('where the whole gateway rejects, every element gets the error and HTTP its status', async () => {
    const body = [call('eth_chainId', [], 1), call('eth_chainId', [], 2)]

    for (const [path, status, code] of [
      [`/ethereum/${WALLET}x`, 401, -32_099],
      [`/ethereum/${STRANGER}`, 403, -32_099],
      [`/ethereum/${LIMITED}`, 429, -32_005],
    ] as const) {
      const answer = await send(path, { body })

      expect(answer.status).toBe(status)
      expect(answer.json.map(({ id, error }: any) => [id, error.code])).toEqual([
        [1, code],
        [2, code],
      ])
    }
  })
})

describe('as REST', () => {
  const HASH = 'ab'.repeat(32)
  const egld = (rest: string, id = WALLET) => `/multiversx/${id}${rest}`

  test.each<[string, string, number, string, Sent?]>([
    ['a shard that is not there', 'bad_request', 400, egld(`/block/7/by-hash/${HASH}`)],
    ['a shard that is no number', 'bad_request', 400, egld(`/block/x/by-hash/${HASH}`)],
    ['a hash that is too short', 'bad_request', 400, egld('/block/1/by-hash/abcd')],
    ['a hash that is not hexadecimal', 'bad_request', 400, egld(`/block/1/by-hash/${'xy'.repeat(32)}`)],
    ['a nonce that is none', 'bad_request', 400, egld('/block/1/by-nonce/-1')],
    ['a flag that is none', 'bad_request', 400, egld('/block/1/by-nonce/1?withTxs=yes')],
    ['an unknown route', 'bad_request', 404, egld('/transaction/pool')],
    ['no route', 'bad_request', 404, egld('')],
    ['another HTTP method', 'bad_request', 405, egld('/network/config'), { method: 'POST', body: '{}' }],
    ['an unknown endpoint_id', 'unauthorized', 401, egld('/network/config', `${WALLET}x`)],
    ['a network that is not allowed', 'forbidden', 403, egld('/network/config', STRANGER)],
    ['a network that is not there', 'forbidden', 403, `/nowhere/${WALLET}/network/config`],
    ['a limit that is reached', 'rate_limited', 429, egld('/network/config', LIMITED)],
    ['every attempt failed', 'internal_issue', 502, `/egld-gone/${WALLET}/network/config`],
    ['no usable endpoint', 'internal_issue', 503, `/egld-part/${WALLET}/network/status/1`],
    ['a deadline', 'internal_issue', 504, `/egld-hung/${WALLET}/network/config`],
  ])('%s: %s, HTTP %i', async (_what, code, status, path, sent = { method: 'GET' }) => {
    const answer = await send(path, sent)

    expect(answer.json).toEqual({ data: null, error: expect.stringMatching(/./), code })
    expect(answer.status).toBe(status)
    if (status === 405) expect(answer.headers.get('allow')).toBe('GET, HEAD')
    if (status === 429) expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(answer.said).not.toMatch(/0123456789abcdef/)
  })
})

test('every wrong endpoint_id gets the same answer, whatever it asks', async () => {
  const wrong = [
    `/ethereum/${WALLET}x`,
    '/nowhere/x',
    `/avalanche/${'y'.repeat(128)}/ext/admin`,
    `/multiversx/${WALLET.toUpperCase()}`,
  ]

  const answers = await Promise.all(
    wrong.map(async (path) => {
      const { status, said, headers } = await send(path, { body: call('x'), headers: { 'x-request-id': 'r' } })
      return [status, said, [...headers].filter(([name]) => name !== 'date')]
    }),
  )

  for (const answer of answers) expect(answer).toEqual(answers[0])
})
