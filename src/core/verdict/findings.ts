import type { ChainStanding } from '../chain/chain-view.ts'
import { describeFailure, FAILURES, type Failure } from '../failure.ts'
import { type Shard, shardName, type Thresholds } from '../network.ts'
import type { Liveness } from '../poll-result.ts'
import { checkOutcome, type PollResult } from '../poll-result.ts'
import { humanDuration, type UnixMs } from '../time.ts'
import type { ConditionCode, Finding } from './condition.ts'
import { pushReport } from './report-findings.ts'

/**
 * Everything that one poll finds, before confirmation: the rules of all conditions. `liveness` is the latest known: it
 * holds until the next liveness check. `timed`: our process ran during the whole poll, so its duration is the node's.
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
      push(findings, ofNothing(liveness))
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

export interface ShardStanding extends ChainStanding {
  readonly shard: Shard
  /** The result of `isLagging`. */
  readonly lagging: boolean
  readonly lagMs: number
  readonly blockTimeMs: number
}

function pushLiveness(findings: Finding[], liveness: Liveness, thresholds: Thresholds, now: UnixMs): void {
  if (liveness.report !== undefined) return pushReport(findings, liveness.report, liveness.checks, thresholds)
  if (!liveness.healthy) {
    findings.push({ code: 'unhealthy', verdict: 'down', message: unhealthyMessage(liveness) })
  }
  if (liveness.checks.length === 0) push(findings, ofNothing(liveness))
  const isFailing = (check: Liveness['checks'][number]) => check.contiguousFailures >= thresholds.contiguousFailures
  if (liveness.checks.some(isFailing)) {
    const failing = liveness.checks.filter(isFailing)
    const [worstCheck] = failing.sort((a, b) => b.contiguousFailures - a.contiguousFailures)
    const others = failing.length > 1 ? ` and ${failing.length - 1} more` : ''
    findings.push({
      code: 'check-failing',
      verdict: 'degraded',
      message: `the node's own check “${worstCheck?.name}”${others} failed ${worstCheck?.contiguousFailures} times in a row`,
    })
  }
  const heartbeatLagMs = liveness.heartbeatAt === null ? 0 : now - liveness.heartbeatAt
  if (heartbeatLagMs >= thresholds.heartbeatMs) {
    findings.push({
      code: 'heartbeat-stale',
      verdict: 'degraded',
      message: `no network message handled for ${humanDuration(heartbeatLagMs)}`,
    })
  }
}

function ofNothing({ checks, healthy }: Liveness): Finding {
  const says = checks.length > 0 ? 'offers none of its checks' : 'reports itself healthy without any check'
  return { code: 'no-evidence', verdict: 'up', message: `the node ${healthy ? says : 'lists no checks'}` }
}

function unhealthyMessage({ checks }: Liveness): string {
  const failing = checks.filter((check) => !check.healthy).map((check) => check.name)
  if (failing.length === 0) return 'the node reports itself unhealthy'
  const named = failing.slice(0, 3).join(', ')
  return `the node reports itself unhealthy: ${named}${failing.length > 3 ? ` and ${failing.length - 3} more` : ''}`
}

function pushStanding(findings: Finding[], standing: ShardStanding, thresholds: Thresholds): void {
  if (!standing.lagging && standing.stalledForMs === null) return
  const where = ofShard(standing.shard)
  if (standing.lagging) {
    const blocks = standing.lagBlocks === 1 ? '1 block' : `${standing.lagBlocks} blocks`
    findings.push({
      code: 'lagging',
      verdict: standing.lagBlocks >= thresholds.lagBlocksDown ? 'down' : 'degraded',
      message: `${where}${blocks} (${humanDuration(standing.lagMs)}) behind`,
    })
  }
  if (standing.stalledForMs !== null) {
    findings.push({
      code: 'stalled',
      verdict: 'degraded',
      message: `${where}no new block for ${humanDuration(standing.stalledForMs)} while the network advanced`,
    })
  }
}

/** The skew, if our clock is ahead of the node's: ours may be wrong, and blocks only seem old. Otherwise 0. */
function aheadMs(skewMs: number | null, thresholds: Thresholds): number {
  return skewMs !== null && skewMs <= -thresholds.clockSkewMs ? skewMs : 0
}

/** What is to be said of a finding that `isAlone`. */
export const NOT_COMPARABLE = 'without another endpoint it is unknown whether the endpoint or the chain has stopped'

/** Without another endpoint, only the newest block's age counts: lagging while blocks arrive, stalled when none do. */
function pushAge(
  findings: Finding[],
  standing: ShardStanding,
  ageMs: number,
  thresholds: Thresholds,
  now: UnixMs,
): void {
  const { blockTimeMs, shard } = standing
  const where = ofShard(shard)
  const stands = now - standing.advancedAt >= thresholds.stallMs
  const isFarBehind = ageMs >= Math.max(thresholds.stallMs, thresholds.lagBlocksDown * blockTimeMs)
  const isBehind = ageMs >= Math.max(thresholds.stallMs, thresholds.lagBlocks * blockTimeMs)
  if (isFarBehind || (isBehind && !stands)) {
    findings.push({
      code: 'lagging',
      verdict: isFarBehind ? 'down' : 'degraded',
      message: `${where}its newest block is ${humanDuration(ageMs)} old`,
    })
  }
  if (stands && ageMs >= thresholds.stallMs) {
    findings.push({
      code: 'stalled',
      verdict: 'degraded',
      message: `${where}no new block for ${humanDuration(ageMs)}; ${NOT_COMPARABLE}`,
      isAlone: true,
    })
  }
}

function ofBranch({ branch, shard }: ShardStanding): Finding | null {
  if (branch?.side !== 'against') return null
  const since = branch.agreedAt === null ? '' : `, since block ${branch.agreedAt}`
  return {
    code: 'forked',
    verdict: 'degraded',
    message: `${ofShard(shard)}different block than the majority at height ${branch.height}${since}`,
  }
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

function ofShard(shard: Shard): string {
  return shard === null ? '' : `${shardName(shard)}: `
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
