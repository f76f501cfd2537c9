import type { CheckName } from '../core/endpoint.ts'
import type { Failure } from '../core/failure.ts'
import type { Head } from '../core/head.ts'
import type { Liveness } from '../core/liveness.ts'
import type { Family, Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'

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
  /** How many connections to this endpoint had been opened when the answer came: a new number, perhaps a new node. */
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
  /** The `connection` on which the chain id was last verified; `null` before. */
  verifiedConnection: number | null
  /** MultiversX: the last hash whose by-hash form was seen, per shard. */
  seenHashes: Map<Shard, string>
}

export function newChainMemory(): ChainMemory {
  return { livenessMethod: null, verifiedConnection: null, seenHashes: new Map() }
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
  readonly defaultChecks: readonly CheckName[]
  liveness(target: ChainTarget, memory: ChainMemory): Conversation<Liveness>
  head(target: ChainTarget, shard: Shard, memory: ChainMemory): Conversation<Head>
}
