import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readRest } from '../../src/gateway/request/multiversx-routes.ts'

const METACHAIN = 4_294_967_295
const SHARDS = [0, 1, 2, METACHAIN]
const HASH = 'ab'.repeat(32)

function read(target: string, extraMethods: readonly string[] = []) {
  const [rest = '', query = null] = target.split('?')
  return readRest({ rest, query, shards: SHARDS, extraMethods })
}

describe('requests to a proxy, and to an observer, which has no shards in its paths', () => {
  test('a block by hash', () => {
    expect(read(`/block/1/by-hash/${HASH}`)).toEqual({
      kind: 'operation',
      operation: { name: 'block_by_hash', need: { kind: 'hash', shard: 1 }, isRead: true, absenceIsDoubtful: true },
      canonical: `/block/1/by-hash/${HASH}`,
      to: { kind: 'path', path: `/block/1/by-hash/${HASH}`, singleShardPath: `/block/by-hash/${HASH}` },
    })
  })

  test('a block by nonce, on the metachain too', () => {
    expect(read(`/block/${METACHAIN}/by-nonce/9007199254740991`)).toMatchObject({
      operation: {
        name: 'block_by_nonce',
        need: { kind: 'height', shard: METACHAIN, height: Number.MAX_SAFE_INTEGER },
      },
      to: {
        path: `/block/${METACHAIN}/by-nonce/9007199254740991`,
        singleShardPath: '/block/by-nonce/9007199254740991',
      },
    })
    expect(read('/block/0/by-nonce/0')).toMatchObject({ operation: { need: { height: 0 } } })
  })

  test('the status of a shard, and the configuration of the network', () => {
    expect(read('/network/status/2')).toMatchObject({
      operation: { name: 'network_status', need: { kind: 'latest', shard: 2 }, isRead: true },
      to: { path: '/network/status/2', singleShardPath: '/network/status' },
    })
    expect(read('/network/config')).toMatchObject({
      operation: { name: 'network_config', need: { kind: 'any' }, isRead: true },
      to: { path: '/network/config', singleShardPath: '/network/config' },
    })
  })
})

describe('equal requests have one canonical form', () => {
  test.each([
    ['withTxs=true&forHyperblock=true', '?forHyperblock=true&withTxs=true'],
    ['withLogs=false&withTxs=true', '?withTxs=true'],
    ['forHyperblock=true&withLogs=true&withTxs=true', '?forHyperblock=true&withLogs=true&withTxs=true'],
    ['withTxs=false', ''],
  ])('?%s', (query, sent) => {
    const request = read(`/block/1/by-nonce/5?${query}`)

    expect(request).toMatchObject({
      canonical: `/block/1/by-nonce/5${sent}`,
      to: { path: `/block/1/by-nonce/5${sent}`, singleShardPath: `/block/by-nonce/5${sent}` },
    })
  })

  test('hashes in capitals', () => {
    expect(read(`/block/1/by-hash/${HASH.toUpperCase()}`)).toEqual(read(`/block/1/by-hash/${HASH}`))
  })
})

