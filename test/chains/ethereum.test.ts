import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newChainMemory } from '../../src/chains/chain.ts'
import { ethereum } from '../../src/chains/ethereum.ts'
import { failureOf, methodOf, NOW, recorded, type Scripted, TARGET, talk, valueOf } from './support.ts'

const MAINNET = recorded('ethereum/block-mainnet')
const CHAIN_ID = recorded('ethereum/chain-id-mainnet')

function ask(...script: Scripted[]) {
  return talk(ethereum.head(TARGET, null, newChainMemory()), script)
}

function blockWith(over: object): Scripted {
  const answer = JSON.parse(MAINNET)
  return { body: { ...answer, result: { ...answer.result, ...over } } }
}

describe('the head', () => {
  test('is the latest block, without its transactions', () => {
    const conversation = ask({ body: MAINNET })

    expect(valueOf(conversation)).toEqual({
      height: 0x15f3a2b,
      hash: '0x2b4d5c8e0f1a6372849500b1c2d3e4f5061728394a5b6c7d8e9fa0b1c2d3e4f5',
      parentHash: '0x9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0',
      timestamp: Date.parse('2025-11-22T13:13:23Z'),
    })
    const [request] = conversation.requests
    expect(request?.path).toBe('/')
    expect(JSON.parse(request?.body ?? '')).toEqual({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_getBlockByNumber',
      params: ['latest', false],
    })
  })

  test('is the genesis block of 1970 where the chain begins there', () => {
    expect(valueOf(ask(blockWith({ number: '0x0', timestamp: '0x0' })))).toMatchObject({ height: 0, timestamp: 0 })
  })

  test('needs four fields of the block, and whatever else is missing does not matter', () => {
    const { number, hash, parentHash, timestamp } = JSON.parse(MAINNET).result
    const bare = { jsonrpc: '2.0', id: 1, result: { number, hash, parentHash, timestamp } }

    expect(valueOf(ask({ body: bare }))).toEqual(valueOf(ask({ body: MAINNET })))
  })

  test.each([
    ['latest', 'latest'],
    ['a number', 22_000_000],
    ['a decimal text', '22000000'],
    ['a fraction', '0x1.8'],
    ['negative', '-0x1'],
    ['2^53', '0x20000000000000'],
    ['2^256', `0x1${'0'.repeat(64)}`],
    ['a leading zero', '0x00'],
    ['null, as of a pending block', null],
    ['missing', undefined],
  ])('is malformed when its number is %s', (_name, number) => {
    expect(failureOf(ask(blockWith({ number })))).toEqual({ kind: 'malformed', what: 'number is not a height' })
  })

  test.each([
    [{ hash: '0x12' }, 'hash is not a 32-byte hash'],
    [{ hash: null }, 'hash is not a 32-byte hash'],
    [{ parentHash: 'x' }, 'parentHash is not a 32-byte hash'],
    [{ timestamp: 1_763_817_203 }, 'timestamp is not a time'],
    [{ timestamp: '0xfffffffff' }, 'timestamp is not a time'],
  ])('is malformed with %j', (over, what) => {
    expect(failureOf(ask(blockWith(over)))).toEqual({ kind: 'malformed', what })
  })

  test('is malformed, and says why, when the node has no block', () => {
    expect(failureOf(ask({ body: recorded('ethereum/block-missing') }))).toEqual({
      kind: 'malformed',
      what: 'result is null: the node has no block',
    })
  })
})

