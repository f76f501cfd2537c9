import {
  type AskedOperation,
  type AttemptOutcome,
  OUTCOME_KINDS,
  REJECTION_REASONS,
  RETRY_REASONS,
  type RejectionReason,
  type RequestOutcome,
  type RetryReason,
} from '../core/routing/request-outcome.ts'
import { labelValue } from './endpoint-labels.ts'
import { createHistogram, type Histogram } from './histogram.ts'
import { createLines, type Lines } from './lines.ts'

/** For want of an endpoint, or because those that were tried in spite of their state have failed. */
const NOT_ANSWERED: readonly RejectionReason[] = ['no-endpoint', 'all-failed', 'deadline']

/** Counts the gateway's events and renders them as metrics; one count takes a few map lookups. */
export function createGatewaySeries() {
  const networks = new Map<string, NetworkCounts>()
  const unplaced = new Map<string, number>()
  const totals = { requests: 0, failed: 0 }

  function of(network: string): NetworkCounts {
    let found = networks.get(network)
    if (found === undefined) {
      found = {
        operations: new Map(),
        attempts: new Map(),
        rejections: new Map(),
        retries: new Map(),
        cache: { hit: 0, miss: 0 },
        degraded: 0,
        coalesced: 0,
        inFlight: 0,
      }
      networks.set(network, found)
    }
    return found
  }

  function ofOperation(network: string, operation: string): OperationCounts {
    return branch(of(network).operations, operation, () => ({
      durations: createHistogram(DURATION_BOUNDS_SECONDS),
      overheads: createHistogram(OVERHEAD_BOUNDS_SECONDS),
      timed: false,
      requests: new Map(),
    }))
  }

  return {
    /** The times are `null` for requests that were rejected before their operation was known. */
    answered(
      network: string,
      operation: AskedOperation,
      caller: string,
      outcome: RequestOutcome,
      durationMs: number | null,
      overheadMs: number | null,
    ): void {
      const counts = ofOperation(network, operation)
      if (durationMs !== null && overheadMs !== null) {
        counts.timed = true
        counts.durations.observe(durationMs)
        counts.overheads.observe(overheadMs)
      }
      count(branch(counts.requests, caller, newLeaves), outcome)
      totals.requests++
      if (OUTCOME_KINDS[outcome] === 'failed') totals.failed++
    },
    /** `network` is `null` if it is unknown or the caller may not use it. */
    rejected: (network: string | null, reason: RejectionReason): void =>
      count(network === null ? unplaced : of(network).rejections, reason),
    /** Number of requests that no endpoint of the network has answered. */
    unanswered(network: string): number {
      const rejections = networks.get(network)?.rejections
      return NOT_ANSWERED.reduce((sum, reason) => sum + (rejections?.get(reason) ?? 0), 0)
    },
    cacheLookup(network: string, result: 'hit' | 'miss'): void {
      of(network).cache[result]++
    },
    degraded(network: string): void {
      of(network).degraded++
    },
    coalesced(network: string): void {
      of(network).coalesced++
    },
    retried: (network: string, reason: RetryReason): void => count(of(network).retries, reason),
    attempted(network: string, endpoint: string, operation: AskedOperation, outcome: AttemptOutcome): void {
      const byOperation = branch(of(network).attempts, endpoint, newTwigs)
      count(branch(byOperation, operation, newOutcomes), outcome)
    },
    inFlight(network: string, by: 1 | -1): void {
      of(network).inFlight += by
    },

    /** Since the start, including networks that are no longer configured. */
    totals: () => ({ ...totals }),

    /** The counts by network. Drops those of everything that is no longer configured. */
    counts(state: GatewayState | null): GatewayCounts {
      if (state !== null) forgetRemoved(networks, state)
      return { of, unplaced: [...unplaced.values()].reduce((sum, one) => sum + one, 0) }
    },

    /** First drops the counts of everything that is no longer configured. Returns no lines without a gateway. */
    render(state: GatewayState | null): Lines {
      if (state === null) return {}
      forgetRemoved(networks, state)
      const { lines, add, addHistogram } = createLines()
      const addRejections = (bare: string, counts: Tree<number>) => {
        for (const reason of REJECTION_REASONS) {
          add('gateway_rejections_total', counts.get(reason) ?? 0, `${bare},reason="${reason}"`)
        }
      }
      addRejections('network=""', unplaced)
      for (const { name, endpoints } of state.networks) {
        const bare = `network="${labelValue(name)}"`
        const { operations, attempts, rejections, retries, cache, degraded, coalesced, inFlight: atWork } = of(name)
        for (const [operation, { durations, overheads, timed, requests }] of operations) {
          const labels = `${bare},operation="${operation}"`
          if (timed) addHistogram('gateway_request_duration_seconds', durations, labels)
          if (timed) addHistogram('gateway_overhead_seconds', overheads, labels)
          for (const [caller, outcomes] of requests) {
            for (const [outcome, value] of outcomes) {
              add('gateway_requests_total', value, `${labels},caller="${labelValue(caller)}",outcome="${outcome}"`)
            }
          }
        }
        for (const [endpoint, byOperation] of attempts) {
          for (const [operation, outcomes] of byOperation) {
            for (const [outcome, value] of outcomes) {
              const labels = `${bare},endpoint="${labelValue(endpoint)}",operation="${operation}",outcome="${outcome}"`
              add('gateway_attempts_total', value, labels)
            }
          }
        }
        add('gateway_requests_in_flight', atWork, bare)
        for (const { endpoint, excluded } of endpoints) {
          add('gateway_eligible', excluded === null ? 1 : 0, `${bare},endpoint="${labelValue(endpoint)}"`)
        }
        // Rendered from 0 on, because `increase()` misses the first event of a new series.
        for (const reason of RETRY_REASONS) {
          add('gateway_retries_total', retries.get(reason) ?? 0, `${bare},reason="${reason}"`)
        }
        add('gateway_cache_requests_total', cache.hit, `${bare},result="hit"`)
        add('gateway_cache_requests_total', cache.miss, `${bare},result="miss"`)
        add('gateway_degraded_total', degraded, bare)
        add('gateway_coalesced_total', coalesced, bare)
        addRejections(bare, rejections)
      }
      return lines
    },
  }
}

