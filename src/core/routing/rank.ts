import type { Tier } from '../endpoint.ts'
import type { ConditionCode, State } from '../verdict/condition.ts'
import type { Health } from '../verdict/health.ts'

/**
 * Sorts a network's endpoints by health into those that receive requests, in order of preference, and those excluded.
 * No request is sent to an endpoint on another network or with an unverified chain id.
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
    if (reason === 'wrong-network' || candidate.unverified) continue
    const severity = severityOf(reasons)
    others.push({ candidate, severity: candidate.health.verdict === null ? Math.max(severity, UNJUDGED) : severity })
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

export interface Candidate {
  readonly endpoint: string
  readonly tier: Tier
  readonly state: State
  readonly health: Health
  /** The network has a chain id that no poll of this endpoint has verified yet: it may be on another chain. */
  readonly unverified: boolean
}

/** Rebuilt when a verdict changes, and shared by all requests. */
export interface Ranking {
  /** Healthy endpoints in order of preference. Groups are never empty and keep the order of the configuration. */
  readonly groups: readonly (readonly Candidate[])[]
  /** Lagging, unhealthy, unknown or in maintenance. Used if no endpoint is healthy, least severe first. */
  readonly unhealthy: readonly Candidate[]
  /** Unreachable, down, forked or with bad answers. Used if there is no other endpoint. */
  readonly unresponsive: readonly Candidate[]
  readonly excluded: readonly Excluded[]
}

/** Why no request is sent to an endpoint while others are usable; shown in `left_out` of `/api/v1/gateway`. */
export type ExclusionReason =
  | (typeof EXCLUDING)[number]
  | 'unverified'
  | 'down'
  | 'unknown'
  | 'maintenance'
  /** Too many of the gateway's requests failed. */
  | 'breaker-open'
  /** The node is rate-limiting the gateway. */
  | 'resting'

export interface Excluded {
  readonly endpoint: string
  readonly reason: ExclusionReason
}

/** Answers are wrong, outdated or from another chain while one of these holds. The first is the reason shown. */
const EXCLUDING = [
  'wrong-network',
  'unreachable',
  'bad-answer',
  'unhealthy',
  'consensus-down',
  'forked',
  'syncing',
  'consensus-syncing',
  'stalled',
  'lagging',
] as const satisfies readonly ConditionCode[]

/**
 * Endpoints with these conditions come after the other healthy ones of their tier; rate-limited ones so that their
 * limit recovers. `slow` is missing because the selection compares latencies.
 */
const IMPAIRING: ReadonlySet<ConditionCode> = new Set(['check-failing', 'heartbeat-stale', 'few-peers', 'rate-limited'])

/**
 * The order in which excluded endpoints are used if no endpoint is healthy. A block or two behind is better than maintenance;
 * an unhealthy node may answer anything; blocks of another branch are worse than no answer.
 */
const SEVERITY: readonly ExclusionReason[] = [
  'unknown',
  'lagging',
  'stalled',
  'maintenance',
  'consensus-syncing',
  'syncing',
  'consensus-down',
  'unhealthy',
  'bad-answer',
  'unreachable',
  'down',
  'forked',
]

/** An endpoint without a verdict may be anything: it comes after those with a mild fault, before those that are down. */
const UNJUDGED = SEVERITY.indexOf('consensus-down') - 0.5

/** From here on a request will most likely fail. */
const UNRESPONSIVE_FROM = SEVERITY.indexOf('bad-answer')

const TIERS: readonly Tier[] = ['primary', 'fallback']

/** All reasons why the endpoint is excluded. The first one is shown. */
function reasonsOf({ state, health, unverified }: Candidate): ExclusionReason[] {
  // A single poll excludes it, although a verdict needs more: answers from another chain can cause losses.
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

/** The worst reason counts for an endpoint in maintenance or with outdated results. */
function severityOf(reasons: readonly ExclusionReason[]): number {
  return reasons.reduce((worst, reason) => Math.max(worst, SEVERITY.indexOf(reason)), 0)
}

function isImpaired({ health }: Candidate): boolean {
  return health.conditions.some(({ code }) => IMPAIRING.has(code))
}

function lagOf({ health }: Candidate): number {
  return health.heads.reduce((most, { lagBlocks }) => Math.max(most, lagBlocks ?? 0), 0)
}
