import type { AskedOperation, RejectionReason, RequestOutcome } from '../core/routing/request-outcome.ts'

/** What the gateway tells of its requests; every method is called for every request, and must cost next to nothing. */
export interface GatewayMetrics {
  /** `durationMs` from its first byte to its answer, `overheadMs` without the time spent waiting for nodes; `null` where it was turned away. */
  answered(
    network: string,
    operation: AskedOperation,
    caller: string,
    outcome: RequestOutcome,
    durationMs: number | null,
    overheadMs: number | null,
  ): void
  /** The gateway itself said no; `null` where the network is not known. */
  rejected(network: string | null, reason: RejectionReason): void
  /** Of an answer that can be cached. */
  cacheLookup(network: string, result: 'hit' | 'miss'): void
  /** Nobody was well, and the least bad answered. */
  degraded(network: string): void
  /** Requests at work have become so many more. */
  inFlight(network: string, by: 1 | -1): void
}
