import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Endpoint } from '../../src/core/endpoint.ts'
import type { Network } from '../../src/core/network.ts'
import { createCache } from '../../src/gateway/cache/cache.ts'
import { createCoalescer } from '../../src/gateway/cache/coalesce.ts'
import { createCallerHeights } from '../../src/gateway/caller-heights.ts'
import type { Reply, UpstreamHandler, UpstreamRequest } from '../../src/gateway/upstream-request.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { endpoint, good, network, THRESHOLDS } from '../support/network.ts'
import { putVote } from '../support/votes.ts'
import { createWorld } from '../support/world.ts'
import {
  byHash,
  byNumber,
  createTrueChain,
  FROM_OWN,
  latest,
  nodeOn,
  question,
  read,
  resultOf,
  type TrueChain,
  textOf,
} from './chain.ts'

const DEPTH = 100
const MIB = 2 ** 20

interface SceneOptions {
  readonly chain?: TrueChain
  readonly network?: Partial<Network>
  readonly finalDepth?: number
  readonly maxBytes?: number
  readonly next?: UpstreamHandler
  readonly endpoints?: readonly string[]
}

/** A cache and a coalescer before a node, and the real poller, which tells the cache of the chain. */
function scene(options: SceneOptions = {}) {
  const { chain = createTrueChain(1000), finalDepth = DEPTH, maxBytes = 64 * MIB, endpoints = ['own-1'] } = options
  const clock = createFakeClock()
  const of = network({ blockTimeMs: 12_000, chainId: 1, ...options.network })
  const shard = of.family === 'multiversx' ? 0 : null
  const configured = endpoints.map((name) =>
    endpoint(name, { network: of.name, family: of.family, shards: [shard], checks: ['head'] }),
  )
  const world = createWorld(clock, [{ network: of, endpoints: configured }], {
    onChainEvent: (name, event) => cache.chainMoved(name, event),
  })
  const node = nodeOn(chain)
  const tips = createCallerHeights()
  const coalescer = createCoalescer({ next: options.next ?? node, clock, callerHeights: tips })
  const cache = createCache({ next: coalescer, board: world.board, clock, callerHeights: tips })
  onTestFinished(() => cache.stop())
  cache.configure({ maxBytes, finalDepths: new Map([[of.name, finalDepth]]) })

  async function poll(): Promise<void> {
    for (const one of configured) {
      await world.poll(one, { heads: [{ shard, outcome: good(chain.head(clock.now())) }] })
    }
  }
  const outcomeOf = async (asked: UpstreamRequest) => (await cache.handle(asked)).cache

  return { chain, clock, world, node, tips, cache, poll, outcomeOf, of, configured }
}

describe('a block that is final', () => {
  test('is kept for good, for every caller and every id', async () => {
    const { cache, poll, clock, node, chain } = scene()
    await poll()

    const first = await cache.handle(byNumber(900))
    await clock.advance(3_600_000)
    const call = { id: '"другой"', isNotification: false, method: 'eth_getBlockByNumber', params: '["0x384", false]' }
    const second = await cache.handle(byNumber(900, { caller: 'other', call }))

    expect(first).toMatchObject({ cache: 'miss', endpoint: 'own-1', attempts: 1, nodeMs: 5 })
    expect(second).toMatchObject({ cache: 'hit', endpoint: 'own-1', attempts: 0, nodeMs: 0, degraded: false })
    expect(textOf(second)).toBe(chain.block(900))
    expect(node.asked).toHaveLength(1)
  })

  test('is kept as one with whole transactions and one without', async () => {
    const { cache, poll, node } = scene()
    await poll()

    await cache.handle(byNumber(900))
    await cache.handle(byNumber(900, { canonical: '["0x384",true]' }))

    expect(node.asked).toHaveLength(2)
  })

  test('of one network is not served for another', async () => {
    const { cache, poll, node } = scene()
    await poll()

    await cache.handle(byNumber(900))
    await cache.handle(byNumber(900, { network: 'other' }))

    expect(node.asked).toHaveLength(2)
  })

  test('takes its transactions with it', async () => {
    const { cache, poll, clock, chain } = scene()
    await poll()
    const asked = byHash(chain.transactionAt(900))

    await cache.handle(asked)
    await clock.advance(3_600_000)

    expect(await cache.handle(asked)).toMatchObject({ cache: 'hit' })
  })

  test('of an avalanche network is every block that a node has', async () => {
    const { poll, clock, outcomeOf, chain } = scene({ network: { family: 'avalanche' }, finalDepth: 0 })
    await poll()

    await outcomeOf(byNumber(chain.height))
    await clock.advance(3_600_000)

    expect(await outcomeOf(byNumber(chain.height))).toBe('hit')
  })

  test('is none while the endpoints are of two minds about the chain', async () => {
    const { poll, world, clock, outcomeOf } = scene()
    await poll()
    const { standing } = world.board.network('ethereum') ?? {}
    if (standing !== undefined) world.board.putStanding({ ...standing, forked: true }, true)

    await outcomeOf(byNumber(900))
    await clock.advance(6000)

    expect(await outcomeOf(byNumber(900))).toBe('miss')
  })
})

