import type { Failure } from '../core/failure.ts'
import type { Family, Shard } from '../core/network.ts'
import type { ConsensusReport, Head, Liveness, NodeCheck, NodeClient } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import { createRecentBlocks, type RecentBlocks } from './recent-blocks.ts'

/** A chain family: the requests to its nodes, and how to read the responses. It does no I/O. */
export interface Chain {
  readonly family: Family
  /** Asks for the node's own state; a proxy of many shards, for this one's. `now` is monotonic time in milliseconds. */
  liveness(target: ChainTarget, shard: Shard, memory: ChainMemory, now: number): Inquiry<Liveness>
  /** Asks the consensus node behind this one; `null` if the family has none. */
  readonly consensus: ((memory: ChainMemory, now: number) => Inquiry<ConsensusAnswer>) | null
  /** Verifies the chain id of an endpoint without a head check; `null` if the family has none. */
  readonly chainId: ((target: ChainTarget, memory: ChainMemory, now: ChainIdTimes) => Inquiry<boolean>) | null
  head(target: ChainTarget, shard: Shard, memory: ChainMemory): Conversation<Head>
  /** Reads the hash of the node's block at this height; `null` if the node has no such block. */
  blockHash(target: ChainTarget, shard: Shard, height: number, memory: ChainMemory): Conversation<string | null>
}

/** `path` is appended to the endpoint's base URL. */
export interface NodeRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** A JSON text; `null` for GET. */
  readonly body: string | null
  /** The next requests of the conversation, to be sent at the same time. */
  readonly alongside?: readonly NodeRequest[]
}

/** A complete response with any status; the chain family interprets it. */
export interface NodeAnswer {
  readonly status: number
  /** Decoded only where it is read. */
  readonly body: Buffer
  /** Our wall clock when the response was complete. */
  readonly receivedAt: UnixMs
  /** From the Date header; `null` if absent or unreadable. */
  readonly date: UnixMs | null
  /** From Retry-After (seconds or date); `null` if absent. */
  readonly retryAfterMs: number | null
}

export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure }

/**
 * A check as a generator: it yields requests, receives responses, and returns its result. It does no I/O; the caller
 * stops it at a transport failure.
 */
export type Conversation<T> = Generator<NodeRequest, Reading<T>, NodeAnswer>

/** A check that goes on after a failed request, also one that got no response: several questions to one node. */
export type Inquiry<T> = Generator<NodeRequest, Reading<T>, Reading<NodeAnswer>>

export interface ChainIdTimes {
  readonly wall: UnixMs
  /** In milliseconds. */
  readonly monotonic: number
}

export interface ConsensusAnswer {
  readonly report: ConsensusReport
  readonly checks: readonly NodeCheck[]
}

/** An endpoint's state between polls. The prober keeps it; only chain families read and write it. */
export interface ChainMemory {
  /** Avalanche: the method that this node supports. */
  livenessMethod: 'health.getLiveness' | 'health.health' | null
  /** When the chain id was last verified; `null` if never. */
  verifiedAt: UnixMs | null
  /** When the node last refused to tell its chain id, in monotonic time; `null` if never. */
  chainIdRefusedAt: number | null
  /** A head did not fit its network, or the chain id was wrong: the next head counts only with the right chain id. */
  doubted: boolean
  /** The last request for the chain id was not answered in time: the next one is sent together with that for a block. */
  isChainIdLate: boolean
  /** MultiversX: the last hash whose block was also read by hash, by shard; `null` if none was. */
  seenHashes: Map<Shard, string> | null
  /** MultiversX: the highest block when the node began to say that it is syncing; `null` if it did not at the last poll. */
  syncingFrom: number | null
  /** When the node last refused a question that it does not offer, by the question's name, in monotonic time; `null` if never. */
  refusals: Map<string, number> | null
  /** When it last answered one, likewise. No `Map`, which takes 180 bytes more for each of thousands of endpoints. */
  answers: Record<string, number> | null
  /** The consensus node gets no request before, in monotonic time: it limits our rate. */
  consensusRestsUntil: number
  /** The client that the node named, and when it was asked, in monotonic time; `null` until then. */
  client: { readonly value: NodeClient | null; readonly askedAt: number } | null
  /** The last JSON-RPC id. Each request has a new id, so that a cached response is noticed. */
  lastId: number
  /** Removes secrets from a node's text, before it is parsed or cut, and truncates it to `maxCharacters`. */
  readonly redact: (text: string, maxCharacters: number) => string
  /** EVM: shared by the endpoints of one network. */
  readonly recentBlocks: RecentBlocks
}

export function newChainMemory(recentBlocks = createRecentBlocks()): ChainMemory {
  return {
    livenessMethod: null,
    verifiedAt: null,
    chainIdRefusedAt: null,
    doubted: false,
    isChainIdLate: false,
    seenHashes: null,
    syncingFrom: null,
    refusals: null,
    answers: null,
    consensusRestsUntil: Number.NEGATIVE_INFINITY,
    client: null,
    lastId: 0,
    redact: (text) => text,
    recentBlocks,
  }
}

/** The endpoint settings that a chain family uses. */
export interface ChainTarget {
  /** Appended to the base URL for JSON-RPC; `/` on most EVM nodes, `/ext/bc/C/rpc` on avalanchego. */
  readonly rpcPath: string
  /** MultiversX: paths on a proxy contain the shard; an observer serves one shard, and its paths do not. */
  readonly kind: 'proxy' | 'observer'
  /** `null` without a configured one. */
  readonly chainId: number | null
}
