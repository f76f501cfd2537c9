import type { CheckName, Endpoint } from './endpoint.ts'
import type { Failure } from './failure.ts'
import type { Head } from './head.ts'
import type { Liveness } from './liveness.ts'
import type { Shard } from './network.ts'
import type { UnixMs } from './time.ts'

/** What came of asking: a value or the one way in which it failed, and how long it took. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T; readonly durationMs: number }
  | { readonly ok: false; readonly failure: Failure; readonly durationMs: number }

export interface ShardHead {
  readonly shard: Shard
  readonly outcome: Outcome<Head>
}

/** One visit to one endpoint: every check that the endpoint has. */
export interface PollResult {
  readonly endpoint: Endpoint
  readonly startedAt: UnixMs
  readonly finishedAt: UnixMs
  /** `null` where the endpoint has no such check. */
  readonly liveness: Outcome<Liveness> | null
  /** One for each polled shard; empty where the endpoint has no head check. */
  readonly heads: readonly ShardHead[]
  /** The node's clock minus ours, from the answer's Date header; `null` when it sent none. */
  readonly clockSkewMs: number | null
  /** When the endpoint's certificate ends; `null` without TLS. */
  readonly tlsNotAfter: UnixMs | null
}

/** The outcome of a whole check: the head check fails with its first failing shard. */
export function checkOutcome(result: PollResult, check: CheckName): Outcome<unknown> | null {
  if (check === 'liveness') return result.liveness
  const first = result.heads[0]
  if (first === undefined) return null
  if (result.heads.length === 1) return first.outcome
  const failed = result.heads.find((head) => !head.outcome.ok)
  const durationMs = Math.max(...result.heads.map((head) => head.outcome.durationMs))
  return { ...(failed ?? first).outcome, durationMs }
}
