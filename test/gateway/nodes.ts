import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { Endpoint, EndpointKey } from '../../src/core/endpoint.ts'
import type { Network } from '../../src/core/network.ts'
import type { Need, Operation } from '../../src/core/routing/operation.ts'
import type { AttemptOutcome, RetryReason } from '../../src/core/routing/request-outcome.ts'
import { type CallerHeights, createCallerHeights } from '../../src/gateway/caller-heights.ts'
import { createChainRollbacks } from '../../src/gateway/chain-rollbacks.ts'
import { createForwarder, type Forwarder } from '../../src/gateway/failover/forwarder.ts'
import { turnsOfSlices } from '../../src/gateway/loop-turns.ts'
import { Cancellation, type Reply, type UpstreamRequest } from '../../src/gateway/upstream-request.ts'
import { freePort } from '../support/free-port.ts'
import { bad, endpoint, good, head, network, nodeTarget } from '../support/network.ts'
import { createWorld, type World } from '../support/world.ts'

export interface Asked {
  readonly id: number
  readonly method: string
  readonly path: string
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

export type Answering = (asked: Asked, response: ServerResponse) => unknown

/** A bare node that answers as the test says: a value is the `result`, `undefined` means that the test has answered itself. */
export interface BareNode {
  readonly url: string
  readonly asked: Asked[]
  answering: Answering
  stop(): Promise<void>
}

export async function startBareNode(answering: Answering): Promise<BareNode> {
  const asked: Asked[] = []
  const server = createServer((request, response) => void take(request, response))
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const call = text === '' ? {} : (JSON.parse(text) as { id: number; method: string })
    const it = { id: 0, method: '', ...call, path: request.url ?? '', text, headers: request.headers }
    asked.push(it)
    const result = node.answering(it, response)
    if (result === undefined) return
    response.setHeader('content-type', 'application/json')
    response.end(`{"jsonrpc":"2.0","id":${it.id},"result":${JSON.stringify(result)}}`)
  }
  await once(server.listen(await freePort(), '127.0.0.1'), 'listening')
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(stop)
  const { port } = server.address() as AddressInfo
  const node: BareNode = { url: `http://127.0.0.1:${port}`, asked, answering, stop }
  return node
}

export interface SettingOptions {
  readonly network?: Partial<Network>
  readonly endpoints?: Readonly<Record<string, Partial<Endpoint> & { readonly kind?: 'proxy' | 'observer' }>>
  /** By default all are polled once and well, at height 1000. */
  readonly polled?: boolean
  /** No request takes time: a busy machine makes no node slow. */
  readonly isTimeStopped?: boolean
}

export interface Setting {
  readonly world: World
  readonly forwarder: Forwarder
  readonly tips: CallerHeights
  readonly doubted: EndpointKey[]
  readonly attempts: string[]
  readonly retries: RetryReason[]
  ask(over?: Partial<UpstreamRequest> & { readonly operation?: Operation }): Promise<Reply>
  /** Time passes at once; timers that run are not affected. */
  skip(ms: number): void
  /** The endpoint is polled, and stands there; `null`: it does not answer. */
  poll(name: string, height: number | null): Promise<void>
}

