import type { LookupFunction } from 'node:net'
import { createNodeForwarder } from '../../nodes/forward.ts'
import type { Board } from '../../state/board.ts'
import type { Reply, UpstreamHandler, UpstreamRequest } from '../upstream-request.ts'
import { type Attempt, attempt } from './attempt.ts'
import { FailoverLoop, type FailoverLoopDeps } from './failover-loop.ts'
import { NO_ENDPOINT, refused } from './failure-reply.ts'
import type { EndpointOverview } from './routing-order.ts'
import type { Upstream, UpstreamTarget } from './upstream.ts'
import { createUpstreams } from './upstreams.ts'

/** The nodes themselves: asks the best endpoint, and where that fails the next, within the question's deadline. */
export interface Forwarder extends UpstreamHandler {
  /** The new whole set of endpoints. What is known of one is kept where nothing of how it is asked has changed. */
  retarget(targets: readonly UpstreamTarget[]): void
  /** In the order in which they would be asked now, then those left out; empty for a network that is not there. */
  overview(network: string): readonly EndpointOverview[]
  close(): Promise<void>
}

export interface ForwarderDeps extends Omit<FailoverLoopDeps, 'send'> {
  readonly board: Board
  readonly lookup?: LookupFunction | null
}

export function createForwarder(deps: ForwarderDeps): Forwarder {
  const { board, clock, lookup = null } = deps
  const nodes = createNodeForwarder({ clock, lookup })
  const upstreams = createUpstreams({ board, clock })
  const asking: FailoverLoopDeps = { ...deps, send }
  let lastId = 0

  function ask(question: UpstreamRequest): Promise<Reply> {
    const network = upstreams.network(question.network)
    if (network === undefined) return Promise.resolve(refused(NO_ENDPOINT, null, 0, 0))
    return new FailoverLoop(question, network, asking).run()
  }

  function send(upstream: Upstream, question: UpstreamRequest, withinMs: number): Promise<Attempt> {
    lastId = lastId >= Number.MAX_SAFE_INTEGER ? 1 : lastId + 1
    return attempt(nodes, upstream, question, lastId, withinMs)
  }

  return {
    handle: ask,
    retarget(targets) {
      upstreams.retarget(targets)
      nodes.retain([...upstreams.all()].map(({ address }) => address))
    },
    overview: (network) => upstreams.network(network)?.selector.overview() ?? [],
    async close() {
      upstreams.close()
      await nodes.close()
    },
  }
}
