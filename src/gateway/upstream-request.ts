import type { Operation } from '../core/routing/operation.ts'
import type { Cancellation } from './cancellation.ts'
import type { GatewayError } from './errors.ts'

/** One JSON-RPC request of a caller, its envelope read and nothing else. */
export interface Call {
  /** The JSON text of its id, byte for byte; `null` where it has none or it cannot be read. */
  readonly id: string
  readonly isNotification: boolean
  readonly method: string
  /** The JSON text of its params; `null` where it has none. */
  readonly params: string | null
}

/** What a request asks for, and that it may. */
export interface ClassifiedRequest {
  readonly kind: 'operation'
  readonly operation: Operation
  /**
   * What is asked, in one spelling for all that means the same: with network and operation, the key of its answer. Never sent: the
   * node gets the caller's own bytes.
   */
  readonly canonical: string
}

/** One thing to ask of a network, already allowed. */
export interface UpstreamRequest {
  readonly network: string
  /** The caller's name: its endpoint_id is known to `callers.ts` alone. */
  readonly caller: string
  readonly operation: Operation
  /** That of `Identified`. */
  readonly canonical: string
  /** How the node is asked: appended to the endpoint's base URL, or the JSON-RPC path that only the endpoint knows. */
  readonly to:
    | { readonly kind: 'rpc' }
    /** `singleShardPath` is for MultiversX observers, which have no shard in their paths; `null` where only a proxy can answer. */
    | { readonly kind: 'path'; readonly path: string; readonly singleShardPath?: string | null }
  /** `null` for a REST request, which is a GET without body. */
  readonly call: Call | null
  /** On the monotonic clock. */
  readonly deadlineAt: number
  /** Aborts when the caller is gone. */
  readonly signal: Cancellation
}

/** How an answer came about. */
export interface Provenance {
  /** Whose answer it is; `null` when it is ours. */
  readonly endpoint: string | null
  readonly attempts: number
  readonly cache: 'hit' | 'miss' | 'none'
  /** Nobody was well: it comes from the least bad. */
  readonly degraded: boolean
  /** Time spent waiting for nodes, in ms: the rest is our own. */
  readonly nodeMs: number
  /** What the node calls itself (`node-id`), for `admin.alias` and what is asked at an alias; `null` where it does not say. */
  readonly nodeId?: string | null
}

/** What a node said, in its own bytes. */
export type NodeReply =
  /** The JSON text of `result`. */
  | { readonly kind: 'result'; readonly result: Buffer }
  /** The JSON text of the node's own `error`. */
  | { readonly kind: 'error'; readonly error: Buffer }
  /** A REST answer, envelope and all. */
  | { readonly kind: 'rest'; readonly status: number; readonly body: Buffer }

export type Reply = (NodeReply | { readonly kind: 'rejected'; readonly rejection: GatewayError }) & Provenance

/** Something that answers questions: the nodes themselves, the cache before them, the aliases beside them. Never rejects. */
export interface UpstreamHandler {
  handle(question: UpstreamRequest): Promise<Reply>
}
