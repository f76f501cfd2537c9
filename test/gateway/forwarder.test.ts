import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Need } from '../../src/core/routing/operation.ts'
import { extraOperation } from '../../src/gateway/request/classify.ts'
import { Cancellation } from '../../src/gateway/upstream-request.ts'
import { bad, endpoint, good, head, liveness } from '../support/network.ts'
import { textOf } from './chain.ts'
import {
  ALIAS,
  type Answering,
  BLOCK_NUMBER,
  blockAt,
  CHAIN_ID,
  FILTER,
  FINALIZED_BLOCK,
  LATEST_BLOCK,
  sayError,
  sayStatus,
  setting,
  startBareNode,
  TRANSACTION,
} from './nodes.ts'

const hang: Answering = () => undefined
const reset: Answering = (asked, response) => {
  void asked
  response.socket?.resetAndDestroy()
}

describe('a request', () => {
  test('carries an id of ours, the call in its own text, and none of the caller', async () => {
    const a = await startBareNode(() => '0x1')
    const { ask } = await setting({ a })

    const reply = await ask({ call: { id: '"mine"', isNotification: false, method: 'eth_chainId', params: '[ ]' } })

    expect(textOf(reply)).toBe('"0x1"')
    expect(reply).toMatchObject({ endpoint: 'a', attempts: 1, cache: 'none', degraded: false })
    expect(a.asked[0]?.text).toBe('{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[ ]}')
    expect(Object.keys(a.asked[0]?.headers ?? {}).sort()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ])
  })

  test('brings the bytes of the result back as they are', async () => {
    const text = '{ "n": 123456789012345678901234567890, "b":1, "a":"\\u00e9", "b":2 }'
    const a = await startBareNode((asked, response) => {
      response.end(`{"result":${text},"id":${asked.id},"jsonrpc":"2.0"}`)
    })
    const { ask } = await setting({ a })

    expect(textOf(await ask())).toBe(text)
  })

  test('goes to the one that is well, not to one that is down', async () => {
    const a = await startBareNode(() => 'a')
    const b = await startBareNode(() => 'b')
    const { ask, poll } = await setting({ a, b })
    await poll('a', null)
    await poll('a', null)

    const replies = await Promise.all(Array.from({ length: 20 }, () => ask()))

    expect(new Set(replies.map(textOf))).toEqual(new Set(['"b"']))
    expect(a.asked).toHaveLength(0)
  })
})

test('a node that reports with HTTP 503 that it is unhealthy has answered', async () => {
  const unhealthy = '{"checks":{},"healthy":false}'
  const a = await startBareNode((asked, response) => {
    response.writeHead(503).end(`{"jsonrpc":"2.0","result":${unhealthy},"id":${asked.id}}`)
  })
  const { ask } = await setting({ a })
  const operation = { ...CHAIN_ID, name: 'health.getLiveness' } as const

  const reply = await ask({ operation, to: { kind: 'path', path: '/ext/health' } })

  expect([textOf(reply), reply.endpoint]).toEqual([unhealthy, 'a'])
  expect(await ask()).toMatchObject({ kind: 'rejected' })
})

