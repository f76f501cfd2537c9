import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { PollResult } from '../../src/core/poll-result.ts'
import type { NodeTarget } from '../../src/nodes/probe.ts'
import { Secret } from '../../src/secret.ts'
import { recorded } from '../chains/support.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { serveHttp } from '../support/http-server.ts'
import { endpoint, nodeTarget } from '../support/network.ts'
import { proberOf } from './support.ts'

const NEVER = new AbortController().signal
const METACHAIN = 4_294_967_295

const AVALANCHE = endpoint('own-1', { network: 'avalanche', family: 'avalanche', checks: ['liveness', 'head'] })
const SHARDED = endpoint('own-1', { network: 'multiversx', family: 'multiversx', shards: [0, 1, 2, METACHAIN] })

type Reply = (path: string, method: string, response: ServerResponse, id?: number) => string | null

/** A node that answers a path, and a JSON-RPC method, with a text; `null` means no answer. Ids are put right. */
async function httpNode(reply: Reply) {
  const asked: string[] = []
  const server = await serveHttp((request, response, body) => {
    const { id, method } = body === '' ? { id: 1, method: '' } : JSON.parse(body)
    asked.push(method === '' ? (request.url ?? '') : method)
    const text = reply(request.url ?? '', method, response, id)
    if (text !== null) response.end(withId(text, id))
  })
  return { ...server, asked }
}

function withId(text: string, id = 1): string {
  return text.replace(/"id":\s*1\b/, `"id":${id}`)
}

const avalancheNode: Reply = (path, method) =>
  path === '/ext/health'
    ? recorded(`avalanche/${method === 'health.health' ? 'health-new' : 'error-unknown-method'}`)
    : method === 'eth_chainId'
      ? recorded('ethereum/chain-id-mainnet')
      : recorded('avalanche/block-coreth')

const multiversxNode: Reply = (path) => {
  const shard = Number(path.split('/').at(path.startsWith('/block') ? 2 : -1))
  return path.startsWith('/network')
    ? recorded('multiversx/network-status')
    : recorded('multiversx/block').replace('"shard": 1', `"shard": ${shard}`)
}

function failures({ liveness, heads }: PollResult): unknown[] {
  return [liveness, ...heads.map(({ outcome }) => outcome)].map((outcome) =>
    outcome === null || outcome.ok ? null : outcome.failure,
  )
}

test('endpoints on one host use ids of their own: a response to one is never that to another', async () => {
  const ids: number[] = []
  const { url } = await serveHttp((_request, response, body) => {
    ids.push(JSON.parse(body).id)
    response.end()
  })
  const endpoints = Array.from({ length: 20 }, (_, at) => ({ ...AVALANCHE, name: `e${at}`, checks: ['head'] as const }))
  const { poll } = proberOf(endpoints.map((each) => nodeTarget(each, url)))

  for (let round = 0; round < 3; round++) for (const each of endpoints) await poll(each, NEVER)

  expect(new Set(ids).size).toBe(60)
})

test('a chain id that is never told holds no connection beyond the deadline', async () => {
  const of = endpoint('own-1', { checks: ['head'] })
  let isWell = false
  const node = await httpNode((_path, method, response) => {
    if (method === 'eth_chainId') return isWell ? recorded('ethereum/chain-id-mainnet') : null
    // From the second poll on, the chain id is requested together with the block.
    if (isWell || node.asked.length < 3) return recorded('ethereum/block-mainnet')
    response.statusCode = 503
    return ''
  })
  const targets = [nodeTarget(of, node.url, { chainId: 1, timeoutMs: 300 })]
  const { poll, retarget } = proberOf(targets)
  retarget(targets, 2)

  for (let polls = 0; polls < 4; polls++) await poll(of, NEVER)
  await systemClock.sleep(400)
  isWell = true

  expect(failures(await poll(of, NEVER))).toEqual([null, null])
})