describe('a block that is mined and not final', () => {
  test('is kept for half the time between two blocks, by number and by a transaction in it', async () => {
    const { poll, clock, outcomeOf, chain } = scene()
    await poll()
    for (const call of [byNumber(950), byHash(chain.transactionAt(950))]) {
      expect(await outcomeOf(call)).toBe('miss')
      await clock.advance(5999)
      expect(await outcomeOf(call)).toBe('hit')
      await clock.advance(1)
      expect(await outcomeOf(call)).toBe('miss')
    }
  })

  test('is dropped at once when the monitor sees a reorganisation', async () => {
    const { cache, poll, chain } = scene()
    await poll()
    await cache.handle(byNumber(1000))

    chain.reorg(1)
    await poll()

    const reply = await cache.handle(byNumber(1000))
    expect(reply.cache).toBe('miss')
    expect(textOf(reply)).toBe(chain.block(1000))
  })

  test('is dropped at once when the chain steps back', async () => {
    const { cache, poll, chain } = scene()
    await poll()
    await cache.handle(byNumber(1000))

    chain.rollback(2)
    await poll()

    expect(textOf(await cache.handle(byNumber(1000)))).toBe('null')
  })

  test('is not kept when the chain moved while the answer was on its way', async () => {
    const chain = createTrueChain(1000)
    let release = () => {}
    const slow: UpstreamHandler = {
      async handle() {
        const text = chain.block(1000)
        await new Promise<void>((resolve) => {
          release = resolve
        })
        return resultOf(text)
      },
    }
    const { cache, poll, outcomeOf } = scene({ chain, next: slow })
    await poll()

    const answer = cache.handle(byNumber(1000))
    chain.reorg(1)
    await poll()
    release()
    await answer

    const again = outcomeOf(byNumber(1000))
    release()
    expect(await again).toBe('miss')
  })

  test('is a block that its caller knows of: heights must not go back below it', async () => {
    const { cache, poll, tips } = scene()
    await poll()
    await cache.handle(byNumber(1000))

    await cache.handle(byNumber(1000, { caller: 'other' }))

    expect(tips.get('other', 'ethereum', null, 'latest')).toBe(1000)
  })

  test('and counts as seen by a caller if it is final, too', async () => {
    const { cache, poll, tips } = scene()
    await poll()
    await cache.handle(byNumber(850))

    const reply = await cache.handle(byNumber(850, { caller: 'other' }))

    expect(reply).toMatchObject({ cache: 'hit', height: 850 })
    expect(tips.get('other', 'ethereum', null, 'latest')).toBe(850)
  })
})

