import { describe, expect, test } from 'vitest'
import { goDuration } from '../../src/simulator/avalanche-health.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { post, rpc, startNode } from './ask.ts'

const start = (generation: 'old' | 'new', adminEnabled = false) =>
  startNode(createFakeClock(), { family: 'avalanche', generation, adminEnabled })

describe('a simulated avalanche node', () => {
  test('of today answers health.health, in the shape of today', async () => {
    const node = await start('new')
    node.inject({ kind: 'failing-check', name: 'router', contiguousFailures: 4, tolerated: false })

    const { result } = await rpc(`${node.url}/ext/health`, 'health.health', {})

    expect(result.healthy).toBe(false)
    expect(result.checks.router).toMatchObject({ error: 'router is failing', contiguousFailures: 4 })
    expect(result.checks.network).not.toHaveProperty('contiguousFailures')
    expect(result.checks.network.message.timeSinceLastMsgReceived).toBe('293ms')
    expect(result.checks.C.message.engine.consensus.lastAcceptedHeight).toBe(node.height())
    expect(result.checks.bootstrapped.message).toEqual([])
  })

  test('of today knows no getLiveness; one of 2020 knows nothing else', async () => {
    const today = await start('new')
    const old = await start('old')

    expect((await rpc(`${today.url}/ext/health`, 'health.getLiveness')).error).toEqual({
      code: -32000,
      message: 'rpc: can\'t find method "health.GetLiveness"',
      data: null,
    })
    expect((await rpc(`${old.url}/ext/health`, 'health.health')).error?.code).toBe(-32000)
  })

  test('of 2020 answers with error objects, and heartbeats in Unix seconds', async () => {
    const node = await start('old')
    node.inject({
      kind: 'failing-check',
      name: 'network.validators.heartbeat',
      contiguousFailures: 2,
      tolerated: false,
    })

    const { result } = await rpc(`${node.url}/ext/health`, 'health.getLiveness', undefined)

    const heartbeat = result.checks['network.validators.heartbeat']
    expect(heartbeat.error).toEqual({ message: 'network.validators.heartbeat is failing' })
    expect(Math.abs(heartbeat.message.heartbeat * 1000 - node.chain.now())).toBeLessThan(31_000)
    expect(result.checks['chains.default.bootstrapped']).toMatchObject({
      contiguousFailures: 0,
      timeOfFirstFailure: null,
    })
  })

  test('tells load balancers by the status of GET, JSON-RPC callers by the body', async () => {
    const node = await start('new')
    node.inject({ kind: 'unhealthy' })

    const get = await fetch(`${node.url}/ext/health`)
    const readiness = await fetch(`${node.url}/ext/health/readiness`)
    const called = await post(`${node.url}/ext/health`, { jsonrpc: '2.0', id: 1, method: 'health.health' })

    expect(get.status).toBe(503)
    expect(Object.keys((await get.json()) as object)).toEqual(['checks', 'healthy'])
    expect(readiness.status).toBe(503)
    expect(called.status).toBe(200)
  })

  test('a frozen heartbeat grows old, in both generations', async () => {
    const clock = createFakeClock()
    const today = await startNode(clock, { family: 'avalanche', checkEveryMs: 1000 })
    const old = await startNode(clock, { family: 'avalanche', generation: 'old', checkEveryMs: 1000 })
    const frozenAt = today.chain.now()
    for (const node of [today, old]) node.inject({ kind: 'frozen-heartbeat' })

    await clock.advance(90_000)

    const { checks } = (await rpc(`${today.url}/ext/health`, 'health.health')).result
    expect(checks.network.message.timeSinceLastMsgReceived).toBe('1m30s')
    const reply = (await rpc(`${old.url}/ext/health`, 'health.getLiveness')).result
    expect(reply.checks['network.validators.heartbeat'].message.heartbeat).toBe(Math.floor(frozenAt / 1000))
  })

  test('names itself on every answer, and speaks the JSON-RPC of gorilla: no batches, silence without id', async () => {
    const node = await start('new')
    const url = `${node.url}/ext/health`

    const batch = await post(url, [{ jsonrpc: '2.0', id: 1, method: 'health.health' }])
    const silent = await post(url, { jsonrpc: '2.0', method: 'health.health' })
    const wrongVersion = await post(url, { jsonrpc: '1.0', id: 1, method: 'health.health' })
    const wrongType = await post(url, '{}', { 'content-type': 'text/plain' })
    const wrongMethod = await fetch(url, { method: 'PUT' })

    expect(batch.headers.get('node-id')).toMatch(/^NodeID-[1-9A-HJ-NP-Za-km-z]{33}$/)
    expect(await batch.json()).toMatchObject({ id: null, error: { code: -32700 } })
    expect([silent.status, await silent.text()]).toEqual([200, ''])
    expect(await wrongVersion.json()).toMatchObject({ id: 1, error: { code: -32600, message: 'jsonrpc must be 2.0' } })
    expect(wrongType.status).toBe(415)
    expect(wrongMethod.status).toBe(405)
  })

  test('serves the C-Chain, with what coreth adds and without reorganisations', async () => {
    const node = await start('new')
    const url = `${node.url}/ext/bc/C/rpc`

    const { result } = await rpc(url, 'eth_getBlockByNumber', ['finalized', false])
    const beyond = await rpc(url, 'eth_getBlockByNumber', ['0xfffffffff', false])

    expect(Number(result.number)).toBe(node.height())
    expect(result).toHaveProperty('extDataHash')
    expect((await rpc(url, 'eth_chainId')).result).toBe('0xa86a')
    expect(beyond.error).toMatchObject({ code: -32000, message: 'cannot query unfinalized data' })
  })

  test('while bootstrapping, its chain answers 503 in plain text', async () => {
    const node = await start('new')
    node.inject({ kind: 'bootstrapping' })

    const response = await post(`${node.url}/ext/bc/C/rpc`, { jsonrpc: '2.0', id: 1, method: 'eth_chainId' })

    expect(response.status).toBe(503)
    expect(await response.text()).toBe('API call rejected because chain is not done bootstrapping\n')
    expect((await rpc(`${node.url}/ext/health`, 'health.readiness')).result.healthy).toBe(false)
  })

  test('without the admin API there is no /ext/admin', async () => {
    const node = await start('new')

    expect((await post(`${node.url}/ext/admin`, {})).status).toBe(404)
  })

  test('an alias leads to what it stands for, once', async () => {
    const node = await start('new', true)
    const alias = () => rpc(`${node.url}/ext/admin`, 'admin.alias', { endpoint: 'bc/C', alias: 'myChain' })

    const first = await alias()
    const second = await alias()
    const through = await rpc(`${node.url}/ext/myChain/rpc`, 'eth_chainId')

    expect(first.result).toEqual({})
    expect(second.error).toMatchObject({
      code: -32000,
      message: 'route is either already aliased or already maps to a handle: /ext/myChain',
    })
    expect(through.result).toBe('0xa86a')
    expect((await post(`${node.url}/ext/other/rpc`, {})).status).toBe(404)
  })

  test('an alias may have 512 bytes, not characters', async () => {
    const node = await start('new', true)
    const alias = (name: string) => rpc(`${node.url}/ext/admin`, 'admin.alias', { endpoint: 'bc/C', alias: name })

    expect((await alias('a'.repeat(512))).result).toEqual({})
    expect((await alias('a'.repeat(513))).error?.message).toBe('alias length is too long')
    expect((await alias('ä'.repeat(257))).error?.message).toBe('alias length is too long')
  })

  test('obeys the Avalanche-Api-Route header whatever the path says, as the real one does', async () => {
    const node = await start('new')

    const response = await post(
      `${node.url}/ext/health`,
      { jsonrpc: '2.0', id: 1, method: 'eth_chainId' },
      { 'avalanche-api-route': 'C' },
    )

    expect(await response.json()).toMatchObject({ result: '0xa86a' })
  })

  test.each([
    [293, '293ms'],
    [1500, '1.5s'],
    [62_500, '1m2.5s'],
    [3_600_000, '1h0m0s'],
  ])('%i ms are written as Go does: %s', (ms, text) => {
    expect(goDuration(ms)).toBe(text)
  })
})
