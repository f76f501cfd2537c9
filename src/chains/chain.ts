import type { Failure } from '../core/failure.ts'
import type { Family, Shard } from '../core/network.ts'
import type { Head, Liveness } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import { createRecentBlocks, type RecentBlocks } from './recent-blocks.ts'

/** One family of chains: which requests its nodes get, and how their responses are read. Codecs only, no I/O. */
export interface Chain {
  readonly family: Family
  /** `null` if the family's nodes do not report their own health. */
  readonly liveness: ((target: ChainTarget, memory: ChainMemory) => Conversation<Liveness>) | null
  head(target: ChainTarget, shard: Shard, memory: ChainMemory): Conversation<Head>
  /** The hash of the node's block at this height; `null` if it has none. */
  blockHash(target: ChainTarget, shard: Shard, height: number, memory: ChainMemory): Conversation<string | null>
}

/** A request to a node. `path` is appended to the endpoint's base URL. */
export interface NodeRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** A JSON text; `null` for GET. */
  readonly body: string | null
}

/** A whole response, whatever its status. The chain family reads it. */
export interface NodeAnswer {
  readonly status: number
  readonly body: string
  /** Our wall clock when the response was complete. */
  readonly receivedAt: UnixMs
  /** From the Date header; `null` when absent or unreadable. */
  readonly date: UnixMs | null
  /** From Retry-After, seconds or date; `null` when absent. */
  readonly retryAfterMs: number | null
  /** The number of the connection that carried it. Each opened connection has a new one: perhaps another node. */
  readonly connection: number
}

export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure }

/**
 * A check as a generator: yields requests, receives the responses, returns its result. It does no I/O, and its caller stops it at a
 * transport failure.
 */
export type Conversation<T> = Generator<NodeRequest, Reading<T>, NodeAnswer>

/** State of one endpoint between polls, kept by the prober. Only chain families read and write it. */
export interface ChainMemory {
  /** Avalanche: the method that this node has. */
  livenessMethod: 'health.getLiveness' | 'health.health' | null
  /** When the chain id was last verified, by connection; the latest last. */
  verifiedConnections: Map<number, UnixMs>
  /** MultiversX: the last hash whose by-hash form was read, by shard. */
  seenHashes: Map<Shard, string>
  /** The last JSON-RPC id. Every request has its own, so that a response from a cache is noticed. */
  lastId: number
  /** EVM: shared by the endpoints of one network. */
  readonly recentBlocks: RecentBlocks
}

export function newChainMemory(recentBlocks = createRecentBlocks()): ChainMemory {
  return { livenessMethod: null, verifiedConnections: new Map(), seenHashes: new Map(), lastId: 0, recentBlocks }
}

/** What a family needs to know about an endpoint. */
export interface ChainTarget {
  /** Appended to the base URL for JSON-RPC; `/` on most EVM nodes, `/ext/bc/C/rpc` on avalanchego. */
  readonly rpcPath: string
  /** MultiversX: a proxy has the shard in its paths, an observer serves one shard and has no shard in its paths. */
  readonly kind: 'proxy' | 'observer'
  readonly chainId: number | null
}
