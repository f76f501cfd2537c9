import { Agent, request } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type DaemonOptions, type RunningDaemon, removeFolder, startDaemon, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'

const WALLET = 'wallet-0123456789abcdef'
const OPERATOR = 'operator-0123456789abcdef'

const cleanups: (() => unknown)[] = []
let nodes: SimulatedNode[] = []

async function startNodes(): Promise<void> {
  const chain = createChain({ clock: systemClock, seed: 'gateway', blockTimeMs: 500 })
  const sharded = createChain({ clock: systemClock, seed: 'sharded', blockTimeMs: 500, shards: [0, 1, 2, 4294967295] })
  const kinds = [
    ['eth-a', { family: 'ethereum' }, chain],
    ['eth-b', { family: 'ethereum' }, chain],
    ['avax-a', { family: 'avalanche', adminEnabled: true }, chain],
    ['avax-b', { family: 'avalanche', adminEnabled: true }, chain],
    ['egld-a', { family: 'multiversx', kind: 'proxy' }, sharded],
  ] as const
  nodes = await Promise.all(
    kinds.map(async ([name, kind, of]) =>
      startSimulatedNode({ clock: systemClock, chain: of, kind, name, port: await freePort() }),
    ),
  )
}

async function stopAll(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  await Promise.all(nodes.map((node) => node.stop()))
}

const at = (name: string) => nodes.find((node) => node.name === name)!

function config(gateway: object = {}) {
  const endpoints = (prefix: string) =>
    nodes.filter(({ name }) => name.startsWith(prefix)).map(({ name, url }) => ({ name, url }))
  return {
    poll: { interval: '1s', timeout: '1s' },
    networks: [
      { name: 'ethereum', family: 'ethereum', block_time: '500ms', endpoints: endpoints('eth') },
      { name: 'avalanche', family: 'avalanche', block_time: '500ms', endpoints: endpoints('avax') },
      { name: 'multiversx', family: 'multiversx', block_time: '500ms', endpoints: endpoints('egld') },
    ],
    log: { level: 'debug' },
    gateway: {
      enabled: true,
      listen: '127.0.0.1:0',
      callers: [
        { name: 'wallet', endpoint_id: WALLET },
        { name: 'operator', endpoint_id: OPERATOR, networks: ['avalanche'], admin: true },
      ],
      ...gateway,
    },
  }
}

async function start(of: object, options?: DaemonOptions): Promise<{ daemon: RunningDaemon; gateway: string }> {
  const daemon = await startDaemon(of, options)
  cleanups.push(
    () => removeFolder(daemon.folder),
    () => daemon.stop('SIGKILL'),
  )
  const url = /"url":"(http[^"]+)\/"[^\n]*"msg":"gateway listening"/.exec(daemon.log())?.[1]
  if (url === undefined) throw new Error('no gateway')
  return { daemon, gateway: url }
}

async function call(url: string, method: string, params: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'mine', method, params }),
  })
  return { status: answer.status, headers: answer.headers, json: await answer.json() }
}