describe('where an endpoint fails, a read is answered by the next', () => {
  const failing: [string, Answering][] = [
    ['reset', reset],
    [
      'half an answer',
      (_, response) => void response.writeHead(200, { 'content-length': 100 }).write('{"res', () => response.destroy()),
    ],
    ['503', sayStatus(503, 'busy')],
    ['500 with a JSON body', sayStatus(500, '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}')],
    ['401', sayStatus(401)],
    ['403', sayStatus(403, 'invalid host specified')],
    ['404', sayStatus(404, '404 page not found')],
    ['429', sayStatus(429)],
    ['a redirect', sayStatus(302, '', { location: 'http://127.0.0.1:1/' })],
    ['a page', sayStatus(200, '<html></html>')],
    ['nothing', sayStatus(200, '')],
    ['another id', (_, response) => void response.end('{"jsonrpc":"2.0","id":987654,"result":"0x1"}')],
    ['neither result nor error', (asked, response) => void response.end(`{"jsonrpc":"2.0","id":${asked.id}}`)],
    ['a limit of the rate', sayError(-32_005, 'daily request count exceeded, request rate limited')],
    ['a limit of the rate in words', sayError(-32_016, 'over rate limit')],
  ]
  test.each(failing)('%s', async (_, answering) => {
    const a = await startBareNode(answering)
    const b = await startBareNode(() => 'from b')
    const { ask, retries } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    const reply = await ask()

    expect(textOf(reply)).toBe('"from b"')
    expect(reply).toMatchObject({ endpoint: 'b', attempts: 2 })
    expect(retries).toEqual(['failed'])
    expect(a.asked.length).toBeGreaterThan(0)
  })

  test.each([500, 503])('not if the error is about the request itself, although the status is %d', async (status) => {
    const a = await startBareNode((asked, response) => {
      response.writeHead(status).end(`{"jsonrpc":"2.0","id":${asked.id},"error":{"code":3,"message":"reverted"}}`)
    })
    const b = await startBareNode(() => 'from b')
    const { ask, attempts } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    expect(await ask()).toMatchObject({ kind: 'error', endpoint: 'a', attempts: 1 })
    expect(attempts).toEqual(['a node-error'])
  })

  test('the port is closed', async () => {
    const a = await startBareNode(() => 'a')
    const b = await startBareNode(() => 'b')
    const { ask, attempts } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })
    await a.stop()

    expect(textOf(await ask())).toBe('"b"')
    expect(attempts).toEqual(['a connection', 'b answered'])
  })

  test('it hangs, and later requests do not wait for it', async () => {
    const a = await startBareNode(hang)
    const b = await startBareNode(() => 'b')
    const { ask, skip } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })
    const began = systemClock.monotonic()
    const first = ask({ deadlineAt: began + 6000 })
    await expect.poll(() => a.asked.length).toBe(1)
    skip(1200)

    const second = await ask()

    expect(second).toMatchObject({ endpoint: 'b', attempts: 1 })
    expect(await first).toMatchObject({ endpoint: 'b', attempts: 2 })
    expect(systemClock.monotonic() - began).toBeLessThan(5000)
  })

  test('it hangs, and the deadline is short: there is time left for another', async () => {
    const a = await startBareNode(hang)
    const b = await startBareNode(() => 'b')
    const { ask } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    const reply = await ask({ deadlineAt: systemClock.monotonic() + 1000 })

    expect(reply).toMatchObject({ endpoint: 'b', attempts: 2 })
  })

  const ALONE: [string, Parameters<typeof setting>[1], (b: Awaited<ReturnType<typeof setting>>) => Promise<unknown>][] =
    [
      [
        'serves another shard',
        {
          network: { name: 'multiversx', family: 'multiversx' },
          endpoints: { a: { kind: 'observer', shards: [0] }, b: { kind: 'observer', shards: [1] } },
        },
        () => Promise.resolve(),
      ],
      ['is down', {}, async ({ poll }) => [await poll('b', null), await poll('b', null)]],
      ['limits the rate', { endpoints: { a: { tier: 'fallback' } } }, ({ ask }) => ask()],
    ]
  test.each(ALONE)('it has the whole timeout where the other one %s', async (_, options, prepare) => {
    const a = await startBareNode(() => 'a')
    const b = await startBareNode(sayStatus(429, '', { 'retry-after': '60' }))
    const rest = await setting({ a, b }, options)
    await prepare(rest)
    a.answering = hang
    const askedOfB = b.asked.length

    const reply = await rest.ask({
      operation: { ...CHAIN_ID, need: { kind: 'hash', shard: options?.network === undefined ? null : 0 } },
      deadlineAt: systemClock.monotonic() + 400,
    })

    expect(textOf(reply)).toBe('deadline')
    expect(reply.attempts).toBe(1)
    expect(b.asked).toHaveLength(askedOfB)
  })

  test('at most three endpoints are tried', async () => {
    const nodes = Object.fromEntries(
      await Promise.all(['a', 'b', 'c', 'd'].map(async (name) => [name, await startBareNode(sayStatus(502))] as const)),
    )
    const { ask } = await setting(nodes)

    const reply = await ask()

    expect(textOf(reply)).toBe('all-failed')
    expect(reply).toMatchObject({ endpoint: null, attempts: 3 })
    expect(new Set(Object.values(nodes).map(({ asked }) => asked.length))).toEqual(new Set([0, 1]))
  })
})

describe('what is passed on at once', () => {
  test("a node's own error, word for word", async () => {
    const a = await startBareNode(sayError(-32_602, 'missing value'))
    const b = await startBareNode(() => 'b')
    const { ask } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    const reply = await ask()

    expect(reply).toMatchObject({ kind: 'error', endpoint: 'a', attempts: 1 })
    expect(textOf(reply)).toBe('{"code":-32602,"message":"missing value"}')
    expect(b.asked).toHaveLength(0)
  })

  test("an error that comes with a status of the request's", async () => {
    const a = await startBareNode((asked, response) => {
      response.writeHead(400).end(`{"jsonrpc":"2.0","id":${asked.id},"error":{"code":-32602,"message":"bad"}}`)
    })
    const { ask } = await setting({ a })

    expect(textOf(await ask())).toBe('{"code":-32602,"message":"bad"}')
  })

  test('a block above the tip that is not there', async () => {
    const a = await startBareNode(() => null)
    const b = await startBareNode(() => null)
    const { ask } = await setting({ a, b })

    const reply = await ask(blockAt(1001))

    expect(textOf(reply)).toBe('null')
    expect(a.asked.length + b.asked.length).toBe(1)
  })
})

