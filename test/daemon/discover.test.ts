import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import { METACHAIN } from '../../src/core/network.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { MULTIVERSX_SHARDS } from '../../src/simulator/multiversx.ts'
import { type NodeOptions, type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { removeFolder, runHeartline, runHere, temporaryFolder } from '../support/daemon.ts'

let nodes: SimulatedNode[] = []
let folder: string
const file = () => join(folder, 'heartline.yaml')

beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.stop()))
  nodes = []
  removeFolder(folder)
})

async function start(kind: NodeOptions['kind'], blockTimeMs: number): Promise<string> {
  const shards = kind.family === 'multiversx' ? (kind.shards ?? MULTIVERSX_SHARDS) : [null]
  const chain = createChain({ clock: systemClock, seed: kind.family, blockTimeMs, shards })
  const node = await startSimulatedNode({ clock: systemClock, chain, kind, name: `node-${nodes.length}` })
  nodes.push(node)
  return node.url
}

/** The single poll may be `slow`. */
const STATE_ON_A_BUSY_MACHINE = / own-1 +(up|degraded) /

/** The configuration that `probe --url` prints below its table. */
const pasted = (out: string) => parse(out.slice(out.indexOf('networks:'))) as { networks: object[] }

test.each([
  [{ family: 'ethereum', chainId: 1 }, 12_000, { name: 'ethereum', family: 'ethereum', chain_id: 1 }],
  [
    { family: 'ethereum', chainId: 8453 },
    2000,
    { name: 'base', chain_id: 8453, block_time: '2s', thresholds: { lag_blocks: 15 } },
  ],
  [{ family: 'ethereum', chainId: 987 }, 5000, { name: 'ethereum-987', chain_id: 987, block_time: '5s' }],
  [
    { family: 'avalanche', generation: 'old' },
    2000,
    { name: 'avalanche', family: 'avalanche', chain_id: 43114, thresholds: { lag_blocks: 15 } },
  ],
  [{ family: 'multiversx', kind: 'proxy' }, 6000, { name: 'multiversx', family: 'multiversx' }],
] as const)('probe --url finds out the chain of %o with blocks every %i ms', async (kind, blockTimeMs, network) => {
  const url = await start(kind, blockTimeMs)

  const { status, out } = await runHere(['probe', '--url', url])

  expect(status).toBeLessThan(2)
  expect(out).toMatch(STATE_ON_A_BUSY_MACHINE)
  expect(pasted(out).networks).toMatchObject([{ ...network, endpoints: [{ name: 'own-1', url }] }])
  const { title: _, endpoints: __, ...found } = pasted(out).networks[0] as Record<string, unknown>
  expect(found).toEqual({ family: kind.family, ...network })
})

test('an observer is distinguished from a proxy, and its shard is known', async () => {
  const url = await start({ family: 'multiversx', kind: 'observer', shard: 1 }, 6000)

  const { out } = await runHere(['probe', '--url', url])

  expect(pasted(out).networks).toMatchObject([{ endpoints: [{ url, kind: 'observer', shard: 1 }] }])
})

test('a proxy of two shards is polled for these and the metachain', async () => {
  const shards = [0, 1, METACHAIN]
  const url = await start({ family: 'multiversx', kind: 'proxy', shards }, 6000)

  const { status, out } = await runHere(['probe', '--url', url])

  expect(status).toBeLessThan(2)
  expect(out).toMatch(STATE_ON_A_BUSY_MACHINE)
  expect(pasted(out).networks).toMatchObject([{ shards, endpoints: [{ url }] }])
})

test('an observer of the fourth shard gets a configuration with four shards', async () => {
  const shards = [0, 1, 2, 3, METACHAIN]
  const url = await start({ family: 'multiversx', kind: 'observer', shard: 3, shards }, 6000)

  const { status } = await runHere(['init', '--url', url, '-c', file()])

  expect(status).toBe(0)
  expect(parse(readFileSync(file(), 'utf8'))).toMatchObject({
    networks: [{ shards, endpoints: [{ url, kind: 'observer', shard: 3 }] }],
  })
  expect((await runHere(['check-config', '-c', file()])).status).toBe(0)
})

