import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { AliasRecord } from '../../src/core/routing/alias.ts'
import { isOwnPath } from '../../src/gateway/request/aliases.ts'
import { createGatewayService } from '../../src/gateway/service.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type NodeOptions, type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { opened, temporaryDirectory } from '../store/setting.ts'
import { recordingLog } from '../support/log.ts'
import { bad, endpoint, network, nodeTarget } from '../support/network.ts'
import { createWorld } from '../support/world.ts'
import { type BareNode, startBareNode } from './nodes.ts'
import { ADMIN_ID, caller, ID, UNCOUNTED } from './setting.ts'

const chain = createChain({ clock: systemClock, seed: 'aliases', blockTimeMs: 2000 })

interface Running {
  readonly node: SimulatedNode
  /** Method and path of everything that it was asked. */
  readonly asked: string[]
}

async function start(name: string, over: Partial<NodeOptions> = {}): Promise<Running> {
  const asked: string[] = []
  const node = await startSimulatedNode({
    clock: systemClock,
    chain,
    kind: { family: 'avalanche', adminEnabled: true },
    name,
    onRequest: ({ path, body }) => void asked.push(`${path} ${(JSON.parse(body) as { method: string }).method}`),
    ...over,
  })
  onTestFinished(() => node.stop())
  return { node, asked }
}

interface Answer {
  readonly status: number
  readonly endpoint: string | null
  readonly headers: Headers
  readonly body: { readonly result?: any; readonly error?: { readonly code: number; readonly message: string } }
}

