import type { LookupFunction } from 'node:net'
import { type ChainTarget, newChainMemory } from '../chains/chain.ts'
import { createRecentBlocks, type RecentBlocks } from '../chains/recent-blocks.ts'
import { chains } from '../chains/registry.ts'
import type { Clock } from '../clock.ts'
import { type Endpoint, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { PollResult } from '../core/poll-result.ts'
import type { PollStep } from '../core/verdict/inspection.ts'
import { createAddress, type NodeLocation } from './address.ts'
import { createNodeClient } from './client.ts'
import { type Compare, PollRun, type Visited } from './poll-run.ts'
import { createRedact, type Redact } from './redact.ts'
import { watched } from './watch.ts'

/** Polls one endpoint: runs its checks, each under its own deadline. Never rejects. */
export interface Prober {
  /** `compare` is told the heads, as soon as one of them could be read, and says which other blocks to ask for besides. */
  poll(endpoint: Endpoint, signal: AbortSignal, compare?: Compare): Promise<PollResult>
  close(): Promise<void>
}

/** An endpoint, and all that it takes to ask it. */
export interface NodeTarget extends NodeLocation, ChainTarget {
  readonly endpoint: Endpoint
  /** For each check whole, however many requests it sends. */
  readonly timeoutMs: number
}

export interface TargetedProber extends Prober {
  /**
   * The new whole set. What is known of an endpoint is kept where nothing of how it is asked has changed. `maxConnections`
   * replaces the limit that there was.
   */
  retarget(targets: readonly NodeTarget[], maxConnections?: number): void
  /** A poll under a shorter deadline where that is wished, whose every exchange is told. Never rejects. */
  inspect(endpoint: Endpoint, watch: InspectOptions): Promise<PollResult>
}

export interface InspectOptions {
  readonly signal: AbortSignal
  /** For each check, if its own deadline is not shorter. */
  readonly atMostMs: number
  readonly onStep: (step: PollStep) => void
}

export interface ProberDeps {
  readonly clock: Clock
  /** Connections to one origin, at most; whoever needs one more waits, within its deadline, and its latency begins when it has one. */
  readonly maxConnections?: number
  readonly lookup?: LookupFunction | null
}

/** Four polls of all shards of a proxy at once, twice over. */
const MAX_CONNECTIONS = 32

interface Entry extends Visited {
  readonly target: NodeTarget
  readonly fingerprint: string
}

export function createProber({ clock, maxConnections = MAX_CONNECTIONS, lookup = null }: ProberDeps): TargetedProber {
  const client = createNodeClient({ clock, maxConnections, lookup })
  let entries = new Map<EndpointKey, Entry>()
  let blocks = new Map<string, RecentBlocks>()

  return {
    retarget(targets, connections) {
      const before = { entries, blocks }
      entries = new Map()
      blocks = new Map()
      for (const target of targets) {
        const { network } = target.endpoint
        const recentBlocks = blocks.get(network) ?? before.blocks.get(network) ?? createRecentBlocks()
        blocks.set(network, recentBlocks)
        const key = endpointKey(target.endpoint)
        const fingerprint = fingerprintOf(target)
        const known = before.entries.get(key)
        entries.set(
          key,
          known?.fingerprint === fingerprint ? { ...known, target } : createEntry(target, fingerprint, recentBlocks),
        )
      }
      if (connections !== undefined) client.limit(connections)
      client.retain([...entries.values()].map(({ address }) => address))
    },

    poll(endpoint, signal, compare) {
      const entry = entries.get(endpointKey(endpoint))
      return entry === undefined
        ? Promise.resolve(notAsked(endpoint, clock))
        : new PollRun(entry, endpoint, { client, clock, signal, compare }).run()
    },

    inspect(endpoint, { signal, atMostMs, onStep }) {
      const entry = entries.get(endpointKey(endpoint))
      if (entry === undefined) return Promise.resolve(notAsked(endpoint, clock))
      const { target } = entry
      const watching = watched({ client, clock, redact: createRedact(target), onStep })
      const hurried = { ...entry, target: { ...target, timeoutMs: Math.min(target.timeoutMs, atMostMs) } }
      return new PollRun(hurried, endpoint, { client: watching, clock, signal }).run()
    },

    close() {
      entries = new Map()
      return client.close()
    },
  }
}

function createEntry(target: NodeTarget, fingerprint: string, recentBlocks: RecentBlocks): Entry {
  let redact: Redact | null = null
  return {
    target,
    fingerprint,
    address: createAddress(target),
    chain: chains[target.endpoint.family],
    memory: newChainMemory(recentBlocks),
    redact: () => (redact ??= createRedact(target)),
  }
}

/** All that decides whom we talk to, and how. It holds secrets, and never leaves this file. */
function fingerprintOf({ endpoint, url, headers, rpcPath, kind, chainId, tls }: NodeTarget): string {
  const revealed = Object.entries(headers).map(([name, value]) => [name, value.reveal()])
  return JSON.stringify([endpoint.family, url.reveal(), revealed, rpcPath, kind, chainId, tls.ca, tls.insecure])
}

/** Between one configuration and the next an endpoint may be polled that is not there any more: that says nothing of the node. */
function notAsked(endpoint: Endpoint, clock: Clock): PollResult {
  const now = clock.now()
  const outcome = { ok: false, failure: { kind: 'local-resources', code: 'removed' }, durationMs: 0 } as const
  return {
    endpoint,
    startedAt: now,
    finishedAt: now,
    liveness: endpoint.checks.includes('liveness') ? outcome : null,
    heads: endpoint.checks.includes('head') ? endpoint.shards.map((shard) => ({ shard, outcome })) : [],
    compared: [],
    clockSkewMs: null,
    tlsNotAfter: null,
  }
}
