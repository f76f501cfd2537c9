import type { Clock } from '../clock.ts'
import type { Family } from '../core/network.ts'
import { createChain } from './chain.ts'
import { DEMO_FAULTS } from './demo-faults.ts'
import { MULTIVERSX_SHARDS } from './multiversx.ts'
import { type NodeOptions, type SimulatedNode, startSimulatedNode } from './node.ts'

/** Nine nodes, three a family, with faults that come and go, and the configuration that watches them. */
export interface DemoNodes {
  readonly nodes: readonly SimulatedNode[]
  /** What the file would hold: networks, endpoints, poll and thresholds. */
  readonly config: { readonly poll: object; readonly networks: readonly object[] }
  stop(): Promise<void>
}

export interface DemoOptions {
  readonly clock: Clock
  /** Without faults: for pictures of a good day. */
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

/** So that the page moves while one watches: faster than the real chains where those are slow. */
const NETWORKS: readonly DemoNetwork[] = [
  {
    family: 'ethereum',
    title: 'Ethereum',
    blockTimeMs: 3000,
    chainId: 1,
    endpoints: [
      { name: 'own-1', title: 'Own node, Frankfurt', delayMs: 40, latencyMs: 6, kind: { family: 'ethereum' } },
      { name: 'own-2', title: 'Own node, Helsinki', delayMs: 90, latencyMs: 18, kind: { family: 'ethereum' } },
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

export async function startDemoNodes({ clock, faults = true }: DemoOptions): Promise<DemoNodes> {
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
      // MultiversX mints more slowly: fifteen seconds would be two blocks and a half.
      thresholds: family === 'multiversx' ? { ...THRESHOLDS, stall: '20s' } : THRESHOLDS,
      endpoints: configured,
    })
  }
  return {
    nodes,
    config: { poll: { interval: '2s', timeout: '2s' }, networks },
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  }
}

function provider(rest: Pick<DemoEndpoint, 'delayMs' | 'latencyMs' | 'kind'>): DemoEndpoint {
  return { name: 'provider', title: 'RPC provider', tier: 'fallback', ...rest }
}

/** Checks itself every second, so that what goes wrong shows at once. */
function avalanche(generation: 'old' | 'new'): NodeOptions['kind'] {
  return { family: 'avalanche', generation, checkEveryMs: 1000 }
}

/**
 * The monotonic clock stands still while a laptop sleeps, the simulated chains must not: whenever the wall clock has run
 * away from it, it is caught up.
 */
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