/** The whole gateway over these nodes, with the store in a file. */
async function open(
  nodes: Readonly<Record<string, { readonly url: string }>>,
  {
    path = join(temporaryDirectory(), 'store.db'),
    rpcPath = '/ext/bc/C/rpc',
    timeoutMs = 3000,
    aliases = null as readonly AliasRecord[] | null,
  } = {},
) {
  const log = recordingLog()
  const { store } = await opened({ path })
  const of = network({ name: 'avalanche', family: 'avalanche' })
  const endpoints = Object.keys(nodes).map((name) => endpoint(name, { network: of.name, family: of.family }))
  const world = createWorld(systemClock, [{ network: of, endpoints }])
  await world.pollAll()
  const service = createGatewayService({
    listen: { host: '127.0.0.1', port: 0, tls: null },
    limits: { connections: 128, largeAnswerBytes: 512 * 2 ** 20 },
    setup: {
      rules: {
        admin: true,
        callers: [caller('wallet', ID), caller('operator', ADMIN_ID, { admin: true })],
        networks: [{ network: of, shards: [null], host: null, endpoints: Object.keys(nodes) }],
        timeoutMs,
        bodyLimitBytes: 65_536,
        batchLimit: 20,
      },
      targets: endpoints.map((one) => nodeTarget(one, nodes[one.name]?.url ?? '', { rpcPath, chainId: of.chainId })),
      cacheMaxBytes: 2 ** 20,
      finalDepths: new Map(),
    },
    board: world.board,
    store,
    aliases: aliases ?? (await store.aliases()),
    onDoubt() {},
    metrics: UNCOUNTED,
    clock: systemClock,
    log,
  })
  const { port } = await service.listen()
  const url = `http://127.0.0.1:${port}/avalanche`
  let closed: Promise<void> | null = null
  const close = () => {
    closed ??= service.close().then(() => store.close())
    return closed
  }
  onTestFinished(close)

  async function post(rest: string, call: object, headers: Record<string, string> = {}, id = ID): Promise<Answer> {
    const response = await fetch(`${url}/${id}${rest}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }),
    })
    const body = (await response.json()) as Answer['body']
    return {
      status: response.status,
      endpoint: response.headers.get('x-heartline-endpoint'),
      headers: response.headers,
      body,
    }
  }

  return {
    log,
    service,
    url,
    world,
    path,
    close,
    post,
    /** Makes an alias, as the operator. */
    alias: (target: string, name: string, on?: string) =>
      post(
        '/ext/admin',
        { method: 'admin.alias', params: { endpoint: target, alias: name } },
        on === undefined ? {} : { 'x-heartline-endpoint': on },
        ADMIN_ID,
      ),
    chainId: (rest: string) => post(rest, { method: 'eth_chainId', params: [] }),
    health: (rest: string) => post(rest, { method: 'health.health' }),
    audit() {
      const db = new Database(path, { readonly: true })
      const rows = db
        .prepare('SELECT caller, alias, target, endpoint, node_id, outcome FROM admin_calls ORDER BY nth')
        .all()
      db.close()
      return rows as { readonly outcome: string; readonly node_id: string | null }[]
    },
    flush: () => store.flush(),
    endpointNamed: (name: string) => endpoints.find((one) => one.name === name) ?? endpoint(name),
  }
}

async function two() {
  const [a, b] = [await start('a'), await start('b')]
  return { a, b, ...(await open({ a: a.node, b: b.node })) }
}

/** Something that happens within a test's own time. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

const ADMIN = '/ext/admin admin.alias'
const countOf = (asked: readonly string[], what: string) => asked.filter((one) => one === what).length

describe('an alias', () => {
  test('is made on the named endpoint, and requests to it go there alone', async () => {
    const { a, b, alias, chainId } = await two()

    const made = await alias('bc/C', 'mine', 'b')
    const answers = await Promise.all(Array.from({ length: 20 }, () => chainId('/ext/mine/rpc')))

    expect(made).toMatchObject({ status: 200, endpoint: 'b', body: { result: { success: true } } })
    expect(answers.map(({ status, endpoint: by, body }) => [status, by, body.result])).toEqual(
      Array.from({ length: 20 }, () => [200, 'b', '0xa86a']),
    )
    expect(a.asked).toEqual([])
    expect(countOf(b.asked, ADMIN)).toBe(1)
  })

  test('leaves the original where it was', async () => {
    const { alias, chainId } = await two()
    await alias('bc/C', 'mine', 'b')

    expect(await chainId('/ext/bc/C/rpc')).toMatchObject({ status: 200, body: { result: '0xa86a' } })
    expect(await chainId('')).toMatchObject({ status: 200, body: { result: '0xa86a' } })
  })

  test('without a named endpoint is made on the best one', async () => {
    const { a, b, alias, chainId } = await two()

    const { endpoint: by } = await alias('bc/C', 'mine')

    expect(countOf([...a.asked, ...b.asked], ADMIN)).toBe(1)
    expect((await chainId('/ext/mine/rpc')).endpoint).toBe(by)
  })

  test('of a node’s health opens its health, and nothing else', async () => {
    const { alias, health, chainId, b } = await two()
    await alias('health', 'wellness', 'b')

    expect(await health('/ext/wellness')).toMatchObject({
      status: 200,
      endpoint: 'b',
      body: { result: { healthy: true } },
    })
    expect(await chainId('/ext/wellness')).toMatchObject({ status: 200, body: { error: { code: -32_601 } } })
    expect(countOf(b.asked, '/ext/wellness eth_chainId')).toBe(0)
  })

  test('may have several segments, and be an alias of an alias', async () => {
    const node = await startBareNode(() => 'there')
    const { alias, chainId } = await open({ a: node })
    await alias('bc/C', 'my/own.chain_1', 'a')
    await alias('my/own.chain_1', 'short', 'a')

    expect(await chainId('/ext/my/own.chain_1/rpc')).toMatchObject({ status: 200, body: { result: 'there' } })
    expect(await chainId('/ext/short/rpc')).toMatchObject({ status: 200, body: { result: 'there' } })
  })

  test('leads to its endpoint with everything behind it', async () => {
    const node = await startBareNode(() => 'there')
    const other = await startBareNode(() => 'elsewhere')
    const { alias, post, chainId } = await open({ a: node, b: other })
    await alias('bc/C', 'bc/mychain', 'a')
    await alias('bc/X', 'x', 'a')
    await alias('bc/2bRCr6B4MiEfSjidDwxDpdCyviwnfUVqB2HGwhm947w9YYqb7r/rpc', 'subnet', 'a')
    await alias('x', 'bc/y', 'a')

    const paths = [
      '/ext/bc/mychain/rpc',
      '/ext/bc/mychain',
      '/ext/bc/mychain/avax',
      '/ext/x',
      '/ext/subnet',
      '/ext/bc/y',
    ]
    for (const path of paths) {
      expect([path, await chainId(path)]).toMatchObject([
        path,
        { status: 200, endpoint: 'a', body: { result: 'there' } },
      ])
    }
    expect(await post('/ext/x', { method: 'avm.getHeight', params: {} })).toMatchObject({ body: { result: 'there' } })

    expect(node.asked.slice(4).map(({ path, method }) => `${path} ${method}`)).toEqual([
      ...paths.map((path) => `${path} eth_chainId`),
      '/ext/x avm.getHeight',
    ])
    expect(other.asked).toEqual([])
  })

  test('never opens an API of the node itself, a wallet, a WebSocket, or a circle of aliases', async () => {
    const node = await startBareNode(() => ({}))
    const { alias, post } = await open({ a: node })
    const targets = ['bc/P', 'bc/C', 'bc/C/rpc', 'health', 'unknown', 'y', 'z']
    for (const [nth, target] of targets.entries()) await alias(target, `x${nth}`, 'a')
    await alias('z', 'y', 'a')
    await alias('y', 'z', 'a')
    const made = node.asked.length

    const tails = ['/ws', '/admin', '/wallet', '/keystore', '/events', '/rpc/admin/x', '/a/ws']
    const paths = [...targets.keys()].flatMap((nth) => tails.map((tail) => `/ext/x${nth}${tail}`))
    const circles = ['/ext/y', '/ext/z/rpc', '/ext/x5', '/ext/x6/rpc']
    for (const path of [...paths, ...circles, '/ext/x3/rpc', '/ext/x33', '/ext/x', '/ext/bc/P']) {
      for (const method of ['admin.alias', 'eth_chainId', 'health.health', 'platform.getHeight']) {
        const { status, body } = await post(path, { method }, {}, ADMIN_ID)
        expect([path, status, body.error?.code]).toEqual([path, 404, -32_600])
      }
    }
    for (const path of ['/ext/x0', '/ext/x1', '/ext/x1/rpc', '/ext/x2', '/ext/x3', '/ext/x4']) {
      for (const method of ['admin.getConfig', 'keystore.getUser', 'wallet.getTx', 'avm.importKey', 'eth_sign']) {
        expect((await post(path, { method }, {}, ADMIN_ID)).body.error?.code).toBe(-32_601)
      }
    }

    expect(node.asked).toHaveLength(made)
  })

  test.each(['admin', 'bc/C/admin', 'x/admin/y', 'bc/C/ws', 'bc/X/wallet', 'info', 'keystore', 'vm/x', 'health/x'])(
    'of %s is rejected: it is an API of the node itself',
    async (target) => {
      const node = await startBareNode(() => ({}))
      const { alias, service } = await open({ a: node })

      expect((await alias(target, 'mine', 'a')).body.error?.code).toBe(-32_602)

      expect(node.asked).toEqual([])
      expect(service.report().aliases).toEqual([])
    },
  )

  test('is one of a limited number: a new one takes the place of a stale one, else it is rejected', async () => {
    const node = await startBareNode(() => ({}))
    const stale = { at: 0, reason: 'lost' } as const
    const record = (nth: number): AliasRecord => ({
      network: 'avalanche',
      alias: `x${nth}`,
      target: 'bc/C',
      endpoint: 'a',
      nodeId: null,
      caller: 'operator',
      at: 0,
      stale: nth === 7 ? stale : null,
    })
    const { alias, service } = await open(
      { a: node },
      { aliases: Array.from({ length: 1000 }, (_, nth) => record(nth)) },
    )

    expect((await alias('bc/C', 'new', 'a')).status).toBe(200)
    expect((await alias('bc/C', 'newer', 'a')).body.error).toMatchObject({ code: -32_099 })
    // One that is there is not new.
    expect((await alias('health', 'x1', 'a')).status).toBe(200)

    expect(service.report().aliases).toHaveLength(1000)
    expect(service.report().aliases.some(({ alias: name }) => name === 'x7')).toBe(false)
  })

  test('is not replaced by what another member knew of it before it was created again', async () => {
    const record = {
      network: 'avalanche',
      alias: 'mine',
      target: 'bc/C',
      endpoint: 'a',
      nodeId: null,
      caller: 'operator',
    }
    const { service } = await open(
      { a: await startBareNode(() => ({})) },
      { aliases: [{ ...record, at: 10, stale: null }] },
    )

    service.learnAliases([{ ...record, at: 5, stale: { at: 7, reason: 'lost' } }])
    const before = service.report().aliases
    service.learnAliases([{ ...record, at: 10, stale: { at: 12, reason: 'lost' } }])

    expect(before).toMatchObject([{ alias: 'mine', stale: null }])
    expect(service.report().aliases).toMatchObject([{ alias: 'mine', stale: { reason: 'lost' } }])
  })

  test('is none where a node has something of its own', () => {
    for (const path of [
      'admin',
      'admin/rpc',
      'bc/C/admin',
      'bc/C/ws',
      'bc/X/wallet',
      'health',
      'health/rpc',
      'info',
      'x/admin/rpc',
    ]) {
      expect(isOwnPath(path)).toBe(true)
    }
    for (const path of ['mine', 'mine/rpc', 'administrators', 'my-health', 'bc/mine/rpc', 'wss']) {
      expect(isOwnPath(path)).toBe(false)
    }
  })

  test('of the C-Chain leads there on an endpoint whose chain is another, too', async () => {
    const node = await startBareNode(({ path }) => path)
    const { alias, chainId } = await open({ a: node }, { rpcPath: '/ext/bc/subnet/rpc' })
    await alias('bc/C', 'c', 'a')
    await alias('bc/subnet', 's', 'a')

    expect(await chainId('/ext/c/rpc')).toMatchObject({ status: 200, body: { result: '/ext/c/rpc' } })
    expect(await chainId('/ext/s/rpc')).toMatchObject({ status: 200, body: { result: '/ext/s/rpc' } })
  })
})

describe('the same call of admin.alias again', () => {
  test('succeeds without a call where it is in force already, on that endpoint or on any', async () => {
    const { b, alias } = await two()
    await alias('bc/C', 'mine', 'b')

    for (const on of ['b', undefined]) {
      expect(await alias('bc/C', 'mine', on)).toMatchObject({
        status: 200,
        endpoint: 'b',
        body: { result: { success: true } },
      })
    }

    expect(countOf(b.asked, ADMIN)).toBe(1)
  })

  test('at the same time is sent once', async () => {
    const { b, alias } = await two()

    const answers = await Promise.all(Array.from({ length: 10 }, () => alias('bc/C', 'mine', 'b')))

    expect(answers.map(({ body }) => body.result)).toEqual(Array.from({ length: 10 }, () => ({ success: true })))
    expect(countOf(b.asked, ADMIN)).toBe(1)
  })

  test("for another target has the node's own error, from the node that has it", async () => {
    const { a, b, alias, chainId } = await two()
    await alias('bc/C', 'mine', 'b')

    const { status, endpoint: by, body } = await alias('health', 'mine')

    expect([status, by, body.error?.code]).toEqual([200, 'b', -32_000])
    expect(body.error?.message).toContain('already aliased')
    expect(countOf(a.asked, ADMIN)).toBe(0)
    expect(countOf(b.asked, ADMIN)).toBe(2)
    expect((await chainId('/ext/mine/rpc')).status).toBe(200)
  })

  test('on another endpoint moves it there', async () => {
    const { alias, chainId } = await two()
    await alias('bc/C', 'mine', 'a')

    await alias('bc/C', 'mine', 'b')

    expect((await chainId('/ext/mine/rpc')).endpoint).toBe('b')
  })

  test('is not undone by calls that were routed before and fail at the first endpoint', async () => {
    let release = () => {}
    const a = await startBareNode(({ method, id }, response) => {
      if (method === 'admin.alias') return {}
      if (a.asked.length > 2) response.writeHead(404).end('404 page not found')
      release = () => response.end(`{"jsonrpc":"2.0","id":${id},"result":"0xa86a"}`)
      return undefined
    })
    const b = await startBareNode(() => '0xa86a')
    const { alias, chainId, url } = await open({ a, b })
    await alias('bc/C', 'mine', 'a')
    // Sixteen calls of a batch are forwarded at a time, and share one request.
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_chainId' }
    const batch = fetch(`${url}/${ID}/ext/mine/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(Array.from({ length: 17 }, () => call)),
    })
    await until(() => a.asked.length === 2)

    await alias('bc/C', 'mine', 'b')
    release()
    const answers = (await (await batch).json()) as Answer['body'][]

    expect(answers.map(({ result }) => result ?? null)).toEqual([...Array<string>(16).fill('0xa86a'), null])
    expect(await chainId('/ext/mine/rpc')).toMatchObject({ status: 200, endpoint: 'b' })
  })
})

