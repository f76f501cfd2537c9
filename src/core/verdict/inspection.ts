import type { Endpoint } from '../endpoint.ts'
import type { Failure } from '../failure.ts'
import type { PollResult } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import type { Health } from './health.ts'

/** One poll outside the schedule, and the health that follows from it alone. */
export interface Inspection {
  readonly result: PollResult
  /** Unconfirmed: this one poll decides. */
  readonly health: Health
  readonly steps: readonly PollStep[]
  readonly startedAt: UnixMs
  /** From the request to the end of the poll; `waitedMs` of it was waiting for a free slot. */
  readonly tookMs: number
  readonly waitedMs: number
}

/** The result of a request for a poll outside the schedule. */
export type Inspected =
  | { readonly kind: 'polled'; readonly inspection: Inspection }
  /** The maximum number of polls is running, and none of them ended in time. */
  | { readonly kind: 'no-place' }
  /** The node is rate-limiting us. */
  | { readonly kind: 'asked-to-wait'; readonly forMs: number }
  | { readonly kind: 'unknown-endpoint' }

/** Polls an endpoint now. Never rejects. Simultaneous requests share one poll. */
export type Inspect = (endpoint: Endpoint, withinMs: number) => Promise<Inspected>

/** One request of a poll, shown as a step. Configured secrets are removed from its texts. */
export interface PollStep {
  /** Since the start of the poll. */
  readonly afterMs: number
  readonly tookMs: number
  /** How long it waited for a free connection. */
  readonly waitedMs: number
  readonly method: 'GET' | 'POST'
  /** Appended to the endpoint's URL. */
  readonly path: string
  readonly body: string | null
  readonly answer:
    | { readonly ok: true; readonly status: number; readonly bytes: number; readonly text: string }
    | { readonly ok: false; readonly failure: Failure }
}