describe('what one has not got', () => {
  const absent: [string, Answering][] = [
    ['null', () => null],
    ['cannot query unfinalized data', sayError(-32_000, 'cannot query unfinalized data')],
    ['header not found', sayError(-32_000, 'header not found')],
    ['-32001', sayError(-32_001, 'resource not found')],
    ['4444', sayError(4444, 'pruned history unavailable')],
    ['coreth', sayError(-32_000, 'requested to block 1000 after last accepted block 998')],
    ['geth, fees', sayError(-32_000, 'request beyond head block: requested 1000, head 998')],
    ['geth, logs', sayError(-32_602, 'block range extends beyond current head block')],
    ['erigon', sayError(-32_000, 'requested block range [1, 1000] is beyond latest executed block 998')],
  ]
  test.each(absent)('is found elsewhere: %s', async (_, answering) => {
    const a = await startBareNode(answering)
    const b = await startBareNode(() => ({ number: '0x3e8' }))
    const { ask, retries } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    const reply = await ask(blockAt(1000))

    expect(textOf(reply)).toBe('{"number":"0x3e8"}')
    expect(reply).toMatchObject({ endpoint: 'b', attempts: 2 })
    expect(retries).toEqual(['absent'])
  })

  const hash = `0x${'a'.repeat(64)}`
  test.each([
    ['eth_getHeaderByHash', `["${hash}"]`, null],
    ['eth_getBlockReceipts', `["${hash}"]`, null],
    ['eth_getBlockReceipts', `[{"blockHash":"${hash}"}]`, null],
    ['eth_getRawTransactionByHash', `["${hash}"]`, null],
    ['eth_getRawTransactionByHash', `["${hash}"]`, '0x'],
  ])(
    'is found by hash on an endpoint that is a block ahead: %s of %s instead of %j',
    async (method, params, absent) => {
      const a = await startBareNode(() => absent)
      const b = await startBareNode(() => 'from b')
      const { ask, poll } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })
      await poll('b', 1001)
      const call = { id: '1', isNotification: false, method, params }

      const reply = await ask({ call, operation: extraOperation(method, params) })

      expect(textOf(reply)).toBe('"from b"')
      expect(reply).toMatchObject({ endpoint: 'b', attempts: 2, degraded: false })
    },
  )

  test('and on no other endpoint: the first answer is passed on after two more attempts', async () => {
    const a = await startBareNode(sayError(-32_000, 'cannot query unfinalized data'))
    const others = await Promise.all(
      ['b', 'c', 'd'].map(async (name) => [name, await startBareNode(() => null)] as const),
    )
    const { ask } = await setting(
      { a, ...Object.fromEntries(others) },
      { endpoints: Object.fromEntries(others.map(([name]) => [name, { tier: 'fallback' }])) },
    )

    const reply = await ask(blockAt(999))

    expect(textOf(reply)).toBe('{"code":-32000,"message":"cannot query unfinalized data"}')
    expect(reply).toMatchObject({ endpoint: 'a', attempts: 3 })
  })

  test('is passed on while there is time, though the other one hangs', async () => {
    const a = await startBareNode(() => null)
    const b = await startBareNode(hang)
    const { ask } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })
    const deadlineAt = systemClock.monotonic() + 10_000

    const reply = await ask({ ...TRANSACTION, deadlineAt })

    expect(textOf(reply)).toBe('null')
    expect(b.asked).toHaveLength(1)
    expect(systemClock.monotonic()).toBeLessThan(deadlineAt - 2000)
  })

  test('a transaction is looked for elsewhere, and its absence passed on when the others fail', async () => {
    const a = await startBareNode(() => null)
    const b = await startBareNode(sayStatus(503))
    const { ask } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    const reply = await ask(TRANSACTION)

    expect(textOf(reply)).toBe('null')
    expect(reply).toMatchObject({ endpoint: 'a', attempts: 2 })
  })

  test('is found on another unhealthy endpoint if all are unhealthy', async () => {
    const a = await startBareNode(() => null)
    const b = await startBareNode(() => ({ hash: `0x${'a'.repeat(64)}` }))
    const { ask } = await setting({ a, b }, { polled: false })

    expect(await ask(TRANSACTION)).toMatchObject({ endpoint: 'b', attempts: 2, degraded: true })
  })

  test('is not looked for on an endpoint that is worse than the one that answered', async () => {
    const a = await startBareNode(() => null)
    const b = await startBareNode(hang)
    const { ask, poll } = await setting({ a, b }, { polled: false })
    for (let round = 0; round < 2; round++) await poll('b', null)

    expect(await ask(TRANSACTION)).toMatchObject({ endpoint: 'a', attempts: 1, degraded: true })
    expect(b.asked).toHaveLength(0)
  })

  test('is sent first to endpoints that are known to have it', async () => {
    const a = await startBareNode(() => null)
    const b = await startBareNode(() => ({ number: '0x3ea' }))
    const { ask, poll } = await setting({ a, b })
    await poll('b', 1002)

    const reply = await ask(blockAt(1002))

    expect(reply).toMatchObject({ endpoint: 'b', attempts: 1 })
  })
})

