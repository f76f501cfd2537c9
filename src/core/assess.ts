import { conditionsOf, confirm } from './confirm.ts'
import { findingsOf, latencyOf, type ShardStanding, skewOf } from './findings.ts'
import type { Health } from './health.ts'
import type { Thresholds } from './network.ts'
import type { PollResult } from './poll-result.ts'
import type { UnixMs } from './time.ts'

/** A node that asks us to wait longer than this is asked again all the same. */
const LONGEST_WAIT_MS = 3_600_000

/**
 * The health of an endpoint after a poll: a function of what the poll says, what was known before, and where the chain is.
 * `standings` holds the shards whose head the poll read.
 */
export function assess(
  result: PollResult,
  previous: Health,
  standings: readonly ShardStanding[],
  thresholds: Thresholds,
  now: UnixMs,
): Health {
  const { endpoint, startedAt } = result
  const findings = findingsOf(result, standings, thresholds, now)
  const streaks = confirm(previous.streaks, findings, startedAt, thresholds)
  return {
    endpoint,
    verdict: streaks.verdict,
    since: streaks.since,
    conditions: conditionsOf(streaks),
    lastPolledAt: startedAt,
    validUntil: result.finishedAt + 2 * endpoint.intervalMs,
    heads: headsAfter(previous, standings, startedAt),
    liveness: result.liveness?.ok ? result.liveness.value : null,
    latencyMs: latencyOf(result),
    clockSkewMs: skewOf(result, standings, now),
    tlsNotAfter: result.tlsNotAfter ?? previous.tlsNotAfter,
    streaks,
    laggingShards: standings.filter((standing) => standing.lagging).map((standing) => standing.shard),
  }
}

/** How long the node asks to be left alone; 0 where it does not. */
export function waitMs(result: PollResult): number {
  let longest = 0
  const outcomes = result.liveness === null ? [] : [result.liveness]
  for (const outcome of [...outcomes, ...result.heads.map((head) => head.outcome)]) {
    if (!outcome.ok && outcome.failure.kind === 'rate-limited') {
      longest = Math.max(longest, outcome.failure.retryAfterMs ?? 0)
    }
  }
  return Math.min(longest, LONGEST_WAIT_MS)
}

/** A shard that gave no head in this poll keeps its last one: it is old, and the conditions say so. */
function headsAfter(previous: Health, standings: readonly ShardStanding[], readAt: UnixMs): Health['heads'] {
  const heads: Health['heads'][number][] = []
  for (const shard of previous.endpoint.shards) {
    const standing = standings.find((candidate) => candidate.shard === shard)
    if (standing === undefined) {
      const last = previous.heads.find((head) => head.shard === shard)
      if (last !== undefined) heads.push(last)
      continue
    }
    const { head, lagBlocks, lagMs, advancedAt } = standing
    heads.push({ shard, ...head, lagBlocks, lagMs, advancedAt, readAt })
  }
  return heads
}
