import { describe, expect, test } from 'vitest'
import { isRequestedBlock } from '../../src/gateway/failover/requested-block.ts'
import type { NodeReply, UpstreamRequest } from '../../src/gateway/upstream-request.ts'
import { textOf } from './chain.ts'
import { blockAt, CHAIN_ID, LATEST_BLOCK, setting, startBareNode, TRANSACTION } from './nodes.ts'

const HASH = `0x${'a'.repeat(64)}`
const OTHER = `0x${'b'.repeat(64)}`
const extra = (method: string) => ({
  operation: { ...CHAIN_ID, name: 'other' } as const,
  call: { id: '1', isNotification: false, method, params: `["${HASH.toUpperCase().replace('0X', '0x')}",false]` },
})
const at7 = (method: string) => ({
  operation: { ...CHAIN_ID, name: 'other', need: { kind: 'height', shard: 0, height: 7 } } as const,
  call: { id: '1', isNotification: false, method, params: '["0x7"]' },
})
const rest = (name: 'block_by_hash' | 'block_by_nonce', last: string) => ({
  operation: { ...CHAIN_ID, name, need: { kind: 'height', shard: 1, height: 7 } } as const,
  to: { kind: 'path', path: `/block/1/${name === 'block_by_hash' ? 'by-hash' : 'by-nonce'}/${last}` } as const,
  call: null,
})
const result = (text: string): NodeReply => ({ kind: 'result', result: Buffer.from(text) })
const body = (text: string): NodeReply => ({ kind: 'rest', status: 200, body: Buffer.from(text) })
const of = (asked: Partial<UpstreamRequest>, reply: NodeReply) =>
  isRequestedBlock({ to: { kind: 'rpc' }, ...asked } as UpstreamRequest, reply)

test.each([
  ['a block by number', blockAt(7), result('{"hash":"0x1","number":"0x7"}')],
  ['with leading zeros', blockAt(7), result('{"number":"0x07"}')],
  ['with whitespace', blockAt(7), result('{ "number" : "0x7" }')],
  ['whose number is null', blockAt(7), result('{"number":null}')],
  ['with a nested number before its own', blockAt(7), result('{"extra":{"number":"0x1"},"number":"0x7"}')],
  ['without a number', blockAt(7), result('{}')],
  ['that does not exist', blockAt(7), result('null')],
  ['by tag, whatever its number', LATEST_BLOCK, result('{"number":"0x8"}')],
  ['a transaction in capitals', TRANSACTION, result(`{"hash":"${HASH.toUpperCase().replace('0X', '0x')}"}`)],
  ['a block by hash', extra('eth_getBlockByHash'), result(`{"hash":"${HASH}","number":"0x8"}`)],
  ['a receipt', extra('eth_getTransactionReceipt'), result(`{"transactionHash":"${HASH}","blockHash":"${OTHER}"}`)],
  ['a header by number', at7('eth_getHeaderByNumber'), result('{"number":"0x7"}')],
  [
    'receipts of a block',
    at7('eth_getBlockReceipts'),
    result('[{"logs":[{"blockNumber":"0x7"}],"blockNumber":"0x7"}]'),
  ],
  ['receipts of a block without transactions', at7('eth_getBlockReceipts'), result('[]')],
  ['receipts by hash', extra('eth_getBlockReceipts'), result(`[{"blockHash":"${HASH}","transactionHash":"${OTHER}"}]`)],
  ['a balance at a height', at7('eth_getBalance'), result('"0x0"')],
  ['another method with a hash', extra('eth_getUncleCountByBlockHash'), result('"0x0"')],
  [
    'a MultiversX block by nonce',
    rest('block_by_nonce', '7'),
    body('{"data":{"block":{"nonce":7}},"code":"successful"}'),
  ],
  [
    'a MultiversX block that names its shard after that of another block',
    rest('block_by_nonce', '7'),
    body('{"data":{"block":{"notarizedBlocks":[{"nonce":3,"shard":0}],"nonce":7,"shard":1}}}'),
  ],
  ['a MultiversX block by hash', rest('block_by_hash', 'aa'), body('{"data":{"block":{"nonce":9,"hash":"AA"}}}')],
  ['an empty MultiversX answer', rest('block_by_hash', 'aa'), body('{"data":{"block":{}}}')],
])('%s passes', (_, asked, reply) => {
  expect(of(asked, reply)).toBe(true)
})