test('a block that no chain can have yet is nothing that other callers know of', async () => {
  const lie: UpstreamHandler = { handle: () => Promise.resolve(resultOf('{"number":"0x3b9aca00","hash":"0x1"}')) }
  const { cache, poll, tips } = scene({ next: lie })
  await poll()
  await cache.handle(byNumber(1_000_000_000))

  const reply = await cache.handle(byNumber(1_000_000_000, { caller: 'other' }))

  // A caller that sends this height back would wait for it at every Heartline.
  expect(reply).toMatchObject({ cache: 'hit', height: null })
  expect(tips.get('other', 'ethereum', null, 'latest')).toBeNull()
})

describe('never kept', () => {
  const replies: Record<string, Reply> = {
    'a null': resultOf('null'),
    'an error of the node': { kind: 'error', error: Buffer.from('{"code":-32000,"message":"x"}'), ...FROM_OWN },
    'an error of the gateway': { kind: 'rejected', rejection: { kind: 'all-failed', message: 'x' }, ...FROM_OWN },
    'the answer of one that is not well': resultOf(createTrueChain(1000).block(900), { degraded: true }),
    'another block than was asked for': resultOf(createTrueChain(1000).block(901)),
    'what is no block': resultOf('"0x384"'),
    'what is larger than 1 MiB': resultOf(`{"number":"0x384","hash":"0x1","extraData":"${'0'.repeat(MIB)}"}`),
  }
  for (const [what, reply] of Object.entries(replies)) {
    test(what, async () => {
      const { poll, outcomeOf, cache } = scene({ next: { handle: () => Promise.resolve(reply) } })
      await poll()

      await outcomeOf(byNumber(900))

      expect(await outcomeOf(byNumber(900))).toBe('miss')
      expect(cache.bytes).toBe(0)
    })
  }

  test('a transaction that waits to be mined, or another one than was asked for', async () => {
    const hash = `0x${'a'.repeat(64)}`
    const texts = [`{"blockHash":null,"blockNumber":null,"hash":"${hash}"}`, `{"blockNumber":"0x1","hash":"0xb"}`]
    for (const text of texts) {
      const { poll, outcomeOf } = scene({ next: { handle: () => Promise.resolve(resultOf(text)) } })
      await poll()
      await outcomeOf(byHash(hash))
      expect(await outcomeOf(byHash(hash))).toBe('miss')
    }
  })

  test('requests by tag, requests to one endpoint, and notifications', async () => {
    const { poll, outcomeOf } = scene()
    await poll()
    const pinned = { operation: read('eth_getTransactionByHash', { kind: 'endpoint', endpoint: 'own-1' }) }
    const silent = { call: { id: 'null', isNotification: true, method: 'eth_getBlockByNumber', params: null } }
    const finalized = { operation: read('eth_getBlockByNumber', { kind: 'any' }), canonical: '["finalized",false]' }
    const hash = `["0x${'a'.repeat(64)}"]`

    for (const asked of [
      latest(),
      question(finalized),
      byNumber(900, silent),
      question({ ...pinned, canonical: hash }),
    ]) {
      await outcomeOf(asked)
      expect(await outcomeOf(asked)).toBe('none')
    }
  })

  test('anything while it has no room at all', async () => {
    const { poll, outcomeOf } = scene({ maxBytes: 0 })
    await poll()

    await outcomeOf(byNumber(900))

    expect(await outcomeOf(byNumber(900))).toBe('none')
  })
})

describe('what a network is', () => {
  const asked = {
    eth_chainId: question(),
    net_version: question({ operation: read('net_version', { kind: 'any' }) }),
  }
  const answering = (text: string): UpstreamHandler => ({ handle: () => Promise.resolve(resultOf(text)) })

  test('is kept for a moment when it is what the configuration says', async () => {
    for (const [name, text] of [['eth_chainId', '"0x1"'] as const, ['net_version', '"1"'] as const]) {
      const { poll, clock, outcomeOf } = scene({ next: answering(text) })
      await poll()
      await outcomeOf(asked[name])
      expect(await outcomeOf(asked[name])).toBe('hit')
      await clock.advance(30_000)
      expect(await outcomeOf(asked[name])).toBe('miss')
    }
  })

  test('is not kept when it is of another kind, or the chain id is unknown', async () => {
    for (const options of [{ next: answering('"0x2"') }, { next: answering('"0x1"'), network: { chainId: null } }]) {
      const { poll, outcomeOf } = scene(options)
      await poll()
      await outcomeOf(asked.eth_chainId)
      expect(await outcomeOf(asked.eth_chainId)).toBe('miss')
    }
  })
})

