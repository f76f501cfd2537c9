import type { Thresholds } from '../network.ts'
import type { Outcome, PollResult } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { type ConditionCode, severity } from './condition.ts'
import { conditionsOf, confirm, confirmedOnly } from './confirm.ts'
import { findingsOf, latencyOf, type ShardStanding, skewOf } from './findings.ts'
import type { Health } from './health.ts'

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
  timed = true,
): Health {
  const { endpoint, startedAt } = result
  const findings = findingsOf(result, standings, thresholds, now, timed)
  const streaks = confirm(previous.confirmation, findings, startedAt, thresholds)
  return {
    endpoint,
    verdict: streaks.verdict,
    since: streaks.since,
    conditions: conditionsOf(streaks),
    lastPolledAt: startedAt,
    validUntil: result.finishedAt + 2 * endpoint.intervalMs,
    heads: headsAfter(previous, standings, startedAt),
    liveness: result.liveness?.ok ? result.liveness.value : null,
    latencyMs: timed ? latencyOf(result) : null,
    clockSkewMs: skewOf(result, standings, now),
    tlsNotAfter: result.tlsNotAfter ?? previous.tlsNotAfter,
    confirmation: streaks,
    laggingShards: laggingOf(standings),
  }
}

/**
 * The health after a poll that was spoilt by ourselves: it says nothing of the node, and the time from it on is unknown. What was
 * about to be confirmed has to begin again: polls before and after a gap are not in a row.
 */
export function withoutResult(previous: Health, startedAt: UnixMs): Health {
  return {
    ...previous,
    lastPolledAt: startedAt,
    validUntil: Math.min(previous.validUntil, startedAt),
    latencyMs: null,
    confirmation: confirmedOnly(previous.confirmation),
  }
}

/** Conditions for which asking again at once says no more than waiting: the node wants peace, or the others must be heard first. */
const PATIENT: ReadonlySet<ConditionCode> = new Set(['rate-limited', 'forked'])

/**
 * Whether the latest poll found something worse than the verdict that holds: asked again sooner, it is sooner known. One that
 * `wentBack` is late by that, but perhaps its whole chain went back: the others are heard first.
 */
export function isSuspect({ confirmation: streaks }: Health, wentBack: boolean): boolean {
  const latest = streaks.recent.at(-1)
  if (latest === undefined || latest.verdict === 'up') return false
  if (streaks.verdict !== null && severity(latest.verdict) <= severity(streaks.verdict)) return false
  const saysMore = (code: ConditionCode) => !PATIENT.has(code) && !(wentBack && code === 'lagging')
  return streaks.traces.some(
    ({ finding, missed }) => missed === 0 && finding.verdict === latest.verdict && saysMore(finding.code),
  )
}

/** How long the node asks to be left alone; 0 where it does not. */
export function waitMs(result: PollResult): number {
  let longest = result.liveness === null ? 0 : askedToWaitMs(result.liveness)
  for (const { outcome } of result.heads) longest = Math.max(longest, askedToWaitMs(outcome))
  return Math.min(longest, LONGEST_WAIT_MS)
}

function askedToWaitMs(outcome: Outcome<unknown>): number {
  return !outcome.ok && outcome.failure.kind === 'rate-limited' ? (outcome.failure.retryAfterMs ?? 0) : 0
}

function laggingOf(standings: readonly ShardStanding[]): Health['laggingShards'] {
  if (standings.every(({ lagging }) => !lagging)) return NONE
  return standings.filter(({ lagging }) => lagging).map(({ shard }) => shard)
}

const NONE: Health['laggingShards'] = Object.freeze([])

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
    const { lagBlocks, lagMs, advancedAt } = standing
    const { height, hash, parentHash, timestamp } = standing.head
    heads.push({ shard, height, hash, parentHash, timestamp, lagBlocks, lagMs, advancedAt, readAt })
  }
  return heads
}
