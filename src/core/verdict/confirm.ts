import type { Thresholds } from '../network.ts'
import type { UnixMs } from '../time.ts'
import { best, type Condition, type ConditionCode, type Finding, severity, type Verdict, worst } from './condition.ts'

/**
 * Adds one poll's findings. The verdict worsens after `failAfter` consecutive worse polls, to the least bad of them,
 * and improves after `recoverAfter` better ones, to the worst of them, dated back to the first of them. An endpoint
 * without a verdict is up at its first good poll. `unanswered`: the questions of this poll that failed.
 */
export function confirm(
  previous: ConfirmationState,
  findings: readonly Finding[],
  at: UnixMs,
  thresholds: ConfirmationThresholds,
  unanswered: readonly string[] = NONE,
): ConfirmationState {
  const keep = Math.max(thresholds.failAfter, thresholds.recoverAfter)
  if (findings.length === 0 && isUneventful(previous, keep)) return previous
  const polls = [...previous.recent, pollOf(findings, at, unanswered)]
  const run = latestRun(polls, thresholds.failAfter)
  const recent = polls.slice(-(run.isUnrelated ? Math.max(keep, LASTING * thresholds.failAfter) : keep))
  const { verdict, since } = nextVerdict(previous, recent, run, thresholds)
  const traces = nextTraces(previous.traces, findings, at, run, verdict, thresholds)
  if (verdict === null || verdict === 'up') return { verdict, since, recent, traces }
  const wasBad = previous.verdict !== null && previous.verdict !== 'up'
  return { verdict, since, badSince: wasBad ? (previous.badSince ?? previous.since) : since, recent, traces }
}

/** How many consecutive polls change a verdict. Their defaults are in `config/network-schema.ts`. */
export type ConfirmationThresholds = Pick<Thresholds, 'failAfter' | 'recoverAfter'>

interface Trace {
  readonly finding: Finding
  /** First poll of the present run. */
  readonly since: UnixMs
  /** Consecutive polls up to the latest that found it, at most `failAfter`; 0 if the latest did not. */
  readonly seen: number
  /** Consecutive polls that did not find it; 0 if the latest did. */
  readonly missed: number
  readonly confirmed: boolean
}

/** What confirmation remembers about an endpoint's latest polls. Plain data: stored as JSON over a restart. */
export interface ConfirmationState {
  readonly verdict: Verdict | null
  readonly since: UnixMs
  /** First poll since which the verdict has not been `up`; absent while it is. */
  readonly badSince?: UnixMs | undefined
  /** The verdicts of the latest polls, as many as a decision needs; newest last. */
  readonly recent: readonly RecentPoll[]
  readonly traces: readonly Trace[]
}

interface RecentPoll {
  readonly at: UnixMs
  readonly verdict: Verdict
  /** Set if only questions that failed give this verdict: which, and the verdict without them. */
  readonly failed?: { readonly questions: readonly string[]; readonly otherwise: Verdict } | undefined
}

export function unconfirmed(at: UnixMs): ConfirmationState {
  return { verdict: null, since: at, recent: [], traces: [] }
}

/** Up for as long as any decision looks back, as for most polls: another good poll changes nothing. */
function isUneventful({ verdict, recent, traces }: ConfirmationState, keep: number): boolean {
  return (
    verdict === 'up' && traces.length === 0 && recent.length === keep && recent.every((poll) => poll.verdict === 'up')
  )
}

/** The conditions of questions that failed. */
const OF_QUESTIONS: ReadonlySet<ConditionCode> = new Set(['unreachable', 'bad-answer'])

function pollOf(findings: readonly Finding[], at: UnixMs, questions: readonly string[]): RecentPoll {
  const verdict = worst(findings.map((finding) => finding.verdict))
  if (questions.length === 0) return { at, verdict }
  const others = findings.filter(({ code }) => !OF_QUESTIONS.has(code))
  const otherwise = worst(others.map((finding) => finding.verdict))
  return otherwise === verdict ? { at, verdict } : { at, verdict, failed: { questions, otherwise } }
}

/**
 * Whether these polls failed, but no question in all of them. The more questions a poll asks, the more often requests that
 * are lost at random hit two polls in a row; a node or shard that is down fails the same question again.
 */
function areUnrelated(polls: readonly RecentPoll[]): boolean {
  const [first, ...others] = polls.flatMap(({ failed }) => (failed === undefined ? [] : [failed.questions]))
  return first?.some((question) => others.every((questions) => questions.includes(question))) === false
}

/** This many times `failAfter` bad polls in a row confirm each other, whichever questions failed: requests lost at random do not. */
const LASTING = 3

/** The latest polls that can confirm something worse. */
interface Run {
  readonly polls: readonly RecentPoll[]
  readonly leastBad: Verdict
  /** Whether the latest polls failed, but no question in all of them. */
  readonly isUnrelated: boolean
  readonly failuresCount: boolean
}