describe('heights never go backwards for a caller', () => {
  const at =
    (height: number): Answering =>
    (asked) => {
      const hex = `0x${height.toString(16)}`
      return asked.method === 'eth_blockNumber' ? hex : { hash: '0x1', number: hex }
    }

  test('after a lower answer an endpoint that has the height is tried', async () => {
    const a = await startBareNode(at(1003))
    const b = await startBareNode(at(1001))
    const { ask, tips, poll } = await setting({ a, b })
    await poll('a', 1003)
    await poll('b', 1003)
    tips.raise('wallet', 'ethereum', null, 'latest', 1003)

    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, i) => ask(i % 2 === 0 ? BLOCK_NUMBER : LATEST_BLOCK)),
    )

    expect(new Set(replies.map((reply) => reply.endpoint))).toEqual(new Set(['a']))
  })

  test('an endpoint behind what this caller saw is not used; another caller may be answered by it', async () => {
    const a = await startBareNode(at(1002))
    const b = await startBareNode(at(1001))
    const { ask, poll, tips } = await setting({ a, b }, { network: { blockTimeMs: 60_000 } })
    await poll('a', 1002)
    await poll('b', 1001)
    tips.raise('wallet', 'ethereum', null, 'latest', 1002)

    const replies = []
    for (let i = 0; i < 20; i++) replies.push(await ask(BLOCK_NUMBER))

    expect(new Set(replies.map(textOf))).toEqual(new Set(['"0x3ea"']))
    expect(b.asked).toHaveLength(0)
  })

  test('the endpoint that had it went down, and another has reached it since its last poll: that one is used', async () => {
    const a = await startBareNode(at(1002))
    const b = await startBareNode(at(1000))
    const { ask, poll } = await setting(
      { a, b },
      { network: { blockTimeMs: 60_000 }, endpoints: { b: { tier: 'fallback' } } },
    )
    await poll('a', 1002)
    await poll('b', 1000)
    await ask(BLOCK_NUMBER)
    a.answering = at(1000)
    b.answering = at(1002)

    const replies = []
    for (let i = 0; i < 6; i++) replies.push(await ask(i % 2 === 0 ? BLOCK_NUMBER : LATEST_BLOCK))

    expect(new Set(replies.map(({ endpoint }) => endpoint))).toEqual(new Set(['b']))
  })

  test('a pool with one node behind: another node of it is tried', async () => {
    let turn = 0
    const a = await startBareNode((asked) => at(turn++ % 2 === 0 ? 1002 : 1001)(asked, null as never))
    const { ask } = await setting({ a })

    const replies = []
    for (let i = 0; i < 6; i++) replies.push(textOf(await ask(BLOCK_NUMBER)))

    expect(new Set(replies)).toEqual(new Set(['"0x3ea"']))
  })

  test('a false height far ahead binds no caller', async () => {
    const liar = await startBareNode(at(900_000))
    const honest = await startBareNode(at(1000))
    const other = await startBareNode(at(1000))
    const { ask, tips, poll } = await setting({ liar, honest, other })
    await poll('liar', 900_000)

    await ask({
      ...BLOCK_NUMBER,
      operation: { ...BLOCK_NUMBER.operation, need: { kind: 'endpoint', endpoint: 'liar' } },
    })
    const replies = []
    for (let i = 0; i < 10; i++) replies.push(textOf(await ask(LATEST_BLOCK)))

    expect(tips.get('wallet', 'ethereum', null, 'latest')).toBe(1000)
    expect(replies.filter((text) => text.includes('0x3e8')).length).toBe(10)
  })

  test('a block that the caller was given, by its number or with its transaction, counts', async () => {
    const a = await startBareNode((asked) =>
      asked.method === 'eth_getTransactionByHash' ? { blockNumber: '0x3ea' } : {},
    )
    const { ask, tips } = await setting({ a })

    await ask(blockAt(1001))
    expect(tips.get('wallet', 'ethereum', null, 'latest')).toBe(1001)
    await ask(TRANSACTION)

    expect(tips.get('wallet', 'ethereum', null, 'latest')).toBe(1002)
  })

  test('requests at the newest block go to endpoints that have what the caller has seen', async () => {
    const a = await startBareNode(() => ({ blockNumber: '0x3e9' }))
    const b = await startBareNode(() => 'from b')
    const { ask, poll } = await setting({ a, b }, { endpoints: { a: { tier: 'fallback' } } })
    const other = (method: string, need: Need) => ({
      operation: { name: 'other', need, isRead: true, absenceIsDoubtful: need.kind === 'hash' } as const,
      call: { id: '1', isNotification: false, method, params: '[]' },
    })
    const balance = other('eth_getBalance', { kind: 'latest', shard: null })
    const RECEIPT = other('eth_getTransactionReceipt', { kind: 'hash', shard: null })
    await poll('a', 1001)
    await poll('b', 1000)

    expect((await ask(balance)).endpoint).toBe('b')
    // Not there yet: the fallback, which has it, is tried as well.
    b.answering = () => null
    const seen = await ask(RECEIPT)
    const after = await ask(balance)
    const another = await ask({ ...balance, caller: 'another' })

    expect([seen.endpoint, after.endpoint, another.endpoint]).toEqual(['a', 'a', 'b'])
  })

  test('finalized has a mark of its own', async () => {
    const a = await startBareNode(() => ({ number: '0x3b0' }))
    const b = await startBareNode(() => ({ number: '0x3d0' }))
    const { ask, tips } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })
    tips.raise('wallet', 'ethereum', null, 'finalized', 0x3c8)

    const reply = await ask(FINALIZED_BLOCK)

    expect(textOf(reply)).toBe('{"number":"0x3d0"}')
    expect(tips.get('wallet', 'ethereum', null, 'latest')).toBeNull()
  })
})