describe('an answer', () => {
  test.each<[string, unknown]>([
    ['another number', 2],
    ['the number as a text', '1'],
    ['a fraction', 1.5],
    ['null', null],
    ['missing', undefined],
    ['a list', [1]],
  ])('belongs to another request when its id is %s', (_name, id) => {
    const body = { ...JSON.parse(MAINNET), id }

    expect(failureOf(ask({ body, keepId: true }))).toEqual({ kind: 'wrong-id' })
  })

  test('from a cache is noticed: every request of an endpoint has an id of its own', () => {
    const memory = newChainMemory()
    talk(ethereum.head(TARGET, null, memory), [{ body: MAINNET }])

    const second = talk(ethereum.head(TARGET, null, memory), [{ body: MAINNET, keepId: true }])

    expect(failureOf(second)).toEqual({ kind: 'wrong-id' })
  })

  test.each([
    ['HTML', '<html><body>502 Bad Gateway</body></html>', { kind: 'not-json' }],
    ['nothing', '', { kind: 'not-json' }],
    ['half of an answer', '{"jsonrpc":"2.0","id":1,"resu', { kind: 'not-json' }],
    ['a byte order mark', `\ufeff${MAINNET}`, { kind: 'not-json' }],
    ['NaN', '{"jsonrpc":"2.0","id":1,"result":NaN}', { kind: 'not-json' }],
    ['a batch', [{}], { kind: 'malformed', what: 'an array (a batch) in answer to one request' }],
    ['a text', '"0x1"', { kind: 'malformed', what: 'not an object' }],
    ['null', 'null', { kind: 'malformed', what: 'not an object' }],
    ['no result', { jsonrpc: '2.0', id: 1 }, { kind: 'malformed', what: 'neither result nor error' }],
    [
      'a text for a block',
      { jsonrpc: '2.0', id: 1, result: '0x1' },
      { kind: 'malformed', what: 'result is not a block' },
    ],
  ])('of %s says so', (_name, body, failure) => {
    expect(failureOf(ask({ body }))).toEqual(failure)
  })

  test('with an error inside HTTP 200 is that error, its words kept apart and made printable', () => {
    const body = { jsonrpc: '2.0', id: 1, error: { code: -32603, message: `Internal\n\u202eerror${'x'.repeat(400)}` } }

    const failure = failureOf(ask({ body })) as { message: string }

    expect(failure).toMatchObject({ kind: 'rpc', code: -32603 })
    expect(failure.message).toMatch(/^Internal\ufffd\ufffderrorx+$/)
    expect(failure.message).toHaveLength(256)
  })

  test('with an error and the id null is that error: the node could not read the request', () => {
    const body = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'parse error' } }

    expect(failureOf(ask({ body }))).toEqual({ kind: 'rpc', code: -32700, message: 'parse error' })
  })

  test.each(['<b>', 1.5, 2 ** 60, null, undefined, { a: 1 }])(
    'never puts the error code %j into our sentences',
    (code) => {
      const body = { jsonrpc: '2.0', id: 1, error: { code, message: '' } }

      expect(failureOf(ask({ body }))).toEqual({ kind: 'rpc', code: 'unknown', message: '' })
    },
  )

  test.each([-32005, -32097, 429])('with the error code %i limits our rate', (code) => {
    const body = { jsonrpc: '2.0', id: 1, error: { code, message: 'slow down' } }

    for (const status of [200, 400, 402, 403, 503]) {
      const answer = { body, status, retryAfterMs: 7000 }
      expect(failureOf(ask(answer))).toEqual({ kind: 'rate-limited', retryAfterMs: 7000 })
    }
  })

  test.each([
    [-32016, 'over rate limit'],
    [-32029, 'Too Many Requests'],
    [-32007, '50/second request limit reached - reduce calls per second or upgrade your plan'],
    [-32090, 'Too many requests, reason: call rate limit exhausted, retry in 10s'],
  ])("with a provider's own code %i for a limit of our rate is no bad answer", (code, message) => {
    const body = { jsonrpc: '2.0', id: 1, error: { code, message } }

    expect(failureOf(ask({ body }))).toEqual({ kind: 'rate-limited', retryAfterMs: null })
  })

  test('with another error counts by its status', () => {
    const body = { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'no' } }

    expect(failureOf(ask({ body, status: 503 }))).toEqual({ kind: 'http', status: 503 })
  })

  test.each([
    [429, { kind: 'rate-limited', retryAfterMs: null }],
    [301, { kind: 'redirect', status: 301 }],
    [307, { kind: 'redirect', status: 307 }],
    [401, { kind: 'http', status: 401 }],
    [500, { kind: 'http', status: 500 }],
    [503, { kind: 'http', status: 503 }],
  ])('of HTTP %i is refused, whatever its body says', (status, failure) => {
    expect(failureOf(ask({ body: MAINNET, status }))).toEqual(failure)
  })
})

