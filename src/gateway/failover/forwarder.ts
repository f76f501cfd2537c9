import type { ChainEvent } from '../../core/verdict/network-view.ts'
import { createNodeForwarder } from '../../nodes/forward.ts'
import type { Board } from '../../state/board.ts'
import type { ChainRollbacks } from '../chain-rollbacks.ts'
import { type LoopTurns, pacedTimers } from '../loop-turns.ts'
import type { UpstreamHandler, UpstreamRequest } from '../upstream-request.ts'
import { attempt } from './attempt.ts'
import { FailoverLoop, type FailoverLoopDeps } from './failover-loop.ts'
import { NO_ENDPOINT, rejected } from './reply.ts'
import type { EndpointOverview } from './routing-order.ts'
import { StaleAnswers } from './stale-answers.ts'
import type { UpstreamTarget } from './upstream.ts'
import { createUpstreams } from './upstream-registry.ts'

/** Answers requests by sending them to nodes: the best endpoint first, then the next ones, within the deadline. */
export function createForwarder(deps: ForwarderDeps): Forwarder {
  const { board, clock, rollbacks, slices, maxConnections, maxIncomingBytes } = deps
  const nodes = createNodeForwarder({
    clock: pacedTimers(clock),
    maxTotalConnections: maxConnections,
    maxIncomingBytes,
    nextTurn: (caller) => slices.next(caller),
  })
  const staleAnswers = new StaleAnswers(rollbacks)
  const upstreams = createUpstreams({
    board,
    clock,
    onOtherChain: ({ network, name }) => staleAnswers.dropEndpoint(network, name),
  })
  const loopDeps: FailoverLoopDeps = {
    ...deps,
    staleAnswers,
    send(upstream, request, withinMs) {
      lastId = lastId >= Number.MAX_SAFE_INTEGER ? 1 : lastId + 1
      return attempt({ nodes, slices }, upstream, request, lastId, withinMs)
    },
  }
  let lastId = 0

  return {
    handle(request) {
      const network = upstreams.network(request.network)
      if (network === undefined) return Promise.resolve(rejected(NO_ENDPOINT, null, 0, 0))
      return new FailoverLoop(request, network, loopDeps).run()
    },
    retarget(targets) {
      upstreams.retarget(targets)
      nodes.retain([...upstreams.all()].map(({ address }) => address))
    },
    chainMoved(network, event) {
      if (event.kind === 'reorged') staleAnswers.dropBlocksFrom(network, event.shard, event.height)
    },
    isQueueing: ({ network, share }) =>
      upstreams.network(network)?.upstreams.some(({ address }) => nodes.isQueueing(address, share ?? null)) === true,
    overview: (network) => upstreams.network(network)?.selector.overview() ?? [],
    close() {
      upstreams.close()
      nodes.close()
    },
  }
}

export interface Forwarder extends UpstreamHandler {
  /** Replaces the set of endpoints. Unchanged endpoints keep their load, latency and breaker. */
  retarget(targets: readonly UpstreamTarget[]): void
  /** The monitor saw an endpoint's chain regress or reorganise. */
  chainMoved(network: string, event: ChainEvent): void
  /** Whether requests of the same caller wait for a connection to an endpoint of the network. */
  isQueueing(request: Pick<UpstreamRequest, 'network' | 'share'>): boolean
  /** In the current routing order, then the excluded endpoints; empty for an unknown network. */
  overview(network: string): readonly EndpointOverview[]
  close(): void
}

export interface ForwarderDeps extends Omit<FailoverLoopDeps, 'send' | 'staleAnswers'> {
  readonly board: Board
  readonly rollbacks: Pick<ChainRollbacks, 'now' | 'hasGoneBelow'>
  /** Turns of large answers. */
  readonly slices: LoopTurns
  /** To all nodes together. */
  readonly maxConnections?: number
  /** Of long answers of all nodes together. */
  readonly maxIncomingBytes?: number
}