describe('a daemon for each', () => {
  beforeEach(startNodes)
  afterEach(stopAll)

  test('all five operations reach a node, and come back with its answer', async () => {
    const { daemon, gateway } = await start(config(), { args: ['--api-admin-enabled=true'] })
    const [eth, avax] = [`${gateway}/ethereum/${WALLET}`, `${gateway}/avalanche/${WALLET}`]

    const block = await call(eth, 'eth_getBlockByNumber', ['latest', false])
    expect(block.json).toMatchObject({ id: 'mine', result: { number: expect.stringMatching(/^0x/) } })
    expect(block.headers.get('x-heartline-endpoint')).toMatch(/^eth-[ab]$/)
    const { json: full } = await call(eth, 'eth_getBlockByNumber', [block.json.result.number, false])
    const [hash] = full.result.transactions
    expect((await call(eth, 'eth_getTransactionByHash', [hash])).json.result.hash).toBe(hash)

    const liveness = await call(`${avax}/ext/health`, 'health.health', {}, { 'x-heartline-endpoint': 'avax-b' })
    expect(liveness.headers.get('x-heartline-endpoint')).toBe('avax-b')
    expect(liveness.json.result.healthy).toBe(true)

    const alias = await call(
      `${gateway}/avalanche/${OPERATOR}/ext/admin`,
      'admin.alias',
      { endpoint: 'bc/C', alias: 'mine' },
      { 'x-heartline-endpoint': 'avax-b' },
    )
    expect(alias.json).toEqual({ jsonrpc: '2.0', id: 'mine', result: { success: true } })
    const through = await call(`${avax}/ext/mine/rpc`, 'eth_chainId', [])
    expect([through.json.result, through.headers.get('x-heartline-endpoint')]).toEqual(['0xa86a', 'avax-b'])
    // The original goes on working, and the alias opens nothing else.
    expect((await call(`${avax}/ext/bc/C/rpc`, 'eth_chainId', [])).json.result).toBe('0xa86a')
    expect((await call(`${avax}/ext/mine/admin`, 'admin.alias', {})).status).toBe(404)

    const status = await (await fetch(`${gateway}/multiversx/${WALLET}/network/status/1`)).json()
    expect(status.data.status.erd_nonce).toBeGreaterThan(0)
    const byNonce = `${gateway}/multiversx/${WALLET}/block/1/by-nonce/${status.data.status.erd_nonce - 3}`
    const { data } = await (await fetch(byNonce)).json()
    const byHash = await fetch(`${gateway}/multiversx/${WALLET}/block/1/by-hash/${data.block.hash}`)
    expect((await byHash.json()).data.block.hash).toBe(data.block.hash)

    const report = JSON.parse((await daemon.get('/api/v1/gateway')).text)
    expect(report).toMatchObject({
      enabled: true,
      callers: [
        { name: 'wallet', admin: false, networks: ['ethereum', 'avalanche', 'multiversx'] },
        { name: 'operator', admin: true, networks: ['avalanche'], requests: 1, refused: 0 },
      ],
      aliases: [
        { network: 'avalanche', alias: 'mine', target: 'bc/C', endpoint: 'avax-b', caller: 'operator', stale: null },
      ],
    })
    expect(report.networks.map(({ name, endpoints }: any) => [name, endpoints.length])).toEqual([
      ['ethereum', 2],
      ['avalanche', 2],
      ['multiversx', 1],
    ])
    const metrics = (await daemon.get('/metrics')).text
    expect(metrics).toMatch(
      /heartline_gateway_requests_total\{network="ethereum",operation="eth_getBlockByNumber",caller="wallet",outcome="answered"\} 2\n/,
    )
    expect(metrics).toMatch(
      /heartline_gateway_attempts_total\{network="avalanche",endpoint="avax-b",operation="admin.alias",outcome="answered"\} 1\n/,
    )
    expect(metrics).toMatch(/heartline_gateway_eligible\{network="ethereum",endpoint="eth-a"\} 1\n/)
    expect(metrics).toMatch(
      /heartline_gateway_overhead_seconds_count\{network="ethereum",operation="eth_getBlockByNumber"\} 2\n/,
    )
    expect(metrics).toMatch(/heartline_gateway_requests_in_flight\{network="ethereum"\} 0\n/)
  })

  describe('stopping', () => {
    test('lets the request in flight finish, and ends with 0', async () => {
      const { daemon, gateway } = await start(config())
      for (const node of nodes) if (node.name.startsWith('eth')) node.inject({ kind: 'slow', delayMs: 800 })
      let isOver = false
      const ask = () => {
        isOver = false
        const answer = call(`${gateway}/ethereum/${WALLET}`, 'eth_getBlockByNumber', ['latest', false])
        void answer.finally(() => {
          isOver = true
        })
        return answer
      }
      let inFlight = ask()
      // On a busy machine, a scrape may take longer than the request, so the next one must not be a cache hit.
      const inFlightNow = async () =>
        /gateway_requests_in_flight\{network="ethereum"\} 1/.test((await daemon.get('/metrics')).text)
      while (!(await inFlightNow())) if (isOver) inFlight = ask()

      const ended = daemon.stop()

      expect((await inFlight).status).toBe(200)
      expect(await ended).toBe(0)
    })
  })
})

describe('one daemon', () => {
  let daemon: RunningDaemon
  let gateway: string
  beforeAll(async () => {
    await startNodes()
    const started = await start(config())
    daemon = started.daemon
    gateway = started.gateway
  })
  afterAll(stopAll)

  async function reloadWith(changes: object): Promise<void> {
    const count = () => daemon.log().split('configuration reloaded').length
    const before = count()
    daemon.rewrite(config(changes))
    daemon.process.kill('SIGHUP')
    await until(() => count() > before, 'it is reloaded')
  }

  test('admin.alias is refused without the option, and of a caller who may not', async () => {
    const params = { endpoint: 'bc/C', alias: 'mine' }

    const refused = await call(`${gateway}/avalanche/${OPERATOR}/ext/admin`, 'admin.alias', params)

    expect([refused.status, refused.json.error.code]).toEqual([403, -32099])
  })

  describe('a reload', () => {
    test('swaps callers and limits on connections that stay open, and says what waits for a restart', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      onTestFinished(() => agent.destroy())
      const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
      const ask = (id: string) =>
        new Promise<[number | undefined, number | undefined]>((resolve, reject) => {
          const headers = { 'content-type': 'application/json', 'content-length': body.length }
          request(`${gateway}/ethereum/${id}`, { agent, method: 'POST', headers }, (answer) => {
            const { localPort } = answer.socket
            answer.resume().on('end', () => resolve([answer.statusCode, localPort]))
          })
            .on('error', reject)
            .end(body)
        })
      const [before, port] = await ask(WALLET)
      expect(before).toBe(200)

      await reloadWith({ listen: '127.0.0.1:1', callers: [{ name: 'wallet', endpoint_id: `${WALLET}-new` }] })
      onTestFinished(() => reloadWith({}))

      expect(await ask(WALLET)).toEqual([401, port])
      expect(await ask(`${WALLET}-new`)).toEqual([200, port])
      expect(daemon.log()).toMatch(/"keys":\["gateway.listen"\][^\n]*take effect after a restart/)
      const metrics = (await daemon.get('/metrics')).text
      expect(metrics).not.toContain('caller="operator"')
    })
  })

  test('an address that is taken ends with 78 and names its key', async () => {
    await expect(startDaemon(config({ listen: new URL(gateway).host }))).rejects.toThrow(
      /ended with 78[^]*gateway\.listen: the address cannot be used/,
    )
  })

  test('a node that is gone costs no caller an answer', async () => {
    const url = `${gateway}/ethereum/${WALLET}`
    expect((await call(url, 'eth_blockNumber', [])).status).toBe(200)

    await at('eth-a').stop()
    const answers = await Promise.all(Array.from({ length: 50 }, () => call(url, 'eth_blockNumber', [])))

    expect(answers.map(({ status, json }) => [status, json.error])).toEqual(answers.map(() => [200, undefined]))
  })
})
