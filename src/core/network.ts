/** The interfaces of nodes that Heartline knows. */
export const FAMILIES = ['ethereum', 'avalanche', 'multiversx'] as const
export type Family = (typeof FAMILIES)[number]

/** A shard's number; `null` if the chain is not sharded. */
export type Shard = number | null

/** MultiversX's metachain, and the largest possible shard number. */
export const METACHAIN = 4_294_967_295

export function shardName(shard: number): string {
  return shard === METACHAIN ? 'metachain' : `shard ${shard}`
}

/** A network's thresholds for the conditions of its endpoints. */
export interface Thresholds {
  /** An endpoint is lagging from this many blocks behind. */
  readonly lagBlocks: number
  /** A lagging endpoint recovers at this many blocks behind or fewer. */
  readonly lagRecoverBlocks: number
  /** From this many blocks behind, lagging is `down` instead of `degraded`. */
  readonly lagBlocksDown: number
  /** `stalled` after this time without a new block while the network advances. */
  readonly stallMs: number
  /** `heartbeat-stale` after this time without a network message handled by the node. */
  readonly heartbeatMs: number
  /** `check-failing` after this many failures in a row of one of the node's own checks. */
  readonly contiguousFailures: number
  /** `few-peers` below this number of peers. */
  readonly minPeers: number
  /** `slow` from this duration of a poll. */
  readonly latencyMs: number
  /** `clock-skewed` from this difference between the node's clock and ours, in either direction. */
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
  /** `false`: `blockTimeMs` is the family's default, and a measured block time is preferred. */
  readonly blockTimeGiven: boolean
  /** EIP-155 number. Verified on every endpoint unless `null`. */
  readonly chainId: number | null
  /** The block explorer to which the page links. */
  readonly explorerUrl?: string | undefined
  readonly thresholds: Thresholds
}
