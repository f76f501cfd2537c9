import fc from 'fast-check'
import { expect, test } from 'vitest'
import { extraOperation, readBlockNeed } from '../../src/gateway/request/classify.ts'

const LATEST = { kind: 'latest', shard: null }
const HASH = { kind: 'hash', shard: null }
const ANY = { kind: 'any' }
const BLOCK_HASH = `0x${'ab'.repeat(32)}`
const at = (height: number) => ({ kind: 'height', shard: null, height })

test.each<[string, unknown, object]>([
  ['eth_call', [{ to: '0x1' }, 'latest'], LATEST],
  ['eth_call', [{ to: '0x1' }], LATEST],
  ['eth_call', [{ to: '0x1' }, null], LATEST],
  ['eth_call', [{ to: '0x1' }, '0x3e8'], at(1000)],
  ['eth_call', [{ to: '0x1' }, { blockNumber: '0x3e8' }], at(1000)],
  ['eth_call', [{ to: '0x1' }, { blockHash: '0xab', requireCanonical: true }], HASH],
  ['eth_call', [{ to: '0x1' }, { blockNumber: 'latest' }], LATEST],
  ['eth_getBalance', ['0x1', { blockNumber: 'pending' }], LATEST],
  ['eth_getBalance', ['0x1', { blockNumber: 'latest', blockHash: null }], LATEST],
  ['eth_call', [{ to: '0x1' }, 'finalized'], ANY],
  ['eth_call', [{ to: '0x1' }, 'earliest', { '0x1': {} }], ANY],
  ['eth_call', [{ to: '0x1' }, 1000], ANY],
  ['eth_call', { to: '0x1' }, ANY],
  ['eth_getBalance', ['0x1', 'pending'], LATEST],
  ['eth_getTransactionCount', ['0x1', 'pending'], LATEST],
  ['eth_getStorageAt', ['0x1', '0x0', '0x3e8'], at(1000)],
  ['eth_getProof', ['0x1', [], 'latest'], LATEST],
  ['eth_getBlockReceipts', ['0x3e8'], at(1000)],
  ['eth_getBlockReceipts', [BLOCK_HASH], HASH],
  ['eth_call', [{ to: '0x1' }, BLOCK_HASH], HASH],
  ['eth_getRawTransactionByBlockNumberAndIndex', ['0x3e8', '0x0'], at(1000)],
  ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x3e8' }], at(1000)],
  ['eth_getLogs', [{ fromBlock: '0x1' }], LATEST],
  ['eth_getLogs', [{ blockHash: '0xab' }], HASH],
  ['eth_getLogs', [{ blockHash: null }], LATEST],
  ['eth_getLogs', [], ANY],
  ['eth_gasPrice', [], LATEST],
  ['eth_chainConfig', ['latest'], ANY],
  ['debug_traceCall', [{}, 'latest'], ANY],
])('%s of %j asks %j', (method, params, need) => {
  expect(readBlockNeed(method, JSON.stringify(params))).toEqual(need)
})

test('without params it is the newest block, and so it is with a contract of a megabyte', () => {
  expect(readBlockNeed('eth_gasPrice', null)).toEqual(LATEST)
  expect(readBlockNeed('eth_call', JSON.stringify([{ data: '00'.repeat(500_000) }, '0x3e8']))).toEqual(LATEST)
})

test.each([
  ['eth_getBlockReceipts', BLOCK_HASH],
  ['eth_getBlockReceipts', { blockHash: BLOCK_HASH }],
  ['eth_getHeaderByHash', BLOCK_HASH],
  ['eth_getRawTransactionByHash', BLOCK_HASH],
  ['eth_getRawTransactionByBlockHashAndIndex', BLOCK_HASH],
])('the absence of what %s finds by the hash %j is doubted', (method, block) => {
  const operation = extraOperation(method, JSON.stringify([block]))
  expect(operation).toEqual({ name: 'other', need: HASH, isRead: true, absenceIsDoubtful: true })
})

test('that a block is not there is doubted of one block, not of all that stand for it', () => {
  expect(extraOperation('eth_getBlockReceipts', '["0x3e8"]').absenceIsDoubtful).toBe(true)
  expect(extraOperation('eth_getBlockReceipts', '["latest"]').absenceIsDoubtful).toBe(false)
  expect(extraOperation('eth_getBalance', '["0x1","0x3e8"]').absenceIsDoubtful).toBe(false)
})

test('no params make it throw', () => {
  const method = fc.constantFrom('eth_call', 'eth_getLogs', 'eth_getBlockReceipts', 'eth_getProof')
  fc.assert(
    fc.property(method, fc.json(), (name, params) => {
      expect(readBlockNeed(name, params)).toHaveProperty('kind')
    }),
  )
})