describe('an endpoint that is away', () => {
  test('takes its aliases with it: 503, and no other endpoint is tried', async () => {
    const { a, b, alias, chainId } = await two()
    await alias('bc/C', 'mine', 'b')
    const before = a.asked.length

    await b.node.stop()
    const answers = [await chainId('/ext/mine/rpc'), await chainId('/ext/mine/rpc')]

    for (const { status, body } of answers) {
      expect([status, body.error?.code]).toEqual([503, -32_603])
      expect(body.error?.message).toContain('unavailable')
    }
    expect(a.asked).toHaveLength(before)
  })

  test('is not even asked once the monitor has seen it', async () => {
    const { b, alias, chainId, world, endpointNamed } = await two()
    await alias('bc/C', 'mine', 'b')
    const before = b.asked.length
    const gone = { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }], liveness: null }
    // Another endpoint must answer, otherwise this machine's own network would be blamed.
    for (let turn = 0; turn < 2; turn++) {
      await world.poll(endpointNamed('b'), gone)
      await world.poll(endpointNamed('a'))
    }

    const { status } = await chainId('/ext/mine/rpc')

    expect(status).toBe(503)
    expect(b.asked).toHaveLength(before)
  })

  test('has its aliases again when it is back and still knows them', async () => {
    const { b, alias, chainId } = await two()
    await alias('bc/C', 'mine', 'b')
    b.node.inject({ kind: 'http', status: 502 })
    expect((await chainId('/ext/mine/rpc')).status).toBe(503)

    b.node.heal()

    expect(await chainId('/ext/mine/rpc')).toMatchObject({ status: 200, endpoint: 'b' })
  })
})

