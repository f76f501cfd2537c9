import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { Liveness } from '../../src/core/poll-result.ts'
import { livenessAfter } from '../../src/core/verdict/liveness.ts'
import type { PollStep } from '../../src/core/verdict/single-poll.ts'
import type { NodeTarget } from '../../src/nodes/probe.ts'
import { Secret } from '../../src/secret.ts'
import { recorded } from '../chains/support.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { serveHttp } from '../support/http-server.ts'
import { endpoint, nodeTarget } from '../support/network.ts'
import { proberOf } from './support.ts'

const NEVER = new AbortController().signal
const OWN = endpoint('own-1', { checks: ['liveness', 'head'] })

interface Request {
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

/** `null`: no answer. A number: this status, without a body. */
type Answer = string | number | null

/** A node that answers each method, or each path, as scripted. */
async function node(script: Readonly<Record<string, Answer>>, before: () => unknown = () => undefined) {
  const asked: Request[] = []
  const { url } = await serveHttp(async (request, response, body) => {
    await before()
    const { id = 1, method = '' } = body === '' ? {} : JSON.parse(body)
    const path = request.url ?? ''
    asked.push({ path, method, headers: request.headers })
    const answer = script[method === '' ? path : method] ?? null
    if (answer === null) return
    if (typeof answer === 'number') response.writeHead(answer).end()
    else response.end(answer.replace(/"id":\s*1\b/, `"id":${id}`))
  })
  return { url, asked }
}

const WELL: Readonly<Record<string, Answer>> = {
  eth_getBlockByNumber: recorded('ethereum/block-mainnet'),
  eth_syncing: recorded('ethereum/syncing-not'),
  net_peerCount: recorded('ethereum/peers-geth'),
  web3_clientVersion: recorded('ethereum/client-geth'),
}
const BEACON: Readonly<Record<string, Answer>> = {
  '/eth/v1/node/health': 200,
  '/eth/v1/node/syncing': recorded('beacon/synced'),
  '/eth/v1/node/peer_count': recorded('beacon/peer-count'),
}

/** The timeout of nodes that leave a request unanswered; on a busy machine all others must be answered within it. */
const HANGING_MS = 1500

const target = (url: string, over: Partial<NodeTarget> = {}) => nodeTarget(OWN, url, { timeoutMs: 20_000, ...over })

async function livenessOf(of: NodeTarget): Promise<Liveness> {
  const { liveness } = await proberOf([of]).poll(OWN, NEVER)
  if (liveness?.ok !== true) throw new Error(`failed: ${JSON.stringify(liveness)}`)
  return liveness.value
}

describe('the consensus node', () => {
  test('gets requests too, on connections of its own and without the headers of the execution node', async () => {
    const base = '/path-of-the-provider'
    const own = await node(WELL)
    const beacon = await node(Object.fromEntries(Object.entries(BEACON).map(([path, of]) => [base + path, of])))
    const liveness = await livenessOf(
      target(own.url, {
        beaconUrl: new Secret(beacon.url + base),
        headers: { 'x-api-key': new Secret('key-of-the-execution-node') },
      }),
    )

    expect(liveness.healthy).toBe(true)
    expect(liveness.report?.consensus).toEqual({ state: 'synced', reason: null, remainingSlots: 0, peers: 56 })
    expect(liveness.checks.map(({ name }) => name)).toEqual([
      'eth_syncing',
      'net_peerCount',
      '/eth/v1/node/health',
      '/eth/v1/node/syncing',
      '/eth/v1/node/peer_count',
    ])
    expect(beacon.asked.every(({ headers }) => headers['x-api-key'] === undefined)).toBe(true)
    expect(own.asked.every(({ headers }) => headers['x-api-key'] === 'key-of-the-execution-node')).toBe(true)
  })

  test.each<[string, Answer, string]>([
    ['answers 503', 503, 'it is not initialized or has issues (HTTP 503)'],
    ['hangs', null, 'no complete answer within 1.5 s'],
  ])('is down if it %s, and takes nothing from the answers of the execution node', async (_how, health, reason) => {
    const [own, beacon] = [await node(WELL), await node({ ...BEACON, '/eth/v1/node/health': health })]
    const liveness = await livenessOf(target(own.url, { beaconUrl: new Secret(beacon.url), timeoutMs: HANGING_MS }))

    expect(liveness).toMatchObject({ healthy: false, report: { peers: 50, consensus: { state: 'down', reason } } })
  })

  test('is down if it refuses connections', async () => {
    const own = await node(WELL)
    const liveness = await livenessOf(target(own.url, { beaconUrl: new Secret('http://127.0.0.1:1') }))

    expect(liveness.report?.consensus).toMatchObject({ state: 'down', reason: 'connection refused' })
  })

  test('is nowhere to be read: neither in steps nor in what a node echoes', async () => {
    const secret = 'beacon-secret-0123456789'
    const echo = recorded('ethereum/client-geth').replace('v1.16.4-stable-41714b49', `v1.0-${secret}`)
    const own = await node({ ...WELL, web3_clientVersion: echo })
    const beacon = await node({ [`/${secret}/eth/v1/node/health`]: 200, [`/${secret}/eth/v1/node/syncing`]: secret })
    const prober = proberOf([target(own.url, { beaconUrl: new Secret(`${beacon.url}/${secret}`) })])
    const steps: PollStep[] = []
    const result = await prober.inspect(OWN, {
      signal: NEVER,
      atMostMs: HANGING_MS,
      onStep: (step) => steps.push(step),
    })

    expect(steps.map(({ path }) => path)).toContain('/eth/v1/node/health')
    expect(JSON.stringify([steps, result])).not.toContain(secret)
    expect(result.liveness).toMatchObject({ ok: true })
  })
})

describe('the client of a node', () => {
  test.each([
    ['is split', 'CANARY/CANARY+CANARY/v1.0', (key: string) => `my-${key}`],
    ['is cut', 'CANARY'.repeat(8), (key: string) => `node of a free plan for project ${key}/v1.0`],
  ])('shows no part of a key where the text %s', async (_where, key, echo) => {
    const answer = recorded('ethereum/client-geth').replace(/"Geth[^"]*"/, JSON.stringify(echo(key)))
    const own = await node({ ...WELL, web3_clientVersion: answer })
    const liveness = await livenessOf(target(own.url, { headers: { 'x-api-key': new Secret(key) } }))

    expect(liveness.report?.client?.name).toBeTruthy()
    expect(JSON.stringify(liveness)).not.toContain('CANARY')
  })
})

describe('a node that refuses every question', () => {
  const REFUSING: Readonly<Record<string, Answer>> = {
    eth_getBlockByNumber: recorded('ethereum/block-mainnet'),
    eth_syncing: 403,
    net_peerCount: 403,
    web3_clientVersion: 403,
  }

  test('has no liveness result in polls that send no request for it', async () => {
    const own = await node(REFUSING)
    const prober = proberOf([target(own.url)])
    const first = await prober.poll(OWN, NEVER)
    const second = await prober.poll(OWN, NEVER)

    expect([first.liveness?.ok, first.requests.liveness]).toEqual([true, 3])
    expect([second.liveness, second.requests.liveness]).toEqual([null, 0])
    expect(second.heads).toMatchObject([{ outcome: { ok: true } }])
  })

  test('gets the questions in every poll if there is no head check, and fails when it is gone', async () => {
    const livenessOnly = endpoint('own-1', { checks: ['liveness'] })
    const script: Record<string, Answer> = { ...REFUSING }
    const own = await node(script)
    const prober = proberOf([target(own.url, { endpoint: livenessOnly, timeoutMs: HANGING_MS })])
    const requests: number[] = []
    for (let polls = 0; polls < 2; polls++) requests.push((await prober.poll(livenessOnly, NEVER)).requests.liveness)
    for (const method of Object.keys(script)) script[method] = null

    const { liveness } = await prober.poll(livenessOnly, NEVER)

    expect(requests.every((count) => count > 0)).toBe(true)
    expect(liveness).toMatchObject({ ok: false, failure: { kind: 'timeout' } })
  })
})

test('a hanging question does not make a node unreachable whose other answers arrive', async () => {
  const own = await node({ ...WELL, net_peerCount: null })
  const liveness = await livenessOf(target(own.url, { timeoutMs: HANGING_MS }))

  expect(liveness.healthy).toBe(false)
  expect(liveness.checks[1]).toMatchObject({ name: 'net_peerCount', error: 'no complete answer within 1.5 s' })
})

describe('a node that takes its time for each question', () => {
  const LIVENESS_ONLY = endpoint('own-1', { checks: ['liveness'] })

  /** Each question takes 300 ms, until the deadline of 500 ms has passed. */
  async function slowPoll(script: Readonly<Record<string, Answer>>, over: (url: string) => Partial<NodeTarget>) {
    const clock = createFakeClock()
    const slow = await node(script, () => clock.advance(300))
    const of = target(slow.url, { endpoint: LIVENESS_ONLY, timeoutMs: 500, ...over(slow.url) })
    const { liveness } = await proberOf([of], { clock }).poll(LIVENESS_ONLY, NEVER)
    return liveness?.ok === true ? liveness.value : null
  }

  test('has not failed the one for which the deadline left no time', async () => {
    const liveness = await slowPoll(WELL, () => ({}))

    expect(liveness).toMatchObject({ healthy: true, report: { sync: { isSyncing: false }, peers: null } })
    expect(liveness?.checks.map(({ name }) => name)).toEqual(['eth_syncing'])
  })

  test('is no consensus node that is down', async () => {
    const beacon = { ...BEACON, '/eth/v1/node/health': 404 }
    const own = await node(WELL)
    const liveness = await slowPoll(beacon, (url) => ({ url: new Secret(own.url), beaconUrl: new Secret(url) }))

    expect(liveness).toMatchObject({ healthy: true, report: { consensus: { state: null, peers: null } } })
  })
})

describe('an endpoint without a head check', () => {
  const LIVENESS_ONLY = endpoint('own-1', { checks: ['liveness'] })

  test.each([401, 403, 404, 500, 502])('shows nothing of a node if all it answers is HTTP %d', async (status) => {
    const own = await node({ eth_syncing: status, net_peerCount: status, web3_clientVersion: status })
    const { liveness } = await proberOf([target(own.url, { endpoint: LIVENESS_ONLY })]).poll(LIVENESS_ONLY, NEVER)

    expect(liveness).toMatchObject({ ok: false, failure: { kind: 'http', status } })
  })

  test('shows nothing of a node if no answer is JSON', async () => {
    const page = '<html>parked</html>'
    const own = await node({ eth_syncing: page, net_peerCount: page, web3_clientVersion: page })
    const { liveness } = await proberOf([target(own.url, { endpoint: LIVENESS_ONLY })]).poll(LIVENESS_ONLY, NEVER)

    expect(liveness).toMatchObject({ ok: false, failure: { kind: 'not-json' } })
  })

  test('shows a node by checks that fail with HTTP 503, if the node runs them itself', async () => {
    const avalanche = { ...LIVENESS_ONLY, family: 'avalanche' } as const
    const { url } = await serveHttp((_request, response, body) => {
      response
        .writeHead(503)
        .end(recorded('avalanche/health-not-yet-run').replace(/"id":\s*1\b/, `"id":${JSON.parse(body).id}`))
    })
    const { liveness } = await proberOf([target(url, { endpoint: avalanche })]).poll(avalanche, NEVER)

    expect(liveness).toMatchObject({ ok: true, value: { healthy: false } })
  })

  test('shows a node that answers, even if it offers no question', async () => {
    const refusal = recorded('ethereum/error-method-not-found')
    const own = await node({ eth_syncing: 403, net_peerCount: refusal, web3_clientVersion: 403 })
    const { liveness } = await proberOf([target(own.url, { endpoint: LIVENESS_ONLY })]).poll(LIVENESS_ONLY, NEVER)

    expect(liveness).toMatchObject({ ok: true, value: { checks: [{ offered: false }, { offered: false }] } })
  })
})

describe('the chain id of an endpoint without a head check', () => {
  const LIVENESS_ONLY = endpoint('own-1', { checks: ['liveness'] })
  const MAINNET = recorded('ethereum/chain-id-mainnet')
  const OTHER = MAINNET.replace('"0x1"', '"0x5"')

  function proberOn(url: string) {
    const prober = proberOf([target(url, { endpoint: LIVENESS_ONLY, chainId: 1 })])
    return async () => (await prober.poll(LIVENESS_ONLY, NEVER)).liveness
  }
  const timesAsked = ({ asked }: Awaited<ReturnType<typeof node>>) =>
    asked.filter(({ method }) => method === 'eth_chainId').length

  test('shows in each poll a node that refuses all else, and none that refuses this too', async () => {
    const script: Record<string, Answer> = { eth_syncing: 403, net_peerCount: 403, eth_chainId: MAINNET }
    const own = await node({ ...script, web3_clientVersion: 403 })
    const gone = await node({ ...script, web3_clientVersion: 403, eth_chainId: 403 })
    const [poll, pollGone] = [proberOn(own.url), proberOn(gone.url)]

    for (let polls = 0; polls < 3; polls++) {
      expect(await poll()).toMatchObject({ ok: true, value: { healthy: true, chainIdVerified: true } })
      expect(await pollGone()).toMatchObject({ ok: false, failure: { kind: 'http', status: 403 } })
    }
  })

  test('is verified once', async () => {
    const own = await node({ ...WELL, eth_chainId: MAINNET })
    const poll = proberOn(own.url)

    for (let polls = 0; polls < 2; polls++) {
      expect(await poll()).toMatchObject({ ok: true, value: { healthy: true, chainIdVerified: true } })
    }
    expect(timesAsked(own)).toBe(1)
  })

  test('is wrong until the node tells the right one', async () => {
    const script: Record<string, Answer> = { ...WELL, eth_chainId: OTHER }
    const poll = proberOn((await node(script)).url)
    const wrong = { ok: false, failure: { kind: 'wrong-network', expected: 1, actual: '5' } }

    expect([await poll(), await poll()]).toMatchObject([wrong, wrong])
    script.eth_chainId = 500
    expect(await poll()).toMatchObject({ ok: false, failure: { kind: 'http', status: 500 } })
    script.eth_chainId = MAINNET
    expect(await poll()).toMatchObject({ ok: true, value: { chainIdVerified: true } })
  })

  test.each([
    ['refuses to tell it', 404, 1],
    ['fails to tell it', 500, 2],
  ])('is not verified on a node that %s, whose liveness counts', async (_how, answer, times) => {
    const own = await node({ ...WELL, eth_chainId: answer })
    const poll = proberOn(own.url)

    for (let polls = 0; polls < 2; polls++) {
      const liveness = await poll()
      expect(liveness).toMatchObject({ ok: true, value: { healthy: true } })
      expect(JSON.stringify(liveness)).not.toContain('chainIdVerified')
    }
    expect(timesAsked(own)).toBe(times)
  })
})

test('a rate limit of the execution node does not hide that its consensus node is down', async () => {
  const own = await node({ ...WELL, net_peerCount: 429 })
  const beacon = await node({ ...BEACON, '/eth/v1/node/health': 503 })
  const liveness = await livenessOf(target(own.url, { beaconUrl: new Secret(beacon.url) }))

  expect(liveness).toMatchObject({ healthy: false, report: { sync: null, peers: null, consensus: { state: 'down' } } })
  expect(liveness.checks.map(({ name }) => name)).toEqual(['/eth/v1/node/health'])
})

test.each([
  ['limits our rate', 429],
  ['does not answer', null],
])('the checks of a consensus node do not fail because the execution node %s', async (_how, answer) => {
  const script = { ...WELL }
  const own = await node(script)
  const beacon = await node(BEACON)
  const prober = proberOf([target(own.url, { beaconUrl: new Secret(beacon.url), timeoutMs: HANGING_MS })])
  const poll = async (previous: Liveness | null) => livenessAfter(previous, (await prober.poll(OWN, NEVER)).liveness, 0)

  const well = await poll(null)
  for (const method of Object.keys(script)) script[method] = answer
  const liveness = await poll(await poll(well))

  expect(liveness?.report).toMatchObject({ sync: null, peers: null, consensus: { state: 'synced', peers: 56 } })
  expect(liveness?.checks.map(({ name, contiguousFailures }) => [name, contiguousFailures])).toEqual([
    ['eth_syncing', 2],
    ['net_peerCount', 2],
    ['/eth/v1/node/health', 0],
    ['/eth/v1/node/syncing', 0],
    ['/eth/v1/node/peer_count', 0],
  ])
})

test('a refused question is not asked again in the next poll, unless the node had refused everything', async () => {
  const some = await node({ ...WELL, net_peerCount: 403 })
  const prober = proberOf([target(some.url)])
  await prober.poll(OWN, NEVER)
  await prober.poll(OWN, NEVER)
  expect(some.asked.filter(({ method }) => method === 'net_peerCount')).toHaveLength(1)

  const script: Record<string, Answer> = { ...WELL, eth_syncing: 403, net_peerCount: 403, eth_getBlockByNumber: 403 }
  const all = await node(script)
  const other = proberOf([target(all.url)])
  await other.poll(OWN, NEVER)
  Object.assign(script, WELL)
  const { liveness } = await other.poll(OWN, NEVER)
  expect(liveness).toMatchObject({ ok: true, value: { healthy: true, report: { peers: 50 } } })
})