describe('what is no read is sent once', () => {
  test.each<[string, Answering, string]>([
    ['reset', reset, 'outcome-unknown'],
    ['hang', hang, 'outcome-unknown'],
    ['500', sayStatus(500), 'outcome-unknown'],
    ['garbage', sayStatus(200, 'ok'), 'outcome-unknown'],
    ['404', sayStatus(404, '404 page not found'), 'all-failed'],
  ])('%s', async (_, answering, kind) => {
    const a = await startBareNode(answering)
    const b = await startBareNode(() => ({}))
    const { ask } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    const reply = await ask({ ...ALIAS, deadlineAt: systemClock.monotonic() + 300 })

    expect(textOf(reply)).toBe(kind)
    expect(reply).toMatchObject({ endpoint: 'a', attempts: 1 })
    expect(a.asked).toHaveLength(1)
    expect(b.asked).toHaveLength(0)
  })

  test.each([
    ['admin.alias', ALIAS],
    ['health.getLiveness', { ...ALIAS, operation: { ...CHAIN_ID, name: 'health.getLiveness' } } as const],
  ])('a 404 to %s fails at an endpoint named by the caller as at the best one', async (_, request) => {
    const a = await startBareNode(sayStatus(404, '404 page not found'))
    const { ask } = await setting({ a })
    const operation = { ...request.operation, need: { kind: 'endpoint', endpoint: 'a' } } as const

    expect(textOf(await ask({ ...request, operation }))).toBe('all-failed')
  })

  test('the node has no admin API: the message says what it needs', async () => {
    const a = await startBareNode(sayStatus(404, '404 page not found'))
    const { ask } = await setting({ a })

    expect(await ask(ALIAS)).toMatchObject({
      rejection: {
        kind: 'all-failed',
        message: 'a: answered HTTP 404: avalanchego offers its admin API only with its own --api-admin-enabled=true',
      },
    })
  })

  test('not even over a connection that the node was just closing', async () => {
    const a = await startBareNode(() => '0x1')
    const { ask } = await setting({ a })
    await ask()
    a.answering = reset

    expect(textOf(await ask(ALIAS))).toBe('outcome-unknown')
    expect(a.asked.map(({ method }) => method)).toEqual(['eth_chainId', 'admin.alias'])
  })

  test('it never reached the node: that is known', async () => {
    const a = await startBareNode(() => ({}))
    const { ask } = await setting({ a })
    await a.stop()

    expect(textOf(await ask(ALIAS))).toBe('all-failed')
  })

  test('no healthy endpoint: it is rejected, while reads go to the least unhealthy one, marked', async () => {
    const a = await startBareNode(() => '0x1')
    const { ask, poll } = await setting({ a })
    await poll('a', null)
    await poll('a', null)

    expect(textOf(await ask(ALIAS))).toBe('no-endpoint')
    expect(await ask()).toMatchObject({ kind: 'result', endpoint: 'a', degraded: true })
  })

  test('its answer carries the own id of the node', async () => {
    const a = await startBareNode((asked, response) => {
      response.setHeader('node-id', 'NodeID-1')
      response.end(`{"jsonrpc":"2.0","result":{},"id":${asked.id}}`)
    })
    const { ask } = await setting({ a })

    expect(await ask(ALIAS)).toMatchObject({ kind: 'result', nodeId: 'NodeID-1' })
  })
})

describe('never', () => {
  test('an endpoint of another network, whatever happens', async () => {
    const a = await startBareNode(() => '0x5')
    const { ask, world } = await setting({ a }, { network: { chainId: 1 } })
    const [of] = world.board.network('ethereum')?.endpoints ?? []
    if (of === undefined) throw new Error('no endpoint')
    const failure = { kind: 'wrong-network', expected: 1, actual: '5' } as const
    await world.poll(of.health.endpoint, { heads: [{ shard: null, outcome: { ok: false, failure, durationMs: 1 } }] })

    const pinned = { ...CHAIN_ID, need: { kind: 'endpoint', endpoint: 'a' } } as const
    expect([textOf(await ask()), textOf(await ask({ operation: pinned }))]).toEqual(['no-endpoint', 'no-endpoint'])
    expect(a.asked).toHaveLength(0)
  })

  test('one with an unverified network', async () => {
    const a = await startBareNode(() => '0x1')
    const { ask, poll } = await setting({ a }, { network: { chainId: 1 }, polled: false })

    expect(textOf(await ask())).toBe('no-endpoint')
    await poll('a', 1000)

    expect(await ask()).toMatchObject({ kind: 'result', degraded: false })
  })

  test('one without a head check whose liveness polls have not verified the network', async () => {
    const a = await startBareNode(() => '0x1')
    const { ask, world } = await setting(
      { a },
      { network: { chainId: 1 }, endpoints: { a: { checks: ['liveness'] } }, polled: false },
    )
    const well = liveness(systemClock.now())
    await world.pollAll({ liveness: good(well) })
    expect(textOf(await ask())).toBe('no-endpoint')

    await world.pollAll({ liveness: good({ ...well, chainIdVerified: true }) })

    expect(await ask()).toMatchObject({ kind: 'result', degraded: false })
  })

  test('another endpoint in the place of the one that was named', async () => {
    const a = await startBareNode(reset)
    const b = await startBareNode(() => 'b')
    const { ask } = await setting({ a, b })

    const reply = await ask({ operation: { ...CHAIN_ID, need: { kind: 'endpoint', endpoint: 'a' } } })

    expect(reply).toMatchObject({ kind: 'rejected', endpoint: 'a', attempts: 1 })
    expect(b.asked).toHaveLength(0)
  })

  test('for a caller that is gone', async () => {
    const a = await startBareNode(hang)
    const b = await startBareNode(() => 'b')
    const { ask, attempts } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })
    const signal = new Cancellation()
    const reply = ask({ signal })
    setTimeout(() => signal.abort(), 50)

    expect((await reply).kind).toBe('rejected')
    expect(attempts).toEqual(['a cancelled'])
    expect(b.asked).toHaveLength(0)
  })
})