describe('a MultiversX block', () => {
  const hash = 'c'.repeat(64)
  const operation = read('block_by_hash', { kind: 'hash', shard: 0 })
  const path = `/block/0/by-hash/${hash}`
  const asked = question({ operation, canonical: path, to: { kind: 'path', path }, call: null })
  const rest = (data: object, over: object = {}): Reply => ({
    kind: 'rest',
    status: 200,
    body: Buffer.from(JSON.stringify({ data, error: '', code: 'successful', ...over })),
    ...FROM_OWN,
  })
  const block = (nonce: number, over: object = {}) => ({ block: { nonce, hash, status: 'on-chain', ...over } })
  const statusPath = '/network/status/0'
  const status = question({
    operation: read('network_status', { kind: 'latest', shard: 0 }),
    canonical: statusPath,
    to: { kind: 'path', path: statusPath },
    call: null,
  })
  const finalIs = (nonce: number) => rest({ status: { erd_nonce: 1000, erd_highest_final_nonce: nonce } })

  function shard(answer: Reply, toStatus = finalIs(0)) {
    const next: UpstreamHandler = {
      handle: ({ operation: { name } }) => Promise.resolve(name === 'network_status' ? toStatus : answer),
    }
    return scene({ network: { family: 'multiversx', blockTimeMs: 6000, chainId: null }, finalDepth: 32, next })
  }

  test('is kept for good by its hash once it is deep enough', async () => {
    const { cache, poll, clock, outcomeOf } = shard(rest(block(968)))
    await poll()
    await outcomeOf(asked)
    await clock.advance(3_600_000)

    const reply = await cache.handle(asked)

    expect(reply).toMatchObject({ kind: 'rest', status: 200, cache: 'hit' })
    expect(textOf(reply)).toBe(textOf(rest(block(968))))
  })

  test('is kept for half a round while it is not', async () => {
    const { poll, clock, outcomeOf } = shard(rest(block(969)))
    await poll()
    await outcomeOf(asked)
    await clock.advance(2999)
    expect(await outcomeOf(asked)).toBe('hit')
    await clock.advance(1)
    expect(await outcomeOf(asked)).toBe('miss')
  })

  test('is final earlier where a node has told what is', async () => {
    const { cache, poll, clock, outcomeOf } = shard(rest(block(998)), finalIs(999))
    await poll()
    await cache.handle(status)

    await outcomeOf(asked)
    await clock.advance(3_600_000)

    expect(await outcomeOf(asked)).toBe('hit')
  })

  test('is not, where a node reports a final height that no endpoint has reached', async () => {
    const { cache, poll, clock, outcomeOf } = shard(rest(block(998)), finalIs(5000))
    await poll()
    await cache.handle(status)

    await outcomeOf(asked)
    await clock.advance(3000)

    expect(await outcomeOf(asked)).toBe('miss')
  })

  test('is final where one node says so, though another has told a lie before', async () => {
    const told = [finalIs(5000), finalIs(999)]
    const next: UpstreamHandler = {
      handle: ({ operation: { name } }) =>
        Promise.resolve(name === 'network_status' ? (told.shift() ?? finalIs(0)) : rest(block(998))),
    }
    const of = { family: 'multiversx' as const, blockTimeMs: 6000, chainId: null }
    const { cache, poll, clock, outcomeOf } = scene({ network: of, finalDepth: 32, next })
    await poll()
    await cache.handle(status)
    await cache.handle(status)

    await outcomeOf(asked)
    await clock.advance(3_600_000)

    expect(await outcomeOf(asked)).toBe('hit')
  })

  test('is never kept when it was reverted, is another, or the answer is no success', async () => {
    const bad = [
      rest(block(900, { status: 'reverted' })),
      rest(block(900, { hash: 'd'.repeat(64) })),
      rest(block(900), { code: 'internal_issue' }),
      { ...rest(block(900)), status: 500 } as Reply,
      rest({ block: null }),
      { ...rest({}), body: Buffer.from('<html>') } as Reply,
    ]
    for (const reply of bad) {
      const { poll, outcomeOf, cache } = shard(reply)
      await poll()
      await outcomeOf(asked)
      expect(await outcomeOf(asked)).toBe('miss')
      expect(cache.bytes).toBe(0)
    }
  })
})

