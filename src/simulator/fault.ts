import type { Shard } from '../core/network.ts'

/** Everything that can be wrong with a simulated node, by what it touches. `halt` is the whole chain's. */
export type Fault = HeadFault | SelfFault | TransportFault | AnswerFault | HaltFault
export type FaultKind = Fault['kind']

/** Now and until healed, or with this block (of the first shard) as the last. */
interface HaltFault {
  readonly kind: 'halt'
  readonly at?: number
}

/** One shard only, where it is given. */
interface OnShard {
  readonly shard?: Shard
}

/** What the node believes of the chain. */
export type HeadFault =
  /** Its head stays where it is. */
  | ({ readonly kind: 'stall' } & OnShard)
  /** It is this many blocks behind: at once, or `gradual`ly, by holding still until it is. */
  | ({ readonly kind: 'lag'; readonly blocks: number; readonly gradual: boolean } & OnShard)
  /** It claims blocks that nobody has minted. */
  | ({ readonly kind: 'lie'; readonly blocks: number } & OnShard)
  /**
   * Its last `depth` blocks, or all from height `at` on, and all that follow, are others than everybody's. Nodes with the same
   * `branch` that part from the others at the same height are on one branch, also in different processes.
   */
  | ({ readonly kind: 'fork'; readonly depth: number; readonly at?: number; readonly branch?: number } & OnShard)
  /** Its head falls back by so many blocks, as after a restored backup; it catches up at twice the block time's pace. */
  | ({ readonly kind: 'regress'; readonly blocks: number } & OnShard)
  /** A pool of nodes behind one URL: each answer is 0 to `blocks` behind. */
  | ({ readonly kind: 'jitter'; readonly blocks: number } & OnShard)

/** What the node says of itself. */
export type SelfFault =
  | { readonly kind: 'wrong-chain'; readonly chainId: number }
  /** Its clock is ahead by so much (behind, if negative). */
  | { readonly kind: 'clock-skew'; readonly byMs: number }
  /** Avalanche: `healthy` is false. */
  | { readonly kind: 'unhealthy' }
  /** Avalanche: one of its checks fails, and with it its health, unless `tolerated`. */
  | {
      readonly kind: 'failing-check'
      readonly name: string
      readonly contiguousFailures: number
      readonly tolerated: boolean
    }
  /** Avalanche: no network message is handled any more. */
  | { readonly kind: 'frozen-heartbeat' }
  /** Avalanche: healthy, with no check to show for it. */
  | { readonly kind: 'no-evidence' }
  /** Avalanche: its chains do not answer yet. */
  | { readonly kind: 'bootstrapping' }

/** Whether and when bytes arrive. */
export type TransportFault =
  /** Its port is closed, the control interface with it. */
  | { readonly kind: 'refuse' }
  /** Connections are reset before any answer. */
  | { readonly kind: 'reset' }
  /** Requests are taken and never answered. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** The answer comes a few bytes at a time. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number }
  /** The answer never ends: blanks follow it, one by one. */
  | { readonly kind: 'endless'; readonly everyMs: number }
  /** Well for `upMs`, connections reset for `downMs`, and again. */
  | { readonly kind: 'flap'; readonly upMs: number; readonly downMs: number }
  /** The connection is closed in the middle of the answer. */
  | { readonly kind: 'truncated' }
  /** The answer is no HTTP. */
  | { readonly kind: 'not-http' }

/** What the answer is. */
export type AnswerFault =
  /** This status and a text, instead of an answer. */
  | { readonly kind: 'http'; readonly status: number }
  /** HTTP 429, with Retry-After unless null. */
  | { readonly kind: 'rate-limit'; readonly retryAfterMs: number | null }
  | { readonly kind: 'redirect' }
  /** The right body under a 503. */
  | { readonly kind: 'valid-503' }
  /** An error inside an HTTP 200. */
  | { readonly kind: 'error-200' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'html' }
  /** Random bytes that claim to be JSON. */
  | { readonly kind: 'garbage' }
  /** So many bytes, streamed as fast as they are taken. */
  | { readonly kind: 'huge'; readonly bytes: number }
  /** Compressed, though nobody asked; so many bytes when unpacked. */
  | { readonly kind: 'gzip-bomb'; readonly bytes: number }
  | { readonly kind: 'deep'; readonly levels: number }
  /** `__proto__` and `constructor` members in every object. */
  | { readonly kind: 'proto' }
  /** The answer to another request. */
  | { readonly kind: 'wrong-id' }
  | { readonly kind: 'bad-height'; readonly value: BadHeight }

export const BAD_HEIGHTS = ['negative', 'decimal', 'unsafe', 'latest'] as const
export type BadHeight = (typeof BAD_HEIGHTS)[number]
