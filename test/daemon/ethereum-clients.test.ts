import { expect, onTestFinished, test } from 'vitest'
import { startAnvil, startOtherNode } from '../support/anvil.ts'
import { removeFolder, startDaemonHere, until } from '../support/daemon.ts'

test('three real clients say each in its own way that they do not sync and have no peers; what is not offered is no fault', async () => {
  const [anvil, ganache, hardhat] = await Promise.all([
    startAnvil({ blockTime: 1 }),
    startOtherNode('ganache'),
    startOtherNode('hardhat'),
  ])
  const nodes = { anvil, ganache, hardhat }
  onTestFinished(async () => void (await Promise.all(Object.values(nodes).map((node) => node.stop()))))
  const daemon = await startDaemonHere({
    // On a busy machine, too, no answer is late, and no chain stands still.
    poll: { interval: '2s', timeout: '2s' },
    networks: Object.entries(nodes).map(([name, { url }]) => ({
      name,
      family: 'ethereum',
      block_time: '1s',
      thresholds: { stall: '60s', latency: '2s', ...(name === 'hardhat' ? { min_peers: 0 } : {}) },
      endpoints: [{ name: 'node', url }],
    })),
  })
  onTestFinished(async () => {
    await daemon.stop()
    removeFolder(daemon.folder)
  })
  const see = (client: string) => daemon.endpoint(client, 'node')
  for (const client of Object.keys(nodes)) {
    const heights = new Set<number | undefined>()
    await until(async () => {
      const { state, heads } = await see(client)
      heights.add(heads[0]?.height)
      return state !== 'unknown' && heights.size > 2
    }, `${client} is judged, with two blocks`)
  }

  const offers = (peers: boolean) => [
    expect.objectContaining({ name: 'eth_syncing', healthy: true }),
    expect.objectContaining({ name: 'net_peerCount', healthy: true, ...(peers ? {} : { offered: false }) }),
  ]
  expect(await see('anvil')).toMatchObject({
    state: 'up',
    conditions: [],
    client: { name: 'anvil', version: expect.stringMatching(/^v1\./) },
    liveness: { healthy: true, syncing: false, peers: null, checks: offers(false) },
  })
  expect(await see('ganache')).toMatchObject({
    state: 'degraded',
    conditions: [{ code: 'few-peers', message: '0 peers, fewer than 1' }],
    client: { name: 'Ganache', version: 'v7.9.2' },
    liveness: { healthy: true, syncing: false, peers: 0, checks: offers(true) },
  })
  expect(await see('hardhat')).toMatchObject({
    state: 'up',
    conditions: [],
    client: { name: 'HardhatNetwork', version: '2.26.3' },
    liveness: { healthy: true, syncing: false, peers: 0, checks: offers(true) },
  })
})