/** A forwarder over bare nodes, and a board that the real poller fills. */
export async function setting(
  nodes: Readonly<Record<string, BareNode>>,
  { network: over = {}, endpoints = {}, polled = true, isTimeStopped = false }: SettingOptions = {},
): Promise<Setting> {
  let skippedMs = 0
  const startedAt = { now: systemClock.now(), monotonic: systemClock.monotonic() }
  const clock: Clock = {
    ...systemClock,
    now: () => (isTimeStopped ? startedAt.now : systemClock.now()) + skippedMs,
    monotonic: () => (isTimeStopped ? startedAt.monotonic : systemClock.monotonic()) + skippedMs,
  }
  const chain = network(over)
  const configured = Object.keys(nodes).map((name) =>
    endpoint(name, { network: chain.name, family: chain.family, ...endpoints[name] }),
  )
  const world = createWorld(clock, [{ network: chain, endpoints: configured }])
  if (polled) await world.pollAll()
  const doubted: EndpointKey[] = []
  const attempts: string[] = []
  const retries: RetryReason[] = []
  const rollbacks = createChainRollbacks(world.board)
  const tips = createCallerHeights(rollbacks)
  const forwarder = createForwarder({
    board: world.board,
    clock,
    rollbacks,
    slices: turnsOfSlices(),
    callerHeights: tips,
    onDoubt: (key) => doubted.push(key),
    onAttempt: (upstream, _operation, outcome: AttemptOutcome) => attempts.push(`${upstream.name} ${outcome}`),
    onRetry: (_network, reason) => retries.push(reason),
  })
  onTestFinished(() => forwarder.close())
  forwarder.retarget(
    configured.map((of) => {
      const { kind = 'proxy' } = endpoints[of.name] ?? {}
      return nodeTarget(of, nodes[of.name]?.url ?? '', { rpcPath: '/', kind, chainId: chain.chainId })
    }),
  )

  return {
    world,
    forwarder,
    tips,
    doubted,
    attempts,
    retries,
    ask: (question) =>
      forwarder.handle({
        network: chain.name,
        caller: 'wallet',
        operation: CHAIN_ID,
        canonical: '',
        to: { kind: 'rpc' },
        call: { id: '"mine"', isNotification: false, method: 'eth_chainId', params: null },
        deadlineAt: clock.monotonic() + 5000,
        signal: new Cancellation(),
        ...question,
      }),
    skip(ms) {
      skippedMs += ms
    },
    async poll(name, height) {
      const of = configured.find((candidate) => candidate.name === name)
      if (of === undefined) throw new Error(name)
      const outcome = height === null ? bad({ kind: 'refused' }) : good(head(height, clock.now() - 1000))
      await world.poll(of, { heads: of.shards.map((shard) => ({ shard, outcome })) })
    },
  }
}

const read = (name: Operation['name'], need: Need, absenceIsDoubtful = false): Operation => ({
  name,
  need,
  isRead: true,
  absenceIsDoubtful,
})
export const CHAIN_ID = read('eth_chainId', { kind: 'any' })
const call = (method: string, params: string | null) => ({ id: '1', isNotification: false, method, params })

export const BLOCK_NUMBER = {
  operation: read('eth_blockNumber', { kind: 'latest', shard: null }),
  call: call('eth_blockNumber', '[]'),
}
export const LATEST_BLOCK = {
  operation: read('eth_getBlockByNumber', { kind: 'latest', shard: null }, true),
  call: call('eth_getBlockByNumber', '["latest",false]'),
}
export const FINALIZED_BLOCK = {
  operation: read('eth_getBlockByNumber', { kind: 'any' }),
  call: call('eth_getBlockByNumber', '["finalized",false]'),
}
export const EARLIEST_BLOCK = {
  operation: read('eth_getBlockByNumber', { kind: 'any' }, true),
  call: call('eth_getBlockByNumber', '["earliest",false]'),
}
export const blockAt = (height: number) => ({
  operation: read('eth_getBlockByNumber', { kind: 'height', shard: null, height }, true),
  call: call('eth_getBlockByNumber', `["0x${height.toString(16)}",false]`),
})
export const TRANSACTION = {
  operation: read('eth_getTransactionByHash', { kind: 'hash', shard: null }, true),
  call: call('eth_getTransactionByHash', `["0x${'a'.repeat(64)}"]`),
}
export const FILTER = {
  operation: { name: 'other', need: { kind: 'any' }, isRead: false, absenceIsDoubtful: false },
  call: call('eth_newFilter', '[{}]'),
} as const
export const ALIAS = {
  operation: { name: 'admin.alias', need: { kind: 'any' }, isRead: false, absenceIsDoubtful: false },
  to: { kind: 'path', path: '/ext/admin' },
  call: call('admin.alias', '{"endpoint":"bc/C","alias":"mine"}'),
} as const

/** Answers with this error, in the node's own words. */
export const sayError =
  (code: number, message: string): Answering =>
  (asked, response) => {
    response.end(`{"jsonrpc":"2.0","id":${asked.id},"error":{"code":${code},"message":"${message}"}}`)
  }
export const sayStatus =
  (status: number, body = '', headers: Record<string, string> = {}): Answering =>
  (_, response) => {
    response.writeHead(status, headers).end(body)
  }
