import type { Endpoint } from '../core/endpoint.ts'
import type { PollResult } from '../core/poll-result.ts'

/** Polls one endpoint: runs its checks, each under its own deadline. Never rejects. */
export interface Prober {
  poll(endpoint: Endpoint, signal: AbortSignal): Promise<PollResult>
  close(): Promise<void>
}
