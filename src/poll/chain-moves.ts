import type { EndpointKey } from '../core/endpoint.ts'
import type { Shard } from '../core/network.ts'
import type { ChainEvent } from '../core/verdict/network-view.ts'
import type { Board } from '../state/board.ts'

/**
 * Finds replaced blocks and lower heights in what other members of a place have polled, for the gateway: the poller finds
 * them in its own polls. Returns a function that ends it.
 */
export function followChainMoves({ board, polls, onEvent }: ChainMovesDeps): () => void {
  const seen = new Map<EndpointKey, Map<Shard, SeenBlock>>()
  return board.subscribe(({ network, endpoint }) => {
    const entry = endpoint === null ? undefined : board.entry(network, endpoint)
    if (entry === undefined) return
    if (polls(network)) {
      seen.delete(entry.key)
      return
    }
    const before = seen.get(entry.key)
    seen.set(entry.key, new Map(entry.health.heads.map(({ shard, height, hash }) => [shard, { height, hash }])))
    for (const head of entry.health.heads) {
      const event = eventOf(before?.get(head.shard), head)
      if (event !== null) onEvent(network, event)
    }
  })
}

export interface ChainMovesDeps {
  readonly board: Pick<Board, 'entry' | 'subscribe'>
  /** Whether this daemon polls the network itself. */
  readonly polls: (network: string) => boolean
  readonly onEvent: (network: string, event: ChainEvent) => void
}

interface SeenBlock {
  readonly height: number
  readonly hash: string
}

interface NewHead extends SeenBlock {
  readonly shard: Shard
  readonly parentHash: string
}

function eventOf(before: SeenBlock | undefined, { shard, height, hash, parentHash }: NewHead): ChainEvent | null {
  if (before === undefined) return null
  if (height < before.height) return { kind: 'regressed', shard, blocks: before.height - height }
  // Of a later head, only the parent is known.
  const now = height === before.height ? hash : height === before.height + 1 ? parentHash : before.hash
  return now === before.hash
    ? null
    : { kind: 'reorged', shard, height: before.height, hash: now, previousHash: before.hash }
}