test('a 404 without the id of the node, as of a proxy in front of it, takes no alias of the own chain', async () => {
  let nodeId: string | null = 'NodeID-a'
  const known = new Set(['/ext/mine/rpc'])
  const node = await startBareNode(({ path, method }, response) => {
    if (nodeId !== null) response.setHeader('node-id', nodeId)
    if (method === 'admin.alias') return {}
    if (known.has(path)) return '0xa86a'
    response.writeHead(404, { 'content-type': 'text/html' }).end('<html>default backend - 404')
    return undefined
  })
  const { alias, chainId, post } = await open({ a: node })
  await alias('bc/C', 'mine', 'a')

  nodeId = null
  known.clear()
  expect((await post('/ext/mine/rpc', { method: 'eth_blockNumber', params: [] })).status).toBe(404)
  nodeId = 'NodeID-a'
  known.add('/ext/mine/rpc')
  expect(await chainId('/ext/mine/rpc')).toMatchObject({ status: 200, endpoint: 'a' })

  known.clear()
  expect((await chainId('/ext/mine/rpc')).status).toBe(404)
  known.add('/ext/mine/rpc')
  expect((await chainId('/ext/mine/rpc')).body.error?.message).toContain('stale')
})

describe('a node that restarted', () => {
  test('has lost its aliases: 404 with the reason, until the alias is made again', async () => {
    const { b, alias, chainId, log } = await two()
    await alias('bc/C', 'mine', 'b')
    await b.node.stop()
    const again = await start('b', { port: b.node.port })

    for (let turn = 0; turn < 2; turn++) {
      const { status, body } = await chainId('/ext/mine/rpc')
      expect([status, body.error?.code]).toEqual([404, -32_600])
      expect(body.error?.message).toContain('stale')
    }
    expect(countOf(again.asked, '/ext/mine/rpc eth_chainId')).toBe(1)
    expect(log.lines.some(({ message, fields }) => message === 'an alias is stale' && fields.reason === 'lost')).toBe(
      true,
    )

    expect(await alias('bc/C', 'mine', 'b')).toMatchObject({ status: 200 })
    expect(await chainId('/ext/mine/rpc')).toMatchObject({ status: 200, endpoint: 'b' })
  })

  test('has lost the alias of another chain: the next admin.alias is sent, and makes it again', async () => {
    const known = new Set<string>()
    const node = await startBareNode(({ path, method, text }, response) => {
      if (method === 'admin.alias') known.add(`/ext/${JSON.parse(text).params.alias}`)
      else if (!known.has(path)) response.writeHead(404).end('404 page not found')
      return known.has(path) || method === 'admin.alias' ? {} : undefined
    })
    const { alias, post } = await open({ a: node })
    const height = () => post('/ext/x', { method: 'avm.getHeight' })
    const calls = () => node.asked.filter(({ method }) => method === 'admin.alias').length
    await alias('bc/X', 'x', 'a')
    expect((await height()).status).toBe(200)
    // A path that its chain does not have is no sign of it.
    expect((await post('/ext/x/rpc', { method: 'avm.getHeight' })).status).toBe(404)
    expect((await height()).status).toBe(200)
    expect([await alias('bc/X', 'x', 'a'), calls()]).toMatchObject([{ status: 200 }, 1])

    known.clear()

    expect(await height()).toMatchObject({ status: 404, body: { error: { code: -32_600 } } })
    expect([await alias('bc/X', 'x', 'a'), calls()]).toMatchObject([{ status: 200 }, 2])
    expect((await height()).status).toBe(200)
  })

  test('and is another node now has not got the alias, though it may have one of that name', async () => {
    const { b, alias, chainId } = await two()
    await alias('bc/C', 'mine', 'b')
    await b.node.stop()
    const other = await start('other', { port: b.node.port })
    await fetch(`${other.node.url}/ext/admin`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"admin.alias","params":{"endpoint":"bc/C","alias":"mine"}}',
    })

    const { status, body } = await chainId('/ext/mine/rpc')

    expect(status).toBe(404)
    expect(body.error?.message).toContain('another node')
  })
})

