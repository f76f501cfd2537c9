import type { EndpointKey, Tier } from '../endpoint.ts'
import type { ConditionCode, State } from '../verdict/condition.ts'
import type { Health } from '../verdict/health.ts'

/**
 * Sorts a network's endpoints by their health into those that requests may be sent to, in order, and those that are excluded. An
 * endpoint on another network, or with an unverified chain id, is in no list that requests are sent to.
 */
export function rank(candidates: readonly Candidate[]): Ranking {
  const healthy: Candidate[] = []
  const others: { readonly candidate: Candidate; readonly severity: number }[] = []
  const excluded: Excluded[] = []
  for (const candidate of candidates) {
    const reasons = reasonsOf(candidate)
    const [reason] = reasons
    if (reason === undefined) {
      healthy.push(candidate)
      continue
    }
    excluded.push({ endpoint: candidate.endpoint, reason })
    if (reason !== 'wrong-network' && !candidate.unverified) others.push({ candidate, severity: severityOf(reasons) })
  }
  others.sort(
    (a, b) =>
      a.severity - b.severity ||
      lagOf(a.candidate) - lagOf(b.candidate) ||
      TIERS.indexOf(a.candidate.tier) - TIERS.indexOf(b.candidate.tier),
  )
  const isUnresponsive = ({ severity }: { readonly severity: number }) => severity >= UNRESPONSIVE_FROM
  return {
    groups: TIERS.flatMap((tier) =>
      [false, true].map((impaired) =>
        healthy.filter((candidate) => candidate.tier === tier && isImpaired(candidate) === impaired),
      ),
    ).filter((group) => group.length > 0),
    unhealthy: others.filter((other) => !isUnresponsive(other)).map(({ candidate }) => candidate),
    unresponsive: others.filter(isUnresponsive).map(({ candidate }) => candidate),
    excluded,
  }
}

/** An endpoint as the routing sees it. */
export interface Candidate {
  readonly key: EndpointKey
  readonly endpoint: string
  readonly tier: Tier
  readonly state: State
  readonly health: Health
  /** Its network has a chain id to verify, and no poll has verified it yet: it may be on another chain. */
  readonly unverified: boolean
}

/** Rebuilt when a verdict changes; every request reads it as it is. */
export interface Ranking {
  /** Healthy endpoints in groups, the first group to be used first; each in the order of the configuration, none empty. */
  readonly groups: readonly (readonly Candidate[])[]
  /** Unhealthy, but their latest polls were answered: used when no endpoint is healthy, the least unhealthy first. */
  readonly unhealthy: readonly Candidate[]
  /** Their latest polls were not answered, or there are none: used when there is no other endpoint. */
  readonly unresponsive: readonly Candidate[]
  readonly excluded: readonly Excluded[]
}

/** Why no request is sent to an endpoint while others can be used; shown in `left_out` of `/api/v1/gateway`. */
export const EXCLUSION_REASONS = [
  'wrong-network',
  'unverified',
  'unreachable',
  'bad-answer',
  'unhealthy',
  'forked',
  'stalled',
  'lagging',
  'down',
  'unknown',
  'maintenance',
  /** Too many of the gateway's requests to it failed. */
  'breaker-open',
  /** It limits the gateway's rate. */
  'resting',
] as const
export type ExclusionReason = (typeof EXCLUSION_REASONS)[number]

export interface Excluded {
  readonly endpoint: string
  readonly reason: ExclusionReason
}

/** Conditions under which an endpoint's answers are wrong, old or of another chain. The first that holds is the reason shown. */
const EXCLUDING = [
  'wrong-network',
  'unreachable',
  'bad-answer',
  'unhealthy',
  'forked',
  'stalled',
  'lagging',
] as const satisfies readonly (ConditionCode & ExclusionReason)[]

/**
 * Used after the other healthy endpoints of its tier. `slow` needs no rule, as the selection compares latencies; rate-limited
 * endpoints are used last to let their limit recover.
 */
const IMPAIRING: ReadonlySet<ConditionCode> = new Set(['check-failing', 'heartbeat-stale', 'rate-limited'])

/**
 * How bad it is to use an excluded endpoint all the same, the mildest first. A block or two behind is better than an endpoint in
 * maintenance; an unhealthy node may answer anything; blocks of another branch are worse than no answer.
 */
const SEVERITY: readonly ExclusionReason[] = [
  'unknown',
  'lagging',
  'stalled',
  'maintenance',
  'unhealthy',
  'bad-answer',
  'unreachable',
  'down',
  'forked',
]

/** From here on a request will most likely fail. */
const UNRESPONSIVE_FROM = SEVERITY.indexOf('bad-answer')

const TIERS: readonly Tier[] = ['primary', 'fallback']

/** All reasons; the first is the one to show. */
function reasonsOf({ state, health, unverified }: Candidate): ExclusionReason[] {
  // One poll is enough to stop using it: answers of another chain can be costly. The verdict needs two.
  if (health.confirmation.traces.some(({ finding, missed }) => finding.code === 'wrong-network' && missed === 0)) {
    return ['wrong-network']
  }
  const reasons: ExclusionReason[] = EXCLUDING.filter((code) =>
    health.conditions.some((condition) => condition.code === code),
  )
  if (reasons[0] === 'wrong-network') return reasons
  // The reason why no poll could verify it says more than "unverified".
  if (unverified) return [reasons[0] ?? 'unverified']
  if (state === 'maintenance' || state === 'unknown') reasons.unshift(state)
  if (reasons.length === 0 && state === 'down') reasons.push('down')
  return reasons
}

/** An endpoint in maintenance, or with outdated results, is as severe as the worst that is known of it. */
function severityOf(reasons: readonly ExclusionReason[]): number {
  return reasons.reduce((worst, reason) => Math.max(worst, SEVERITY.indexOf(reason)), 0)
}

function isImpaired({ health }: Candidate): boolean {
  return health.conditions.some(({ code }) => IMPAIRING.has(code))
}

function lagOf({ health }: Candidate): number {
  return health.heads.reduce((most, { lagBlocks }) => Math.max(most, lagBlocks ?? 0), 0)
}
