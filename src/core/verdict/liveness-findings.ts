import type { Thresholds } from '../network.ts'
import {
  CONSENSUS_CHECKS,
  CONSENSUS_HEALTH,
  type ConsensusReport,
  type Liveness,
  type NodeReport,
} from '../poll-result.ts'
import { humanDuration, type UnixMs } from '../time.ts'
import { type Finding, named } from './condition.ts'

/** The rules for what a node reports about its own health: by checks that it runs itself, or by answers to our questions. */
export function pushLiveness(findings: Finding[], liveness: Liveness, thresholds: Thresholds, now: UnixMs): void {
  if (liveness.report !== undefined) return pushReport(findings, liveness.report, liveness.checks, thresholds)
  if (!liveness.healthy) {
    findings.push({ code: 'unhealthy', verdict: 'down', message: unhealthyMessage(liveness) })
  }
  if (liveness.checks.length === 0) findings.push(ofNothing(liveness))
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

export function ofNothing({ checks, healthy }: Liveness): Finding {
  const says = checks.length > 0 ? 'offers none of its checks' : 'reports itself healthy without any check'
  return { code: 'no-evidence', verdict: 'up', message: `the node ${healthy ? says : 'lists no checks'}` }
}

function unhealthyMessage({ checks }: Liveness): string {
  const failing = checks.filter((check) => !check.healthy).map((check) => check.name)
  if (failing.length === 0) return 'the node reports itself unhealthy'
  return `the node reports itself unhealthy: ${named(failing, 3)}`
}

/** The rules for what a node answers to our questions about its own state. What it does not tell is no finding. */
function pushReport(
  findings: Finding[],
  { sync, peers, consensus }: NodeReport,
  checks: Liveness['checks'],
  thresholds: Thresholds,
): void {
  if (sync?.isSyncing === true) {
    findings.push({
      code: 'syncing',
      verdict: 'degraded',
      message: `the node is syncing${toGo(sync.remainingBlocks, 'block')}`,
    })
  }
  const unanswered = checks.filter(
    ({ error, contiguousFailures }) => error !== null && contiguousFailures >= thresholds.contiguousFailures,
  )
  // The execution node answers: our own network is not why the consensus node stays out of reach.
  const isUnreached = consensus?.state === 'unreached' && unanswered.some(({ name }) => name === CONSENSUS_HEALTH)
  if (isUnreached) pushConsensusDown(findings, consensus.reason)
  else if (consensus !== null) pushConsensus(findings, consensus)
  const few = [
    ...fewPeers('', peers, thresholds),
    ...fewPeers('the consensus node: ', consensus?.peers ?? null, thresholds),
  ]
  if (few.length > 0) findings.push({ code: 'few-peers', verdict: 'degraded', message: few.join('; ') })
  // A consensus node that is down does not answer its questions either.
  const isDown = isUnreached || consensus?.state === 'down'
  const failing = isDown ? unanswered.filter(({ name }) => !name.startsWith(CONSENSUS_CHECKS)) : unanswered
  if (failing.length > 0) {
    const [first] = failing
    findings.push({
      code: 'check-failing',
      verdict: 'degraded',
      message: `${failing.map(({ name }) => name).join(', ')} failed ${first?.contiguousFailures} times in a row: ${first?.error}`,
    })
  }
}

function pushConsensus(findings: Finding[], { state, reason, remainingSlots }: ConsensusReport): void {
  switch (state) {
    case 'down':
      pushConsensusDown(findings, reason)
      break
    case 'syncing':
      pushConsensusSyncing(findings, `the consensus node is syncing${toGo(remainingSlots, 'slot')}`)
      break
    case 'optimistic':
      pushConsensusSyncing(findings, 'the consensus node follows the chain without verified blocks (optimistic)')
      break
    case 'without-execution':
      pushConsensusSyncing(findings, 'the consensus node does not reach its execution node')
      break
    case 'synced':
    case 'unreached':
    case null:
  }
}

function pushConsensusDown(findings: Finding[], reason: string | null): void {
  findings.push({ code: 'consensus-down', verdict: 'down', message: `the consensus node does not work: ${reason}` })
}

function pushConsensusSyncing(findings: Finding[], message: string): void {
  findings.push({ code: 'consensus-syncing', verdict: 'degraded', message })
}

function toGo(remaining: number | null, unit: string): string {
  if (remaining === null || remaining === 0) return ''
  return `: ${remaining} ${unit}${remaining === 1 ? '' : 's'} to go`
}

function fewPeers(whose: string, peers: number | null, { minPeers }: Thresholds): readonly string[] {
  if (peers === null || peers >= minPeers) return []
  return [`${whose}${peers === 1 ? '1 peer' : `${peers} peers`}, fewer than ${minPeers}`]
}