describe('a call with an unknown outcome', () => {
  const untold = async (then: (asked: { readonly method: string }) => unknown): Promise<BareNode> => {
    let first = true
    return startBareNode((asked, response) => {
      if (asked.method !== 'admin.alias' || !first) return then(asked)
      first = false
      response.socket?.resetAndDestroy()
      return undefined
    })
  }

  test('is never sent again: 504, and the alias is not served', async () => {
    const node = await untold(() => 'there')
    const other = await startBareNode(() => 'there')
    const { alias, chainId } = await open({ a: node, b: other })

    const { status, body } = await alias('bc/C', 'mine', 'a')

    expect([status, body.error?.code]).toEqual([504, -32_603])
    expect(body.error?.message).toContain('outcome unknown')
    expect(node.asked.map(({ method }) => method)).toEqual(['admin.alias'])
    expect(other.asked).toEqual([])
    expect(await chainId('/ext/mine/rpc')).toMatchObject({ status: 404 })
  })

  test('is confirmed when the same call comes again, and the node says that it has such an alias', async () => {
    const node = await startBareNode(({ method, id }, response) => {
      if (method !== 'admin.alias') return '0xa86a'
      if (node.asked.length === 1) response.socket?.resetAndDestroy()
      else
        response.end(
          `{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":"route is either already aliased or x"}}`,
        )
      return undefined
    })
    const { alias, chainId } = await open({ a: node })

    await alias('bc/C', 'mine', 'a')

    expect(await alias('bc/C', 'mine', 'a')).toMatchObject({ status: 200, body: { result: { success: true } } })
    expect(await chainId('/ext/mine/rpc')).toMatchObject({ status: 200 })
  })

  test('that times out is as unknown', async () => {
    const node = await startBareNode(() => undefined)
    const { alias } = await open({ a: node }, { timeoutMs: 1500 })

    expect((await alias('bc/C', 'mine', 'a')).status).toBe(504)
    expect(node.asked).toHaveLength(1)
  })

  test('is waited for when its caller is gone, and written down', async () => {
    let release = () => {}
    const node = await startBareNode((asked, response) => {
      release = () => void response.end(`{"jsonrpc":"2.0","id":${asked.id},"result":{}}`)
    })
    const { service, flush, audit, url } = await open({ a: node })
    const leaving = new AbortController()
    const call = fetch(`${url}/${ADMIN_ID}/ext/admin`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"admin.alias","params":{"endpoint":"bc/C","alias":"mine"}}',
      signal: leaving.signal,
    }).catch(() => 'left')
    await until(() => node.asked.length === 1)
    leaving.abort()
    expect(await call).toBe('left')
    release()

    await until(() => service.report().aliases.length === 1)
    await flush()
    expect(audit()).toMatchObject([{ outcome: 'accepted' }])
  })
})

