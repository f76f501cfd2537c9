import type { Shard } from '../network.ts'

/** How a request is routed. */
export interface Operation {
  readonly name: OperationName
  readonly need: Need
  /** Reads may be retried on another endpoint; all other requests are sent once. */
  readonly isRead: boolean
  /** `null` and "not found" may only mean that this node does not have it yet. */
  readonly absenceIsDoubtful: boolean
}

export const OPERATIONS = [
  'eth_getBlockByNumber',
  'eth_getTransactionByHash',
  'eth_chainId',
  'eth_blockNumber',
  'net_version',
  'web3_clientVersion',
  'health.getLiveness',
  'health.health',
  'health.readiness',
  'health.liveness',
  'admin.alias',
  'block_by_hash',
  'block_by_nonce',
  'network_status',
  'network_config',
  /** A request to an alias that admin.alias created. */
  'alias',
  /** A method that only a caller's `methods` allow. */
  'other',
] as const
export type OperationName = (typeof OPERATIONS)[number]

/** Which of the healthy endpoints can answer. */
export type Need =
  | { readonly kind: 'any' }
  /** The newest block: the answer must not be below the height that this caller has seen. */
  | { readonly kind: 'latest'; readonly shard: Shard }
  /** A block at this height: if one endpoint does not have it, another one may. */
  | { readonly kind: 'height'; readonly shard: Shard; readonly height: number }
  /** Data that is found by its hash. */
  | { readonly kind: 'hash'; readonly shard: Shard }
  /** Exactly this endpoint, without failover. */
  | { readonly kind: 'endpoint'; readonly endpoint: string }

export function shardOf(need: Need): Shard {
  return need.kind === 'any' || need.kind === 'endpoint' ? null : need.shard
}
