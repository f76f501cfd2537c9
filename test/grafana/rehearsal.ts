import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/clock.ts'
import type { NotificationsView as View } from '../../src/http/wire/notifications.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type NodeOptions, type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { createAuthority } from '../nodes/certificates.ts'
import { type RunningDaemon, removeFolder, startDaemon, temporaryFolder, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'
import { type Relay, startRelay, startTlsFront } from './relay.ts'

/** Two daemons with simulated nodes: most faults have their own network on the first; the second is for faults of Heartline itself. */
export interface Rehearsal {
  /** For Prometheus. */
  readonly targets: readonly [first: string, second: string]
  /** By `network/name`. */
  node(name: string): SimulatedNode
  nodes(network: string): readonly SimulatedNode[]
  /** Makes `tls/b` serve a certificate that expires in this many days. */
  certificate(days: number): void
  readonly second: Second
  stop(): Promise<void>
}

export interface Second {
  readonly relay: Relay
  /** Whether its last message about itself is that it is impaired: it sends no other until that has ended. */
  isToldImpaired(): Promise<boolean>
  /** Without an argument: the valid configuration. */
  reload(config?: object): void
  stop(): Promise<void>
  start(): Promise<void>
  readonly disk: { fill(): void; empty(): void }
}

interface Cast {
  readonly names: readonly string[]
  readonly kind?: NodeOptions['kind']
  readonly hosts?: readonly string[]
  /** Keys in addition to name, family and endpoints. */
  readonly config?: object
}

const BLOCK_MS = 1000
/** For busy machines: a healthy node must not miss two deadlines in a row. */
const POLL = { interval: '2s', timeout: '2s' }
/** A disk that is observed for a minute must not look as if it will be full within a day. */
const ROOMY = '4t'
/** Less than the bound of the alert, and little enough memory for a test. */
const TIGHT = '48m'
const CALLER = 'rehearsal-0123456789abcdef'
const AVALANCHE = { family: 'avalanche', checkEveryMs: 1000 } as const

const CASTS: Readonly<Record<string, Cast>> = {
  down: { names: ['a', 'b', 'c'] },
  late: { names: ['a', 'b', 'c'] },
  stall: { names: ['a', 'b', 'c'] },
  fork: { names: ['a', 'b', 'c'] },
  wrong: { names: ['a', 'b', 'c'], config: { chain_id: 1 } },
  self: { names: ['a', 'b', 'c', 'd', 'e'], kind: AVALANCHE, config: { thresholds: { stall: '8s', heartbeat: '8s' } } },
  sync: { names: ['a', 'b', 'c', 'd', 'e'], config: { poll: { liveness_interval: '2s' } } },
  flap: { names: ['a', 'b'], config: { thresholds: { stall: '8s', fail_after: 1, recover_after: 1 } } },
  slow: {
    names: ['a', 'b'],
    config: { thresholds: { stall: '16s', latency: '2s' }, poll: { interval: '4s', timeout: '4s' } },
  },
  tls: { names: ['a', 'b'] },
  half: { names: ['a', 'b', 'c'] },
  dark: { names: ['a', 'b'] },
  halt: { names: ['a', 'b', 'c'] },
  split: { names: ['a', 'b', 'c', 'd'] },
  mixed: { names: ['a', 'b'], config: { final_depth: 2 } },
  crowd: { names: ['a'], config: { poll: { concurrency_per_host: 1 } } },
}
/** Number of endpoints that share the single node of `crowd`. */
const CROWD = 12
/** How many times the second daemon lists each endpoint, so that its store fills the disk quickly. */
const MANY = 10
const ASKED = ['dark', 'slow', 'mixed', 'down']

export async function startRehearsal({ disk }: { readonly disk: boolean }): Promise<Rehearsal> {
  const cleanups: (() => unknown)[] = []
  try {
    return await begin(disk, cleanups)
  } catch (error) {
    for (const cleanup of cleanups.reverse()) await cleanup()
    throw error
  }
}

async function begin(disk: boolean, cleanups: (() => unknown)[]): Promise<Rehearsal> {
  const nodes = new Map<string, SimulatedNode>()
  const networks: object[] = []
  const authority = createAuthority()
  cleanups.push(() => authority.remove())
  const certificateFor = (days: number) =>
    authority.issue({ san: 'IP:127.0.0.1', until: asn1(Date.now() + days * 86_400_000) })

  async function cast(network: string, { names, kind = { family: 'ethereum' }, hosts }: Cast): Promise<object[]> {
    const chain = createChain({ clock: systemClock, seed: `rehearsal ${network}`, blockTimeMs: BLOCK_MS })
    const endpoints: object[] = []
    for (const [at, name] of names.entries()) {
      const host = hosts?.[at]
      const port = await freePort()
      const node = await startSimulatedNode({ clock: systemClock, chain, kind, name, port, ...(host ? { host } : {}) })
      nodes.set(`${network}/${name}`, node)
      cleanups.push(() => node.stop())
      endpoints.push({ name, url: node.url, ...(network === 'sync' ? { beacon_url: node.url } : {}) })
    }
    return endpoints
  }

  for (const [name, of] of Object.entries(CASTS)) {
    const endpoints = await cast(name, of)
    if (name === 'crowd') {
      for (let at = 1; at < CROWD; at++) endpoints.push({ ...endpoints[0], name: `a${at}` })
    }
    const family = of.kind?.family ?? 'ethereum'
    networks.push({ name, family, block_time: '1s', thresholds: { stall: '8s' }, ...of.config, endpoints })
  }
  const front = await startTlsFront(nodes.get('tls/b')?.url ?? '', certificateFor(90))
  cleanups.push(() => front.stop())
  const ofTls = networks.find((network) => 'name' in network && network.name === 'tls') as { endpoints: object[] }
  ofTls.endpoints[1] = { name: 'b', url: front.url, tls: { insecure: true } }

  const poll = POLL
  const gateway = { enabled: true, listen: '127.0.0.1:0', callers: [{ name: 'rehearsal', endpoint_id: CALLER }] }
  const first = await startDaemon({ poll, networks, gateway })
  cleanups.push(
    () => removeFolder(first.folder),
    () => first.stop('SIGKILL'),
  )
  const gatewayUrl = /"url":"(http[^"]+)\/"[^\n]*"msg":"gateway listening"/.exec(first.log())?.[1]
  if (gatewayUrl === undefined) throw new Error('no gateway')
  const asking = askAlways(gatewayUrl)
  cleanups.push(() => asking.stop())

  const ofSecond = await cast('second', { names: ['a', 'b', 'c'], hosts: ['127.0.0.2', '127.0.0.3', '127.0.0.4'] })
  const second = await startSecond(
    Array.from({ length: MANY }, (_, at) => ofSecond.map((one, of) => ({ ...one, name: `n${at}-${of}` }))).flat(),
    // There is no such route: every message is rejected.
    { name: 'revoked', type: 'webhook', url: `${first.url}/revoked` },
    disk,
  )
  cleanups.push(() => second.close())

  return {
    targets: [new URL(first.url).host, second.relay.address],
    node(name) {
      const found = nodes.get(name)
      if (found === undefined) throw new Error(`no node ${name}`)
      return found
    },
    nodes: (network) => [...nodes].filter(([name]) => name.startsWith(`${network}/`)).map(([, node]) => node),
    certificate: (days) => front.serve(certificateFor(days)),
    second,
    async stop() {
      for (const cleanup of cleanups.reverse()) await cleanup()
    },
  }
}