describe('traffic', () => {
  test('opens the breaker of an endpoint that keeps failing, has it polled, and a good poll closes it', async () => {
    const a = await startBareNode(sayStatus(502))
    const b = await startBareNode(() => 'b')
    const { ask, doubted, poll, forwarder } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    for (let i = 0; i < 10; i++) expect(textOf(await ask())).toBe('"b"')

    expect(a.asked).toHaveLength(5)
    expect(doubted).toEqual(['ethereum/a'])
    expect(forwarder.overview('ethereum')).toMatchObject([
      { endpoint: 'b', excluded: null },
      { endpoint: 'a', excluded: 'breaker-open', breaker: 'open' },
    ])

    a.answering = () => 'a'
    await poll('a', 1000)

    expect(textOf(await ask())).toBe('"a"')
  })

  test('of one caller whose long calls time out leaves the endpoint to those that it answers meanwhile', async () => {
    const a = await startBareNode(({ method }) => (method === 'eth_newFilter' ? undefined : '0x1'))
    const { ask, forwarder, doubted } = await setting({ a })
    const deadlineAt = systemClock.monotonic() + 800
    const long = Array.from({ length: 20 }, () => ask({ ...FILTER, caller: 'hog', deadlineAt }))
    await expect.poll(() => a.asked.filter(({ method }) => method === 'eth_newFilter')).toHaveLength(20)

    expect(textOf(await ask())).toBe('"0x1"')
    for (const reply of await Promise.all(long)) expect(reply).toMatchObject({ kind: 'rejected' })

    expect(await ask()).toMatchObject({ kind: 'result', degraded: false })
    expect(doubted).toEqual([])
    expect(forwarder.overview('ethereum')).toMatchObject([{ endpoint: 'a', excluded: null, breaker: 'closed' }])
  })

  test('of long calls that time out opens the breaker of an endpoint that answers nothing else', async () => {
    const a = await startBareNode(hang)
    const { ask, doubted } = await setting({ a })
    const deadlineAt = systemClock.monotonic() + 800

    await Promise.all(Array.from({ length: 5 }, () => ask({ ...FILTER, deadlineAt })))

    expect(doubted).toEqual(['ethereum/a'])
  })

  test('of long calls that time out opens the breaker of an endpoint that resets its other connections', async () => {
    const a = await startBareNode((asked, response) =>
      asked.method === 'eth_newFilter' ? undefined : reset(asked, response),
    )
    const { ask, doubted } = await setting({ a })
    const deadlineAt = systemClock.monotonic() + 800
    const long = Array.from({ length: 20 }, () => ask({ ...FILTER, deadlineAt }))
    await expect.poll(() => a.asked.filter(({ method }) => method === 'eth_newFilter')).toHaveLength(20)

    await ask()
    await Promise.all(long)

    expect(doubted).toEqual(['ethereum/a'])
  })

  test('of a single endpoint goes through all the same, marked', async () => {
    const a = await startBareNode(sayStatus(502))
    const { ask } = await setting({ a })
    for (let i = 0; i < 6; i++) await ask()
    a.answering = () => 'well again'

    expect(await ask()).toMatchObject({ kind: 'result', degraded: true })
    expect(await ask()).toMatchObject({ kind: 'result', degraded: false })
  })

  test('leaves alone a node that limits our rate, and its breaker closed', async () => {
    const a = await startBareNode(sayStatus(429, '', { 'retry-after': '60' }))
    const b = await startBareNode(() => 'b')
    const { ask, forwarder, doubted } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    for (let i = 0; i < 10; i++) expect(textOf(await ask())).toBe('"b"')

    expect(a.asked).toHaveLength(1)
    expect(doubted).toEqual([])
    expect(forwarder.overview('ethereum').find(({ endpoint }) => endpoint === 'a')).toMatchObject({
      excluded: 'resting',
      breaker: 'closed',
    })
  })

  test('is no storm: when all fail, a fifth more than was asked is sent, beyond a small floor', async () => {
    const a = await startBareNode(sayError(-32_005, 'rate'))
    const nodes = { a, b: await startBareNode(sayStatus(400)), c: await startBareNode(sayStatus(400)) }
    const { ask } = await setting(nodes)

    for (let i = 0; i < 200; i++) await ask()

    const sent = Object.values(nodes).reduce((sum, { asked }) => sum + asked.length, 0)
    // Of b and c nothing bad was known at first.
    expect(sent).toBeLessThanOrEqual(200 + 40 + 2)
    expect(sent).toBeGreaterThanOrEqual(220)
  })

  test('is answered by the one that answers, however many at once fail at the other', async () => {
    const a = await startBareNode(sayStatus(502))
    const b = await startBareNode(() => 'b')
    const { ask } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    const replies = await Promise.all(Array.from({ length: 100 }, () => ask()))

    expect(a.asked.length).toBeGreaterThan(20)
    expect(new Set(replies.map(textOf))).toEqual(new Set(['"b"']))
  })

  test('is answered by the one that answers, however often polls find the other well', async () => {
    const a = await startBareNode(sayStatus(502))
    const b = await startBareNode(() => 'b')
    const { ask, poll } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    for (let round = 0; round < 8; round++) {
      for (let i = 0; i < 6; i++) expect(textOf(await ask())).toBe('"b"')
      await poll('a', 1000)
    }

    expect(a.asked.length).toBeGreaterThan(20)
  })

  test('spreads over endpoints that are as good, once one has enough to do', async () => {
    const slow =
      (name: string): Answering =>
      (asked, response) => {
        setTimeout(() => response.end(`{"jsonrpc":"2.0","id":${asked.id},"result":"${name}"}`), 20)
      }
    const a = await startBareNode(slow('a'))
    const b = await startBareNode(slow('b'))
    const { ask } = await setting({ a, b })

    await Promise.all(Array.from({ length: 40 }, () => ask()))

    expect(Math.abs(a.asked.length - b.asked.length)).toBeLessThan(12)
  })

  test('that gets no connection before its timeout gets the overload error, and the node is not blamed', async () => {
    const a = await startBareNode(hang)
    const { ask, forwarder } = await setting({ a })
    const deadlineAt = systemClock.monotonic() + 1500

    const replies = await Promise.all(Array.from({ length: 160 }, () => ask({ deadlineAt })))

    const told = replies.map(textOf)
    expect(told.filter((kind) => kind === 'deadline')).toHaveLength(128)
    expect(told.filter((kind) => kind === 'overloaded')).toHaveLength(32)
    expect(forwarder.overview('ethereum')).toHaveLength(1)
  })

  test('one after the other stays with one endpoint', async () => {
    const a = await startBareNode(() => 'a')
    const b = await startBareNode(() => 'b')
    const { ask } = await setting({ a, b }, { isTimeStopped: true })

    for (let i = 0; i < 50; i++) await ask()

    expect(new Set([a.asked.length, b.asked.length])).toEqual(new Set([0, 50]))
  })
})

