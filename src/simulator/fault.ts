import type { Shard } from '../core/network.ts'

/** Every fault of a simulated node, grouped by what it affects. `halt` affects the whole chain. */
export type Fault = HeadFault | SelfFault | TransportFault | AnswerFault | HaltFault
export type FaultKind = Fault['kind']

/** Halts now, or after block `at` (of the first shard), until healed. */
interface HaltFault {
  readonly kind: 'halt'
  readonly at?: number
}

/** Affects one shard only, if given. */
interface OnShard {
  readonly shard?: Shard
}

/** The node's view of the chain. */
export type HeadFault =
  /** Its head does not advance. */
  | ({ readonly kind: 'stall' } & OnShard)
  /** It is this many blocks behind: at once, or `gradual`ly, by not advancing until it is. */
  | ({ readonly kind: 'lag'; readonly blocks: number; readonly gradual: boolean } & OnShard)
  /** It reports blocks that do not exist yet. */
  | ({ readonly kind: 'lie'; readonly blocks: number } & OnShard)
  /**
   * Its last `depth` blocks, or all blocks from height `at`, and all later ones differ from the other nodes'. Nodes with the same
   * `branch` and start height are on the same branch, also across processes.
   */
  | ({ readonly kind: 'fork'; readonly depth: number; readonly at?: number; readonly branch?: number } & OnShard)
  /** Its head goes back this many blocks, as after restoring a backup; it catches up at twice the block rate. */
  | ({ readonly kind: 'regress'; readonly blocks: number } & OnShard)
  /** A pool of nodes behind one URL: each answer is 0 to `blocks` behind. */
  | ({ readonly kind: 'jitter'; readonly blocks: number } & OnShard)

/** The node's reports about itself. */
export type SelfFault =
  | { readonly kind: 'wrong-chain'; readonly chainId: number }
  /** Its clock is ahead by this much (behind, if negative). */
  | { readonly kind: 'clock-skew'; readonly byMs: number }
  /** Avalanche: `healthy` is false. */
  | { readonly kind: 'unhealthy' }
  /** Avalanche: one of its checks fails; unless `tolerated`, the node is unhealthy. */
  | {
      readonly kind: 'failing-check'
      readonly name: string
      readonly contiguousFailures: number
      readonly tolerated: boolean
    }
  /** Avalanche: no network messages are handled. */
  | { readonly kind: 'frozen-heartbeat' }
  /** Avalanche: healthy, with an empty map of checks. */
  | { readonly kind: 'no-evidence' }
  /** Avalanche: its chains do not answer yet. */
  | { readonly kind: 'bootstrapping' }

/** Transport. */
export type TransportFault =
  /** Its port is closed, including the control interface. */
  | { readonly kind: 'refuse' }
  /** Connections are reset before any answer. */
  | { readonly kind: 'reset' }
  /** Requests are accepted and never answered. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** The answer comes a few bytes at a time. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number }
  /** The answer never ends: spaces follow it, one by one. */
  | { readonly kind: 'endless'; readonly everyMs: number }
  /** Healthy for `upMs`, then connections are reset for `downMs`, repeatedly. */
  | { readonly kind: 'flap'; readonly upMs: number; readonly downMs: number }
  /** The connection is closed in the middle of the answer. */
  | { readonly kind: 'truncated' }
  /** The answer is not HTTP. */
  | { readonly kind: 'not-http' }

/** Content of the answer. */
export type AnswerFault =
  /** This HTTP status with a text instead of an answer. */
  | { readonly kind: 'http'; readonly status: number }
  /** HTTP 429, with Retry-After unless null. */
  | { readonly kind: 'rate-limit'; readonly retryAfterMs: number | null }
  | { readonly kind: 'redirect' }
  /** The correct body with HTTP 503. */
  | { readonly kind: 'valid-503' }
  /** An error inside an HTTP 200. */
  | { readonly kind: 'error-200' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'html' }
  /** Random bytes with a JSON content type. */
  | { readonly kind: 'garbage' }
  /** This many bytes, streamed as fast as the client reads. */
  | { readonly kind: 'huge'; readonly bytes: number }
  /** Compressed although not requested; this many bytes when decompressed. */
  | { readonly kind: 'gzip-bomb'; readonly bytes: number }
  | { readonly kind: 'deep'; readonly levels: number }
  /** `__proto__` and `constructor` members in every object. */
  | { readonly kind: 'proto' }
  /** The answer to another request. */
  | { readonly kind: 'wrong-id' }
  | { readonly kind: 'bad-height'; readonly value: BadHeight }

export const BAD_HEIGHTS = ['negative', 'decimal', 'unsafe', 'latest'] as const
export type BadHeight = (typeof BAD_HEIGHTS)[number]