describe('a chain that goes back deeper than it can', () => {
  test('is another chain: nothing of it is kept', async () => {
    const { cache, poll, chain } = scene()
    await poll()
    await cache.handle(byNumber(500))

    chain.rollback(900)
    chain.mine(500)
    await poll()

    expect((await cache.handle(byNumber(500))).cache).toBe('miss')
  })

  test('loses of an avalanche network everything at the first step back', async () => {
    const { cache, poll, chain } = scene({ network: { family: 'avalanche' }, finalDepth: 0 })
    await poll()
    await cache.handle(byNumber(10))

    chain.reorg(995)
    chain.rollback(1)
    await poll()

    expect(textOf(await cache.handle(byNumber(10)))).toBe(chain.block(10))
  })
})

describe('a doubt about the newest blocks', () => {
  const avalanche = { network: { family: 'avalanche' as const }, finalDepth: 0 }

  test('of one endpoint drops what is young, though it be final, and leaves what is old', async () => {
    const { cache, poll, outcomeOf } = scene(avalanche)
    await poll()
    await outcomeOf(byNumber(937))
    await outcomeOf(byNumber(936))

    cache.chainMoved('ethereum', { kind: 'regressed', shard: null, blocks: 1 })

    expect(await outcomeOf(byNumber(937))).toBe('miss')
    expect(await outcomeOf(byNumber(936))).toBe('hit')
  })

  test('of one endpoint that has other blocks drops all from there on, and nothing below', async () => {
    const { cache, poll, outcomeOf } = scene(avalanche)
    await poll()
    for (const height of [799, 800, 900]) await outcomeOf(byNumber(height))

    cache.chainMoved('ethereum', { kind: 'reorged', shard: null, height: 800, hash: '0xb', previousHash: '0xa' })

    expect(await outcomeOf(byNumber(799))).toBe('hit')
    expect(await outcomeOf(byNumber(800))).toBe('miss')
    expect(await outcomeOf(byNumber(900))).toBe('miss')
  })

  test('is that most endpoints have another block than most had before', async () => {
    const { poll, outcomeOf, world } = scene(avalanche)
    await poll()
    await outcomeOf(byNumber(1000))

    const standing = world.board.network('ethereum')?.standing
    const heads = standing?.heads.map((head) => ({ ...head, hash: '0xanother' })) ?? []
    if (standing !== undefined) world.board.putStanding({ ...standing, heads }, false)

    expect(await outcomeOf(byNumber(1000))).toBe('miss')
  })
})

