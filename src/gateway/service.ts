import type { Clock } from '../clock.ts'
import { type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { AliasRecord } from '../core/routing/alias.ts'
import type { OperationName } from '../core/routing/operation.ts'
import type { AttemptOutcome, RetryReason } from '../core/routing/request-outcome.ts'
import type { ChainEvent } from '../core/verdict/network-view.ts'
import type { Log } from '../log.ts'
import type { Board } from '../state/board.ts'
import { createCache } from './cache/cache.ts'
import { createCoalescer } from './cache/coalesce.ts'
import { createCallerHeights } from './caller-heights.ts'
import { createChainRollbacks } from './chain-rollbacks.ts'
import { createForwarder } from './failover/forwarder.ts'
import type { EndpointOverview } from './failover/routing-order.ts'
import type { UpstreamTarget } from './failover/upstream.ts'
import { type CallerReport, createGateway, type GatewayRules } from './gateway.ts'
import { turnsOfSlices } from './loop-turns.ts'
import { type AliasesDeps, createAliases } from './request/aliases.ts'
import type { Certificate, ListenerOptions } from './request/listener.ts'
import type { GatewayMetrics } from './request/request-recorder.ts'

/** Settings that a reload may change. */
export interface GatewaySetup {
  readonly rules: GatewayRules
  readonly targets: readonly UpstreamTarget[]
  readonly cacheMaxBytes: number
  /** Blocks that must follow a block to make it final, by network. */
  readonly finalDepths: ReadonlyMap<string, number>
}

/** What the process may use. */
export interface GatewayLimits {
  /** Of connections to all nodes together. */
  readonly connections: number
  /** Of long answers that are being received, and as much again for those that are not delivered yet. */
  readonly largeAnswerBytes: number
}

export interface ServiceMetrics extends GatewayMetrics {
  attempted(network: string, endpoint: string, operation: OperationName, outcome: AttemptOutcome): void
  retried(network: string, reason: RetryReason): void
  coalesced(network: string): void
}

export interface GatewayServiceDeps {
  readonly listen: Omit<ListenerOptions, 'idleTimeoutMs'>
  readonly setup: GatewaySetup
  readonly limits: GatewayLimits
  readonly board: Board
  readonly store: AliasesDeps['store']
  /** Aliases saved by an earlier run. */
  readonly aliases: readonly AliasRecord[]
  /** Called when requests to an endpoint fail, so that it is polled at once. */
  readonly onDoubt: (key: EndpointKey) => void
  readonly metrics: ServiceMetrics
  readonly clock: Clock
  readonly log: Log
}

/** The gateway's public state: names, but no secrets. */
export interface GatewayReport {
  readonly requestsInFlight: number
  readonly callers: readonly CallerReport[]
  readonly networks: readonly { readonly name: string; readonly endpoints: readonly EndpointOverview[] }[]
  readonly aliases: readonly AliasRecord[]
}

export type GatewayService = ReturnType<typeof createGatewayService>

/** The whole gateway: the HTTP listener, then aliases, cache, coalescer and forwarder. */
export function createGatewayService(deps: GatewayServiceDeps) {
  const { listen, limits, board, store, onDoubt, metrics, clock, log } = deps
  let { setup } = deps
  let rpcPaths = rpcPathsOf(setup)
  const slices = turnsOfSlices()
  const rollbacks = createChainRollbacks(board)
  const callerHeights = createCallerHeights(rollbacks)
  const forwarder = createForwarder({
    board,
    clock,
    rollbacks,
    callerHeights,
    slices,
    maxConnections: limits.connections,
    maxIncomingBytes: limits.largeAnswerBytes,
    onDoubt,
    onAttempt: ({ network, name }, operation, outcome) => metrics.attempted(network, name, operation, outcome),
    onRetry: (network, reason) => metrics.retried(network, reason),
  })
  const coalescer = createCoalescer({
    next: forwarder,
    clock,
    callerHeights,
    isQueueing: (request) => forwarder.isQueueing(request),
    onCoalesced: (network) => metrics.coalesced(network),
  })
  const cache = createCache({ next: coalescer, board, clock, callerHeights })
  const aliases = createAliases({
    next: cache,
    board,
    rpcPathOf: (network, endpoint) => rpcPaths.get(endpointKey({ network, name: endpoint })) ?? null,
    store,
    clock,
    log,
  })
  const gateway = createGateway({
    listen,
    rules: setup.rules,
    upstream: aliases,
    aliases,
    slices,
    answerMemory: { maxBytes: limits.largeAnswerBytes },
    metrics,
    clock,
    log,
  })

  function settle(): void {
    forwarder.retarget(setup.targets)
    cache.configure({ maxBytes: setup.cacheMaxBytes, finalDepths: setup.finalDepths })
  }

  aliases.restore(deps.aliases)
  settle()

  return {
    /** Rejects if the address cannot be bound. */
    listen: (): Promise<{ readonly host: string; readonly port: number }> => gateway.listen(),

    /** Applies to every new request; requests in flight continue. */
    reconfigure(next: GatewaySetup): void {
      setup = next
      rpcPaths = rpcPathsOf(next)
      settle()
      gateway.reconfigure(next.rules)
    },

    useCertificate: (certificate: Certificate): void => gateway.useCertificate(certificate),
    /** Takes over aliases that another daemon with the same store created or found stale. */
    learnAliases: (records: readonly AliasRecord[]): void => aliases.restore(records),
    /** The monitor saw an endpoint's chain regress or reorganise. */
    chainMoved(network: string, event: ChainEvent): void {
      cache.chainMoved(network, event)
      forwarder.chainMoved(network, event)
    },

    report: (): GatewayReport => ({
      requestsInFlight: gateway.inFlight(),
      callers: gateway.callers(),
      networks: setup.rules.networks.map(({ network: { name } }) => ({ name, endpoints: forwarder.overview(name) })),
      aliases: aliases.list(),
    }),

    // A half-open breaker is a question: whether the endpoint works shows with the next request or poll.
    /** Whether an endpoint of the network is usable. */
    hasEndpoint: (network: string): boolean =>
      forwarder.overview(network).some(({ excluded, breaker }) => excluded === null && breaker === 'closed'),

    /** Gives requests in flight some time to finish, and resolves when everything is closed. */
    async close(): Promise<void> {
      await gateway.close()
      cache.stop()
      rollbacks.stop()
      forwarder.close()
    },
  }
}

function rpcPathsOf({ targets }: GatewaySetup): ReadonlyMap<EndpointKey, string> {
  return new Map(targets.map(({ endpoint, rpcPath }) => [endpointKey(endpoint), rpcPath]))
}
