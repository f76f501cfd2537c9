import type { EndpointKey, Tier } from '../endpoint.ts'
import type { ConditionCode, State } from '../verdict/condition.ts'
import type { Health } from '../verdict/health.ts'

/** Why an endpoint is not used while others are. */
export type LeftOutReason = ConditionCode | 'down' | 'unknown' | 'unverified' | 'maintenance'

export interface LeftOut {
  readonly endpoint: string
  readonly because: LeftOutReason
}

/** An endpoint as the choice sees it. */
export interface Candidate {
  readonly key: EndpointKey
  readonly endpoint: string
  readonly tier: Tier
  readonly state: State
  readonly health: Health
  /** Its network has a chain id to verify, which no poll has managed yet: it may be another chain's. */
  readonly unverified: boolean
}

/** Whom to ask on one network: rebuilt when a verdict changes, read by every request as it stands. */
export interface Ranking {
  /** Those that are well, in groups, the first to be asked first; each in the order of the configuration, none empty. */
  readonly groups: readonly (readonly Candidate[])[]
  /** Not well, but the latest polls were answered: asked when nobody is well, the least bad first. */
  readonly leastBad: readonly Candidate[]
  /** The latest polls were not answered, or nobody knows: asked when there is nobody else. */
  readonly silent: readonly Candidate[]
  readonly leftOut: readonly LeftOut[]
}

/** Conditions under which an endpoint's answers are wrong, old, or of another chain: the first that holds is told. */
const EXCLUDING: readonly ConditionCode[] = [
  'wrong-network',
  'unreachable',
  'bad-answer',
  'unhealthy',
  'forked',
  'stalled',
  'lagging',
]

/**
 * It works, though not as it should: asked when no other of its tier is better. The slow need no rule, as latency decides
 * anyway; and where the node limits our rate, those that do not are asked first.
 */
const LIMPING: ReadonlySet<ConditionCode> = new Set(['check-failing', 'heartbeat-stale', 'rate-limited'])

/**
 * How bad it is to ask one all the same, from least to worst. A block or two too old is better than what the operator has taken
 * out of use, a node that calls itself ill may tell anything, and the blocks of another branch are worse than no answer.
 */
const BADNESS: readonly LeftOutReason[] = [
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

/** From here on, asking will most likely be in vain. */
const SILENT_FROM = BADNESS.indexOf('bad-answer')

const TIERS: readonly Tier[] = ['primary', 'fallback']

/** An endpoint of another network, or one that nobody has verified, is in no list of those that may be asked. */
export function rank(candidates: readonly Candidate[]): Ranking {
  const well: Candidate[] = []
  const others: { readonly candidate: Candidate; readonly badness: number }[] = []
  const leftOut: LeftOut[] = []
  for (const candidate of candidates) {
    const [because] = reasonsOf(candidate)
    if (because === undefined) {
      well.push(candidate)
      continue
    }
    leftOut.push({ endpoint: candidate.endpoint, because })
    if (because !== 'wrong-network' && !candidate.unverified) {
      others.push({ candidate, badness: badnessOf(candidate) })
    }
  }
  others.sort(
    (a, b) =>
      a.badness - b.badness ||
      lagOf(a.candidate) - lagOf(b.candidate) ||
      TIERS.indexOf(a.candidate.tier) - TIERS.indexOf(b.candidate.tier),
  )
  const ofBadness = (from: number, until: number) =>
    others.filter(({ badness }) => badness >= from && badness < until).map(({ candidate }) => candidate)
  return {
    groups: TIERS.flatMap((tier) =>
      [false, true].map((limping) =>
        well.filter((candidate) => candidate.tier === tier && limps(candidate) === limping),
      ),
    ).filter((group) => group.length > 0),
    leastBad: ofBadness(0, SILENT_FROM),
    silent: ofBadness(SILENT_FROM, BADNESS.length),
    leftOut,
  }
}

/** All of them; the first is the one to tell. */
function reasonsOf({ state, health, unverified }: Candidate): LeftOutReason[] {
  // One poll is enough to stop asking: what another chain answers may cost its reader dearly. Two make it a verdict.
  if (health.streaks.traces.some(({ finding, missed }) => finding.code === 'wrong-network' && missed === 0)) {
    return ['wrong-network']
  }
  const reasons: LeftOutReason[] = []
  for (const code of EXCLUDING) if (health.conditions.some((condition) => condition.code === code)) reasons.push(code)
  if (reasons[0] === 'wrong-network') return reasons
  // Why no poll could verify it says more than that none did.
  if (unverified) return [reasons[0] ?? 'unverified']
  if (state === 'maintenance' || state === 'unknown') reasons.unshift(state)
  if (reasons.length === 0 && state === 'down') reasons.push('down')
  return reasons
}

/** Whoever is in maintenance, or has not been heard of lately, is as bad as the worst that is known of it. */
function badnessOf(candidate: Candidate): number {
  return reasonsOf(candidate).reduce((worst, reason) => Math.max(worst, BADNESS.indexOf(reason)), 0)
}

function limps({ health }: Candidate): boolean {
  return health.conditions.some(({ code }) => LIMPING.has(code))
}

function lagOf({ health }: Candidate): number {
  return health.heads.reduce((most, { lagBlocks }) => Math.max(most, lagBlocks ?? 0), 0)
}