describe("an alias of the network's own chain", () => {
  const NUMBER = { method: 'eth_blockNumber', params: [] }
  const LATEST = { method: 'eth_getBlockByNumber', params: ['latest', false] }
  const at = (height: string) => (asked: { readonly method: string }) =>
    asked.method === 'eth_blockNumber' ? height : { number: height }

  test('shows no lower block than the network did, and says which block an answer is about', async () => {
    const a = await startBareNode(at('0x3ea'))
    const b = await startBareNode(at('0x3e9'))
    const { alias, post } = await open({ a, b }, { timeoutMs: 1500 })
    await alias('bc/C', 'mine', 'b')
    const before = await post('', NUMBER, { 'x-heartline-height': '1002' })

    const repeated = await post('/ext/mine/rpc', NUMBER)
    const waited = await post('/ext/mine/rpc', LATEST)
    b.answering = at('0x3eb')
    const fresh = await post('/ext/mine/rpc', LATEST)
    const after = await post('', NUMBER)

    expect(before.body.result).toBe('0x3ea')
    expect(repeated.body.result).toBe('0x3ea')
    expect(repeated.headers.get('x-heartline-stale')).not.toBeNull()
    expect([waited.status, waited.headers.get('retry-after')]).toEqual([503, '1'])
    expect(waited.body.error?.message).toContain('the block')
    expect([fresh.endpoint, fresh.body.result]).toEqual(['b', { number: '0x3eb' }])
    expect(fresh.headers.get('x-heartline-height')).toBe('1003')
    expect(after.body.result).toBe('0x3eb')
  })

  test('gets no other block than the requested one from its node', async () => {
    const node = await startBareNode(() => ({ number: '0x6' }))
    const { alias, post } = await open({ a: node })
    await alias('bc/C', 'mine', 'a')

    const { status } = await post('/ext/mine/rpc', { method: 'eth_getBlockByNumber', params: ['0x7', false] })

    expect(status).toBe(503)
  })

  test('of another chain has heights of its own', async () => {
    const node = await startBareNode(at('0x5'))
    const { alias, post } = await open({ a: node })
    await alias('bc/X', 'x', 'a')

    const { body, headers } = await post('/ext/x', NUMBER, { 'x-heartline-height': '1002' })

    expect([body.result, headers.get('x-heartline-height')]).toEqual(['0x5', null])
  })
})

