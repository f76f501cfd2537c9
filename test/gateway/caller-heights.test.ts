import fc from 'fast-check'
import { expect, test } from 'vitest'
import { answerHeight, createCallerHeights } from '../../src/gateway/caller-heights.ts'
import { extraOperation } from '../../src/gateway/request/classify.ts'
import type { UpstreamRequest } from '../../src/gateway/upstream-request.ts'
import { BLOCK_NUMBER, blockAt, CHAIN_ID, EARLIEST_BLOCK, FINALIZED_BLOCK, LATEST_BLOCK, TRANSACTION } from './nodes.ts'

const result = (text: string) => ({ kind: 'result', result: Buffer.from(text) }) as const
const extra = (method: string) => ({
  operation: { ...CHAIN_ID, name: 'other' } as const,
  call: { id: '1', isNotification: false, method, params: '[]' },
})
const PENDING_BLOCK = { ...FINALIZED_BLOCK, call: { ...FINALIZED_BLOCK.call, params: '["pending",false]' } }
const RECEIPT = extra('eth_getTransactionReceipt')
const byBlock = (method: string, params: string) => ({
  operation: extraOperation(method, params),
  call: { id: '1', isNotification: false, method, params },
})
const HEADER = byBlock('eth_getHeaderByNumber', '["latest"]')
const PENDING_HEADER = byBlock('eth_getHeaderByNumber', '["pending"]')
const RECEIPTS = byBlock('eth_getBlockReceipts', '["latest"]')
const RECEIPTS_BY_HASH = byBlock('eth_getBlockReceipts', `[{"blockHash":"0x${'a'.repeat(64)}"}]`)
const RECEIPTS_BY_NUMBER = byBlock('eth_getBlockReceipts', '["0x7"]')
const BLOCK_BY_HASH = extra('eth_getBlockByHash')
const of = (question: Partial<UpstreamRequest>, text: string) => answerHeight(question as UpstreamRequest, result(text))

test.each([
  ['eth_blockNumber', BLOCK_NUMBER, '"0x3e8"', { tag: 'latest', height: 1000, isHead: true }],
  ['latest', LATEST_BLOCK, '{"hash":"0x1","number":"0x3E8"}', { tag: 'latest', height: 1000, isHead: true }],
  ['latest, with blanks', LATEST_BLOCK, '{ "number" : "0x3e8" }', { tag: 'latest', height: 1000, isHead: true }],
  ['finalized', FINALIZED_BLOCK, '{"number":"0x3e8"}', { tag: 'finalized', height: 1000, isHead: true }],
  ['pending', PENDING_BLOCK, '{"number":"0x3e8"}', { tag: 'pending', height: 1000, isHead: true }],
  ['earliest', EARLIEST_BLOCK, '{"number":"0x0"}', { tag: 'latest', height: 0, isHead: false }],
  ['by number', blockAt(7), '{"anything":1}', { tag: 'latest', height: 7, isHead: false }],
  ['a receipt', RECEIPT, '{"logs":[],"blockNumber":"0x3e8"}', { tag: 'latest', height: 1000, isHead: false }],
  ['by hash', BLOCK_BY_HASH, '{"number":"0x3e8"}', { tag: 'latest', height: 1000, isHead: false }],
  [
    'a header by hash',
    extra('eth_getHeaderByHash'),
    '{"number":"0x3e8"}',
    { tag: 'latest', height: 1000, isHead: false },
  ],
  ['a header', HEADER, '{"number":"0x3e8"}', { tag: 'latest', height: 1000, isHead: true }],
  ['a pending header', PENDING_HEADER, '{"number":"0x3e8"}', { tag: 'pending', height: 1000, isHead: true }],
  ['receipts', RECEIPTS, '[{"logs":[],"blockNumber":"0x3e8"}]', { tag: 'latest', height: 1000, isHead: true }],
  ['receipts by hash', RECEIPTS_BY_HASH, '[{"blockNumber":"0x3e8"}]', { tag: 'latest', height: 1000, isHead: false }],
  ['receipts by number', RECEIPTS_BY_NUMBER, '[]', { tag: 'latest', height: 7, isHead: false }],
  ['a transaction', TRANSACTION, '{"blockNumber":"0x3e8"}', { tag: 'latest', height: 1000, isHead: false }],
])('%s tells a height', (_, question, text, height) => {
  expect(of(question, text)).toEqual(height)
})