/** Drops the counts of callers, networks and endpoints that are no longer configured. */
function forgetRemoved(networks: Map<string, NetworkCounts>, state: GatewayState): void {
  const callers = new Set(state.callers.map(({ name }) => name))
  const known = new Map(
    state.networks.map(({ name, endpoints }) => [name, new Set(endpoints.map((one) => one.endpoint))]),
  )
  for (const [name, { operations, attempts, inFlight: atWork }] of networks) {
    const endpoints = known.get(name)
    if (endpoints === undefined) {
      // A request in flight still has to decrement `inFlight`.
      if (atWork === 0) networks.delete(name)
      continue
    }
    for (const endpoint of attempts.keys()) if (!endpoints.has(endpoint)) attempts.delete(endpoint)
    for (const { requests } of operations.values()) {
      for (const caller of requests.keys()) if (!callers.has(caller)) requests.delete(caller)
    }
  }
}

/** Counters since the start; each element of a batch counts. */
export interface GatewayCounts {
  readonly of: (network: string) => NetworkCounts
  /** Requests that were rejected before their network was known. */
  readonly unplaced: number
}

/** State of the gateway, read for each rendering. */
export interface GatewayState {
  readonly callers: readonly { readonly name: string }[]
  readonly networks: readonly {
    readonly name: string
    /** `excluded`: why the gateway cannot choose the endpoint; `null` when it can. */
    readonly endpoints: readonly { readonly endpoint: string; readonly excluded: unknown }[]
  }[]
}

/** The usual overhead is a tenth of a millisecond. */
const OVERHEAD_BOUNDS_SECONDS = [
  0.000_05, 0.000_1, 0.000_2, 0.000_3, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
]
const DURATION_BOUNDS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

function newLeaves(): Tree<number> {
  return new Map()
}

/** Starts `bad-answer` at 0 for an alert, because `increase()` misses the first event of a new series. */
function newOutcomes(): Tree<number> {
  return new Map([['bad-answer', 0]])
}

function newTwigs(): Tree<Tree<number>> {
  return new Map()
}

function branch<T>(tree: Tree<T>, name: string, grow: () => T): T {
  let found = tree.get(name)
  if (found === undefined) {
    found = grow()
    tree.set(name, found)
  }
  return found
}

function count(leaves: Tree<number>, name: string): void {
  leaves.set(name, (leaves.get(name) ?? 0) + 1)
}

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

type Tree<T> = Map<string, T>
