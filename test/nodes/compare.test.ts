import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { Endpoint } from '../../src/core/endpoint.ts'
import type { Comparison, ShardHead } from '../../src/core/poll-result.ts'
import { recorded } from '../chains/support.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { serveHttp } from '../support/http-server.ts'
import { endpoint, nodeTarget } from '../support/network.ts'
import { proberOf } from './support.ts'

const NEVER = new AbortController().signal
const METACHAIN = 4_294_967_295
const EVM_HEIGHT = 0x15f3a2b
const NONCE = 25_834_010
const OTHER_HASH = 'ab'.repeat(32)

const ETHEREUM = endpoint('own-1', { checks: ['head'] })
const AVALANCHE = endpoint('own-1', { network: 'avalanche', family: 'avalanche', checks: ['head'] })
const SHARDED = endpoint('own-1', { network: 'multiversx', family: 'multiversx', shards: [0, 1, 2, METACHAIN] })

/** Answers with a different block for the newest one and for one by height. */
type Reply = (response: ServerResponse, asked: { readonly what: string; readonly id: number }) => void

/** A node whose `compared` answer is whatever it likes; all others are right ones. */
async function startNode(family: Endpoint['family'], compared: Reply, brokenShard: number | null = null) {
  const asked: string[] = []
  const server = await serveHttp((request, response, body) => {
    const { id, method, params } = body === '' ? { id: 0, method: request.url, params: [] } : JSON.parse(body)
    const what = `${method} ${params[0] ?? ''}`.trim()
    asked.push(what)
    const isHead =
      family === 'multiversx' ? what.includes('by-hash') || what.endsWith(`${NONCE}`) : params[0] === 'latest'
    if (what === `/network/status/${brokenShard}`) response.end('<html>')
    else if (what.startsWith('/network/status')) response.end(recorded('multiversx/network-status'))
    else if (!isHead) compared(response, { what, id })
    else if (family === 'multiversx') response.end(block(Number(what.split('/')[2])))
    else response.end(recorded(evmBlock(family)).replace(/"id":\s*1\b/, `"id":${id}`))
  })
  return { ...server, asked }
}

const evmBlock = (family: Endpoint['family']) =>
  family === 'avalanche' ? 'avalanche/block-coreth' : 'ethereum/block-mainnet'

/** The recorded block as one of that shard, at that height. */
function block(shard: number, nonce = NONCE, hash?: string): string {
  const { data, ...rest } = JSON.parse(recorded('multiversx/block'))
  const over = { shard, nonce, ...(hash === undefined ? {} : { hash }) }
  return JSON.stringify({ ...rest, data: { block: { ...data.block, ...over } } })
}

function evmAnswer(id: number, height: number, hash = `0x${OTHER_HASH}`): string {
  const { result } = JSON.parse(recorded('ethereum/block-mainnet'))
  return JSON.stringify({ jsonrpc: '2.0', id, result: { ...result, number: `0x${height.toString(16)}`, hash } })
}

const prober = (of: Endpoint, url: string, clock: Clock = systemClock) => proberOf([nodeTarget(of, url)], { clock })

const at = (height: number, shard: Comparison['shard'] = null) => ({ shard, height })

describe('a block to compare', () => {
  test.each([ETHEREUM, AVALANCHE])(
    'is requested after the head was read, over the same connection ($family)',
    async (of) => {
      const node = await startNode(of.family, (response, { id }) => response.end(evmAnswer(id, EVM_HEIGHT - 2)))
      const told: (readonly ShardHead[])[] = []

      const result = await prober(of, node.url).poll(of, NEVER, (heads) => {
        told.push(heads)
        return [at(EVM_HEIGHT - 2)]
      })

      expect(told).toEqual([result.heads])
      expect(result.compared).toEqual([{ shard: null, height: EVM_HEIGHT - 2, hash: `0x${OTHER_HASH}` }])
      expect(node.asked).toEqual(['eth_getBlockByNumber latest', 'eth_getBlockByNumber 0x15f3a29'])
      expect(node.accepted()).toBe(1)
    },
  )

  test('is requested once on each shard', async () => {
    const node = await startNode('multiversx', (response, { what }) => {
      const [, , shard, , nonce] = what.split('/')
      response.end(block(Number(shard), Number(nonce), OTHER_HASH))
    })

    const { compared } = await prober(SHARDED, node.url).poll(SHARDED, NEVER, () => [
      at(NONCE - 1, 0),
      at(NONCE - 3, METACHAIN),
      at(NONCE - 2, 0),
      at(NONCE - 2, 7),
    ])

    expect(compared).toEqual([
      { shard: 0, height: NONCE - 1, hash: OTHER_HASH },
      { shard: METACHAIN, height: NONCE - 3, hash: OTHER_HASH },
    ])
    expect(node.asked.filter((what) => /by-nonce\/2583400[789]$/.test(what))).toHaveLength(2)
  })

  test('is not asked for on a shard whose head could not be read', async () => {
    const node = await startNode('multiversx', (response) => response.end(block(0, NONCE - 1, OTHER_HASH)), 1)

    const { compared } = await prober(SHARDED, node.url).poll(SHARDED, NEVER, (heads) =>
      heads.map(({ shard }) => at(NONCE - 1, shard)).slice(0, 2),
    )

    expect(compared).toEqual([{ shard: 0, height: NONCE - 1, hash: OTHER_HASH }])
    expect(node.asked.filter((what) => what.startsWith('/block/1/'))).toEqual([])
  })

  test('is not even wanted where there is no head', async () => {
    const node = await startNode('ethereum', (response) => response.end())
    const livenessOnly = { ...AVALANCHE, checks: ['liveness'] as const }

    const { compared } = await prober(livenessOnly, node.url).poll(livenessOnly, NEVER, () => {
      throw new Error('must not be requested')
    })

    expect(compared).toEqual([])
  })

  test('costs nothing if not requested', async () => {
    const node = await startNode('ethereum', (response) => response.end())

    const { compared } = await prober(ETHEREUM, node.url).poll(ETHEREUM, NEVER, () => [])

    expect(compared).toEqual([])
    expect(node.asked).toHaveLength(1)
  })
})