async function startSecond(
  endpoints: readonly object[],
  channel: object,
  mounted: boolean,
): Promise<Second & { close(): Promise<void> }> {
  const folder = temporaryFolder()
  const mount = (...options: readonly string[]) => execFileSync('mount', [...options, folder])
  if (mounted) mount('-t', 'tmpfs', '-o', `size=${ROOMY}`, 'tmpfs')
  const filler = join(folder, 'filler')
  const config = {
    poll: POLL,
    store: { path: 'heartline.db' },
    networks: [{ name: 'second', family: 'ethereum', block_time: '1s', endpoints }],
    notify: { channels: [channel] },
  }
  const relay = await startRelay()
  let daemon: RunningDaemon
  let filling: NodeJS.Timeout | null = null

  async function start(): Promise<void> {
    daemon = await startDaemon(config, { folder })
    relay.to(daemon.url)
  }
  async function stop(): Promise<void> {
    relay.to(null)
    await daemon.stop()
  }
  await start()

  return {
    relay,
    start,
    stop,
    async isToldImpaired() {
      const { deliveries } = JSON.parse((await daemon.get('/api/v1/notifications')).text) as Pick<View, 'deliveries'>
      return deliveries.find(({ incident }) => incident === null)?.type === 'heartline.impaired'
    },
    reload(next = config) {
      daemon.rewrite(next)
      daemon.process.kill('SIGHUP')
    },
    disk: {
      fill() {
        mount('-o', `remount,size=${TIGHT}`)
        // The store releases its reserve when the disk is full: fill that as well.
        filling = setInterval(() => fill(filler), 200)
      },
      empty() {
        if (filling !== null) clearInterval(filling)
        rmSync(filler, { force: true })
        mount('-o', `remount,size=${ROOMY}`)
      },
    },
    async close() {
      if (filling !== null) clearInterval(filling)
      await daemon.stop('SIGKILL')
      await relay.stop()
      if (mounted) execFileSync('umount', ['-l', folder])
      removeFolder(folder)
    },
  }
}

/** Writes until no byte is left. */
function fill(file: string): void {
  const descriptor = openSync(file, 'a')
  try {
    for (let size = 1 << 20; size > 0; size >>= 1) {
      try {
        for (;;) if (writeSync(descriptor, Buffer.alloc(size)) < size) break
      } catch {
        // A smaller block may still fit.
      }
    }
  } finally {
    closeSync(descriptor)
  }
}

/** A caller of the gateway: requests the newest block, the same old block repeatedly, and a forbidden method. */
function askAlways(gatewayUrl: string): { stop(): Promise<void> } {
  const calls = [
    ['eth_getBlockByNumber', ['latest', false]],
    ['eth_blockNumber', []],
    ['eth_getBlockByNumber', ['0x1', false]],
    ['debug_everything', []],
  ] as const
  const waiting = new Set<Promise<unknown>>()
  let turn = 0
  const timer = setInterval(() => {
    const [method, params] = calls[turn++ % calls.length] ?? calls[0]
    for (const network of ASKED) {
      if (waiting.size > 100) return
      const asked = fetch(`${gatewayUrl}/${network}/${CALLER}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: turn, method, params }),
      })
        .then((answer) => answer.text())
        .catch(() => null)
        .finally(() => waiting.delete(asked))
      waiting.add(asked)
    }
  }, 300)
  return {
    async stop() {
      clearInterval(timer)
      await until(() => waiting.size === 0, 'every request has ended', 30_000)
    },
  }
}

/** The format of openssl: `20261231235959Z`. */
function asn1(at: number): string {
  return new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
}
