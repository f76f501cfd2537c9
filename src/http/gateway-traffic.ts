import {
  type AttemptOutcome,
  OUTCOME_KINDS,
  type OutcomeKind,
  type RequestOutcome,
} from '../core/routing/request-outcome.ts'
import { seconds } from '../core/time.ts'
import type { NetworkCounts, OperationCounts } from '../metrics/gateway-series.ts'
import type { Histogram } from '../metrics/histogram.ts'
import type { SpreadView } from './wire/common.ts'
import type { RequestTallyView, TrafficView } from './wire/gateway.ts'

/** Sums up the gateway's counters of one network for the API. */
export function trafficView(of: NetworkCounts): TrafficView {
  const timed = [...of.operations.values()].filter((operation) => operation.timed)
  return {
    ...tallyView([...of.operations.values()].flatMap(outcomesOf)),
    duration: spreadView(timed.map(({ durations }) => durations)),
    overhead: spreadView(timed.map(({ overheads }) => overheads)),
    operations: [...of.operations]
      .map(([name, counts]) => ({
        name,
        ...tallyView(outcomesOf(counts)),
        duration: spreadView([counts.durations]),
        overhead: spreadView([counts.overheads]),
      }))
      .sort((a, b) => b.requests - a.requests),
    retries: { failed: 0, absent: 0, behind: 0, ...Object.fromEntries(of.retries) },
    cache: { hits: of.cache.hit, misses: of.cache.miss },
    coalesced: of.coalesced,
    least_bad: of.degraded,
    rejections: [...of.rejections].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count),
  }
}

/** Requests sent to one endpoint, including retries and hedged requests. */
export function attemptsAt(endpoint: string, { attempts }: NetworkCounts) {
  const outcomes = [...(attempts.get(endpoint)?.values() ?? [])].flatMap((leaves) => [...leaves])
  return { attempts: sum(outcomes), answered: sum(outcomes.filter(([outcome]) => ANSWERS.includes(outcome))) }
}

const ANSWERS: readonly string[] = ['answered', 'node-error', 'absent', 'behind'] satisfies readonly AttemptOutcome[]

type Leaf = readonly [outcome: string, count: number]

function outcomesOf({ requests }: OperationCounts): Leaf[] {
  return [...requests.values()].flatMap((leaves) => [...leaves])
}

function tallyView(leaves: readonly Leaf[]): RequestTallyView {
  const of = (kind: OutcomeKind) => sum(leaves.filter(([outcome]) => OUTCOME_KINDS[outcome as RequestOutcome] === kind))
  const nodeErrors = of('node-error')
  return {
    requests: sum(leaves),
    answered: of('answered') + nodeErrors,
    node_errors: nodeErrors,
    failed: of('failed'),
    refused: of('refused'),
    cancelled: of('cancelled'),
  }
}

function sum(leaves: readonly Leaf[]): number {
  return leaves.reduce((total, [, count]) => total + count, 0)
}

/** Count and quantiles of several histograms with the same bounds together. */
export function spreadView(histograms: readonly Histogram[]): SpreadView {
  const { bounds } = histograms[0] ?? { bounds: [] }
  const counts = [...bounds, Number.POSITIVE_INFINITY].map((_, bucket) =>
    histograms.reduce((sum, one) => sum + (one.counts()[bucket] ?? 0), 0),
  )
  return {
    count: counts.reduce((sum, count) => sum + count, 0),
    p50_seconds: quantile(bounds, counts, 0.5),
    p99_seconds: quantile(bounds, counts, 0.99),
  }
}

/** Like Prometheus's `histogram_quantile`: linear within a bucket, and never beyond the last bound. */
function quantile(bounds: readonly number[], counts: readonly number[], q: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let rank = q * total
  for (const [bucket, bound] of bounds.entries()) {
    const within = counts[bucket] ?? 0
    if (rank > within) {
      rank -= within
      continue
    }
    const from = bounds[bucket - 1] ?? 0
    return seconds(1000 * (within === 0 ? from : from + (bound - from) * (rank / within)))
  }
  return bounds.at(-1) ?? null
}