test.each([undefined, null, 0, -1, 1.5, 3, 17, 4_294_967_295, 1e300, '2', [2], { length: 2 }])(
  'a node that reports %j shards gets the default shards',
  async (count) => {
    const config = { erd_chain_id: 'T', erd_round_duration: 6000, erd_num_shards_without_meta: count }
    const { url } = await answering((path) =>
      path === '/network/config' ? { data: { config }, code: 'successful' } : {},
    )

    const { status } = await runHere(['init', '--url', `http://${url}`, '-c', file()])

    expect(status).toBe(0)
    const { networks } = parse(readFileSync(file(), 'utf8')) as { networks: object[] }
    expect(networks.map((network) => Object.keys(network))).toEqual([['name', 'title', 'family', 'endpoints']])
  },
)

test.each([1, 16])('a node may report %i shards', async (count) => {
  const config = { erd_chain_id: 'T', erd_num_shards_without_meta: count }
  const { url } = await answering((path) =>
    path === '/network/config' ? { data: { config }, code: 'successful' } : {},
  )

  const { status } = await runHere(['init', '--url', `http://${url}`, '-c', file()])

  expect(status).toBe(0)
  const { networks } = parse(readFileSync(file(), 'utf8')) as { networks: { shards: number[] }[] }
  expect([networks[0]?.shards.length, networks[0]?.shards.at(-1)]).toEqual([count + 1, METACHAIN])
})

test('a URL that contains ${ is written so that it means itself', async () => {
  const url = await start({ family: 'ethereum', chainId: 1 }, 12_000)
  const key = '?key=${A}$${B}'

  const { status } = await runHere(['init', '--url', `${url}/${key}`, '-c', file()])

  expect(status).toBe(0)
  const loaded = loadConfig(file(), {})
  expect(loaded.ok && loaded.config.networks[0]?.endpoints[0]?.connection.url.reveal()).toBe(`${url}/${key}`)
})

test('the URL of a chain on an avalanchego node becomes a base URL', async () => {
  const url = await start({ family: 'avalanche', generation: 'new' }, 2000)

  const { status, out } = await runHere(['probe', '--url', `${url}/ext/bc/C/rpc`])

  expect(status).toBeLessThan(2)
  expect(pasted(out).networks).toMatchObject([{ family: 'avalanche', endpoints: [{ url }] }])
})

test('a URL with a key works, and the key is not printed', async () => {
  const url = await start({ family: 'ethereum', chainId: 1 }, 12_000)
  const key = '0a1b2c3d4e5f60718293'

  const { status, out, err } = await runHeartline(['probe', '--url', `${url}/?apikey=${key}`])

  expect(status).toBeLessThan(2)
  expect(out + err).not.toContain(key)
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file
  expect(pasted(out).networks).toMatchObject([{ endpoints: [{ url: '${ETHEREUM_OWN_1_URL}' }] }])
})