describe('a poll', () => {
  test('runs every check of the endpoint, over one connection', async () => {
    const node = await httpNode(avalancheNode)
    // Time stands still, so the head check waits for liveness on a busy machine too.
    const { poll } = proberOf([nodeTarget(AVALANCHE, node.url)], { clock: createFakeClock() })

    const result = await poll(AVALANCHE, NEVER)

    expect(result.endpoint).toBe(AVALANCHE)
    expect(result.liveness).toMatchObject({ ok: true, value: { healthy: true } })
    expect(result.heads).toMatchObject([{ shard: null, outcome: { ok: true, value: { height: 0x44aa2b1 } } }])
    expect(result.tlsNotAfter).toBeNull()
    expect(result.finishedAt).toBeGreaterThanOrEqual(result.startedAt)
    expect(node.accepted()).toBe(1)
  })

  test('runs only the checks that the endpoint has', async () => {
    const node = await httpNode(avalancheNode)
    const headOnly = { ...AVALANCHE, checks: ['head'] as const }
    const { poll } = proberOf([nodeTarget(headOnly, node.url)])

    const result = await poll(headOnly, NEVER)

    expect(result.liveness).toBeNull()
    expect(result.heads).toHaveLength(1)
    expect(node.asked).toEqual(['eth_getBlockByNumber'])
  })

  test('asks for the head although the node has no health API', async () => {
    const node = await httpNode((path, method, response) => {
      if (path !== '/ext/health') return avalancheNode(path, method, response)
      response.statusCode = 404
      return '404 page not found'
    })
    const { poll } = proberOf([nodeTarget(AVALANCHE, node.url)])

    expect(failures(await poll(AVALANCHE, NEVER))).toEqual([null, null])
  })

  test('reads all shards of a proxy', async () => {
    const node = await httpNode(multiversxNode)
    const { poll } = proberOf([nodeTarget(SHARDED, node.url)])

    const { heads } = await poll(SHARDED, NEVER)

    expect(heads.map(({ shard }) => shard)).toEqual([0, 1, 2, METACHAIN])
    expect(heads.every(({ outcome }) => outcome.ok)).toBe(true)
    expect(node.asked).toHaveLength(12)
  })

  test('has a failing shard fail alone', async () => {
    const node = await httpNode((path, method, response) =>
      path.endsWith('/status/2') ? '<html>' : multiversxNode(path, method, response),
    )
    const { poll } = proberOf([nodeTarget(SHARDED, node.url)])

    expect(failures(await poll(SHARDED, NEVER))).toEqual([null, null, null, { kind: 'not-json' }, null])
  })

  test('knows how far the node’s clock is off, to a second', async () => {
    const node = await httpNode((path, method, response) => {
      response.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString())
      return avalancheNode(path, method, response)
    })
    const { poll } = proberOf([nodeTarget(AVALANCHE, node.url)])

    const { clockSkewMs } = await poll(AVALANCHE, NEVER)

    expect(Math.abs((clockSkewMs ?? 0) - 3_600_000)).toBeLessThan(1500)
  })

  test('knows nothing of the clock of a node that sends no date', async () => {
    const node = await httpNode((path, method, response) => {
      response.sendDate = false
      return avalancheNode(path, method, response)
    })
    const { poll } = proberOf([nodeTarget(AVALANCHE, node.url)])

    expect((await poll(AVALANCHE, NEVER)).clockSkewMs).toBeNull()
  })

  test('of an endpoint that is configured no more says nothing of the node', async () => {
    const { poll } = proberOf([])

    expect(failures(await poll(AVALANCHE, NEVER))).toEqual([
      { kind: 'local-resources', code: 'removed' },
      { kind: 'local-resources', code: 'removed' },
    ])
  })

  test('shows neither URL nor header nor key, wherever it is printed', async () => {
    const node = await httpNode((path, method, response) => {
      response.statusCode = 500
      return avalancheNode(path, method, response)
    })
    const secret = nodeTarget(AVALANCHE, `${node.url}/topsecret`, { headers: { 'x-key': new Secret('topsecret') } })
    const { poll } = proberOf([secret])

    const result = await poll(AVALANCHE, NEVER)

    for (const shown of [result, secret]) {
      expect(JSON.stringify(shown) + inspect(shown, { depth: 9 })).not.toContain('topsecret')
    }
  })
})

describe('the limit of connections', () => {
  test('is no time of the node’s: latency begins when a poll has a connection', async () => {
    const clock = createFakeClock()
    const held: (() => void)[] = []
    let tellHeld: () => void = () => {}
    const firstHeld = new Promise<void>((resolve) => {
      tellHeld = resolve
    })
    const node = await httpNode((_path, _method, response, id) => {
      const reply = () => response.end(withId(recorded('avalanche/block-coreth'), id))
      if (held.push(reply) === 1) tellHeld()
      else reply()
      return null
    })
    const own = (name: string) => endpoint(name, { network: 'ethereum', family: 'ethereum', checks: ['head'] })
    const [first, second] = [own('own-1'), own('own-2')]
    const { poll } = proberOf([nodeTarget(first, node.url), nodeTarget(second, node.url)], { clock, maxConnections: 1 })
    const polls = [poll(first, NEVER), poll(second, NEVER)]
    await firstHeld

    await clock.advance(3000)
    held[0]?.()

    const outcomes = (await Promise.all(polls)).map(({ heads }) => heads[0]?.outcome)
    expect(outcomes).toMatchObject([
      { ok: true, durationMs: 3000 },
      { ok: true, durationMs: 0 },
    ])
  })

  test('is replaced with the targets', async () => {
    let tellAll: () => void = () => {}
    let waiting = 4
    const allAsked = new Promise<void>((resolve) => {
      tellAll = resolve
    })
    const stop = new AbortController()
    const node = await httpNode(() => {
      if (--waiting === 0) tellAll()
      return null
    })
    const targets = [nodeTarget(SHARDED, node.url)]
    const { poll, retarget } = proberOf(targets, { maxConnections: 1 })
    const result = poll(SHARDED, stop.signal)

    retarget(targets, 4)
    await allAsked

    expect(node.accepted()).toBe(4)
    stop.abort()
    await result
  })
})

