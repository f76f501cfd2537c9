import {
  type AttemptOutcome,
  RETRY_REASONS,
  type RequestOutcome,
  type RetryReason,
} from '../core/routing/request-outcome.ts'
import type { Histogram } from './histogram.ts'
import { type DurationSummary, summaryOf } from './histogram.ts'

/** Sums up the gateway's counters for the API. */
export function trafficOf(networks: ReadonlyMap<string, NetworkCounts>, unplaced: Tree<number>): GatewayTraffic {
  return {
    networks: [...networks].map(([name, of]) => networkTraffic(name, of)),
    unplaced: [...unplaced.values()].reduce((sum, count) => sum + count, 0),
  }
}

/** Counters since the start; each element of a batch counts. */
export interface GatewayTraffic {
  readonly networks: readonly NetworkTraffic[]
  /** Requests that were rejected before their network was known. */
  readonly unplaced: number
}

export interface RequestTally {
  readonly requests: number
  /** Answered by a node, including with its own errors. */
  readonly answered: number
  /** The part of `answered` that are errors of a node. */
  readonly nodeErrors: number
  /** No usable endpoint, every attempt failed, deadline, or overloaded. */
  readonly failed: number
  /** Invalid, or not allowed. */
  readonly refused: number
  readonly cancelled: number
}

export interface NetworkTraffic extends RequestTally {
  readonly name: string
  readonly durations: DurationSummary
  readonly overheads: DurationSummary
  readonly operations: readonly (RequestTally & {
    readonly name: string
    readonly durations: DurationSummary
    readonly overheads: DurationSummary
  })[]
  /** Requests sent to each endpoint, including retries and hedged requests. */
  readonly endpoints: readonly { readonly name: string; readonly attempts: number; readonly answered: number }[]
  readonly retries: Readonly<Record<RetryReason, number>>
  readonly cache: { readonly hits: number; readonly misses: number }
  readonly coalesced: number
  readonly degraded: number
  readonly rejections: readonly { readonly reason: string; readonly count: number }[]
}

function networkTraffic(name: string, of: NetworkCounts): NetworkTraffic {
  const timed = [...of.operations.values()].filter((operation) => operation.timed)
  return {
    name,
    ...tally([...of.operations.values()].flatMap(outcomesOf)),
    durations: summaryOf(timed.map(({ durations }) => durations)),
    overheads: summaryOf(timed.map(({ overheads }) => overheads)),
    operations: [...of.operations]
      .map(([operation, counts]) => ({
        name: operation,
        ...tally(outcomesOf(counts)),
        durations: summaryOf([counts.durations]),
        overheads: summaryOf([counts.overheads]),
      }))
      .sort((a, b) => b.requests - a.requests),
    endpoints: [...of.attempts].map(([endpoint, byOperation]) => {
      const outcomes = [...byOperation.values()].flatMap((leaves) => [...leaves])
      return {
        name: endpoint,
        attempts: sum(outcomes),
        answered: sum(outcomes.filter(([outcome]) => isAnswer(outcome))),
      }
    }),
    retries: Object.fromEntries(RETRY_REASONS.map((reason) => [reason, of.retries.get(reason) ?? 0])) as Record<
      RetryReason,
      number
    >,
    cache: { hits: of.cache.hit, misses: of.cache.miss },
    coalesced: of.coalesced,
    degraded: of.degraded,
    rejections: [...of.rejections].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count),
  }
}

type Leaf = readonly [outcome: string, count: number]

function outcomesOf({ requests }: OperationCounts): Leaf[] {
  return [...requests.values()].flatMap((leaves) => [...leaves])
}

function tally(leaves: readonly Leaf[]): RequestTally {
  const of = (kind: OutcomeKind) => sum(leaves.filter(([outcome]) => OUTCOME_KINDS[outcome as RequestOutcome] === kind))
  const nodeErrors = of('node-error')
  return {
    requests: sum(leaves),
    answered: of('answered') + nodeErrors,
    nodeErrors,
    failed: of('failed'),
    refused: of('refused'),
    cancelled: of('cancelled'),
  }
}

function sum(leaves: readonly Leaf[]): number {
  return leaves.reduce((total, [, count]) => total + count, 0)
}

type OutcomeKind = 'answered' | 'node-error' | 'failed' | 'refused' | 'cancelled'

/** A failure is caused by us or the nodes, a refusal by the caller. */
export const OUTCOME_KINDS: Readonly<Record<RequestOutcome, OutcomeKind>> = {
  answered: 'answered',
  'node-error': 'node-error',
  cancelled: 'cancelled',
  unparsable: 'refused',
  'no-request': 'refused',
  'unknown-method': 'refused',
  'bad-params': 'refused',
  'content-type': 'refused',
  'http-method': 'refused',
  'unknown-route': 'refused',
  'too-large': 'refused',
  'answer-too-large': 'refused',
  unauthorized: 'refused',
  forbidden: 'refused',
  'rate-limited': 'refused',
  'no-endpoint': 'failed',
  'all-failed': 'failed',
  deadline: 'failed',
  'outcome-unknown': 'failed',
  overloaded: 'failed',
}

function isAnswer(outcome: string): boolean {
  return ANSWERS.includes(outcome)
}

const ANSWERS: readonly string[] = ['answered', 'node-error', 'absent', 'behind'] satisfies readonly AttemptOutcome[]

/** The counters of one network, in nested maps instead of joined keys, so that counting allocates nothing. */
export interface NetworkCounts {
  readonly operations: Tree<OperationCounts>
  /** By endpoint, operation, outcome. */
  readonly attempts: Tree<Tree<Tree<number>>>
  readonly rejections: Tree<number>
  readonly retries: Tree<number>
  readonly cache: { hit: number; miss: number }
  degraded: number
  coalesced: number
  inFlight: number
}

export interface OperationCounts {
  readonly durations: Histogram
  readonly overheads: Histogram
  timed: boolean
  /** By caller, then by outcome. */
  readonly requests: Tree<Tree<number>>
}

export type Tree<T> = Map<string, T>
