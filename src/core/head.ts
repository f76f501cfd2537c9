import type { UnixMs } from './time.ts'

/** The newest block that an endpoint reports. */
export interface Head {
  /** Block number or nonce: a safe integer, checked at the edge. */
  readonly height: number
  /** Lower-case hexadecimal, as the family writes it (with `0x` on EVM chains). */
  readonly hash: string
  readonly parentHash: string
  readonly timestamp: UnixMs
}
