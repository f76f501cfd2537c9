import { describeFailure } from '../failure.ts'
import {
  CONSENSUS_CHECKS,
  type Liveness,
  type LivenessOutcome,
  type NodeCheck,
  type Outcome,
  rateLimitOf,
} from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import type { ConditionCode } from './condition.ts'
import type { ConfirmationState } from './confirm.ts'
import type { Health } from './health.ts'

/**
 * What is known of a node's liveness after a poll; `outcome` is `null` if the poll did not ask. Nodes that run their
 * own checks count the failures; where the checks are our questions, polls in a row are counted here.
 */
export function livenessAfter(previous: Liveness | null, outcome: LivenessOutcome | null, at: UnixMs): Liveness | null {
  if (outcome === null) return previous
  if (outcome.ok) {
    const { value } = outcome
    return value.report === undefined || value.healthy
      ? value
      : { ...value, checks: counted(value.checks, previous, at) }
  }
  if (previous?.report === undefined) return null
  const error = describeFailure(outcome.failure)
  const asked = previous.checks.filter(({ name }) => !name.startsWith(CONSENSUS_CHECKS))
  const unanswered = asked.map((check) => (check.offered === false ? check : { ...check, healthy: false, error }))
  const checks = counted(unanswered.concat(outcome.told?.checks ?? []), previous, at)
  const report = { ...previous.report, sync: null, peers: null, consensus: outcome.told?.report?.consensus ?? null }
  return { healthy: false, checks, heartbeatAt: null, report, unanswered: true }
}

/** A question about a node's state that was not answered, or with a failure, in a row. */
export type FailingQuestion = Pick<NodeCheck, 'name' | 'contiguousFailures' | 'failingSince'>

/** Those of which the failures are counted here: they must be saved for a restart. */
export function failingQuestions(liveness: Liveness | null): readonly FailingQuestion[] | undefined {
  if (liveness?.report === undefined) return undefined
  const failing = liveness.checks.filter(({ contiguousFailures }) => contiguousFailures > 0)
  if (failing.length === 0) return undefined
  return failing.map(({ name, contiguousFailures, failingSince }) => ({ name, contiguousFailures, failingSince }))
}

/** What is known of a node's liveness after a restart: only how often questions have failed in a row. */
export function livenessOf(failing: readonly FailingQuestion[]): Liveness | null {
  if (failing.length === 0) return null
  const checks = failing.map((one) => ({ ...one, healthy: false, error: null, checkedAt: null, durationMs: null }))
  const report = { sync: null, peers: null, client: null, consensus: null }
  return { healthy: false, checks, heartbeatAt: null, report, unanswered: true }
}

/** The conditions that only the liveness check finds. */
export const OF_LIVENESS: ReadonlySet<ConditionCode> = new Set([
  'unhealthy',
  'check-failing',
  'heartbeat-stale',
  'no-evidence',
  'syncing',
  'few-peers',
  'consensus-syncing',
  'consensus-down',
])

/**
 * The conditions that were not answered for when the node was last asked: they may not be over. A check that failed as a
 * whole is a finding itself, but none of what its consensus node told. `isLimited`: the node limited the rate of that check.
 */
export function unansweredFor(
  liveness: Liveness | null,
  outcome: LivenessOutcome | null,
  isLimited: boolean,
): ReadonlySet<ConditionCode> {
  const hasFailed = outcome?.ok === false
  const { syncFailed, peersFailed, consensus = null } = (hasFailed ? outcome.told : liveness)?.report ?? {}
  const isConsensusUntold = consensus?.isLimited === true || consensus?.state === 'unreached'
  const { state = null, syncFailed: isSyncUntold, peersFailed: arePeersUntold } = consensus ?? {}
  const isAnyUntold = syncFailed || peersFailed || isSyncUntold || arePeersUntold || isConsensusUntold
  if (!isAnyUntold && !hasFailed && !isLimited) return NONE
  const codes = new Set(isLimited ? OF_LIVENESS : NONE)
  if (state === 'synced') for (const code of OF_CONSENSUS) codes.delete(code)
  if (syncFailed) codes.add('syncing')
  if (peersFailed || arePeersUntold || isConsensusUntold) codes.add('few-peers')
  if (isSyncUntold || isConsensusUntold) codes.add('consensus-syncing')
  if (isConsensusUntold) codes.add('consensus-down')
  if (hasFailed && state === 'down') codes.add('consensus-down')
  else if (hasFailed && state !== null && state !== 'synced') codes.add('consensus-syncing')
  return codes
}

const OF_CONSENSUS = ['consensus-syncing', 'consensus-down'] as const
const NONE: ReadonlySet<ConditionCode> = new Set()

/** Whether the node limits the rate of liveness checks, as of the latest one. */
export function isLivenessLimited(previous: Health, outcome: Outcome<Liveness> | null): boolean {
  return outcome === null ? previous.livenessLimited : rateLimitOf(outcome) !== null
}

/** Whether the next poll must ask again, because a condition of liveness is neither confirmed nor gone. */
export function isLivenessUnsettled({ traces }: ConfirmationState): boolean {
  return traces.some(({ finding, confirmed, missed }) => OF_LIVENESS.has(finding.code) && (!confirmed || missed > 0))
}

function counted(checks: readonly NodeCheck[], previous: Liveness | null, at: UnixMs): readonly NodeCheck[] {
  return checks.map((check) => {
    if (check.healthy) return check
    const before = previous?.checks.find(({ name }) => name === check.name)
    return {
      ...check,
      contiguousFailures: (before?.contiguousFailures ?? 0) + 1,
      failingSince: before?.failingSince ?? at,
    }
  })
}