describe('an endpoint that is found on another chain', () => {
  const wrongNetwork = {
    ok: false,
    failure: { kind: 'wrong-network', expected: 1, actual: '5' },
    durationMs: 1,
  } as const

  test('loses its answers at once, those of other endpoints stay', async () => {
    const chain = createTrueChain(1000)
    let name = 'own-1'
    const next: UpstreamHandler = {
      handle: async (asked) => ({ ...(await nodeOn(chain).handle(asked)), endpoint: name }),
    }
    const { cache, poll, world, configured, outcomeOf } = scene({ chain, next, endpoints: ['own-1', 'own-2'] })
    await poll()
    await cache.handle(byNumber(899))
    name = 'own-2'
    await cache.handle(byNumber(900))

    await world.poll(configured[0] as Endpoint, { heads: [{ shard: null, outcome: wrongNetwork }] })

    expect(await outcomeOf(byNumber(900))).toBe('hit')
    expect(await outcomeOf(byNumber(899))).toBe('miss')
  })

  test('has nothing kept that was under way when it was found, or comes later', async () => {
    const waiting: ((reply: Reply) => void)[] = []
    const next: UpstreamHandler = { handle: () => new Promise((resolve) => waiting.push(resolve)) }
    const { cache, poll, world, configured } = scene({ next, endpoints: ['own-1', 'own-2'] })
    await poll()
    const answer = async () => {
      const asked = cache.handle(byNumber(900))
      return { asked, give: () => waiting.shift()?.(resultOf(createTrueChain(1000).block(900))) }
    }
    const first = await answer()

    await world.poll(configured[0] as Endpoint, { heads: [{ shard: null, outcome: wrongNetwork }] })
    first.give()
    await first.asked
    const second = await answer()
    second.give()
    await second.asked

    expect(cache.bytes).toBe(0)
  })

  test('has nothing kept that was under way, although it is well again when it answers', async () => {
    const waiting: ((reply: Reply) => void)[] = []
    const next: UpstreamHandler = { handle: () => new Promise((resolve) => waiting.push(resolve)) }
    const { cache, clock, poll, world, configured } = scene({ next, endpoints: ['own-1', 'own-2'] })
    await poll()
    const first = cache.handle(byNumber(900))
    await world.poll(configured[0] as Endpoint, { heads: [{ shard: null, outcome: wrongNetwork }] })
    for (let round = 0; round < THRESHOLDS.recoverAfter; round++) {
      await clock.advance(1000)
      await poll()
    }
    const give = () => waiting.shift()?.(resultOf(createTrueChain(1000).block(900)))

    give()
    await first
    const before = cache.bytes
    const second = cache.handle(byNumber(900))
    give()
    await second

    expect(before).toBe(0)
    expect(cache.bytes).toBeGreaterThan(0)
  })

  test('loses them as well when its blocks are of another branch', async () => {
    const { cache, poll, world } = scene()
    await poll()
    await cache.handle(byNumber(900))
    const before = cache.bytes

    const { health } = world.board.entry('ethereum', 'own-1') ?? {}
    if (health === undefined) throw new Error('no health')
    const finding = { code: 'forked', verdict: 'degraded', message: '' } as const
    const traces = [{ finding, since: 0, seen: 1, missed: 0, confirmed: false }]
    world.board.put({ ...health, confirmation: { ...health.confirmation, traces } }, false)

    expect(before).toBeGreaterThan(0)
    expect(cache.bytes).toBe(0)
  })

  test.each(['wrong-network', 'forked'] as const)(
    'by another member of a cluster loses them, too: %s',
    async (code) => {
      const { cache, poll, world } = scene()
      await poll()
      await cache.handle(byNumber(900))
      const before = cache.bytes

      putVote(world.board, 'own-1', code)

      expect(before).toBeGreaterThan(0)
      expect(cache.bytes).toBe(0)
    },
  )
})

describe('a reload', () => {
  test('forgets everything, also what is on its way', async () => {
    const { cache, poll, outcomeOf, of } = scene()
    await poll()
    await cache.handle(byNumber(900))

    const onItsWay = cache.handle(byNumber(901))
    cache.configure({ maxBytes: MIB, finalDepths: new Map([[of.name, DEPTH]]) })
    await onItsWay

    expect(await outcomeOf(byNumber(900))).toBe('miss')
    expect(await outcomeOf(byNumber(901))).toBe('miss')
  })

  test('does not keep an answer on its way that a later request shares', async () => {
    const waiting: ((reply: Reply) => void)[] = []
    const next: UpstreamHandler = { handle: () => new Promise((resolve) => waiting.push(resolve)) }
    const { cache, poll, of } = scene({ next })
    await poll()

    const first = cache.handle(byNumber(900))
    cache.configure({ maxBytes: MIB, finalDepths: new Map([[of.name, DEPTH]]) })
    const second = cache.handle(byNumber(900))
    waiting.shift()?.(resultOf(createTrueChain(1000).block(900)))
    await Promise.all([first, second])

    expect(waiting).toEqual([])
    expect(cache.bytes).toBe(0)
  })
})