describe('the chain id', () => {
  const target = { ...TARGET, chainId: 1 }

  const OTHER_ID = { body: { jsonrpc: '2.0', id: 1, result: '0xaa36a7' } }
  const after = (ms: number) => ({ receivedAt: NOW + ms })

  test('is requested after the first block, and again after ten minutes', () => {
    const memory = newChainMemory()
    const polled = (ms: number, script: readonly Scripted[]) =>
      talk(
        ethereum.head(target, null, memory),
        script.map((one) => ({ ...one, ...after(ms) })),
      ).requests.map(methodOf)

    expect(polled(0, [{ body: MAINNET }, { body: CHAIN_ID }])).toEqual(['eth_getBlockByNumber', 'eth_chainId'])
    expect(polled(599_000, [{ body: MAINNET }])).toEqual(['eth_getBlockByNumber'])
    expect(polled(600_000, [{ body: MAINNET }, { body: CHAIN_ID }])).toEqual(['eth_getBlockByNumber', 'eth_chainId'])
    expect(polled(1_199_000, [{ body: MAINNET }])).toEqual(['eth_getBlockByNumber'])
  })

  test('is requested again if the wall clock was set back', () => {
    const memory = newChainMemory()
    talk(ethereum.head(target, null, memory), [{ body: MAINNET }, { body: CHAIN_ID }])

    const earlier = talk(ethereum.head(target, null, memory), [
      { body: MAINNET, ...after(-3_600_000) },
      { body: CHAIN_ID, ...after(-3_600_000) },
    ])

    expect(earlier.reading.ok).toBe(true)
  })

  test('is requested twice in doubt, so that a balancer with nodes of two chains shows both', () => {
    const memory = { ...newChainMemory(), verifiedAt: NOW, doubted: true }

    const alternating = talk(ethereum.head(target, null, memory), [{ body: MAINNET }, { body: CHAIN_ID }, OTHER_ID])
    const right = talk(ethereum.head(target, null, memory), [{ body: MAINNET }, { body: CHAIN_ID }, { body: CHAIN_ID }])
    const next = talk(ethereum.head(target, null, memory), [{ body: MAINNET }])

    expect(failureOf(alternating)).toEqual({ kind: 'wrong-network', expected: 1, actual: '11155111' })
    expect([right.reading.ok, next.reading.ok]).toEqual([true, true])
  })

  test('that was wrong leaves the endpoint in doubt: the next head counts only with the right one', () => {
    const memory = newChainMemory()

    const first = talk(ethereum.head(target, null, memory), [{ body: MAINNET }, OTHER_ID])
    const second = talk(ethereum.head(target, null, memory), [{ body: MAINNET }, OTHER_ID])

    expect([failureOf(first), failureOf(second)]).toMatchObject([{ kind: 'wrong-network' }, { kind: 'wrong-network' }])
  })

  test.each(['1', 'mainnet', null, '0x01'])('%j is no chain id', (result) => {
    const conversation = talk(ethereum.head(target, null, newChainMemory()), [
      { body: MAINNET },
      { body: { jsonrpc: '2.0', id: 1, result } },
    ])

    expect(failureOf(conversation)).toEqual({ kind: 'malformed', what: 'eth_chainId is not a quantity' })
  })

  test('that cannot be had leaves the head unbelieved', () => {
    const conversation = talk(ethereum.head(target, null, newChainMemory()), [
      { body: MAINNET },
      { body: recorded('ethereum/error-internal') },
    ])

    expect(failureOf(conversation)).toMatchObject({ kind: 'rpc', code: -32603 })
  })
})

