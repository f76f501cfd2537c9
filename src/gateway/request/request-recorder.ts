import type { Clock } from '../../clock.ts'
import type { AskedOperation, RejectionReason, RequestOutcome } from '../../core/routing/request-outcome.ts'
import type { Log } from '../../log.ts'
import type { Reply } from '../upstream-request.ts'
import type { ServedNetwork } from './admission.ts'
import type { Caller } from './callers.ts'

export type RequestRecorder = ReturnType<typeof createRequestRecorder>

/** Called for each request, so every method must be cheap. */
export interface GatewayMetrics {
  /**
   * `durationMs` runs from the first byte to the answer, `overheadMs` excludes waiting for nodes; both are `null` if
   * the request was rejected before it was handled.
   */
  answered(
    network: string,
    operation: AskedOperation,
    caller: string,
    outcome: RequestOutcome,
    durationMs: number | null,
    overheadMs: number | null,
  ): void
  /** The gateway rejected a request itself; `network` is `null` if unknown. */
  rejected(network: string | null, reason: RejectionReason): void
  cacheLookup(network: string, result: 'hit' | 'miss'): void
  /** No endpoint was healthy, and the least unhealthy one answered. */
  degraded(network: string): void
  inFlight(network: string, by: 1 | -1): void
}

export interface RequestRecorderDeps {
  readonly metrics: GatewayMetrics
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Pick<Log, 'debug'>
}

/** Counts every request by its outcome: for its caller, for the metrics and, at level debug, in the log. */
export function createRequestRecorder({ metrics, clock, log }: RequestRecorderDeps) {
  return {
    /** A call or REST request was handled; `reply` is `null` if no handler saw it. */
    ended(
      { name: caller, tally }: Caller,
      { name: network }: ServedNetwork,
      operation: AskedOperation,
      outcome: RequestOutcome,
      startedAt: number,
      reply: Reply | null,
    ): void {
      const ms = clock.monotonic() - startedAt
      tally.requests++
      if (outcome !== 'answered' && outcome !== 'node-error' && outcome !== 'cancelled') {
        tally.rejected++
        metrics.rejected(network, outcome)
      }
      if (reply !== null && reply.cache !== 'none') metrics.cacheLookup(network, reply.cache)
      if (reply?.degraded === true) metrics.degraded(network)
      metrics.answered(network, operation, caller, outcome, ms, Math.max(0, ms - (reply?.nodeMs ?? 0)))
      log.debug({ caller, network, operation, endpoint: reply?.endpoint ?? null, outcome, ms }, 'request')
    },

    /** A whole request with this many calls was rejected. */
    rejected(caller: Caller | null, network: ServedNetwork | null, reason: RejectionReason, calls: number): void {
      for (let call = 0; call < calls; call++) {
        metrics.rejected(network?.name ?? null, reason)
        if (caller !== null && network !== null) metrics.answered(network.name, 'none', caller.name, reason, null, null)
      }
      if (caller === null) return
      caller.tally.requests += calls
      caller.tally.rejected += calls
    },
  }
}
