import type { Clock } from '../clock.ts'
import type { Family } from '../core/network.ts'
import { createChain } from './chain.ts'
import type { Fault } from './fault.ts'
import type { ScheduledFault, Timeline } from './fault-set.ts'
import { MULTIVERSX_SHARDS } from './multiversx.ts'
import { type NodeOptions, type SimulatedNode, startSimulatedNode } from './node.ts'

interface DemoOptions {
  readonly clock: Clock
  readonly faults?: boolean
}

interface DemoNetwork {
  readonly family: Family
  readonly title: string
  readonly blockTimeMs: number
  readonly chainId?: number
  readonly endpoints: readonly DemoEndpoint[]
}

interface DemoEndpoint {
  readonly name: string
  readonly title: string
  readonly tier?: 'fallback'
  readonly delayMs: number
  readonly latencyMs: number
  readonly kind: NodeOptions['kind']
}

/** Block times are shorter than on the real chains, so that the page changes while it is watched. */
export const NETWORKS: readonly DemoNetwork[] = [
  {
    family: 'ethereum',
    title: 'Ethereum',
    blockTimeMs: 3000,
    chainId: 1,
    endpoints: [
      { name: 'own-1', title: 'Own node, Frankfurt', delayMs: 40, latencyMs: 6, kind: { family: 'ethereum' } },
      {
        name: 'own-2',
        title: 'Own node, Helsinki',
        delayMs: 90,
        latencyMs: 18,
        kind: { family: 'ethereum', clientVersion: 'Nethermind/v1.35.2+b7f4f3b7/linux-x64/dotnet9.0.9' },
      },
      provider({ delayMs: 150, latencyMs: 64, kind: { family: 'ethereum' } }),
    ],
  },
  {
    family: 'avalanche',
    title: 'Avalanche C-Chain',
    blockTimeMs: 2000,
    chainId: 43_114,
    endpoints: [
      { name: 'own-1', title: 'Own node, Frankfurt', delayMs: 30, latencyMs: 5, kind: avalanche('new') },
      { name: 'own-2', title: 'Own node, before 1.2.1', delayMs: 60, latencyMs: 21, kind: avalanche('old') },
      provider({ delayMs: 120, latencyMs: 58, kind: avalanche('new') }),
    ],
  },
  {
    family: 'multiversx',
    title: 'MultiversX',
    blockTimeMs: 6000,
    endpoints: [
      { name: 'own-1', title: 'Own proxy, Frankfurt', delayMs: 40, latencyMs: 9, kind: { family: 'multiversx' } },
      { name: 'own-2', title: 'Own proxy, Helsinki', delayMs: 80, latencyMs: 24, kind: { family: 'multiversx' } },
      provider({ delayMs: 160, latencyMs: 71, kind: { family: 'multiversx' } }),
    ],
  },
]

const THRESHOLDS = {
  lag_blocks: 3,
  lag_recover_blocks: 1,
  stall: '15s',
  heartbeat: '10s',
  latency: '1s',
  clock_skew: '10s',
}

/** Nine nodes, three per family, with recurring faults, and the configuration that monitors them. */
export async function startDemoNodes({ clock, faults = true }: DemoOptions) {
  const time = sinceWake(clock)
  const nodes: SimulatedNode[] = []
  const networks: object[] = []
  for (const { family, title, blockTimeMs, chainId, endpoints } of NETWORKS) {
    const shards = family === 'multiversx' ? MULTIVERSX_SHARDS : [null]
    const chain = createChain({ clock: time, seed: `demo ${family}`, blockTimeMs, shards })
    const configured: object[] = []
    for (const { name, title: endpointTitle, tier, delayMs, latencyMs, kind } of endpoints) {
      const timeline = faults ? DEMO_FAULTS[`${family}/${name}`] : undefined
      const node = await startSimulatedNode({
        clock: time,
        chain,
        kind,
        name: `${family}/${name}`,
        delayMs,
        latencyMs,
        ...(timeline ? { timeline } : {}),
      })
      nodes.push(node)
      configured.push({ name, title: endpointTitle, url: node.url, ...(tier ? { tier } : {}) })
    }
    networks.push({
      name: family,
      title,
      family,
      block_time: `${blockTimeMs / 1000}s`,
      ...(chainId === undefined ? {} : { chain_id: chainId }),
      // The usual 15 s would be only 2.5 of these blocks.
      thresholds: family === 'multiversx' ? { ...THRESHOLDS, stall: '20s' } : THRESHOLDS,
      endpoints: configured,
    })
  }
  return {
    nodes,
    /** The configuration file's content: networks, endpoints, poll and thresholds. */
    config: { poll: { interval: '2s', timeout: '2s' }, networks },
    stop: async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.stop()))),
  }
}

/**
 * The demo's faults repeat every three minutes. At most two of the nine nodes fail at a time, never two of one network;
 * the first fails after 8 s. Between faults, a node is healthy long enough to confirm its recovery.
 */
const CYCLE_MS = 180_000

function cycle(...schedule: ScheduledFault[]): Timeline {
  return { schedule, repeatMs: CYCLE_MS }
}

function at(seconds: number, forSeconds: number, fault: Fault): ScheduledFault {
  return { atMs: seconds * 1000, forMs: forSeconds * 1000, fault }
}

export const DEMO_FAULTS: Readonly<Record<string, Timeline>> = {
  'avalanche/own-1': cycle(
    at(8, 18, { kind: 'failing-check', name: 'router', contiguousFailures: 5, tolerated: true }),
    at(118, 16, { kind: 'unhealthy' }),
  ),
  'ethereum/provider': cycle(at(16, 14, { kind: 'rate-limit', retryAfterMs: 3000 }), at(130, 14, { kind: 'garbage' })),
  'multiversx/own-2': cycle(at(32, 16, { kind: 'refuse' }), at(148, 14, { kind: 'truncated' })),
  'ethereum/own-2': cycle(at(36, 30, { kind: 'lag', blocks: 4, gradual: true })),
  'avalanche/own-2': cycle(at(54, 26, { kind: 'frozen-heartbeat' })),
  // A poll has two or three requests: their total exceeds the threshold but not the timeout.
  'multiversx/provider': cycle(at(72, 14, { kind: 'slow', delayMs: 500 })),
  'ethereum/own-1': cycle(at(88, 28, { kind: 'stall' })),
  'avalanche/provider': cycle(at(94, 14, { kind: 'http', status: 503 }), at(156, 12, { kind: 'hang' })),
  'multiversx/own-1': cycle(at(112, 30, { kind: 'stall', shard: 1 })),
}

function provider(rest: Pick<DemoEndpoint, 'delayMs' | 'latencyMs' | 'kind'>): DemoEndpoint {
  return { name: 'provider', title: 'RPC provider', tier: 'fallback', ...rest }
}

/** A node that checks its health every second, so that faults show at once. */
function avalanche(generation: 'old' | 'new'): NodeOptions['kind'] {
  return { family: 'avalanche', generation, checkEveryMs: 1000 }
}

/** A clock for chains that advance while the machine sleeps: it adds the wall clock's lead over the monotonic clock. */
function sinceWake(clock: Clock): Clock {
  const start = clock.now() - clock.monotonic()
  let slept = 0
  return {
    ...clock,
    monotonic() {
      const behind = clock.now() - start - clock.monotonic() - slept
      if (behind > 2000) slept += behind
      return clock.monotonic() + slept
    },
  }
}
