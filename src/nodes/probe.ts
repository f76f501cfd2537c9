import { randomInt } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import { type ChainTarget, newChainMemory } from '../chains/chain.ts'
import { createRecentBlocks, type RecentBlocks } from '../chains/recent-blocks.ts'
import { chains } from '../chains/registry.ts'
import type { Clock } from '../clock.ts'
import { type Endpoint, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { PollResult } from '../core/poll-result.ts'
import type { PollStep } from '../core/verdict/single-poll.ts'
import type { Secret } from '../secret.ts'
import { createAddress, type NodeLocation } from './address.ts'
import { createNodeClient } from './client.ts'
import { sharedSignal } from './deadline.ts'
import { type Compare, type Fits, type PolledEndpoint, PollRun } from './poll-run.ts'
import { createRedact, createRedactLiveness, type Redact } from './redact.ts'
import { createReportingClient } from './reporting-client.ts'

/** Polls the configured endpoints over shared connections. */
export function createProber({ clock, maxConnections = MAX_CONNECTIONS, lookup = null }: ProberDeps): Prober {
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
        const known = before.entries.get(key)
        const isKept = known !== undefined && fingerprintOf(known.target) === fingerprintOf(target)
        const entry = isKept ? { ...known, target } : createEntry(target, recentBlocks)
        entries.set(key, entry)
      }
      if (connections !== undefined) client.limit(connections)
      client.retain(
        [...entries.values()].flatMap(({ address, beaconAddress }) =>
          beaconAddress === null ? [address] : [address, beaconAddress],
        ),
      )
    },

    poll(endpoint, signal, compare, fits) {
      const entry = entries.get(endpointKey(endpoint))
      if (entry === undefined) return Promise.resolve(removedResult(endpoint, clock))
      return new PollRun(entry, endpoint, { client, clock, signal: sharedSignal(signal), compare, fits }).run()
    },

    inspect(endpoint, { signal, atMostMs, onStep }) {
      const entry = entries.get(endpointKey(endpoint))
      if (entry === undefined) return Promise.resolve(removedResult(endpoint, clock))
      const { target } = entry
      const reporting = createReportingClient(client, clock, createRedact(target), onStep)
      const hurried = { ...entry, target: { ...target, timeoutMs: Math.min(target.timeoutMs, atMostMs) } }
      return new PollRun(hurried, endpoint, { client: reporting, clock, signal }).run()
    },

    close() {
      entries = new Map()
      client.close()
    },
  }
}

/** Polls endpoints; each check has its own deadline. Never rejects. */
export interface Prober {
  /** Replaces all targets. An endpoint keeps its state if it is polled in the same way as before. */
  retarget(targets: readonly NodeTarget[], maxConnections?: number): void
  /**
   * `compare` receives the heads if at least one was read, and returns other blocks to read. If the blocks do not fit
   * the network, the chain id is verified.
   */
  poll(endpoint: Endpoint, signal: AbortSignal, compare?: Compare, fits?: Fits): Promise<PollResult>
  /** Polls once, possibly with a shorter deadline, and reports every request and response. */
  inspect(endpoint: Endpoint, options: InspectOptions): Promise<PollResult>
  close(): void
}

export interface NodeTarget extends NodeLocation, ChainTarget {
  readonly endpoint: Endpoint
  /** Beacon API of the consensus node behind an execution node, if one is configured. */
  readonly beaconUrl?: Secret | null
  /** Deadline of a whole check, which may send several requests. */
  readonly timeoutMs: number
}

export interface InspectOptions {
  readonly signal: AbortSignal
  /** Upper limit of each check's deadline. */
  readonly atMostMs: number
  readonly onStep: (step: PollStep) => void
}

export interface ProberDeps {
  readonly clock: Clock
  /** Per origin. Further requests wait until their deadline; the wait does not count as latency. */
  readonly maxConnections?: number
  readonly lookup?: LookupFunction | null
}

/** Twice what four concurrent polls of all shards of one proxy need. */
const MAX_CONNECTIONS = 32

/** Endpoints have different ids, so that a late response to one is not taken for another's on the same host. */
const MAX_FIRST_ID = 2 ** 30

interface Entry extends PolledEndpoint {
  readonly target: NodeTarget
}

function createEntry(target: NodeTarget, recentBlocks: RecentBlocks): Entry {
  const { beaconUrl = null, tls } = target
  // Not kept: with thousands of endpoints, all forms of all secrets take a lot of memory.
  const redact: Redact = (...text) => createRedact(target)(...text)
  return {
    target,
    address: createAddress(target),
    // Without `headers`: they may hold the credentials of another host.
    beaconAddress: beaconUrl === null ? null : createAddress({ url: beaconUrl, headers: {}, tls }),
    chain: chains[target.endpoint.family],
    memory: { ...newChainMemory(recentBlocks), lastId: randomInt(MAX_FIRST_ID), redact },
    redactLiveness: createRedactLiveness(() => createRedact(target)),
  }
}

/** Identifies which node is polled, and how. Contains secrets, so it must not leave this file. */
function fingerprintOf({ endpoint, url, beaconUrl, headers, rpcPath, kind, chainId, tls }: NodeTarget): string {
  const revealed = Object.entries(headers).map(([name, value]) => [name, value.reveal()])
  const urls = [url.reveal(), beaconUrl?.reveal()]
  return JSON.stringify([endpoint.family, ...urls, revealed, rpcPath, kind, chainId, tls.ca, tls.insecure])
}

/** Result of a poll that became due while its endpoint was being removed; it says nothing about the node. */
function removedResult(endpoint: Endpoint, clock: Clock): PollResult {
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
    requests: { liveness: 0, head: 0 },
    tlsNotAfter: null,
  }
}
