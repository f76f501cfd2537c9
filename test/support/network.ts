import type { Endpoint } from '../../src/core/endpoint.ts'
import type { Failure } from '../../src/core/failure.ts'
import type { Network, Thresholds } from '../../src/core/network.ts'
import type { Head, Liveness, NodeCheck, Outcome, PollResult } from '../../src/core/poll-result.ts'
import type { UnixMs } from '../../src/core/time.ts'
import type { NodeTarget } from '../../src/nodes/probe.ts'
import { Secret } from '../../src/secret.ts'

export const THRESHOLDS: Thresholds = {
  lagBlocks: 3,
  lagRecoverBlocks: 1,
  lagBlocksDown: 100,
  stallMs: 60_000,
  heartbeatMs: 60_000,
  contiguousFailures: 3,
  minPeers: 1,
  latencyMs: 2000,
  clockSkewMs: 10_000,
  failAfter: 2,
  recoverAfter: 2,
}

export function network(over: Partial<Network> = {}): Network {
  return {
    name: 'ethereum',
    title: 'Ethereum',
    family: 'ethereum',
    blockTimeMs: 12_000,
    blockTimeGiven: true,
    chainId: null,
    thresholds: THRESHOLDS,
    ...over,
  }
}

export function endpoint(name: string, over: Partial<Endpoint> = {}): Endpoint {
  const { intervalMs = 10_000 } = over
  return {
    name,
    title: name,
    network: 'ethereum',
    family: 'ethereum',
    tier: 'primary',
    provider: null,
    labels: {},
    metricLabels: {},
    checks: ['head'],
    shards: [null],
    intervalMs,
    livenessIntervalMs: intervalMs,
    ...over,
  }
}

/** How the endpoint is reached. */
export function nodeTarget(of: Endpoint, url: string, over: Partial<NodeTarget> = {}): NodeTarget {
  return {
    endpoint: of,
    url: new Secret(url),
    headers: {},
    tls: { ca: null, insecure: false },
    rpcPath: of.family === 'avalanche' ? '/ext/bc/C/rpc' : '/',
    kind: 'proxy',
    chainId: null,
    timeoutMs: 5000,
    ...over,
  }
}

export const good = <T>(value: T, durationMs = 12): Outcome<T> => ({ ok: true, value, durationMs })
export const bad = (failure: Failure, durationMs = 12): Outcome<never> => ({ ok: false, failure, durationMs })

/** The block that everybody honest has at this height. */
export function head(height: number, timestamp: UnixMs, over: Partial<Head> = {}): Head {
  return { height, hash: `0x${height}`, parentHash: `0x${height - 1}`, timestamp, ...over }
}

export function nodeCheck(name: string, over: Partial<NodeCheck> = {}): NodeCheck {
  return {
    name,
    healthy: true,
    error: null,
    contiguousFailures: 0,
    failingSince: null,
    checkedAt: null,
    durationMs: 1,
    ...over,
  }
}

export function liveness(heartbeatAt: UnixMs | null, over: Partial<Liveness> = {}): Liveness {
  return { healthy: true, checks: [nodeCheck('network')], heartbeatAt, ...over }
}

export function pollResult(of: Endpoint, at: UnixMs, over: Partial<PollResult> = {}): PollResult {
  return {
    endpoint: of,
    startedAt: at,
    finishedAt: at,
    liveness: null,
    heads: [],
    compared: [],
    clockSkewMs: null,
    requests: { liveness: 0, head: 0 },
    tlsNotAfter: null,
    ...over,
  }
}