describe('what is written down', () => {
  test('leads to the same node after a restart of the daemon, and is stale if it was', async () => {
    const [a, b] = [await start('a'), await start('b')]
    const first = await open({ a: a.node, b: b.node })
    await first.alias('bc/C', 'mine', 'b')
    await first.alias('health', 'gone', 'b')
    await first.close()

    const second = await open({ a: a.node, b: b.node }, { path: first.path })
    expect(await second.chainId('/ext/mine/rpc')).toMatchObject({ status: 200, endpoint: 'b' })
    await b.node.stop()
    await start('b', { port: b.node.port })
    expect((await second.health('/ext/gone')).status).toBe(404)
    await second.close()

    const third = await open({ a: a.node, b: b.node }, { path: first.path })
    expect(third.service.report().aliases).toMatchObject([
      { alias: 'gone', target: 'health', endpoint: 'b', caller: 'operator', stale: { reason: 'lost' } },
      { alias: 'mine', target: 'bc/C', endpoint: 'b', nodeId: expect.stringMatching(/^NodeID-/), stale: null },
    ])
  })

  test('is on disk when its caller hears of it: the node does not tell a restarted gateway what its aliases are of', async () => {
    const { alias, audit } = await two()

    await alias('bc/C', 'mine', 'b')

    expect(audit()).toMatchObject([{ outcome: 'accepted' }])
  })

  test('is one line of the log and one row for every call, whatever came of it', async () => {
    const { b, alias, log, flush, audit } = await two()
    await alias('bc/C', 'mine', 'b')
    await alias('bc/C', 'mine', 'b')
    await alias('health', 'mine', 'b')
    await b.node.stop()
    await alias('bc/C', 'other', 'b')
    await flush()

    const outcomes = ['accepted', 'known', 'node-error', 'refused']
    const rows = audit()
    expect(rows.map(({ outcome }) => outcome)).toEqual(outcomes)
    expect(rows[0]).toEqual({
      caller: 'operator',
      alias: 'mine',
      target: 'bc/C',
      endpoint: 'b',
      node_id: expect.stringMatching(/^NodeID-/),
      outcome: 'accepted',
    })
    const lines = log.lines.filter(({ message }) => message === 'admin.alias')
    expect(lines.map(({ level, fields }) => [level, fields.outcome])).toEqual(outcomes.map((one) => ['info', one]))
    expect(JSON.stringify([rows, log.lines])).not.toContain(ADMIN_ID)
  })
})
