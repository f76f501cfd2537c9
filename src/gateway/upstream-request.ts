import type { CancelSignal } from '../clock.ts'
import type { Operation } from '../core/routing/operation.ts'
import type { GatewayError } from './errors.ts'

/** Answers requests. Aliases, cache, coalescer and forwarder implement it, each in front of the next. Never rejects. */
export interface UpstreamHandler {
  handle(request: UpstreamRequest): Promise<Reply>
}

/** An admitted request to one network. */
export interface UpstreamRequest extends Pick<ClassifiedRequest, 'operation' | 'chainOperation' | 'canonical'> {
  readonly network: string
  /** The caller's name; its endpoint_id is known to `callers.ts` alone. */
  readonly caller: string
  /** Whose share of the connections the request uses; `null` if only one caller is configured. */
  readonly share?: string | null
  readonly to: UpstreamPath
  /** `null` for a REST request, which is a GET without body. */
  readonly call: Call | null
  /** From `x-heartline-height`: the highest block that the caller has seen elsewhere. */
  readonly minHeight?: number | null
  /** On the monotonic clock. */
  readonly deadlineAt: number
  /** Aborts when the caller leaves. */
  readonly signal: CancelSignal
}

/** The path at a node: the JSON-RPC path of the endpoint, or one appended to its base URL. */
export type UpstreamPath =
  | { readonly kind: 'rpc' }
  /** `singleShardPath`: the path at a MultiversX observer, without a shard; `null` if only a proxy can answer. */
  | { readonly kind: 'path'; readonly path: string; readonly singleShardPath?: string | null }

/** The envelope of one JSON-RPC request. */
export interface Call {
  /** The JSON text of its id, byte for byte; `null` if it has none or an invalid one. */
  readonly id: string
  readonly isNotification: boolean
  readonly method: string
  /** The JSON text of its params. */
  readonly params: string | null
}

/** A request that is understood and allowed. */
export interface ClassifiedRequest {
  readonly kind: 'operation'
  readonly operation: Operation
  /** At an alias of the network's own chain: what the same call is there. */
  readonly chainOperation?: Operation | undefined
  /** One spelling for all requests with the same meaning: the cache key. Nodes get the caller's own bytes. */
  readonly canonical: string
}

/** The operation by which heights and blocks are compared. */
export function chainOperationOf({ operation, chainOperation }: UpstreamRequest): Operation {
  return chainOperation ?? operation
}

export type Reply = (NodeReply | { readonly kind: 'rejected'; readonly rejection: GatewayError }) & Provenance

/** A node's answer in its own bytes. */
export type NodeReply =
  /** The JSON text of `result`. */
  | { readonly kind: 'result'; readonly result: Buffer }
  /** The JSON text of the node's own `error`. */
  | { readonly kind: 'error'; readonly error: Buffer }
  /** A whole REST answer. */
  | { readonly kind: 'rest'; readonly status: number; readonly body: Buffer }

export interface Provenance {
  /** The endpoint that answered; `null` if the gateway answered itself. */
  readonly endpoint: string | null
  readonly attempts: number
  readonly cache: 'hit' | 'miss' | 'none'
  /** No endpoint was healthy: the least unhealthy one answered. */
  readonly degraded: boolean
  /** The answer to an identical request that began before. */
  readonly isShared?: boolean
  /** Time spent waiting for nodes. */
  readonly nodeMs: number
  /** The node's `node-id`, for `admin.alias` and aliases; `null` if it sends none. */
  readonly nodeId?: string | null
  /** The height of the block that the answer is about. */
  readonly height?: number | null
  /** The height that the endpoint was known to have, if the answer is state at the newest block and shows no height. */
  readonly stateHeight?: number | null
  /** Age of a repeated answer, sent because no endpoint has the height that the caller has seen. */
  readonly staleMs?: number | null
}

/** The gateway answers itself. */
export const NOT_FORWARDED: Provenance = { endpoint: null, attempts: 0, cache: 'none', degraded: false, nodeMs: 0 }

/** Signals that the caller left. An AbortController would take 8 to 12 µs, over 5 % of a request. */
export class Cancellation implements CancelSignal {
  aborted = false
  #tasks: (() => void)[] = []

  addEventListener(_type: 'abort', task: () => void): void {
    this.#tasks.push(task)
  }

  removeEventListener(_type: 'abort', task: () => void): void {
    const at = this.#tasks.indexOf(task)
    if (at !== -1) this.#tasks.splice(at, 1)
  }

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    for (const task of this.#tasks.splice(0)) task()
  }
}
