import type { CheckName, Endpoint } from '../core/endpoint.ts'
import { checkOutcome, type PollResult } from '../core/poll-result.ts'
import type { ChainEvent } from '../core/verdict/network-view.ts'
import { newCheckTally, newTally, type Tally } from '../state/board.ts'

/** Counts the checks of a poll, for the endpoint and for its network. */
export function countChecks(result: PollResult, tally: Tally, metrics: CheckMetrics): void {
  const { endpoint, startedAt } = result
  for (const counts of tally.checks) {
    const { check } = counts
    const outcome = checkOutcome(result, check)
    if (outcome === null) continue
    counts.runs++
    counts.requests += result.requests[check]
    counts.lastRunAt = startedAt
    counts.lastDurationMs = outcome.durationMs
    counts.lastOk = outcome.ok
    if (outcome.ok) {
      counts.lastSuccessAt = startedAt
      counts.consecutiveFailures = 0
    } else {
      counts.consecutiveFailures++
      counts.failures ??= new Map()
      counts.failures.set(outcome.failure.kind, (counts.failures.get(outcome.failure.kind) ?? 0) + 1)
    }
    metrics.checkFinished(endpoint.network, check, outcome.durationMs)
  }
}

/** Another daemon polls the endpoint from now on: what this one found last says nothing of it any more. */
export function forgetLatest({ checks }: Tally): void {
  for (const counts of checks) {
    const { check, runs, requests, failures } = counts
    Object.assign(counts, newCheckTally(check), { runs, requests, failures })
  }
}

export function countEvent(event: ChainEvent, tally: Tally): void {
  const kind = event.kind === 'reorged' ? 'reorgs' : 'regressions'
  const counters = (tally[kind] ??= new Map())
  counters.set(event.shard, (counters.get(event.shard) ?? 0) + 1)
}

/** Keeps an endpoint's counters as long as they count the same things. */
export function tallyFor(endpoint: Endpoint, earlier: CountedEndpoint | undefined): Tally {
  const same = (a: readonly unknown[], b: readonly unknown[]) =>
    a.length === b.length && a.every((x, at) => x === b[at])
  return earlier !== undefined &&
    same(endpoint.checks, earlier.endpoint.checks) &&
    same(endpoint.shards, earlier.endpoint.shards)
    ? earlier.tally
    : newTally(endpoint.checks)
}

export interface CheckMetrics {
  checkFinished(network: string, check: CheckName, durationMs: number): void
}

interface CountedEndpoint {
  readonly endpoint: Endpoint
  readonly tally: Tally
}