describe('a head that does not fit its network', () => {
  /** Answers that many reads of the head; all later requests hang. */
  async function startSlowNode(reads: number) {
    let heads = 0
    const { url } = await serveHttp((_request, response, body) => {
      const { id, method, params } = JSON.parse(body)
      if (params[0] === 'latest') heads++
      if (heads > reads) return
      const result = method === 'eth_chainId' ? '0x1' : JSON.parse(recorded('ethereum/block-mainnet')).result
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    return url
  }

  test('is kept once its chain id is verified, even if the next read takes too long', async () => {
    const url = await startSlowNode(2)
    const result = await proberOf([nodeTarget(ETHEREUM, url, { chainId: 1, timeoutMs: 1000 })]).poll(
      ETHEREUM,
      NEVER,
      () => [],
      () => false,
    )

    expect(result.heads).toMatchObject([{ outcome: { ok: true, value: { height: EVM_HEIGHT } } }])
  })
})

describe('an answer about a block to compare', () => {
  test.each<[string, Reply]>([
    ['null', (response, { id }) => response.end(`{"jsonrpc":"2.0","id":${id},"result":null}`)],
    [
      'an error',
      (response, { id }) => response.end(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":""}}`),
    ],
    ['a limit', (response) => response.writeHead(429, { 'retry-after': '60' }).end()],
    ['a 503', (response) => response.writeHead(503).end('busy')],
    ['another id', (response, { id }) => response.end(evmAnswer(id + 1, EVM_HEIGHT - 2))],
    ['another height', (response, { id }) => response.end(evmAnswer(id, EVM_HEIGHT - 1))],
    ['no hash', (response, { id }) => response.end(evmAnswer(id, EVM_HEIGHT - 2, '0x12'))],
    ['HTML', (response) => response.end('<html>')],
    ['a depth', (response) => response.end('['.repeat(100_000))],
    [
      'half of it',
      (response) => response.writeHead(200, { 'content-length': '900' }).write('{"jsonrpc"') && response.destroy(),
    ],
    ['a reset', (response) => response.destroy()],
  ])('that is %s only leaves it out', async (_name, reply) => {
    const node = await startNode('ethereum', reply)

    const result = await prober(ETHEREUM, node.url).poll(ETHEREUM, NEVER, () => [at(EVM_HEIGHT - 2)])

    expect(result.compared).toEqual([])
    expect(result.heads).toMatchObject([{ outcome: { ok: true, value: { height: EVM_HEIGHT } } }])
  })

  test('that is missing on one shard leaves the others', async () => {
    const node = await startNode('multiversx', (response, { what }) => {
      if (what.startsWith('/block/1/')) response.writeHead(500).end(recorded('multiversx/error-block-not-found'))
      else response.end(block(2, NONCE - 1, OTHER_HASH))
    })

    const { compared, heads } = await prober(SHARDED, node.url).poll(SHARDED, NEVER, () => [
      at(NONCE - 1, 1),
      at(NONCE - 1, 2),
    ])

    expect(compared).toEqual([{ shard: 2, height: NONCE - 1, hash: OTHER_HASH }])
    expect(heads.every(({ outcome }) => outcome.ok)).toBe(true)
  })

  test('that never comes ends with the deadline of the head check, and is no time of the head’s', async () => {
    const clock = createFakeClock()
    let tellAsked: () => void = () => {}
    const asked = new Promise<void>((resolve) => {
      tellAsked = resolve
    })
    const node = await startNode('ethereum', () => tellAsked())
    const startedAt = clock.monotonic()
    const result = prober(ETHEREUM, node.url, clock).poll(ETHEREUM, NEVER, () => [at(EVM_HEIGHT - 2)])
    await asked

    await clock.advance(5000)

    expect(await result).toMatchObject({ compared: [], heads: [{ outcome: { ok: true, durationMs: 0 } }] })
    expect(clock.monotonic() - startedAt).toBe(5000)
  })

  test('that never comes ends when we stop', async () => {
    const stop = new AbortController()
    const node = await startNode('ethereum', () => stop.abort())

    const result = await prober(ETHEREUM, node.url, createFakeClock()).poll(ETHEREUM, stop.signal, () => [
      at(EVM_HEIGHT - 2),
    ])

    expect(result).toMatchObject({ compared: [], heads: [{ outcome: { ok: true } }] })
  })

  test('says nothing of the node’s clock', async () => {
    const node = await startNode('ethereum', (response, { id }) => {
      response.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString())
      response.end(evmAnswer(id, EVM_HEIGHT - 2))
    })

    const result = await prober(ETHEREUM, node.url).poll(ETHEREUM, NEVER, () => [at(EVM_HEIGHT - 2)])

    expect(result.compared).toHaveLength(1)
    expect(Math.abs(result.clockSkewMs ?? Number.NaN)).toBeLessThan(1500)
  })
})
