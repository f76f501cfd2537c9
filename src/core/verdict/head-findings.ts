import type { ChainStanding } from '../chain/chain-view.ts'
import { type Shard, shardName, type Thresholds } from '../network.ts'
import { humanDuration, type UnixMs } from '../time.ts'
import type { Finding } from './condition.ts'

export interface ShardStanding extends ChainStanding {
  readonly shard: Shard
  /** The result of `isLagging`. */
  readonly lagging: boolean
  readonly lagMs: number
  readonly blockTimeMs: number
}

/** Lag behind the network's reference head, and a stall while the network advances. */
export function pushStanding(findings: Finding[], standing: ShardStanding, thresholds: Thresholds): void {
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

/** What is to be said of a finding that `isAlone`. */
export const NOT_COMPARABLE = 'without another endpoint it is unknown whether the endpoint or the chain has stopped'

/** Without another endpoint, only the newest block's age counts: lagging while blocks arrive, stalled when none do. */
export function pushAge(
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

export function ofBranch({ branch, shard }: ShardStanding): Finding | null {
  if (branch?.side !== 'against') return null
  const since = branch.agreedAt === null ? '' : `, since block ${branch.agreedAt}`
  return {
    code: 'forked',
    verdict: 'degraded',
    message: `${ofShard(shard)}different block than the majority at height ${branch.height}${since}`,
  }
}

/** Empty if the chain is not sharded. */
export function ofShard(shard: Shard): string {
  return shard === null ? '' : `${shardName(shard)}: `
}
