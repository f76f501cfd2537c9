import type { Shard } from '../network.ts'

/** How a request is routed. */
export interface Operation {
  readonly name: OperationName
  readonly need: Need
  /** A read may be retried on another endpoint; anything else is sent once. */
  readonly isRead: boolean
  /** `null` and "not found" may only mean that this node does not have it yet. */
  readonly absenceIsDoubtful: boolean
}

/** Every operation of the gateway: the five of the default list, their companions, and what a caller's `methods` add. */
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
  /** A request to an alias that admin.alias has made. */
  'alias',
  /** A method that only a caller's `methods` allow. */
  'other',
] as const
export type OperationName = (typeof OPERATIONS)[number]

/** Which endpoints can answer, besides being healthy. */
export type Need =
  | { readonly kind: 'any' }
  /** The newest block: the answer must not be below the height that this caller has seen. */
  | { readonly kind: 'latest'; readonly shard: Shard }
  /** A block at this height: if one endpoint does not have it, another one may. */
  | { readonly kind: 'height'; readonly shard: Shard; readonly height: number }
  /** Something that is found by its hash. */
  | { readonly kind: 'hash'; readonly shard: Shard }
  /** Exactly this endpoint, and no other in its place. */
  | { readonly kind: 'endpoint'; readonly endpoint: string }
