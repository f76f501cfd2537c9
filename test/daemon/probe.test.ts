import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type Daemon, removeFolder, startDaemonHere } from '../support/daemon.ts'

const OWN = 'network="net",endpoint="own"'
let node: SimulatedNode
let daemon: Daemon | null = null

beforeAll(async () => {
  const chain = createChain({ clock: systemClock, seed: 'probe', blockTimeMs: 12_000 })
  node = await startSimulatedNode({ clock: systemClock, chain, kind: { family: 'ethereum' }, name: 'own' })
})
afterAll(() => node.stop())
afterEach(() => node.heal())

async function stop(): Promise<void> {
  await daemon?.stop()
  if (daemon !== null) removeFolder(daemon.folder)
  daemon = null
}

/** Polls by the schedule are an hour apart after the first: whatever else is seen, a probe has asked for it. */
async function watching(
  url: string,
  { early = false, timeout = '5s', ...over }: { early?: boolean; timeout?: string; headers?: object } = {},
) {
  daemon = await startDaemonHere(
    {
      poll: { interval: '1h', timeout },
      networks: [{ name: 'net', family: 'ethereum', endpoints: [{ name: 'own', url, ...over }] }],
    },
    { early },
  )
  return daemon
}

describe('one daemon', () => {
  let shared: Daemon
  beforeAll(async () => {
    shared = await watching(node.url)
  })
  afterAll(stop)

  test('a probe asks the node itself, now: a fault shows at once, and its end too', async () => {
    const { get } = shared

    const well = await get('/probe?target=net/own')
    node.inject({ kind: 'http', status: 503 })
    const ill = await get('/probe?target=net/own')
    node.heal()
    const again = await get('/probe?target=net/own')

    expect([well.status, ill.status, again.status]).toEqual([200, 200, 200])
    expect(well.text).toMatch(new RegExp(`^heartline_endpoint_block_height\\{${OWN},shard=""\\} \\d+$`, 'm'))
    for (const { text } of [well, again]) expect(text).toContain(`heartline_probe_success{${OWN}} 1\n`)
    expect(ill.text).toContain(`heartline_probe_success{${OWN}} 0\n`)
    expect(ill.text).toContain(`heartline_endpoint_condition{${OWN},condition="bad-answer"} 1\n`)
  })

  test('however often a down node is probed, its verdict follows the schedule alone', async () => {
    const { get, endpoint } = shared
    node.inject({ kind: 'http', status: 503 })

    for (let times = 0; times < 5; times++) await get('/probe?target=net/own')

    expect((await endpoint('net', 'own')).state).toBe('up')
    const { text } = await get('/metrics')
    expect(text).not.toContain(`heartline_endpoint_up{${OWN}} 0\n`)
    expect(text).not.toContain('reason="http"')
    expect(JSON.parse((await get('/api/v1/incidents')).text).incidents).toEqual([])
  })

  test('no route sends a request to an address that a client names', async () => {
    let connections = 0
    const other = createServer().on('connection', () => connections++)
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`
    const { url, get } = shared
    const { paths } = JSON.parse((await get('/openapi.json')).text) as {
      paths: Record<string, Record<string, Operation>>
    }

    const own: Readonly<Record<string, string>> = { network: 'net', endpoint: 'own', name: 'own' }
    const ask = async (method: string, path: string, body: string | undefined) => {
      const headers = { 'content-type': 'application/json', referer: address, 'x-forwarded-host': address }
      const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body }) })
      await answer.body?.cancel()
      return answer.status
    }

    const statuses: number[] = []
    for (const [path, operations] of Object.entries(paths)) {
      const named = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => own[name] ?? '1')
      for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
        const members = Object.keys(requestBody?.content?.['application/json']?.schema.properties ?? {})
        const bodies = members.map((name) => JSON.stringify({ network: 'net', [name]: address }))
        const queries = [...parameters.filter((one) => one.in === 'query').map(({ name }) => name), 'url']
        const targets = [
          path.replaceAll(/\{\w+\}|\*/g, encodeURIComponent(address)),
          ...queries.map((name) => `${named}?${name}=${encodeURIComponent(address)}`),
        ]
        for (const target of targets) {
          for (const body of [...bodies, ...(requestBody === undefined ? [undefined] : [])]) {
            statuses.push(await ask(method, target, body))
          }
        }
      }
    }

    expect(statuses).toEqual(expect.arrayContaining([200, 400, 404]))
    expect(statuses.length).toBeGreaterThan(100)
    expect(connections).toBe(0)
  })
})

describe('a daemon for each', () => {
  afterEach(stop)

  test('a node that does not answer is reported within the scrape timeout', async () => {
    node.inject({ kind: 'hang' })
    const { get } = await watching(node.url, { early: true })

    const { status, text } = await get('/probe?target=net/own&debug=true', {
      'x-prometheus-scrape-timeout-seconds': '1.5',
    })

    expect(status).toBe(200)
    expect(text).toContain('timeout 1000.0 ms')
    expect(text).toMatch(/head: failed, timeout: no complete answer within (1 s|\d+ ms)/)
    expect(text).toContain(`heartline_probe_success{${OWN}} 0\n`)
  }, 120_000)

  test('a probe of a node that hangs holds up no stopping', async () => {
    node.inject({ kind: 'hang' })
    const { get, stop } = await watching(node.url, { early: true, timeout: '55s' })
    const asked = get('/probe?target=net/own', { 'x-prometheus-scrape-timeout-seconds': '60' }).catch(() => null)
    await get('/sd')

    const patience = new AbortController()
    const first = await Promise.race([
      stop().then(() => 'stopped'),
      // The node would have had 55 s.
      systemClock.sleep(50_000, patience.signal).then(() => 'still waiting'),
    ])
    patience.abort()
    await asked

    expect(first).toBe('stopped')
  }, 120_000)

  test('debug=true shows what was sent and what came back, without secrets, although the node repeats all of them', async () => {
    const gossip = createServer((request, response) => {
      const told = { error: `no: ${request.url} ${JSON.stringify(request.headers)} ${request.headers.host}` }
      response.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify(told))
    })
    await new Promise<void>((resolve) => gossip.listen(0, '127.0.0.1', resolve))
    const { port } = gossip.address() as AddressInfo
    const url = `http://CANARYUSER:CANARYPASS@127.0.0.1:${port}/v3/CANARYPATH?key=CANARYQUERY`

    try {
      const { get } = await watching(url, { headers: { 'x-api-key': 'CANARYHEADER' } })
      const { status, text } = await get('/probe?target=net/own&debug=true')

      expect(status).toBe(200)
      expect(text).toContain('POST <url>')
      expect(text).toContain('eth_getBlockByNumber')
      expect(text).toContain('HTTP 403')
      expect(text).toContain('no: /v3/[redacted]?[redacted]')
      const basic = Buffer.from('CANARYUSER:CANARYPASS').toString('base64')
      for (const secret of ['CANARY', basic, String(port)]) expect(text).not.toContain(secret)
    } finally {
      gossip.closeAllConnections()
      gossip.close()
    }
  })
})

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content?: Record<string, { readonly schema: { readonly properties?: object } }> }
}