function latestRun(polls: readonly RecentPoll[], failAfter: number): Run {
  const few = polls.slice(-failAfter)
  const isUnrelated = areUnrelated(few)
  const leastBad = best(few.map(({ verdict, failed }) => (isUnrelated ? (failed?.otherwise ?? verdict) : verdict)))
  if (!isUnrelated) return { polls: few, leastBad, isUnrelated, failuresCount: true }
  const many = polls.slice(-LASTING * failAfter)
  const lasting = best(many.map(({ verdict }) => verdict))
  return many.length === LASTING * failAfter && severity(lasting) > severity(leastBad)
    ? { polls: many, leastBad: lasting, isUnrelated, failuresCount: true }
    : { polls: few, leastBad, isUnrelated, failuresCount: false }
}

function nextVerdict(
  previous: ConfirmationState,
  recent: ConfirmationState['recent'],
  { polls, leastBad }: Run,
  { failAfter, recoverAfter }: ConfirmationThresholds,
): { verdict: Verdict | null; since: UnixMs } {
  const held = previous.verdict
  const latest = recent.at(-1)
  if (held === null && latest?.verdict === 'up') return { verdict: 'up', since: latest.at }

  if (polls.length >= failAfter && severity(leastBad) > (held === null ? 0 : severity(held))) {
    return { verdict: leastBad, since: polls[0]?.at ?? previous.since }
  }
  if (held === null) return { verdict: null, since: previous.since }

  const lastGood = recent.slice(-recoverAfter)
  const leastGood = worst(lastGood.map((poll) => poll.verdict))
  if (lastGood.length === recoverAfter && severity(leastGood) < severity(held)) {
    return { verdict: leastGood, since: lastGood[0]?.at ?? previous.since }
  }
  return { verdict: held, since: previous.since }
}

function nextTraces(
  previous: readonly Trace[],
  findings: readonly Finding[],
  at: UnixMs,
  { polls, failuresCount }: Run,
  verdict: Verdict | null,
  { failAfter, recoverAfter }: ConfirmationThresholds,
): readonly Trace[] {
  if (previous.length === 0 && findings.length === 0) return previous
  const before = new Map<ConditionCode, Trace>(previous.map((trace) => [trace.finding.code, trace]))
  const traces: Trace[] = findings.map((finding) => {
    const trace = before.get(finding.code)
    before.delete(finding.code)
    const continues = trace !== undefined && (trace.confirmed || trace.missed === 0)
    const seen = trace !== undefined && trace.missed === 0 ? Math.min(trace.seen + 1, failAfter) : 1
    const wasConfirmed = continues && trace.confirmed
    const isConfirmed = seen >= failAfter && (failuresCount || !OF_QUESTIONS.has(finding.code))
    const since = continues ? trace.since : at
    return {
      finding,
      // Failures of other questions before these do not belong to them.
      since: isConfirmed && !wasConfirmed ? Math.max(since, polls[0]?.at ?? at) : since,
      seen,
      missed: 0,
      confirmed: wasConfirmed || isConfirmed,
    }
  })
  for (const trace of before.values()) {
    const missed = trace.missed + 1
    if (missed < recoverAfter) traces.push({ ...trace, seen: 0, missed })
  }
  return verdict === null ? traces : withReasons(traces, verdict)
}

/** A verdict always needs a condition: if several findings alternated without being confirmed, all of them count. */
function withReasons(traces: readonly Trace[], verdict: Verdict): readonly Trace[] {
  const reasons = traces.filter((trace) => severity(trace.finding.verdict) >= severity(verdict))
  if (verdict === 'up' || reasons.some((trace) => trace.confirmed)) return traces
  return traces.map((trace) => (reasons.includes(trace) ? { ...trace, confirmed: true } : trace))
}

/** Keeps what is confirmed and drops the polls that could have changed it. */
export function confirmedOnly(state: ConfirmationState): ConfirmationState {
  const confirmed = state.traces.filter((trace) => trace.confirmed)
  return { ...state, recent: [], traces: confirmed.map((trace) => ({ ...trace, missed: 0 })) }
}

/** What is confirmed, and the latest poll still found. */
export function confirmedNow({ traces }: ConfirmationState): readonly Finding[] {
  return traces.flatMap(({ finding, confirmed, missed }) => (confirmed && missed === 0 ? [finding] : []))
}

/** Worst first, then oldest first. */
export function conditionsOf(state: ConfirmationState): readonly Condition[] {
  if (state.traces.length === 0) return NONE
  return state.traces
    .filter((trace) => trace.confirmed)
    .map((trace) => ({ ...trace.finding, since: trace.since }))
    .sort((a, b) => severity(b.verdict) - severity(a.verdict) || a.since - b.since)
}

const NONE: readonly never[] = Object.freeze([])
