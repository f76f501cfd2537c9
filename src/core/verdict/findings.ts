import type { ChainStanding } from '../chain/chain-view.ts'
import { describeFailure, FAILURES, type Failure } from '../failure.ts'
import { type Shard, shardName, type Thresholds } from '../network.ts'
import { checkOutcome, type Liveness, type PollResult } from '../poll-result.ts'
import { humanDuration, type UnixMs } from '../time.ts'
import { type ConditionCode, type Finding, shardsOf } from './condition.ts'
import { ofNothing, pushLiveness } from './liveness-findings.ts'

/**
 * Everything that one poll finds, before confirmation: the rules of all conditions, those of the liveness check in
 * liveness-findings.ts. `liveness` is the latest known: it holds until the next liveness check.
 */
export function findingsOf(
  result: PollResult,
  liveness: Liveness | null,
  standings: readonly ShardStanding[],
  { thresholds, now, timed, isComparable, livenessLimited, earlier }: FindingsOptions,
): readonly Finding[] {
  const findings: Finding[] = []
  if (result.liveness?.ok === false) push(findings, ofFailure(result.liveness.failure, ''))
  // The heartbeat was converted to our clock when it was read.
  else if (liveness !== null && !livenessLimited) {
    pushLiveness(findings, liveness, thresholds, now)
    if (result.heads.length === 0 && liveness.checks.every(({ offered }) => offered === false)) {
      findings.push(ofNothing(liveness))
    }
  }
  const alike = allFailAlike(result.heads)
  for (const { shard, outcome } of result.heads) {
    if (!outcome.ok) push(findings, ofFailure(outcome.failure, alike ? '' : ofShard(shard)))
  }
  findings.push(...earlier)
  for (const standing of isComparable ? standings : []) {
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

interface FindingsOptions {
  readonly thresholds: Thresholds
  readonly now: UnixMs
  /** Our process ran during the whole poll, so its duration is the node's. */
  readonly timed: boolean
  /** The other endpoints are known well enough to compare with them. */
  readonly isComparable: boolean
  /** The node limited the rate of its latest liveness check. */
  readonly livenessLimited: boolean
  /** What earlier polls have found, and this one could not look for. */
  readonly earlier: readonly Finding[]
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

/** The worst finding of each code, with all shards that have it: the worst one decides for a sharded endpoint. */
function oneOfEachCode(findings: readonly Finding[]): readonly Finding[] {
  if (findings.length < 2) return findings
  const byCode = new Map<ConditionCode, Finding>()
  for (const finding of findings) {
    const first = byCode.get(finding.code)
    if (first === undefined) byCode.set(finding.code, finding)
    else {
      const worse = first.verdict !== 'down' && finding.verdict === 'down' ? finding : first
      byCode.set(finding.code, { ...worse, shards: shardsOf([first, finding]) })
    }
  }
  return [...byCode.values()]
}

export interface ShardStanding extends ChainStanding {
  readonly shard: Shard
  /** The result of `isLagging`. */
  readonly lagging: boolean
  readonly lagMs: number
  readonly blockTimeMs: number
}

/** Lag behind the network's reference head, and a stall while the network advances. */
function pushStanding(findings: Finding[], standing: ShardStanding, thresholds: Thresholds): void {
  if (!standing.lagging && standing.stalledForMs === null) return
  const where = ofShard(standing.shard)
  if (standing.lagging) {
    const blocks = standing.lagBlocks === 1 ? '1 block' : `${standing.lagBlocks} blocks`
    findings.push({
      code: 'lagging',
      verdict: standing.lagBlocks >= thresholds.lagBlocksDown ? 'down' : 'degraded',
      message: `${where}${blocks} (${humanDuration(standing.lagMs)}) behind`,
      ...onShard(standing.shard),
    })
  }
  if (standing.stalledForMs !== null) {
    findings.push({
      code: 'stalled',
      verdict: 'degraded',
      message: `${where}${withoutBlock(standing.stalledForMs)}`,
      ...onShard(standing.shard),
    })
  }
}

/** What is to be said of a finding that `isAlone`. */
export const NOT_COMPARABLE =
  'without another endpoint at this height it is unknown whether the endpoint or the chain has stopped'

/** Where only the newest block's age counts: lagging while blocks arrive, stalled when none do. */
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
      ...onShard(shard),
    })
  }
  if (stands && ageMs >= thresholds.stallMs) {
    findings.push({
      code: 'stalled',
      verdict: 'degraded',
      ...(standing.isBehindHalf
        ? { message: `${where}${withoutBlock(ageMs)}` }
        : { message: `${where}no new block for ${humanDuration(ageMs)}; ${NOT_COMPARABLE}`, isAlone: true as const }),
      ...onShard(shard),
    })
  }
}

const withoutBlock = (ms: number) => `no new block for ${humanDuration(ms)} while the network advanced`

function ofBranch({ branch, shard }: ShardStanding): Finding | null {
  if (branch?.side !== 'against') return null
  const since = branch.agreedAt === null ? '' : `, since block ${branch.agreedAt}`
  return {
    code: 'forked',
    verdict: 'degraded',
    message: `${ofShard(shard)}different block than the majority at height ${branch.height}${since}`,
    ...onShard(shard),
  }
}

function onShard(shard: Shard): Pick<Finding, 'shards'> | null {
  return shard === null ? null : { shards: [shard] }
}

/** Empty if the chain is not sharded. */
function ofShard(shard: Shard): string {
  return shard === null ? '' : `${shardName(shard)}: `
}