test.each([
  ['number', blockAt(7), result('{"number":"0x8"}')],
  ['transaction', TRANSACTION, result(`{"hash":"${OTHER}"}`)],
  ['hash', extra('eth_getBlockByHash'), result(`{"hash":"${OTHER}"}`)],
  ['receipt', extra('eth_getTransactionReceipt'), result(`{"transactionHash":"${OTHER}"}`)],
  ['header', at7('eth_getHeaderByNumber'), result('{"number":"0x8"}')],
  ['header by hash', extra('eth_getHeaderByHash'), result(`{"hash":"${OTHER}"}`)],
  ["block's receipts", at7('eth_getBlockReceipts'), result('[{"blockNumber":"0x8"}]')],
  ["hash's receipts", extra('eth_getBlockReceipts'), result(`[{"blockHash":"${OTHER}"}]`)],
  ['number, with whitespace', blockAt(7), result('{ "number" : "0x8" }')],
  ['hash, with whitespace', TRANSACTION, result(`{"hash":\n "${OTHER}"}`)],
  ['nonce, with whitespace', rest('block_by_nonce', '7'), body('{"data": {"block": {"nonce": 8}}}')],
  ['nonce', rest('block_by_nonce', '7'), body('{"data":{"block":{"nonce":8}}}')],
  ['shard', rest('block_by_nonce', '7'), body('{"data":{"block":{"nonce":7,"shard":2}}}')],
  ['MultiversX hash', rest('block_by_hash', 'aa'), body('{"data":{"block":{"hash":"ab"}}}')],
  ['number, in more than a megabyte', blockAt(7), result(`{"number":"0x8","extraData":"${'0'.repeat(2 ** 20)}"}`)],
])('another %s does not pass', (_, asked, reply) => {
  expect(of(asked, reply)).toBe(false)
})

describe('an endpoint that answers with another block', () => {
  test('has failed: the next one answers', async () => {
    const a = await startBareNode(() => ({ number: '0x3e6', hash: HASH }))
    const b = await startBareNode(() => ({ number: '0x3e7', hash: HASH }))
    const { ask, attempts } = await setting({ a, b }, { endpoints: { b: { tier: 'fallback' } } })

    const reply = await ask(blockAt(999))

    expect(reply).toMatchObject({ kind: 'result', endpoint: 'b', attempts: 2 })
    expect(attempts).toEqual(['a bad-answer', 'b answered'])
  })

  test.each(['0x5', null, 'mainnet'])('or with chain id %j, if another one is configured, has failed', async (id) => {
    const a = await startBareNode(() => id)
    const b = await startBareNode(() => '0x1')
    const { ask, attempts } = await setting(
      { a, b },
      { network: { chainId: 1 }, endpoints: { b: { tier: 'fallback' } } },
    )

    expect(await ask({})).toMatchObject({ kind: 'result', endpoint: 'b', attempts: 2 })
    expect(attempts).toEqual(['a bad-answer', 'b answered'])
  })

  test('and stands alone: the request fails, and its breaker opens', async () => {
    const a = await startBareNode(() => ({ hash: OTHER, blockNumber: '0x1' }))
    const { ask, doubted } = await setting({ a })

    for (let i = 0; i < 5; i++) expect(textOf(await ask(TRANSACTION))).toBe('all-failed')

    expect(doubted).toEqual(['ethereum/a'])
  })
})
