import type { Shard } from '../network.ts'

/** What may be asked for through the gateway: the five operations, their companions, and what a caller's `methods` add. */
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
  /** Something at an alias that admin.alias has made. */
  'alias',
  /** A method that only a caller's `methods` allow. */
  'other',
] as const
export type OperationName = (typeof OPERATIONS)[number]

/** Which endpoints can answer, beyond being well. */
export type Need =
  /** Any will do. */
  | { readonly kind: 'any' }
  /** Where the chain is now: the height that this caller has seen must not be undercut. */
  | { readonly kind: 'latest'; readonly shard: Shard }
  /** A block at this height, of which others may know when one does not. */
  | { readonly kind: 'height'; readonly shard: Shard; readonly height: number }
  /** Something that is found by its hash. */
  | { readonly kind: 'hash'; readonly shard: Shard }
  /** Exactly this endpoint, and no other in its place. */
  | { readonly kind: 'endpoint'; readonly endpoint: string }

/** How a request is to be treated. */
export interface Operation {
  readonly name: OperationName
  readonly need: Need
  /** A read may be asked of another endpoint; anything else is sent once. */
  readonly isRead: boolean
  /** `null` and "not found" may only mean that this node has not got it yet. */
  readonly absenceIsDoubtful: boolean
}