test('a closed prober has ended its pending polls, and leaves no timer running', async () => {
  const clock = createFakeClock()
  let timers = 0
  const counting = {
    ...clock,
    after(delayMs: number, task: () => void) {
      timers++
      const timer = clock.after(delayMs, () => {
        timers--
        task()
      })
      return {
        cancel() {
          timers--
          timer.cancel()
        },
      }
    },
  }
  let tellAsked: () => void = () => {}
  const asked = new Promise<void>((resolve) => {
    tellAsked = resolve
  })
  const node = await httpNode(() => {
    tellAsked()
    return null
  })
  const { poll, close } = proberOf([nodeTarget(AVALANCHE, node.url)], { clock: counting })
  const result = poll(AVALANCHE, NEVER)
  await asked

  close()

  expect(failures(await result)).toMatchObject([{ kind: 'reset' }, { kind: 'reset' }])
  expect(timers).toBe(0)
})

describe('the deadline', () => {
  test('is one for each check, and the checks of a hanging node run side by side', async () => {
    const clock = createFakeClock()
    let tellAsked: () => void = () => {}
    let waiting = 2
    const bothAsked = new Promise<void>((resolve) => {
      tellAsked = resolve
    })
    const node = await httpNode(() => {
      if (--waiting === 0) tellAsked()
      return null
    })
    const { poll } = proberOf([nodeTarget(AVALANCHE, node.url)], { clock })
    const result = poll(AVALANCHE, NEVER)

    await clock.advance(100)
    await bothAsked
    await clock.advance(5000)

    expect(failures(await result)).toEqual([
      { kind: 'timeout', afterMs: 5000 },
      { kind: 'timeout', afterMs: 5000 },
    ])
    expect(clock.monotonic()).toBe(1000 + 5100)
  })

  test('that ends before the chain id is known has it asked together with the next block', async () => {
    const clock = createFakeClock()
    const headOnly = { ...AVALANCHE, checks: ['head'] as const }
    let tellAsked: () => void = () => {}
    const chainIdAsked = new Promise<void>((resolve) => {
      tellAsked = resolve
    })
    let isSlow = true
    let answerBlock = () => {}
    const node = await httpNode((path, method, response, id) => {
      const text = avalancheNode(path, method, response) ?? ''
      if (method === 'eth_chainId') {
        tellAsked()
        answerBlock()
        return isSlow ? null : text
      }
      if (isSlow) return text
      answerBlock = () => response.end(withId(text, id))
      return null
    })
    const { poll } = proberOf([nodeTarget(headOnly, node.url, { chainId: 1 })], { clock })
    const first = poll(headOnly, NEVER)
    await chainIdAsked
    await clock.advance(5000)

    isSlow = false
    const second = await poll(headOnly, NEVER)

    expect(failures(await first)).toEqual([null, { kind: 'timeout', afterMs: 5000 }])
    expect(failures(second)).toEqual([null, null])
    expect(second.requests.head).toBe(2)
  })

  test('is one for all shards together', async () => {
    const clock = createFakeClock()
    let tellAsked: () => void = () => {}
    let waiting = 4
    const allAsked = new Promise<void>((resolve) => {
      tellAsked = resolve
    })
    // Each shard says its nonce, and then nothing more.
    const node = await httpNode((path) => {
      if (path.startsWith('/network')) return recorded('multiversx/network-status')
      if (--waiting === 0) tellAsked()
      return null
    })
    const { poll } = proberOf([nodeTarget(SHARDED, node.url)], { clock })
    const result = poll(SHARDED, NEVER)
    await allAsked

    await clock.advance(5000)

    expect(failures(await result).slice(1)).toEqual(
      Array.from({ length: 4 }, () => ({ kind: 'timeout', afterMs: 5000 })),
    )
  })

  test('comes at once when we stop', async () => {
    const stop = new AbortController()
    const node = await httpNode(() => {
      stop.abort()
      return null
    })
    const { poll } = proberOf([nodeTarget(AVALANCHE, node.url)], { clock: createFakeClock() })

    expect(failures(await poll(AVALANCHE, stop.signal))).toHaveLength(2)
    expect(node.asked.length).toBeLessThanOrEqual(1)
  })

  test('is past already for a poll that begins after we stopped', async () => {
    const node = await httpNode(avalancheNode)
    const { poll } = proberOf([nodeTarget(AVALANCHE, node.url)])

    expect(failures(await poll(AVALANCHE, AbortSignal.abort()))).toMatchObject([
      { kind: 'timeout' },
      { kind: 'timeout' },
    ])
    expect(node.asked).toEqual([])
  })
})

