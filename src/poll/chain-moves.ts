import { moveOf } from '../core/chain/known-heads.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import type { HeadStanding, Health } from '../core/verdict/health.ts'
import type { ChainEvent } from '../core/verdict/network-view.ts'
import type { Board } from '../state/board.ts'

/**
 * Passes on what other members of a place have polled, and finds replaced blocks and lower heights in it for the gateway: the
 * poller does so with its own polls. Returns a function that ends it.
 */
export function followChainMoves({ board, polls, onVote, onEvent }: ChainMovesDeps): () => void {
  const seen = new Map<EndpointKey, readonly HeadStanding[]>()
  return board.subscribe(({ network, endpoint }) => {
    const entry = endpoint === null ? undefined : board.entry(network, endpoint)
    if (entry === undefined) return
    if (polls(network)) {
      seen.delete(entry.key)
      return
    }
    onVote(entry.health)
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
  readonly onVote: (health: Health) => void
  readonly onEvent: (network: string, event: ChainEvent) => void
}
