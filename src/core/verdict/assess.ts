import type { Shard, Thresholds } from '../network.ts'
import { type Outcome, type PollResult, rateLimitOf, unansweredQuestions } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { type ConditionCode, type Finding, isRelative, severity } from './condition.ts'
import { conditionsOf, confirm, confirmedNow, confirmedOnly } from './confirm.ts'
import { findingsOf, latencyOf, type ShardStanding, skewOf } from './findings.ts'
import type { Health } from './health.ts'
import { isLivenessLimited, livenessAfter, OF_LIVENESS, unansweredFor } from './liveness.ts'

/**
 * The health of an endpoint after a poll. `standings` are the shards whose head the poll read. `timed`: the poll's
 * duration is the node's. `isComparable`: the other endpoints are known well enough to compare it with them.
 */
export function assess(
  result: PollResult,
  previous: Health,
  standings: readonly ShardStanding[],
  thresholds: Thresholds,
  now: UnixMs,
  { timed, isComparable } = { timed: true, isComparable: true },
): Health {
  const { endpoint, startedAt } = result
  const liveness = livenessAfter(previous.liveness, result.liveness, startedAt)
  const livenessLimited = isLivenessLimited(previous, result.liveness)
  const unanswered = unansweredFor(liveness, result.liveness, livenessLimited)
  const earlier = earlierFindings(previous, result, { isComparable, livenessLimited, unanswered, timed })
  const options = { thresholds, now, timed, isComparable, livenessLimited, earlier }
  const findings = findingsOf(result, liveness, standings, options)
  const mayLag = !isComparable && standings.some(({ lagging }) => lagging)
  const confirmed = confirm(previous.confirmation, findings, startedAt, thresholds, unansweredQuestions(result))
  // Not called up before it can be compared.
  const isEarly = mayLag && previous.verdict === null && confirmed.verdict === 'up'
  const confirmation = isEarly ? { ...confirmed, verdict: null, since: previous.since } : confirmed
  return {
    endpoint,
    verdict: confirmation.verdict,
    since: confirmation.since,
    conditions: conditionsOf(confirmation),
    lastPolledAt: startedAt,
    validUntil: result.finishedAt + 2 * endpoint.intervalMs,
    heads: headsAfter(previous, standings, startedAt),
    liveness,
    livenessLimited,
    latencyMs: timed ? latencyOf(result) : null,
    clockSkewMs: skewOf(result, standings, now),
    tlsNotAfter: result.tlsNotAfter ?? previous.tlsNotAfter,
    confirmation,
    laggingShards: isComparable ? laggingOf(standings, previous, result) : previous.laggingShards,
  }
}

/**
 * What is confirmed and this poll could not look for. A node that limits our rate or fails to answer a question does not
 * show that it has recovered, and neither does one that cannot be compared yet, or whose poll was not `timed`.
 */
function earlierFindings(
  { confirmation }: Health,
  result: PollResult,
  { isComparable, livenessLimited, unanswered, timed }: Unseen,
): readonly Finding[] {
  const limited = limitedShards(result)
  const isLimitedAtAll = livenessLimited || limited.length > 0
  if (isComparable && !isLimitedAtAll && unanswered.size === 0 && timed) return NOTHING
  const { heads, liveness } = result
  const answersNothing = liveness?.ok !== true && heads.every(({ outcome }) => !outcome.ok)
  return confirmedNow(confirmation).filter(({ code, shards }) => {
    if (OF_LIVENESS.has(code)) return unanswered.has(code)
    if (code === 'slow') return !timed
    if (code === 'wrong-network') return isLimitedAtAll && answersNothing
    if (!isRelative(code)) return false
    return !isComparable || limited.some((shard) => shard === null || shards?.includes(shard) !== false)
  })
}

/** What this poll could not look for. */
interface Unseen {
  readonly isComparable: boolean
  readonly livenessLimited: boolean
  readonly unanswered: ReadonlySet<ConditionCode>
  readonly timed: boolean
}

function limitedShards({ heads }: PollResult): readonly Shard[] {
  if (heads.every(({ outcome }) => outcome.ok)) return NOTHING
  return heads.filter(({ outcome }) => rateLimitOf(outcome) !== null).map(({ shard }) => shard)
}

/**
 * The health after a poll that failed by our own fault: unknown from that poll on. Confirmation begins again, because
 * polls before and after a gap are not consecutive.
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

/** An early poll cannot confirm these: the node is rate-limiting us, or other endpoints must report first. */
const NOT_URGENT: ReadonlySet<ConditionCode> = new Set(['rate-limited', 'forked'])

/**
 * Whether the latest poll found something worse than the verdict, which an early poll can confirm, or could not be compared
 * yet. Lagging does not count if the endpoint `wentBack`: perhaps its whole chain did, so other endpoints must report first.
 */
export function isSuspect({ confirmation }: Health, wentBack: boolean): boolean {
  const latest = confirmation.recent.at(-1)
  if (latest === undefined) return false
  if (latest.verdict === 'up') return confirmation.verdict === null
  if (confirmation.verdict !== null && severity(latest.verdict) <= severity(confirmation.verdict)) return false
  const isUrgent = (code: ConditionCode) => !NOT_URGENT.has(code) && !(wentBack && code === 'lagging')
  return confirmation.traces.some(
    ({ finding, missed }) => missed === 0 && finding.verdict === latest.verdict && isUrgent(finding.code),
  )
}

/** How long the node asks us to wait before the next poll; 0 if it does not ask. */
export function waitMs(result: PollResult): number {
  let longest = result.liveness === null ? 0 : retryAfterMs(result.liveness)
  for (const { outcome } of result.heads) longest = Math.max(longest, retryAfterMs(outcome))
  return longest
}

function retryAfterMs(outcome: Outcome<unknown>): number {
  return rateLimitOf(outcome)?.retryAfterMs ?? 0
}

function laggingOf(
  standings: readonly ShardStanding[],
  { laggingShards }: Health,
  result: PollResult,
): Health['laggingShards'] {
  const unknown = laggingShards.length === 0 ? NOTHING : limitedShards(result)
  if (unknown.length === 0 && standings.every(({ lagging }) => !lagging)) return NOTHING
  const found = standings.filter(({ lagging }) => lagging).map(({ shard }) => shard)
  return [...found, ...unknown.filter((shard) => laggingShards.includes(shard))]
}

const NOTHING: readonly never[] = Object.freeze([])

/** A shard without a head in this poll keeps its last one: the conditions say why. */
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
  // A copy has no room for more; it is kept until the next poll of its endpoint.
  return [...heads]
}
