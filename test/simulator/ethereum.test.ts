import { describe, expect, test } from 'vitest'
import { createFakeClock } from '../support/fake-clock.ts'
import { post, rpc, startNode } from './ask.ts'

const start = () => startNode(createFakeClock(), { family: 'ethereum' })

/** ethereum/execution-apis, src/schemas/block.yaml: the required ones. */
const REQUIRED =
  'hash parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom number gasLimit gasUsed timestamp extraData mixHash nonce size transactions uncles'

describe('a simulated ethereum node', () => {
  test('gives its newest block with every required field, about as large as mainnet blocks are', async () => {
    const node = await start()

    const reply = await rpc(node.url, 'eth_getBlockByNumber', ['latest', false])

    for (const field of REQUIRED.split(' ')) expect(reply.result).toHaveProperty(field)
    expect(Number(reply.result.number)).toBe(node.height())
    expect(reply.result.hash).toMatch(/^0x[0-9a-f]{64}$/)
    expect(reply.result.logsBloom).toHaveLength(514)
    expect(JSON.stringify(reply).length).toBeGreaterThan(11_000)
    expect(JSON.stringify(reply).length).toBeLessThan(13_000)
  })

  test('knows every tag, and null beyond its head', async () => {
    const node = await start()
    const height = async (of: string) =>
      Number((await rpc(node.url, 'eth_getBlockByNumber', [of, false])).result.number)

    expect(await height('safe')).toBe(node.height() - 32)
    expect(await height('finalized')).toBe(node.height() - 64)
    expect(await height('pending')).toBe(node.height())
    expect(await height('earliest')).toBe(0)
    expect((await rpc(node.url, 'eth_getBlockByNumber', ['0xfffffffff', false])).result).toBeNull()
  })

  test('finds a block by its hash, and a transaction of it', async () => {
    const node = await start()
    const { result: newest } = await rpc(node.url, 'eth_getBlockByNumber', ['latest', true])

    const byHash = await rpc(node.url, 'eth_getBlockByHash', [newest.hash, true])
    const transaction = await rpc(node.url, 'eth_getTransactionByHash', [newest.transactions[7].hash])
    const unknown = await rpc(node.url, 'eth_getTransactionByHash', [`0x${'0'.repeat(64)}`])

    expect(byHash.result).toEqual(newest)
    expect(transaction.result).toEqual(newest.transactions[7])
    expect(transaction.result.blockHash).toBe(newest.hash)
    expect(unknown.result).toBeNull()
  })

  test('says who it is', async () => {
    const node = await startNode(createFakeClock(), { family: 'ethereum', chainId: 11_155_111 })

    expect((await rpc(node.url, 'eth_chainId')).result).toBe('0xaa36a7')
    expect((await rpc(node.url, 'net_version')).result).toBe('11155111')
    expect((await rpc(node.url, 'web3_clientVersion')).result).toMatch(/^Geth\//)
    expect((await rpc(node.url, 'eth_syncing')).result).toBe(false)
  })

  test.each([
    ['eth_nothing', [], -32601],
    ['eth_getBlockByNumber', ['latest'], -32602],
    ['eth_getBlockByNumber', ['100', false], -32602],
    ['eth_getBlockByNumber', ['0x01', false], -32602],
    ['eth_getBlockByHash', ['0x1234', false], -32602],
    ['eth_getTransactionByHash', [], -32602],
  ])('refuses %s %j with %i', async (method, params, code) => {
    const node = await start()

    const reply = await rpc(node.url, method, params)

    expect(reply.error?.code).toBe(code)
    expect(reply.id).toBe(1)
  })

  test('answers batches, leaves notifications out, and answers only-notifications with 204', async () => {
    const node = await start()
    const call = { jsonrpc: '2.0', id: 'a', method: 'eth_chainId' }
    const notification = { jsonrpc: '2.0', method: 'eth_chainId' }

    const batch = await post(node.url, [call, notification, 1])
    const empty = await post(node.url, [])
    const silent = await post(node.url, notification)
    const broken = await post(node.url, '{')

    expect(await batch.json()).toEqual([
      { jsonrpc: '2.0', id: 'a', result: '0x1' },
      { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'invalid request' } },
    ])
    expect(await empty.json()).toMatchObject({ id: null, error: { code: -32600 } })
    expect([silent.status, await silent.text()]).toEqual([204, ''])
    expect([broken.status, await broken.json()]).toMatchObject([200, { id: null, error: { code: -32700 } }])
  })

  test('takes JSON alone, and neither PUT nor DELETE', async () => {
    const node = await start()

    expect((await post(node.url, '{}', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await fetch(node.url, { method: 'PUT', body: '{}' })).status).toBe(405)
    expect((await fetch(node.url)).status).toBe(200)
  })

  test('two nodes on one chain agree on every block', async () => {
    const clock = createFakeClock()
    const one = await startNode(clock, { family: 'ethereum' }, { name: 'one' })
    const other = await startNode(clock, { family: 'ethereum' }, { name: 'other', chain: one.chain })

    const replies = await Promise.all([one, other].map(({ url }) => rpc(url, 'eth_getBlockByNumber', ['latest', true])))

    expect(replies[1]).toEqual(replies[0])
  })
})
