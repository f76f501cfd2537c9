import type { Failure } from '../core/failure.ts'
import type { Family, Shard } from '../core/network.ts'
import type { Head, Liveness } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import { createRecentBlocks, type RecentBlocks } from './recent-blocks.ts'

/** What to send to a node. `path` is appended to the endpoint's base URL. */
export interface NodeRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** A JSON text; `null` for GET. */
  readonly body: string | null
}

/** A whole answer, whatever its status. Reading it is the family's business. */
export interface NodeAnswer {
  readonly status: number
  readonly body: string
  /** Our wall clock when the answer was complete. */
  readonly receivedAt: UnixMs
  /** From the Date header; `null` when absent or unreadable. */
  readonly date: UnixMs | null
  /** From Retry-After, seconds or date; `null` when absent. */
  readonly retryAfterMs: number | null
  /** The number of the connection that the answer came over. Each opened connection has a new one: perhaps a new node. */
  readonly connection: number
}

export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure }

/**
 * A check as a conversation: yields what to send, is handed the answer, returns what it read.
 * It does no I/O and never sees a transport failure: whoever drives it ends it there.
 */
export type Conversation<T> = Generator<NodeRequest, Reading<T>, NodeAnswer>

/** What a family may remember of one endpoint between polls. The one who polls keeps it; families alone read and write it. */
export interface ChainMemory {
  /** Avalanche: the method this node knows. */
  livenessMethod: 'health.getLiveness' | 'health.health' | null
  /** When the chain id was last verified over which connection, the latest last. */
  verifiedConnections: Map<number, UnixMs>
  /** MultiversX: the last hash whose by-hash form was seen, per shard. */
  seenHashes: Map<Shard, string>
  /** The JSON-RPC id last sent. Every request has its own: an answer from a cache is noticed. */
  lastId: number
  /** EVM: the blocks read last. The endpoints of one network share them. */
  readonly recentBlocks: RecentBlocks
}

export function newChainMemory(recentBlocks = createRecentBlocks()): ChainMemory {
  return { livenessMethod: null, verifiedConnections: new Map(), seenHashes: new Map(), lastId: 0, recentBlocks }
}

/** What a family needs to know of an endpoint to talk to it. */
export interface ChainTarget {
  /** Appended to the base URL for JSON-RPC; `/` on most EVM nodes, `/ext/bc/C/rpc` on avalanchego. */
  readonly rpcPath: string
  /** MultiversX: a proxy has the shard in its paths, an observer serves one shard and has none. */
  readonly kind: 'proxy' | 'observer'
  readonly chainId: number | null
}

/** What differs between families: codecs only, no I/O. */
export interface Chain {
  readonly family: Family
  /** `null` where the family's nodes do not tell of themselves. */
  readonly liveness: ((target: ChainTarget, memory: ChainMemory) => Conversation<Liveness>) | null
  head(target: ChainTarget, shard: Shard, memory: ChainMemory): Conversation<Head>
  /** The hash of the block that the node has at this height; `null` where it has none. */
  blockHash(target: ChainTarget, shard: Shard, height: number, memory: ChainMemory): Conversation<string | null>
}
