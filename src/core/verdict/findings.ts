import { describeFailure, FAILURES, type Failure } from '../failure.ts'
import type { Thresholds } from '../network.ts'
import type { Liveness } from '../poll-result.ts'
import { checkOutcome, type PollResult } from '../poll-result.ts'
import { humanDuration, type UnixMs } from '../time.ts'
import type { ConditionCode, Finding } from './condition.ts'
import { ofBranch, ofShard, pushAge, pushStanding, type ShardStanding } from './head-findings.ts'
import { ofNothing, pushLiveness } from './liveness-findings.ts'

/**
 * Everything that one poll finds, before confirmation: the rules of all conditions, those of a check in the file of its
 * name. `liveness` is the latest known: it holds until the next liveness check. `timed`: our process ran during the whole
 * poll, so its duration is the node's.
 */
export function findingsOf(
  result: PollResult,
  liveness: Liveness | null,
  standings: readonly ShardStanding[],
  { thresholds, now, timed }: { readonly thresholds: Thresholds; readonly now: UnixMs; readonly timed: boolean },
): readonly Finding[] {
  const findings: Finding[] = []
  if (result.liveness?.ok === false) push(findings, ofFailure(result.liveness.failure, ''))
  // The heartbeat was converted to our clock when it was read.
  else if (liveness !== null) {
    pushLiveness(findings, liveness, thresholds, now)
    if (result.heads.length === 0 && liveness.checks.every(({ offered }) => offered === false)) {
      findings.push(ofNothing(liveness))
    }
  }
  const alike = allFailAlike(result.heads)
  for (const { shard, outcome } of result.heads) {
    if (!outcome.ok) push(findings, ofFailure(outcome.failure, alike ? '' : ofShard(shard)))
  }
  for (const standing of standings) {
    pushStanding(findings, standing, thresholds)
    if (standing.ageMs !== null) {
      const ageMs = Math.max(0, standing.ageMs + aheadMs(result.clockSkewMs, thresholds))
      pushAge(findings, standing, ageMs, thresholds, now)
    }
    push(findings, ofBranch(standing))
  }
  if (timed) push(findings, ofLatency(latencyOf(result), thresholds))
  push(findings, ofClock(skewOf(result, standings, now), thresholds))
  return oneOfEachCode(findings)
}

/** The skew, if our clock is ahead of the node's: ours may be wrong, and blocks only seem old. Otherwise 0. */
function aheadMs(skewMs: number | null, thresholds: Thresholds): number {
  return skewMs !== null && skewMs <= -thresholds.clockSkewMs ? skewMs : 0
}

function ofLatency(latencyMs: number | null, thresholds: Thresholds): Finding | null {
  if (latencyMs === null || latencyMs < thresholds.latencyMs) return null
  return { code: 'slow', verdict: 'degraded', message: `took ${humanDuration(latencyMs)} to answer` }
}

function ofClock(skewMs: number | null, thresholds: Thresholds): Finding | null {
  if (skewMs === null || Math.abs(skewMs) < thresholds.clockSkewMs) return null
  const direction = skewMs > 0 ? 'ahead of' : 'behind'
  return {
    code: 'clock-skewed',
    verdict: 'up',
    message: `the node's clock is ${humanDuration(Math.abs(skewMs))} ${direction} ours`,
  }
}

function ofFailure(failure: Failure, where: string): Finding | null {
  const code = FAILURES[failure.kind].condition
  if (code === null) return null
  return {
    code,
    verdict: code === 'rate-limited' ? 'degraded' : 'down',
    message: `${where}${describeFailure(failure)}`,
  }
}

/** Duration of the slowest check that succeeded; `null` if none did. */
export function latencyOf(result: PollResult): number | null {
  let slowest: number | null = null
  for (const check of result.endpoint.checks) {
    const outcome = checkOutcome(result, check)
    if (outcome?.ok) slowest = Math.max(slowest ?? 0, outcome.durationMs)
  }
  return slowest
}

/** The node's clock minus ours: by the Date header, or by a block or heartbeat from the future if that is larger. */
export function skewOf(result: PollResult, standings: readonly ShardStanding[], now: UnixMs): number | null {
  const heartbeatAt = result.liveness?.ok ? result.liveness.value.heartbeatAt : null
  let future = Math.max(0, (heartbeatAt ?? now) - now)
  for (const { head } of standings) future = Math.max(future, head.timestamp - now)
  const dated = result.clockSkewMs
  if (dated === null) return future > 0 ? future : null
  return future > Math.abs(dated) ? future : dated
}

/** If every shard fails in the same way, the endpoint is at fault, not a shard. */
function allFailAlike(heads: PollResult['heads']): boolean {
  const [first] = heads
  if (first === undefined || first.outcome.ok) return false
  const { kind } = first.outcome.failure
  return heads.every(({ outcome }) => !outcome.ok && outcome.failure.kind === kind)
}

function push(findings: Finding[], finding: Finding | null): void {
  if (finding !== null) findings.push(finding)
}

/** The worst finding of each code: the worst shard decides for a sharded endpoint. */
function oneOfEachCode(findings: readonly Finding[]): readonly Finding[] {
  if (findings.length < 2) return findings
  const byCode = new Map<ConditionCode, Finding>()
  for (const finding of findings) {
    const first = byCode.get(finding.code)
    if (first === undefined || (first.verdict !== 'down' && finding.verdict === 'down'))
      byCode.set(finding.code, finding)
  }
  return [...byCode.values()]
}
