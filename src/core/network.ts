/** Which interface a network's nodes speak. */
export type Family = 'ethereum' | 'avalanche' | 'multiversx'

/** A shard's number; `null` where the chain is not sharded. */
export type Shard = number | null

/** MultiversX's metachain, and the greatest number that a shard can have. */
export const METACHAIN = 4_294_967_295

/** For people. */
export function shardName(shard: number): string {
  return shard === METACHAIN ? 'metachain' : `shard ${shard}`
}

/** The thresholds of the conditions of a network's endpoints. Blocks are counts, `…Ms` are milliseconds. */
export interface Thresholds {
  /** Lagging from this many blocks behind … */
  readonly lagBlocks: number
  /** … until this many or fewer. */
  readonly lagRecoverBlocks: number
  /** Lagging this far is `down`, not `degraded`. */
  readonly lagBlocksDown: number
  /** No new block for this long while the network advances. */
  readonly stallMs: number
  /** No network message handled by the node for this long. */
  readonly heartbeatMs: number
  /** One of the node's own checks failed this many times in a row. */
  readonly contiguousFailures: number
  /** A poll slower than this is `slow`. */
  readonly latencyMs: number
  /** The node's clock is this far from ours, either way. */
  readonly clockSkewMs: number
  /** Consecutive polls before a worse state is confirmed. */
  readonly failAfter: number
  /** Consecutive polls before a better state is confirmed. */
  readonly recoverAfter: number
}

/** One blockchain, as configured. */
export interface Network {
  readonly name: string
  readonly title: string
  readonly family: Family
  /** The usual time from block to block. */
  readonly blockTimeMs: number
  /** Whether it is configured. If not, it is the family's default, and a measured one is better. */
  readonly blockTimeGiven: boolean
  /** Verified on every endpoint when given (EIP-155 number). */
  readonly chainId: number | null
  readonly thresholds: Thresholds
}
