import { afterEach } from 'vitest'
import type { Clock } from '../../src/clock.ts'
import type { NodeTarget } from '../../src/nodes/probe.ts'
import { createChain, type SimulatedChain } from '../../src/simulator/chain.ts'
import { MULTIVERSX_SHARDS } from '../../src/simulator/multiversx.ts'
import { type NodeOptions, type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { endpoint, nodeTarget } from '../support/network.ts'

/** What the tests of the simulator share: nodes that are stopped after each test, and ways to ask them. */
const started: { stop(): Promise<void> }[] = []

afterEach(async () => {
  await Promise.all(started.splice(0).map((node) => node.stop()))
})

export function stopAfterTest<T extends { stop(): Promise<void> }>(what: T): T {
  started.push(what)
  return what
}

export async function startNode(
  clock: Clock,
  kind: NodeOptions['kind'],
  over: Partial<NodeOptions> = {},
): Promise<SimulatedNode & { readonly chain: SimulatedChain }> {
  const shards = kind.family === 'multiversx' ? MULTIVERSX_SHARDS : [null]
  const chain = over.chain ?? createChain({ clock, seed: 'test', blockTimeMs: 2000, shards })
  const node = stopAfterTest(await startSimulatedNode({ clock, chain, kind, ...over }))
  return { ...node, chain }
}

/** How the daemon's own prober visits it. */
export function targetOf(kind: NodeOptions['kind'], url: string, timeoutMs: number): NodeTarget {
  const { family } = kind
  const observed = kind.family === 'multiversx' && kind.kind === 'observer' ? (kind.shard ?? 0) : null
  const own = endpoint('own-1', {
    family,
    checks: family === 'avalanche' ? ['liveness', 'head'] : ['head'],
    shards: family !== 'multiversx' ? [null] : observed === null ? MULTIVERSX_SHARDS : [observed],
  })
  return nodeTarget(own, url, {
    kind: observed === null ? 'proxy' : 'observer',
    chainId: family === 'ethereum' ? 1 : family === 'avalanche' ? 43_114 : null,
    timeoutMs,
  })
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    redirect: 'manual',
  })
}

/** The whole JSON-RPC reply. */
export async function rpc(url: string, method: string, params: unknown = []): Promise<RpcReply> {
  return (await (await post(url, { jsonrpc: '2.0', id: 1, method, params })).json()) as RpcReply
}

export interface RpcReply {
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
  readonly id: unknown
}

export async function latestHeight(url: string): Promise<number> {
  return Number((await rpc(url, 'eth_blockNumber')).result)
}
