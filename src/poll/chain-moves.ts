import { moveOf } from '../core/chain/known-heads.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import type { HeadStanding } from '../core/verdict/health.ts'
import type { ChainEvent } from '../core/verdict/network-view.ts'
import type { Board } from '../state/board.ts'

/**
 * Finds replaced blocks and lower heights in what other members of a place have polled, for the gateway: the poller finds
 * them in its own polls. Returns a function that ends it.
 */
export function followChainMoves({ board, polls, onEvent }: ChainMovesDeps): () => void {
  const seen = new Map<EndpointKey, readonly HeadStanding[]>()
  return board.subscribe(({ network, endpoint }) => {
    const entry = endpoint === null ? undefined : board.entry(network, endpoint)
    if (entry === undefined) return
    if (polls(network)) {
      seen.delete(entry.key)
      return
    }
    const { heads } = entry.health
    const before = seen.get(entry.key)
    seen.set(entry.key, heads)
    for (const head of heads) {
      const { shard } = head
      const last = before?.find((known) => known.shard === shard)
      const move = moveOf(last, head)
      if (move.kind === 'regressed' || move.kind === 'reorged') onEvent(network, { ...move, shard })
    }
  })
}

export interface ChainMovesDeps {
  readonly board: Pick<Board, 'entry' | 'subscribe'>
  /** Whether this daemon polls the network itself. */
  readonly polls: (network: string) => boolean
  readonly onEvent: (network: string, event: ChainEvent) => void
}