test.each([
  [`/block/3/by-hash/${HASH}`, 'shard'],
  [`/block/01/by-hash/${HASH}`, 'shard'],
  [`/block/-1/by-hash/${HASH}`, 'shard'],
  [`/block/x/by-hash/${HASH}`, 'shard'],
  [`/block/1.0/by-hash/${HASH}`, 'shard'],
  [`/block/4294967296/by-nonce/1`, 'shard'],
  ['/network/status/7', 'shard'],
  ['/network/status/metachain', 'shard'],
  [`/block/1/by-hash/${HASH.slice(2)}`, 'hash'],
  [`/block/1/by-hash/${HASH}00`, 'hash'],
  [`/block/1/by-hash/0x${HASH.slice(2)}`, 'hash'],
  [`/block/1/by-hash/${'g'.repeat(64)}`, 'hash'],
  ['/block/1/by-nonce/01', 'nonce'],
  ['/block/1/by-nonce/-1', 'nonce'],
  ['/block/1/by-nonce/1e3', 'nonce'],
  ['/block/1/by-nonce/0x1', 'nonce'],
  ['/block/1/by-nonce/1.0', 'nonce'],
  ['/block/1/by-nonce/latest', 'nonce'],
  ['/block/1/by-nonce/9007199254740992', 'nonce'],
  ['/block/1/by-nonce/99999999999999999999', 'nonce'],
  ['/block/1/by-nonce/1?withTxs', 'query'],
  ['/block/1/by-nonce/1?withTxs=', 'query'],
  ['/block/1/by-nonce/1?withTxs=1', 'query'],
  ['/block/1/by-nonce/1?withTxs=True', 'query'],
  ['/block/1/by-nonce/1?withtxs=true', 'query'],
  ['/block/1/by-nonce/1?withTxs=true&withTxs=true', 'query'],
  ['/block/1/by-nonce/1?withTxs=true&', 'query'],
  ['/block/1/by-nonce/1?withTxs=true=true', 'query'],
  ['/block/1/by-nonce/1?x=true', 'query'],
  ['/block/1/by-nonce/1?__proto__=true', 'query'],
  ['/network/status/1?withTxs=true', 'query'],
  ['/network/config?x=1', 'query'],
])('%s is refused, naming the %s', (target, member) => {
  expect(read(target)).toMatchObject({ kind: 'bad-params', message: expect.stringContaining(member) })
})

test.each([
  '',
  '/',
  '/block',
  '/block/1/by-hash',
  `/block/1/by-hash/${HASH}/x`,
  `/block/by-hash/${HASH}`,
  '/block/1/by-round/5',
  '/Block/1/by-nonce/5',
  '/hyperblock/by-nonce/5',
  '/network/status',
  '/network/status/1/x',
  '/network/config/x',
  '/network/economics',
  '/node/heartbeatstatus',
  '/transaction/send',
  '/ext/health',
])('%j is unknown', (target) => {
  expect(read(target)).toMatchObject({ kind: 'unknown-route' })
})

describe("a caller's methods", () => {
  test('open more routes, of proxies alone, and their queries go along', () => {
    expect(read('/address/erd1abc?fields=a,b', ['GET /address/*'])).toEqual({
      kind: 'operation',
      operation: { name: 'other', need: { kind: 'any' }, isRead: true, absenceIsDoubtful: false },
      canonical: '/address/erd1abc?fields=a,b',
      to: { kind: 'path', path: '/address/erd1abc?fields=a,b', singleShardPath: null },
    })
    expect(read('/transaction/x', ['*'])).toMatchObject({ operation: { name: 'other' } })
    expect(read('/network/economics', ['eth_call', 'GET /network/economics'])).toMatchObject({
      operation: { name: 'other' },
    })
  })

  test.each([
    ['/address/x', ['GET /addresses/*', 'POST /address/*', '/address/*', 'GET /address/']],
    ['/network/economics', ['GET /network/economic', 'GET /network/economics/*']],
  ])('do not open %s when they name another: %j', (target, methods) => {
    expect(read(target, methods)).toMatchObject({ kind: 'unknown-route' })
  })

  test('do not loosen what the known routes take', () => {
    expect(read('/block/9/by-nonce/1', ['GET /block/*'])).toMatchObject({ kind: 'bad-params' })
  })
})

test('no path makes it throw, and what is sent to a node is of a known form', () => {
  const piece = fc.constantFrom(
    'block',
    'network',
    'status',
    'config',
    'by-hash',
    'by-nonce',
    '0',
    '1',
    '007',
    HASH,
    'x',
    '',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 7 }), fc.option(fc.string()), (pieces, query) => {
      const request = readRest({
        rest: pieces.map((each) => `/${each}`).join(''),
        query,
        shards: SHARDS,
        extraMethods: [],
      })

      if (request.kind === 'operation') {
        expect(request.to.path).toMatch(
          /^\/(?:block\/\d+\/by-(?:hash\/[0-9a-f]{64}|nonce\/\d+)(?:\?\w+=true(?:&\w+=true)*)?|network\/(?:status\/\d+|config))$/,
        )
      }
    }),
    { numRuns: 5000 },
  )
})
