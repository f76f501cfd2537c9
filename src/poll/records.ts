import type { EndpointKey } from '../core/endpoint.ts'
import type { FailureKind } from '../core/failure.ts'
import { checkOutcome, type PollResult } from '../core/poll-result.ts'
import type { HeadStanding, Health } from '../core/verdict/health.ts'
import type { PollRecord } from '../store/store.ts'

/** A judged poll, as kept: of a sharded endpoint the worst shard. */
export function recordOf(endpoint: EndpointKey, health: Health, fresh: boolean, result: PollResult): PollRecord {
  const at = result.startedAt
  let furthest: HeadStanding | null = null
  for (const head of health.heads)
    if (furthest === null || (head.lagBlocks ?? 0) > (furthest.lagBlocks ?? 0)) furthest = head
  const heartbeatAt = health.liveness?.heartbeatAt ?? null
  return {
    endpoint,
    at,
    state: health.verdict ?? 'unknown',
    fresh,
    latencyMs: health.latencyMs,
    height: furthest?.height ?? null,
    lagBlocks: furthest?.lagBlocks ?? null,
    heartbeatLagMs: heartbeatAt === null ? null : Math.max(0, at - heartbeatAt),
    contiguousFailures: mostContiguousFailures(health),
    failure: firstFailure(result),
  }
}

/** A poll that says nothing of the node: nothing is known from here on. */
export function lostRecord(endpoint: EndpointKey, result: PollResult): PollRecord {
  return {
    endpoint,
    at: result.startedAt,
    state: 'unknown',
    fresh: false,
    latencyMs: null,
    height: null,
    lagBlocks: null,
    heartbeatLagMs: null,
    contiguousFailures: null,
    failure: firstFailure(result),
  }
}

export function firstFailure(result: PollResult): FailureKind | null {
  for (const check of result.endpoint.checks) {
    const outcome = checkOutcome(result, check)
    if (outcome !== null && !outcome.ok) return outcome.failure.kind
  }
  return null
}

function mostContiguousFailures({ liveness }: Health): number | null {
  if (liveness === null) return null
  let most = 0
  for (const { contiguousFailures } of liveness.checks) most = Math.max(most, contiguousFailures)
  return most
}