describe('what is known of an endpoint', () => {
  const first = ['health.getLiveness', 'health.health', 'eth_getBlockByNumber', 'eth_chainId']
  const again = ['health.health', 'eth_getBlockByNumber']
  /** The head check waits for liveness, however long a busy machine takes. */
  const steady = (url: string) => proberOf([nodeTarget(AVALANCHE, url, { chainId: 1 })], { clock: createFakeClock() })

  test('is kept from poll to poll', async () => {
    const node = await httpNode(avalancheNode)
    const { poll } = steady(node.url)

    await poll(AVALANCHE, NEVER)
    await poll(AVALANCHE, NEVER)

    expect(node.asked).toEqual([...first, ...again])
  })

  test('is kept by a new configuration that asks it the same way', async () => {
    const node = await httpNode(avalancheNode)
    const { poll, retarget } = steady(node.url)
    await poll(AVALANCHE, NEVER)

    const renamed = { ...AVALANCHE, title: 'Other title', intervalMs: 1000 }
    retarget([nodeTarget(renamed, node.url, { chainId: 1, timeoutMs: 1000 })])
    await poll(renamed, NEVER)

    expect(node.asked).toEqual([...first, ...again])
  })

  test.each<[string, Partial<NodeTarget>]>([
    ['chain id', { chainId: 43_114 }],
    ['header', { headers: { 'x-key': new Secret('k') } }],
    ['RPC path', { rpcPath: '/ext/bc/X/rpc' }],
    ['trust', { tls: { ca: null, insecure: true } }],
  ])('is forgotten when its %s changes', async (_name, over) => {
    const node = await httpNode(avalancheNode)
    const { poll, retarget } = steady(node.url)
    await poll(AVALANCHE, NEVER)

    retarget([nodeTarget(AVALANCHE, node.url, { chainId: 1, ...over })])
    await poll(AVALANCHE, NEVER)

    expect(node.asked).toEqual([...first, ...first])
  })

  test('does not save a node that changed behind its connection: a head that does not fit is verified', async () => {
    let chainId = '0x1'
    const node = await httpNode((path, method, response) => {
      if (method === 'eth_chainId') return `{"jsonrpc":"2.0","id":1,"result":"${chainId}"}`
      return avalancheNode(path, method, response)
    })
    const headOnly = { ...AVALANCHE, checks: ['head'] as const }
    const { poll } = proberOf([nodeTarget(headOnly, node.url, { chainId: 1 })])
    const before = await poll(headOnly, NEVER, undefined, () => true)

    chainId = '0xa869'
    const fitting = await poll(headOnly, NEVER, undefined, () => true)
    const after = await poll(headOnly, NEVER, undefined, (heads) => heads.every(({ outcome }) => !outcome.ok))

    expect([failures(before), failures(fitting)]).toEqual([
      [null, null],
      [null, null],
    ])
    expect(failures(after)).toEqual([null, { kind: 'wrong-network', expected: 1, actual: '43113' }])
    expect(node.accepted()).toBe(1)
    expect([before, fitting, after].map(({ requests }) => requests.head)).toEqual([2, 1, 3])
  })

  test('is verified no more than twice for heads that do not fit, and then they count', async () => {
    const node = await httpNode(avalancheNode)
    const headOnly = { ...AVALANCHE, checks: ['head'] as const }
    const { poll } = proberOf([nodeTarget(headOnly, node.url, { chainId: 1 })])
    await poll(headOnly, NEVER)

    const forked = await poll(headOnly, NEVER, undefined, () => false)

    expect(failures(forked)).toEqual([null, null])
    expect(node.asked.slice(2)).toEqual([
      'eth_getBlockByNumber',
      'eth_getBlockByNumber',
      'eth_chainId',
      'eth_chainId',
      'eth_getBlockByNumber',
      'eth_chainId',
      'eth_chainId',
    ])
  })
})
