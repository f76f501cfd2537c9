import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newChainMemory } from '../../src/chains/chain.ts'
import { multiversx } from '../../src/chains/multiversx.ts'
import { failureOf, recorded, type Scripted, TARGET, talk, valueOf } from './support.ts'

const STATUS = recorded('multiversx/network-status')
const BLOCK = recorded('multiversx/block')
const NOT_FOUND: Scripted = { body: recorded('multiversx/error-block-not-found'), status: 500 }
const PARENT = '1f0e9d8c7b6a59483726150403f2e1d0cfbeadbcadbecfd0e1f2031425364758'
const HASH = '8e1c4ff0d3b2a59687706f5e4d3c2b1a0918273645546372819fa0b1c2d3e4f5'

function ask(script: readonly Scripted[], memory = newChainMemory(), kind: 'proxy' | 'observer' = 'proxy') {
  return talk(multiversx.head({ ...TARGET, kind }, 1, memory), script)
}

function blockWith(over: object): Scripted {
  const answer = JSON.parse(BLOCK)
  return { body: { ...answer, data: { block: { ...answer.data.block, ...over } } } }
}

describe('the head of a shard', () => {
  test('is the block at its nonce, asked for by nonce and by hash, with the shard in every path of a proxy', () => {
    const conversation = ask([{ body: STATUS }, { body: BLOCK }, { body: BLOCK }])

    expect(valueOf(conversation)).toEqual({
      height: 25_834_010,
      hash: HASH,
      parentHash: PARENT,
      timestamp: 1_763_817_198_600,
    })
    expect(conversation.requests).toEqual([
      { method: 'GET', path: '/network/status/1', body: null },
      { method: 'GET', path: '/block/1/by-nonce/25834010', body: null },
      { method: 'GET', path: `/block/1/by-hash/${HASH}`, body: null },
    ])
  })

  test('is requested from an observer without a shard in the path', () => {
    const { requests } = ask([{ body: STATUS }, { body: BLOCK }, { body: BLOCK }], newChainMemory(), 'observer')

    expect(requests.map(({ path }) => path)).toEqual([
      '/network/status',
      '/block/by-nonce/25834010',
      `/block/by-hash/${HASH}`,
    ])
  })

  test('is requested by hash once for each new block', () => {
    const memory = newChainMemory()
    ask([{ body: STATUS }, { body: BLOCK }, { body: BLOCK }], memory)

    expect(ask([{ body: STATUS }, { body: BLOCK }], memory).reading.ok).toBe(true)
  })

  test('is the block before, while the newest one is not in the block store yet', () => {
    const before = blockWith({ nonce: 25_834_009 })

    const conversation = ask([{ body: STATUS }, NOT_FOUND, before, before])

    expect(valueOf(conversation).height).toBe(25_834_009)
    expect(conversation.requests[2]?.path).toBe('/block/1/by-nonce/25834009')
  })

  test('is not looked for any further down', () => {
    expect(failureOf(ask([{ body: STATUS }, NOT_FOUND, NOT_FOUND]))).toEqual({
      kind: 'rpc',
      code: 'internal_issue',
      message: 'sending request error, getting block failed: key not found',
    })
  })

  test('is its parent, while another node of the pool answers by hash and has not the block yet', () => {
    const before = blockWith({ nonce: 25_834_009, hash: PARENT })
    const memory = newChainMemory()

    const conversation = ask([{ body: STATUS }, { body: BLOCK }, NOT_FOUND, before], memory)

    expect(valueOf(conversation)).toMatchObject({ height: 25_834_009, hash: PARENT })
    expect(conversation.requests[3]?.path).toBe(`/block/1/by-hash/${PARENT}`)
    expect(memory.seenHashes?.get(1)).toBe(PARENT)
  })

  test('is not known where its parent is not found by hash either', () => {
    expect(failureOf(ask([{ body: STATUS }, { body: BLOCK }, NOT_FOUND, NOT_FOUND]))).toMatchObject({ kind: 'rpc' })
  })

  test('may be the genesis block, which leaves out its time and its parent', () => {
    const status = { data: { status: { erd_nonce: 0 } }, error: '', code: 'successful' }
    const genesis = { body: recorded('multiversx/block-genesis') }

    expect(valueOf(ask([{ body: status }, genesis, genesis]))).toMatchObject({
      height: 0,
      parentHash: '',
      timestamp: 0,
    })
  })

  test('has whole seconds before 2025', () => {
    const block = { body: recorded('multiversx/block-before-2025') }

    expect(valueOf(ask([{ body: STATUS }, block, block])).timestamp).toBe(1_763_817_198_000)
  })
})