describe('memory', () => {
  test('stays below its limit and keeps the most requested entries longest', async () => {
    const chain = createTrueChain(20_000)
    const { cache, poll, outcomeOf } = scene({ chain, maxBytes: MIB })
    await poll()

    for (let height = 0; height < 10_000; height++) {
      await cache.handle(byNumber(height))
      await cache.handle(byNumber(7))
      expect(cache.bytes).toBeLessThanOrEqual(MIB)
    }

    expect(await outcomeOf(byNumber(7))).toBe('hit')
    expect(await outcomeOf(byNumber(9999))).toBe('hit')
    expect(await outcomeOf(byNumber(8))).toBe('miss')
  })

  test('is not held by a small part of a large buffer', async () => {
    const large = Buffer.alloc(MIB, ' ')
    const text = createTrueChain(1000).block(900)
    large.write(text)
    const reply: Reply = { kind: 'result', result: large.subarray(0, text.length), ...FROM_OWN }
    const { cache, poll } = scene({ next: { handle: () => Promise.resolve(reply) } })
    await poll()
    await cache.handle(byNumber(900))

    const kept = await cache.handle(byNumber(900))

    expect(kept.kind === 'result' ? kept.result.buffer.byteLength : MIB).toBeLessThan(MIB / 8)
    expect(textOf(kept)).toBe(text)
  })
})

describe('whatever the chain does', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ kind: fc.constant('reorg' as const), depth: fc.integer({ min: 1, max: 15 }), more: fc.nat(3) }),
    fc.record({ kind: fc.constant('rollback' as const), blocks: fc.integer({ min: 1, max: 15 }) }),
    fc.record({ kind: fc.constant('poll' as const) }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
    fc.record({ kind: fc.constant('block' as const), back: fc.nat(60) }),
    fc.record({ kind: fc.constant('transaction' as const), back: fc.nat(60) }),
  )

  test('answers about final blocks equal the node’s current answers; all other answers are recent', async () => {
    // 15 blocks back, 20 below the highest head that was ever polled: final is really final.
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async (steps) => {
        const { chain, clock, cache, poll, node, world } = scene({ chain: createTrueChain(200), finalDepth: 20 })
        const reference = () => world.board.network('ethereum')?.standing.heads[0]?.height ?? 0
        const fetched = new Map<string, { readonly at: number; readonly isFinal: boolean }>()
        await poll()
        for (const now of steps) {
          switch (now.kind) {
            case 'mine':
              chain.mine(now.blocks)
              break
            case 'reorg':
              chain.reorg(now.depth, now.more)
              await poll()
              break
            case 'rollback':
              // Followed by what makes up for it, as on a chain that lives.
              chain.rollback(now.blocks)
              await poll()
              chain.mine(now.blocks)
              await poll()
              break
            case 'poll':
              await poll()
              break
            case 'wait':
              await clock.advance(now.ms)
              break
            case 'block':
            case 'transaction': {
              const height = chain.height - now.back
              const isBlock = now.kind === 'block'
              const asked = isBlock ? byNumber(height) : byHash(chain.transactionAt(height))
              const before = node.asked.length
              const reply = await cache.handle(asked)
              const isHit = node.asked.length === before
              expect(reply.cache).toBe(isHit ? 'hit' : 'miss')
              const truth = isBlock ? chain.block(height) : chain.transaction(chain.transactionAt(height))
              // Final is what was so when it was fetched: a moment later the chain may have grown above a block that it replaced.
              const { at = 0, isFinal = true } = fetched.get(asked.canonical) ?? {}
              if (!isHit || isFinal) expect(textOf(reply)).toBe(truth)
              else if (textOf(reply) !== truth) expect(clock.monotonic() - at).toBeLessThan(6000)
              if (!isHit) fetched.set(asked.canonical, { at: clock.monotonic(), isFinal: height <= reference() - 20 })
              break
            }
          }
        }
      }),
      { numRuns: 150 },
    )
  })
})