test.each([
  ['null', LATEST_BLOCK, 'null'],
  ['no receipt', RECEIPT, 'null'],
  ['another method', extra('eth_getLogs'), '[{"blockNumber":"0x3e8"}]'],
  ['no receipts', RECEIPTS, '[]'],
  ['no block by that number', blockAt(7), 'null'],
  ['a pending transaction', TRANSACTION, '{"blockNumber":null}'],
  ['a number', BLOCK_NUMBER, '1000'],
  ['no quantity', BLOCK_NUMBER, '"0x"'],
  ['no hex', BLOCK_NUMBER, '"0x3g"'],
  ['too large', BLOCK_NUMBER, '"0x20000000000000"'],
  ['far too large', BLOCK_NUMBER, '"0x1000000000000000000000"'],
  ['not a question of heights', { operation: CHAIN_ID }, '"0x1"'],
  ['no JSON', LATEST_BLOCK, '{"number" 0x3e8'],
])('%s tells none', (_, question, text) => {
  expect(of(question, text)).toBeNull()
})

test.each([
  ['as nodes write it', '{"data":{"block":{"nonce":1035,"hash":"ab"}},"code":"successful"}', 1035],
  ['in another order', '{"data":{"block":{"miniBlocks":[{"transactions":[{"nonce":7}]}],"nonce": 1035}}}', 1035],
  ['no block', '{"data":null,"error":"","code":"successful"}', null],
  ['a text', '{"data":{"block":{"hash":"ab","nonce":"1035"}}}', null],
  ['none', '{"data":{"block":{"hash":"ab"}}}', null],
])('a MultiversX block by hash or nonce tells its nonce: %s', (_, body, height) => {
  const byHash = { ...CHAIN_ID, name: 'block_by_hash' } as const
  const byNonce = { ...CHAIN_ID, name: 'block_by_nonce', need: { kind: 'height', shard: 0, height: 1035 } } as const
  const reply = { kind: 'rest', status: 200, body: Buffer.from(body) } as const

  for (const operation of [byHash, byNonce]) {
    const question = { operation } as Partial<UpstreamRequest> as UpstreamRequest
    expect(answerHeight(question, reply)?.height ?? null).toBe(height)
    expect(answerHeight(question, { ...reply, status: 500 })).toBeNull()
  }
})

test('every height is read as it was written', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (height) => {
      expect(of(BLOCK_NUMBER, `"0x${height.toString(16)}"`)?.height).toBe(height)
      expect(of(LATEST_BLOCK, JSON.stringify({ number: `0x${height.toString(16)}` }))?.height).toBe(height)
    }),
  )
})

test('a height only rises, and is the caller’s own', () => {
  const tips = createCallerHeights()
  tips.raise('a', 'ethereum', null, 'latest', 5)
  tips.raise('a', 'ethereum', null, 'latest', 4)

  expect(tips.get('a', 'ethereum', null, 'latest')).toBe(5)
  expect(tips.get('b', 'ethereum', null, 'latest')).toBeNull()
  expect(tips.get('a', 'ethereum', 0, 'latest')).toBeNull()
  expect(tips.get('a', 'ethereum', null, 'finalized')).toBeNull()
})

test('heights are bounded: the least recently raised goes first', () => {
  const tips = createCallerHeights(undefined, 2)
  tips.raise('a', 'n', null, 'latest', 1)
  tips.raise('b', 'n', null, 'latest', 1)
  tips.raise('a', 'n', null, 'latest', 2)
  tips.raise('c', 'n', null, 'latest', 1)

  expect(['a', 'b', 'c'].map((caller) => tips.get(caller, 'n', null, 'latest'))).toEqual([2, null, 1])
})
