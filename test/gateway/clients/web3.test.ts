import { describe, expect, test } from 'vitest'
import { Web3 } from 'web3'
import { startOverAnvil, WRONG } from './support.ts'

const { anvil, base, transaction } = await startOverAnvil()
const through = new Web3(base('ethereum'))
const directly = new Web3(anvil.url)

describe('web3 sees through the gateway what the node shows', () => {
  test('the chain, and where it is', async () => {
    expect(await through.eth.getChainId()).toBe(31_337n)
    expect(await through.eth.net.getId()).toBe(31_337n)
    expect(await through.eth.getNodeInfo()).toBe(await directly.eth.getNodeInfo())
    expect(await through.eth.getBlockNumber()).toBe(await directly.eth.getBlockNumber())
  })

  test.each(['latest', 2, 'earliest', 'finalized'])('block %j, with and without its transactions', async (which) => {
    for (const hydrated of [false, true]) {
      const block = await through.eth.getBlock(which, hydrated)

      expect(block).toEqual(await directly.eth.getBlock(which, hydrated))
      expect(block.hash).toMatch(/^0x[0-9a-f]{64}$/)
    }
  })

  test('a transaction', async () => {
    const found = await through.eth.getTransaction(transaction)

    expect(found).toEqual(await directly.eth.getTransaction(transaction))
    expect(found.value).toBe(10n ** 18n)
  })

  test('many things in one batch', async () => {
    const batch = new through.BatchRequest()
    const number = batch.add({ method: 'eth_blockNumber', params: [] })
    const block = batch.add({ method: 'eth_getBlockByNumber', params: ['0x2', false] })
    const refused = batch.add({ method: 'eth_gasPrice', params: [] })
    refused.catch(() => {})
    await batch.execute({ timeout: 5000 })

    expect(await number).toBe('0x4')
    expect(await block).toMatchObject({ number: '0x2', transactions: [transaction] })
    await expect(refused).rejects.toMatchObject({ code: -32_601 })
  })
})

describe('web3 reports', () => {
  test('that something is not there', async () => {
    await expect(through.eth.getTransaction(`0x${'ab'.repeat(32)}`)).rejects.toThrow(/Transaction not found/)
  })

  test('that the endpoint_id is wrong', async () => {
    await expect(new Web3(base('ethereum', WRONG)).eth.getBlockNumber()).rejects.toThrow()
  })

  test('that a method is not allowed', async () => {
    await expect(through.eth.getGasPrice()).rejects.toMatchObject({ cause: { code: -32_601 } })
  })
})