describe('a block that is another than it should be', () => {
  test.each([
    [{ nonce: 25_834_009 }, 'nonce is not the requested one'],
    [{ shard: 2 }, 'the block is of another shard'],
    [{ hash: '0x12' }, 'hash is not a 32-byte hash'],
    [{ prevBlockHash: '' }, 'prevBlockHash is not a 32-byte hash'],
    [{ nonce: -1 }, 'nonce is not a height'],
    [{ timestampMs: undefined, timestamp: 1e12 }, 'timestamp is not a time'],
    [{ timestampMs: undefined, timestamp: undefined }, 'timestamp is not a time'],
  ])('is malformed: %j', (over, what) => {
    expect(failureOf(ask([{ body: STATUS }, blockWith(over)]))).toEqual({ kind: 'malformed', what })
  })

  test.each([{ hash: 'a'.repeat(64) }, { nonce: 25_834_011 }])('is noticed by hash: %j', (over) => {
    const memory = newChainMemory()

    const conversation = ask([{ body: STATUS }, { body: BLOCK }, blockWith(over)], memory)

    expect(failureOf(conversation)).toEqual({
      kind: 'malformed',
      what: 'the block by hash is another block than by nonce',
    })
    expect(memory.seenHashes?.size ?? 0).toBe(0)
  })
})

describe('the hash at a height', () => {
  const HEIGHT = 25_834_010

  function askHash(answer: Scripted, kind: 'proxy' | 'observer' = 'proxy', memory = newChainMemory()) {
    return talk(multiversx.blockHash({ ...TARGET, kind }, 1, HEIGHT, memory), [answer])
  }

  test.each([
    ['proxy', '/block/1/by-nonce/25834010'],
    ['observer', '/block/by-nonce/25834010'],
  ] as const)('is requested from a %s by nonce', (kind, path) => {
    const conversation = askHash({ body: BLOCK }, kind)

    expect(valueOf(conversation)).toBe(HASH)
    expect(conversation.requests).toEqual([{ method: 'GET', path, body: null }])
  })

  test('is null where the node has no such block', () => {
    expect(valueOf(askHash(NOT_FOUND))).toBeNull()
  })

  test('leaves alone what is known of the newest block', () => {
    const memory = newChainMemory()

    askHash({ body: BLOCK }, 'proxy', memory)

    expect(memory.seenHashes?.size ?? 0).toBe(0)
  })

  test.each<[string, Scripted]>([
    ['a block of another height', blockWith({ nonce: 25_834_009 })],
    ['a block of another shard', blockWith({ shard: 2 })],
    ['no hash', blockWith({ hash: '' })],
    ['a limit', { body: recorded('multiversx/error-system-busy'), status: 429 }],
    ['a shard that it does not know', { body: recorded('multiversx/error-shard'), status: 400 }],
    ['HTML', { body: '<html>', status: 502 }],
  ])('is unknown after %s', (_name, answer) => {
    expect(askHash(answer).reading.ok).toBe(false)
  })

  test('is read or refused from whatever JSON, never thrown over', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        for (const data of [any, { block: any }]) {
          expect(askHash({ body: { code: 'successful', data } }).reading.ok).toBe(false)
        }
      }),
    )
  })
})

describe('an answer', () => {
  test.each([
    ['2^53 + 1', '9007199254740993'],
    ['negative', '-1'],
    ['a fraction', '1.5'],
    ['a text', '"25834010"'],
    ['latest', '"latest"'],
    ['infinite', '1e999'],
  ])('with a nonce that is %s is malformed', (_name, nonce) => {
    const body = `{"data":{"status":{"erd_nonce":${nonce}}},"error":"","code":"successful"}`

    expect(failureOf(ask([{ body }]))).toEqual({ kind: 'malformed', what: 'data.status.erd_nonce is not a height' })
  })

  test.each([
    ['error-system-busy', 429, { kind: 'rate-limited', retryAfterMs: 2000 }],
    ['error-system-busy', 200, { kind: 'rate-limited', retryAfterMs: 2000 }],
    ['error-shard', 400, { kind: 'rpc', code: 'bad_request', message: 'cannot parse shard ID' }],
  ])('of %s (HTTP %i) is read from its envelope', (name, status, failure) => {
    expect(failureOf(ask([{ body: recorded(`multiversx/${name}`), status, retryAfterMs: 2000 }]))).toEqual(failure)
  })

  test.each<[string, unknown, number, unknown]>([
    ['a plain 404', '404 page not found', 404, { kind: 'http', status: 404 }],
    ['a redirect', STATUS, 302, { kind: 'redirect', status: 302 }],
    ['success with HTTP 500', STATUS, 500, { kind: 'http', status: 500 }],
    ['HTML', '<html>', 200, { kind: 'not-json' }],
    ['no envelope', '{"status":"ok"}', 200, { kind: 'malformed', what: 'code is missing: not a MultiversX answer' }],
    ['an unknown code', { data: null, error: 'x', code: '<b>' }, 200, { kind: 'rpc', code: 'unknown', message: 'x' }],
    [
      'data null',
      { data: null, code: 'successful' },
      200,
      { kind: 'malformed', what: 'data.status.erd_nonce is not a height' },
    ],
  ])('of %s says so', (_name, body, status, failure) => {
    expect(failureOf(ask([{ body, status }]))).toEqual(failure)
  })

  test('of any JSON whatever is read or refused, never thrown over', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        for (const body of [any, { code: 'successful', data: any }, { code: 'successful', data: { status: any } }]) {
          expect(ask([{ body: JSON.stringify(body) }]).reading.ok).toBe(false)
        }
        const block = { code: 'successful', data: { block: any } }
        expect(ask([{ body: STATUS }, { body: JSON.stringify(block) }]).reading.ok).toBe(false)
      }),
    )
  })
})
