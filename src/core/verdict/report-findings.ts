import type { Thresholds } from '../network.ts'
import { CONSENSUS_HEALTH, type ConsensusReport, type Liveness, type NodeReport } from '../poll-result.ts'
import type { Finding } from './condition.ts'

/** The rules for what a node answers to our questions about its own state. What it does not tell is no finding. */
export function pushReport(
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
  if (unanswered.length > 0 && !isUnreached && consensus?.state !== 'down') {
    const [first] = unanswered
    findings.push({
      code: 'check-failing',
      verdict: 'degraded',
      message: `${unanswered.map(({ name }) => name).join(', ')} failed ${first?.contiguousFailures} times in a row: ${first?.error}`,
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
