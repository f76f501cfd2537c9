import { ProxyNetworkProvider } from '@multiversx/sdk-core'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createChain } from '../../../src/simulator/chain.ts'
import { startSimulatedNode } from '../../../src/simulator/node.ts'
import { startGateway, WRONG } from './support.ts'

const shards = [0, 1, 2, 4_294_967_295]
const chain = createChain({ clock: systemClock, seed: 'multiversx', blockTimeMs: 500, shards })
const proxy = await startSimulatedNode({ clock: systemClock, chain, kind: { family: 'multiversx' } })
const observer = await startSimulatedNode({
  clock: systemClock,
  chain,
  kind: { family: 'multiversx', kind: 'observer', shard: 1 },
})
afterAll(async () => void (await Promise.all([proxy.stop(), observer.stop()])))
const { base } = await startGateway([
  { name: 'multiversx', family: 'multiversx', block_time: '500ms', endpoints: [{ name: 'proxy', url: proxy.url }] },
  {
    name: 'observers',
    family: 'multiversx',
    block_time: '500ms',
    shards: [1],
    endpoints: [{ name: 'observer', url: observer.url, kind: 'observer', shard: 1 }],
  },
])
const providerOf = (url: string) => new ProxyNetworkProvider(url, { clientName: 'tests' })
const through = providerOf(base('multiversx'))
const directly = providerOf(proxy.url)

describe('the MultiversX SDK sees through the gateway what the node shows', () => {
  test('the network’s configuration', async () => {
    const config = await through.getNetworkConfig()

    expect(config).toEqual(await directly.getNetworkConfig())
    expect(config.chainID).toBe('1')
  })

  test('where each shard is', async () => {
    for (const shard of shards) {
      const status = await through.getNetworkStatus(shard)

      expect(Object.keys(status)).toEqual(Object.keys(await directly.getNetworkStatus(shard)))
      expect(status.blockNonce).toBeGreaterThan(0n)
    }
  })

  test('a block, by its nonce and by its hash', async () => {
    for (const shard of shards) {
      const { blockNonce } = await through.getNetworkStatus(shard)
      const byNonce = await through.getBlock({ shard, blockNonce: blockNonce - 5n })
      const byHash = await through.getBlock({ shard, blockHash: byNonce.hash })

      expect(byHash).toEqual(byNonce)
      expect(byNonce).toEqual(await directly.getBlock({ shard, blockHash: byNonce.hash }))
      expect(byNonce.nonce).toBe(blockNonce - 5n)
    }
  })

  test('a block with its transactions, asked by a path of one’s own', async () => {
    const { blockNonce } = await through.getNetworkStatus(0)
    const path = `block/0/by-nonce/${blockNonce - 5n}?withTxs=true`

    expect(await through.doGetGeneric(path)).toEqual(await directly.doGetGeneric(path))
  })

  test('through an observer, which has no shards in its paths', async () => {
    const one = providerOf(base('observers'))
    const { blockNonce } = await one.getNetworkStatus(1)

    const block = await one.getBlock({ shard: 1, blockNonce: blockNonce - 5n })

    expect(block).toEqual(await directly.getBlock({ shard: 1, blockHash: block.hash }))
  })
})

describe('the MultiversX SDK reports', () => {
  const words = (provider: ProxyNetworkProvider, path: string) =>
    provider.doGetGeneric(path).then(
      () => 'nothing is wrong',
      (error: Error) => error.message.replace(/^.*?\[/, '['),
    )

  test('in the node’s own words that there is no such block', async () => {
    const path = `block/1/by-hash/${'ab'.repeat(32)}`

    expect(await words(through, path)).toContain('getting block failed')
    expect(await words(through, path)).toBe(await words(directly, path))
  })

  test('that the endpoint_id is wrong, the route unknown, the shard none of this network', async () => {
    expect(await words(providerOf(base('multiversx', WRONG)), 'network/config')).toMatch(/Authentication failed/)
    expect(await words(through, 'address/erd1')).toMatch(/unknown route/)
    expect(await words(through, 'network/status/7')).toMatch(/shard/)
  })
})
