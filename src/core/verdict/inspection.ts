import type { Endpoint } from '../endpoint.ts'
import type { Failure } from '../failure.ts'
import type { PollResult } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import type { Health } from './health.ts'

/** One poll beside the schedule, and what it says by itself. */
export interface Inspection {
  readonly result: PollResult
  /** Unconfirmed: this one poll decides. */
  readonly health: Health
  readonly steps: readonly PollStep[]
  readonly startedAt: UnixMs
  /** From being asked to the end of the poll, and how much of it was waiting for a place. */
  readonly tookMs: number
  readonly waitedMs: number
}

/** What came of asking for one. */
export type Inspected =
  | { readonly kind: 'polled'; readonly inspection: Inspection }
  /** As many polls as may are under way, and none of them ended in time. */
  | { readonly kind: 'no-place' }
  /** The node limits our rate, and wants to be left alone. */
  | { readonly kind: 'asked-to-wait'; readonly forMs: number }
  | { readonly kind: 'unknown-endpoint' }

/** Polls an endpoint now, to its end, and never rejects. Who asks while it is under way shares it. */
export type Inspect = (endpoint: Endpoint, withinMs: number) => Promise<Inspected>

/** One exchange of a poll that somebody watches. Its texts may be shown: what is configured as secret is taken out of them. */
export interface PollStep {
  /** After the beginning of the poll. */
  readonly afterMs: number
  readonly tookMs: number
  /** How long our own limit of connections kept it back. */
  readonly waitedMs: number
  readonly method: 'GET' | 'POST'
  /** Appended to the endpoint's URL. */
  readonly path: string
  readonly body: string | null
  readonly answer:
    | { readonly ok: true; readonly status: number; readonly bytes: number; readonly text: string }
    | { readonly ok: false; readonly failure: Failure }
}
