import type { UnixMs } from './time.ts'

/** One check that the node runs on itself. */
export interface NodeCheck {
  /** Printable, at most 256 characters: it comes from the node. */
  readonly name: string
  readonly healthy: boolean
  /** The node's own words, printable, at most 256 characters; private. */
  readonly error: string | null
  readonly contiguousFailures: number
  readonly failingSince: UnixMs | null
  readonly checkedAt: UnixMs | null
  readonly durationMs: number | null
}

/** What the node says of itself. */
export interface Liveness {
  readonly healthy: boolean
  /** Empty when the node gives no evidence. */
  readonly checks: readonly NodeCheck[]
  /** When the node last handled a network message, on our clock; `null` when it does not say. In the future when its clock is off. */
  readonly heartbeatAt: UnixMs | null
}
