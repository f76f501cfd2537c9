import type { LookupFunction } from 'node:net'
import { createNodeForwarder } from '../../nodes/forward.ts'
import type { Board } from '../../state/board.ts'
import type { Answerer, Question, Reply } from '../upstream-request.ts'
import { type Attempted, attempt } from './attempt.ts'
import { Asking, type AskingDeps } from './failover-loop.ts'
import { NO_ENDPOINT, refused } from './failure-reply.ts'
import type { EndpointOverview } from './routing-order.ts'
import type { Upstream, UpstreamTarget } from './upstream.ts'
import { createUpstreams } from './upstreams.ts'

/** The nodes themselves: asks the best endpoint, and where that fails the next, within the question's deadline. */
export interface Forwarder extends Answerer {
  /** The new whole set of endpoints. What is known of one is kept where nothing of how it is asked has changed. */
  retarget(targets: readonly UpstreamTarget[]): void
  /** In the order in which they would be asked now, then those left out; empty for a network that is not there. */
  overview(network: string): readonly EndpointOverview[]
  close(): Promise<void>
}

export interface ForwarderDeps extends Omit<AskingDeps, 'send'> {
  readonly board: Board
  readonly lookup?: LookupFunction | null
}

export function createForwarder(deps: ForwarderDeps): Forwarder {
  const { board, clock, lookup = null } = deps
  const nodes = createNodeForwarder({ clock, lookup })
  const upstreams = createUpstreams({ board, clock })
  const asking: AskingDeps = { ...deps, send }
  let lastId = 0

  function ask(question: Question): Promise<Reply> {
    const network = upstreams.network(question.network)
    if (network === undefined) return Promise.resolve(refused(NO_ENDPOINT, null, 0, 0))
    return new Asking(question, network, asking).run()
  }

  function send(upstream: Upstream, question: Question, withinMs: number): Promise<Attempted> {
    lastId = lastId >= Number.MAX_SAFE_INTEGER ? 1 : lastId + 1
    return attempt(nodes, upstream, question, lastId, withinMs)
  }

  return {
    ask,
    retarget(targets) {
      upstreams.retarget(targets)
      nodes.retain([...upstreams.all()].map(({ address }) => address))
    },
    overview: (network) => upstreams.network(network)?.choice.overview() ?? [],
    async close() {
      upstreams.close()
      await nodes.close()
    },
  }
}