/** A server that gives these answers, in JSON, and notes the credentials that it gets. */
async function answering(
  answers: (path: string, body: string) => unknown,
): Promise<{ url: string; seen: Set<string> }> {
  const seen = new Set<string>()
  const server = createServer((request, response) => {
    seen.add(request.headers.authorization ?? 'none')
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece
    })
    request.on('end', () => response.end(JSON.stringify(answers(request.url ?? '', body))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

test('user and password of a URL are sent, and are in the file that init writes', async () => {
  const { url, seen } = await answering((_path, body) => {
    const { id, method } = JSON.parse(body) as { id: number; method: string }
    return { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x1' : { number: '0x5', timestamp: '0x5' } }
  })

  const { status } = await runHere(['init', '--url', `http://user:pa55word@${url}`, '-c', file()])

  expect(status).toBe(0)
  expect([...seen]).toEqual([`Basic ${btoa('user:pa55word')}`])
  expect(parse(readFileSync(file(), 'utf8'))).toMatchObject({
    networks: [{ endpoints: [{ url: `http://user:pa55word@${url}` }] }],
  })
})

test.each(['constructor', '__proto__', 'My_Chain'])('a chain called %s gets a valid name', async (chain) => {
  const { url } = await answering((path) =>
    path === '/network/config'
      ? { data: { config: { erd_chain_id: chain, erd_round_duration: 6000 } }, code: 'successful' }
      : {},
  )

  const { status } = await runHere(['init', '--url', `http://${url}`, '-c', file()])

  expect(status).toBe(0)
  expect((await runHere(['check-config', '-c', file()])).status).toBe(0)
})

test('init writes no file that the daemon would refuse', async () => {
  const { url } = await answering((_path, body) => {
    const { id, method } = JSON.parse(body) as { id: number; method: string }
    return { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x0' : { number: '0x5', timestamp: '0x5' } }
  })

  const { status, err } = await runHere(['init', '--url', `http://${url}`, '-c', file()])

  expect(status).toBe(70)
  expect(err).toContain('networks[0].chain_id')
  expect(existsSync(file())).toBe(false)
})

test.each([
  ['a configured target and a URL', ['ethereum', '--url', 'http://127.0.0.1:1']],
  ['a family without a URL', ['-c', 'heartline.yaml', '--family', 'ethereum']],
  ['a URL with a fragment', ['--url', 'http://127.0.0.1:1/#top']],
])('probe with %s is a usage error', async (_what, args) => {
  const { status, err } = await runHere(['probe', ...args])

  expect(status).toBe(64)
  expect(err).not.toContain('127.0.0.1')
})

test.each([
  ['probe', 'http://127.0.0.1:1/key', 'http://127.0.0.1:1/key'],
  ['init', 'http://127.0.0.1:1', 'http://127.0.0.1:1/'],
])('%s with the same URL twice is a usage error, and sends nothing', async (command, url, again) => {
  const { status, err } = await runHere([command, '--url', 'http://127.0.0.1:2', '--url', url, '--url', again])

  expect([status, err]).toEqual([64, 'heartline: --url: URL 3 of 3 is the same as URL 2\n'])
})

test('what is no node is said for each family, with exit status 2', async () => {
  const server = createServer((_request, response) => response.writeHead(404).end('nothing here'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const { status, err } = await runHere(['probe', '--url', `http://127.0.0.1:${port}`])
  const wrong = await runHere(['probe', '--url', 'not a url'])

  server.close()
  expect(status).toBe(2)
  for (const family of ['ethereum', 'avalanche', 'multiversx'])
    expect(err).toContain(`not ${family}: answered HTTP 404`)
  expect([wrong.status, wrong.err]).toEqual([64, 'heartline: --url: expected an http(s) URL without fragment\n'])
})

test('init writes a private file with one network per chain, and never overwrites one', async () => {
  const ethereum = await start({ family: 'ethereum', chainId: 1 }, 12_000)
  const again = await start({ family: 'ethereum', chainId: 1 }, 12_000)
  const avalanche = await start({ family: 'avalanche', generation: 'new' }, 2000)
  const plain = await start({ family: 'ethereum', chainId: 43_114 }, 2000)
  const urls = [ethereum, again, avalanche, plain].flatMap((url) => ['--url', url])

  const { status, out } = await runHeartline(['init', ...urls], { cwd: folder })

  expect(status).toBe(0)
  expect(statSync(file()).mode & 0o777).toBe(0o600)
  expect(out).toContain('heartline serve -c heartline.yaml')
  const { networks } = parse(readFileSync(file(), 'utf8')) as { networks: { endpoints: object[] }[] }
  expect(networks.map(({ endpoints }) => endpoints.length)).toEqual([2, 2])
  expect(networks[1]!.endpoints[1]).toMatchObject({ url: plain, rpc_path: '/', checks: ['head'] })
  expect((await runHere(['check-config', '-c', file()])).status).toBe(0)

  writeFileSync(file(), 'mine')
  const second = await runHere(['init', ...urls, '-c', file()])
  expect([second.status, readFileSync(file(), 'utf8')]).toEqual([64, 'mine'])
  expect((await runHere(['init'])).status).toBe(64)
})
