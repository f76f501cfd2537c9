import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createCache } from '../../src/gateway/cache/cache.ts'
import { createCoalescer } from '../../src/gateway/cache/coalesce.ts'
import { createCallerHeights } from '../../src/gateway/caller-heights.ts'
import { createChainRollbacks } from '../../src/gateway/chain-rollbacks.ts'
import { createForwarder } from '../../src/gateway/failover/forwarder.ts'
import { turnsOfSlices } from '../../src/gateway/loop-turns.ts'
import { proberOf } from '../nodes/support.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { endpoint, network, nodeTarget } from '../support/network.ts'
import { createWorld } from '../support/world.ts'
import { byHash, byNumber, textOf } from './chain.ts'

const DEPTH = 20

let anvil: Anvil
beforeAll(async () => {
  anvil = await startAnvil()
})
afterAll(() => anvil.stop())

/** The real row of answerers before a real node, and the real poller beside them. Block time 12 s: what is kept, is kept for long. */
async function open(family: 'ethereum' | 'avalanche', finalDepth: number) {
  const of = network({ family, chainId: 31_337 })
  const own = endpoint('anvil', { family })
  const target = nodeTarget(own, anvil.url, { rpcPath: '/', chainId: 31_337 })
  const { board, ...world } = createWorld(systemClock, [{ network: of, endpoints: [own] }], {
    prober: proberOf([target]),
    onChainEvent: (name, event) => cache.chainMoved(name, event),
  })
  const rollbacks = createChainRollbacks(board)
  const tips = createCallerHeights(rollbacks)
  const forwarder = createForwarder({
    board,
    clock: systemClock,
    rollbacks,
    slices: turnsOfSlices(),
    callerHeights: tips,
    onDoubt() {},
  })
  forwarder.retarget([target])
  const coalescer = createCoalescer({ next: forwarder, clock: systemClock, callerHeights: tips })
  const cache = createCache({ next: coalescer, board, clock: systemClock, callerHeights: tips })
  cache.configure({ maxBytes: 2 ** 20, finalDepths: new Map([[of.name, finalDepth]]) })
  onTestFinished(() => {
    cache.stop()
    forwarder.close()
  })

  const poll = () => world.poll(own)
  await poll()
  const deadline = () => ({ deadlineAt: systemClock.monotonic() + 5000 })
  return {
    poll,
    block: (height: number) => cache.handle(byNumber(height, deadline())),
    transaction: async (hash: string) => {
      const asked = byHash(hash)
      const call = { id: '1', isNotification: false, method: 'eth_getTransactionByHash', params: asked.canonical }
      return cache.handle({ ...asked, call, ...deadline() })
    },
  }
}

const hashOf = (text: string) => (JSON.parse(text) as { hash: string }).hash
const trueHash = async (height: number) =>
  ((await anvil.call('eth_getBlockByNumber', [`0x${height.toString(16)}`, false])) as { hash: string }).hash

describe('on a real node', () => {
  test('final blocks are served without it, and reorganised ones are fetched again once that was seen', async () => {
    await anvil.mine(60)
    const { block, poll } = await open('ethereum', DEPTH)
    const tip = await anvil.height()
    for (const height of [tip, tip - 10, tip - DEPTH]) expect((await block(height)).cache).toBe('miss')
    for (const height of [tip, tip - 10, tip - DEPTH]) expect((await block(height)).cache).toBe('hit')

    await anvil.reorg(12)
    await poll()

    expect(await block(tip - DEPTH)).toMatchObject({ cache: 'hit' })
    for (const height of [tip, tip - 10]) {
      const reply = await block(height)
      expect(reply.cache).toBe('miss')
      expect(hashOf(textOf(reply))).toBe(await trueHash(height))
    }
  })

  test('a transaction that was reorganised out of its block is fetched again', async () => {
    const [from] = (await anvil.call('eth_accounts')) as [string]
    const hash = (await anvil.call('eth_sendTransaction', [{ from, to: from, value: '0x1' }])) as string
    await anvil.mine(1)
    const { transaction, poll } = await open('ethereum', DEPTH)
    await transaction(hash)
    expect(await transaction(hash)).toMatchObject({ cache: 'hit' })

    await anvil.rollback(1)
    await poll()

    expect(await transaction(hash)).toMatchObject({ cache: 'miss' })
  })

  test('a chain that goes back though it never does loses everything that was kept of it', async () => {
    await anvil.mine(60)
    const { block, poll } = await open('avalanche', 0)
    const tip = await anvil.height()
    for (const height of [tip, tip - 5, 1]) await block(height)
    for (const height of [tip, tip - 5, 1]) expect((await block(height)).cache).toBe('hit')

    await anvil.rollback(6)
    await poll()

    for (const height of [tip - 6, 1]) expect((await block(height)).cache).toBe('miss')
    expect(textOf(await block(tip))).toBe('null')
  })
})