describe('the hash at a height', () => {
  const HEIGHT = 0x15f3a2b
  const HASH = JSON.parse(MAINNET).result.hash as string

  function askHash(script: readonly Scripted[], memory = newChainMemory(), chainId: number | null = null) {
    return talk(ethereum.blockHash({ ...TARGET, chainId }, null, HEIGHT, memory), script)
  }

  test('is requested by number, at the path of the head', () => {
    const conversation = talk(ethereum.blockHash({ ...TARGET, rpcPath: '/rpc' }, null, HEIGHT, newChainMemory()), [
      { body: MAINNET },
    ])

    expect(valueOf(conversation)).toBe(HASH)
    const [request] = conversation.requests
    expect(request?.path).toBe('/rpc')
    expect(JSON.parse(request?.body ?? '')).toMatchObject({
      method: 'eth_getBlockByNumber',
      params: ['0x15f3a2b', false],
    })
  })

  test('is null where the node has no such block', () => {
    expect(valueOf(askHash([{ body: recorded('ethereum/block-missing') }]))).toBeNull()
  })

  test('is not that of another height', () => {
    expect(failureOf(askHash([blockWith({ number: '0x15f3a2c' })]))).toEqual({
      kind: 'malformed',
      what: 'number is not the requested one',
    })
  })

  test('is not that of another height either where that block is remembered', () => {
    const memory = newChainMemory()
    const other = { body: JSON.stringify(blockWith({ number: '0x15f3a2c' }).body) }
    talk(ethereum.head(TARGET, null, memory), [other])

    expect(askHash([other], memory).reading.ok).toBe(false)
  })

  test('is what this endpoint says, although the network’s other nodes said otherwise', () => {
    const memory = newChainMemory()
    talk(ethereum.head(TARGET, null, memory), [{ body: MAINNET }])
    const hash = `0x${'ab'.repeat(32)}`

    expect(valueOf(askHash([blockWith({ hash })], memory))).toBe(hash)
  })

  test('is believed only while the chain id is verified', () => {
    const memory = newChainMemory()
    talk(ethereum.head({ ...TARGET, chainId: 1 }, null, memory), [{ body: MAINNET }, { body: CHAIN_ID }])

    const same = askHash([{ body: MAINNET }], memory, 1)
    const later = { receivedAt: NOW + 600_000 }
    const other = askHash(
      [
        { body: MAINNET, ...later },
        { body: { jsonrpc: '2.0', id: 1, result: '0x5' }, ...later },
      ],
      memory,
      1,
    )

    expect(valueOf(same)).toBe(HASH)
    expect(failureOf(other)).toMatchObject({ kind: 'wrong-network' })
  })

  test.each([
    ['an error', { body: recorded('ethereum/error-internal') }],
    ['a limit', { body: MAINNET, status: 429 }],
    ['another id', { body: { ...JSON.parse(MAINNET), id: 7 }, keepId: true }],
    ['no hash', blockWith({ hash: '0x12' })],
    ['HTML', { body: '<html>' }],
  ])('is unknown after %s', (_name, answer) => {
    expect(askHash([answer]).reading.ok).toBe(false)
  })

  test('is read or refused from whatever JSON, never thrown over', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        const { reading } = askHash([{ body: { jsonrpc: '2.0', id: 1, result: any } }])
        expect(reading.ok).toBe(any === null)
        expect(askHash([blockWith({ number: any })]).reading.ok).toBe(false)
      }),
    )
  })
})

test('whatever JSON a node answers, it is read or refused, never thrown over', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (result, number) => {
      const bodies = [result, { jsonrpc: '2.0', id: 1, result }, { jsonrpc: '2.0', id: 1, error: result }]
      for (const body of bodies) expect(ask({ body: JSON.stringify(body) }).reading.ok).toBe(false)
      expect(typeof ask(blockWith({ number, timestamp: number })).reading.ok).toBe('boolean')
    }),
  )
})

test('a __proto__ in an answer pollutes nothing', () => {
  const body = MAINNET.replace('"result": {', '"result": {"__proto__":{"x":1},"constructor":{"prototype":{"x":1}},')

  expect(ask({ body }).reading.ok).toBe(true)
  expect(({} as { x?: number }).x).toBeUndefined()
})