describe('multiversx', () => {
  const CODE = '"error":"","code":"successful"}'
  const rest = (name: 'network_status' | 'block_by_hash', path: string, singleShardPath: string) => ({
    operation: {
      name,
      need: name === 'network_status' ? ({ kind: 'latest', shard: 1 } as const) : ({ kind: 'hash', shard: 1 } as const),
      isRead: true,
      absenceIsDoubtful: name === 'block_by_hash',
    },
    to: { kind: 'path', path, singleShardPath } as const,
    call: null,
  })
  const STATUS = rest('network_status', '/network/status/1', '/network/status')
  const BLOCK = rest('block_by_hash', '/block/1/by-hash/aa', '/block/by-hash/aa')
  const MX = { name: 'multiversx', family: 'multiversx' } as const
  const notFound = sayStatus(500, '{"data":null,"error":"getting block failed","code":"internal_issue"}')

  test('an observer gets requests without the shard, and only for its own shard', async () => {
    const zero = await startBareNode(sayStatus(200, `{"data":{"status":{"erd_nonce":7}},${CODE}`))
    const one = await startBareNode(sayStatus(200, `{"data":{"status":{"erd_nonce":1005}},${CODE}`))
    const { ask, tips } = await setting(
      { zero, one },
      { network: MX, endpoints: { zero: { kind: 'observer', shards: [0] }, one: { kind: 'observer', shards: [1] } } },
    )

    const reply = await ask(STATUS)

    expect(reply).toMatchObject({ kind: 'rest', status: 200, endpoint: 'one' })
    expect(one.asked.map(({ path }) => path)).toEqual(['/network/status'])
    expect(tips.get('wallet', 'multiversx', 1, 'latest')).toBe(1005)
  })

  test('what only a proxy has, or a shard that no endpoint has, is refused with this reason', async () => {
    const zero = await startBareNode(sayStatus(200, `{"data":{"status":{"erd_nonce":7}},${CODE}`))
    const { ask } = await setting({ zero }, { network: MX, endpoints: { zero: { kind: 'observer', shards: [0] } } })

    const account = {
      operation: { name: 'other', need: { kind: 'any' }, isRead: true, absenceIsDoubtful: false },
      to: { kind: 'path', path: '/address/erd1', singleShardPath: null },
      call: null,
    } as const

    expect(await ask(account)).toMatchObject({
      rejection: { kind: 'no-endpoint', message: 'no proxy of this network is usable, and observers lack this route' },
    })
    expect(await ask(STATUS)).toMatchObject({
      rejection: { kind: 'no-endpoint', message: 'no endpoint of this network is usable for shard 1' },
    })
  })

  test.each(['', '"erd_nonce":"1005"', '"erd_nonce":-5'])(
    'a status without a nonce (%s) is a failed attempt',
    async (member) => {
      const a = await startBareNode(sayStatus(200, `{"data":{"status":{${member}}},${CODE}`))
      const b = await startBareNode(sayStatus(200, `{"data":{"status":{"erd_nonce":1005}},${CODE}`))
      const shards = [0, 1]
      const { ask } = await setting(
        { a, b },
        { network: MX, endpoints: { a: { shards }, b: { shards, tier: 'fallback' } } },
      )

      expect(await ask(STATUS)).toMatchObject({ kind: 'rest', endpoint: 'b', height: 1005, attempts: 2 })
    },
  )

  test('an internal issue of one node is tried elsewhere, and passed on verbatim when they agree', async () => {
    const a = await startBareNode(notFound)
    const b = await startBareNode(notFound)
    const shards = [0, 1]
    const { ask } = await setting(
      { a, b },
      { network: MX, endpoints: { a: { shards }, b: { shards, tier: 'fallback' } } },
    )

    const reply = await ask(BLOCK)

    expect(reply).toMatchObject({ kind: 'rest', status: 500, endpoint: 'a', attempts: 2 })
    expect(textOf(reply)).toBe('{"data":null,"error":"getting block failed","code":"internal_issue"}')
    expect(a.asked[0]?.path).toBe('/block/1/by-hash/aa')

    b.answering = sayStatus(200, `{"data":{"block":{}},${CODE}`)
    expect(await ask(BLOCK)).toMatchObject({ kind: 'rest', status: 200, endpoint: 'b' })
  })

  test('a block that the caller has seen is no internal issue of a proxy below it: the caller waits for it', async () => {
    const a = await startBareNode(sayStatus(200, `{"data":{"status":{"erd_nonce":1005}},${CODE}`))
    const b = await startBareNode(notFound)
    const shards = [0, 1]
    const of = { network: MX, endpoints: { a: { shards }, b: { shards, tier: 'fallback' as const } } }
    const { ask, poll } = await setting({ a, b }, of)
    expect(await ask(STATUS)).toMatchObject({ kind: 'rest', endpoint: 'a', height: 1005 })
    await a.stop()
    const block: Parameters<typeof ask>[0] = {
      operation: {
        name: 'block_by_nonce',
        need: { kind: 'height', shard: 1, height: 1005 },
        isRead: true,
        absenceIsDoubtful: true,
      },
      to: { kind: 'path', path: '/block/1/by-nonce/1005', singleShardPath: '/block/by-nonce/1005' },
      call: null,
    }

    expect(textOf(await ask({ ...block, caller: 'another' }))).toContain('internal_issue')
    const waiting = ask(block)
    await expect.poll(() => b.asked.length).toBeGreaterThan(1)
    b.answering = sayStatus(200, `{"data":{"block":{"nonce":1005,"shard":1}},${CODE}`)
    await poll('b', 1005)

    expect(await waiting).toMatchObject({ kind: 'rest', status: 200, endpoint: 'b', height: 1005 })
  })

  test('an internal issue is tried elsewhere where each proxy lacks another shard, so that neither is healthy', async () => {
    const a = await startBareNode(notFound)
    const b = await startBareNode(sayStatus(200, `{"data":{"status":{"erd_nonce":1005}},${CODE}`))
    const shards = [1, 2]
    const { ask, world } = await setting({ a, b }, { network: MX, endpoints: { a: { shards }, b: { shards } } })
    const lacks = { a: 1, b: 2 }
    for (let round = 0; round < 2; round++) {
      for (const name of ['a', 'b'] as const) {
        const of = endpoint(name, { network: 'multiversx', family: 'multiversx', shards })
        const heads = shards.map((shard) => ({
          shard,
          outcome:
            shard === lacks[name]
              ? bad({ kind: 'rpc', code: 'internal_issue', message: '' })
              : good(head(1005, systemClock.now())),
        }))
        await world.poll(of, { heads })
      }
    }

    expect(await ask(STATUS)).toMatchObject({ kind: 'rest', endpoint: 'b', height: 1005, attempts: 2, degraded: true })
  })

  test('success without data is tried elsewhere, and passed on when they agree', async () => {
    const empty = sayStatus(200, `{"data":null,${CODE}`)
    const a = await startBareNode(empty)
    const b = await startBareNode(sayStatus(200, `{"data":{"block":{}},${CODE}`))
    const shards = [0, 1]
    const { ask } = await setting(
      { a, b },
      { network: MX, endpoints: { a: { shards }, b: { shards, tier: 'fallback' } } },
    )

    expect(await ask(BLOCK)).toMatchObject({ kind: 'rest', status: 200, endpoint: 'b', attempts: 2 })

    b.answering = empty
    expect(await ask(BLOCK)).toMatchObject({ kind: 'rest', status: 200, endpoint: 'a', attempts: 2 })
  })

  test('a busy node is left alone for the next', async () => {
    const a = await startBareNode(sayStatus(429, '{"data":null,"error":"system busy","code":"system_busy"}'))
    const b = await startBareNode(sayStatus(200, `{"data":{},${CODE}`))
    const shards = [0, 1]
    const { ask } = await setting(
      { a, b },
      { network: MX, endpoints: { a: { shards }, b: { shards, tier: 'fallback' } } },
    )

    expect(await ask(BLOCK)).toMatchObject({ kind: 'rest', status: 200, endpoint: 'b', attempts: 2 })
    expect(await ask(BLOCK)).toMatchObject({ endpoint: 'b', attempts: 1 })
  })
})
