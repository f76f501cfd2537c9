import type { UnixMs } from '../time.ts'
import type { Condition, ConditionCode, Finding, Verdict } from './condition.ts'
import { best, severity, worst } from './condition.ts'

/** How many polls in a row it takes. */
export interface ConfirmationThresholds {
  readonly failAfter: number
  readonly recoverAfter: number
}

interface Trace {
  readonly finding: Finding
  /** The first poll of the present run. */
  readonly since: UnixMs
  /** Polls in a row that found it, up to the latest, counted no further than decides; 0 when the latest did not. */
  readonly seen: number
  /** Polls in a row that did not; 0 when the latest did. */
  readonly missed: number
  readonly confirmed: boolean
}

/** What must be remembered of one endpoint to tell a fact from a blip. Plain data: it survives a restart as JSON. */
export interface ConfirmationState {
  readonly verdict: Verdict | null
  readonly since: UnixMs
  /** What the latest polls said, the newest last: as many as any decision needs. */
  readonly recent: readonly { readonly at: UnixMs; readonly verdict: Verdict }[]
  readonly traces: readonly Trace[]
}

export function unconfirmed(at: UnixMs): ConfirmationState {
  return { verdict: null, since: at, recent: [], traces: [] }
}

/**
 * Takes one poll's findings in. Worse only after `failAfter` polls in a row: to the least bad of them. Better only after
 * `recoverAfter` in a row: to the worst of them. Either way the new verdict is dated back to the first poll of that run.
 * An endpoint that was never judged is up at its first good poll.
 */
export function confirm(
  previous: ConfirmationState,
  findings: readonly Finding[],
  at: UnixMs,
  patience: ConfirmationThresholds,
): ConfirmationState {
  const keep = Math.max(patience.failAfter, patience.recoverAfter)
  if (findings.length === 0 && isUneventful(previous, keep)) return previous
  const poll = { at, verdict: worst(findings.map((finding) => finding.verdict)) }
  const recent = [...previous.recent, poll].slice(-keep)
  const { verdict, since } = nextVerdict(previous, recent, patience)
  return { verdict, since, recent, traces: nextTraces(previous.traces, findings, at, verdict, patience) }
}

/** Well for as long as any decision looks back: one more good poll changes nothing, and most polls are that. */
function isUneventful({ verdict, recent, traces }: ConfirmationState, keep: number): boolean {
  return (
    verdict === 'up' && traces.length === 0 && recent.length === keep && recent.every((poll) => poll.verdict === 'up')
  )
}

function nextVerdict(
  previous: ConfirmationState,
  recent: ConfirmationState['recent'],
  { failAfter, recoverAfter }: ConfirmationThresholds,
): { verdict: Verdict | null; since: UnixMs } {
  const held = previous.verdict
  const latest = recent.at(-1)
  if (held === null && latest?.verdict === 'up') return { verdict: 'up', since: latest.at }

  const lastBad = recent.slice(-failAfter)
  const leastBad = best(lastBad.map((poll) => poll.verdict))
  if (lastBad.length === failAfter && severity(leastBad) > (held === null ? 0 : severity(held))) {
    return { verdict: leastBad, since: lastBad[0]?.at ?? previous.since }
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
  verdict: Verdict | null,
  { failAfter, recoverAfter }: ConfirmationThresholds,
): readonly Trace[] {
  if (previous.length === 0 && findings.length === 0) return previous
  const before = new Map<ConditionCode, Trace>(previous.map((trace) => [trace.finding.code, trace]))
  const traces: Trace[] = findings.map((finding) => {
    const trace = before.get(finding.code)
    before.delete(finding.code)
    const goesOn = trace !== undefined && (trace.confirmed || trace.missed === 0)
    const seen = trace !== undefined && trace.missed === 0 ? Math.min(trace.seen + 1, failAfter) : 1
    return {
      finding,
      since: goesOn ? trace.since : at,
      seen,
      missed: 0,
      confirmed: (goesOn && trace.confirmed) || seen >= failAfter,
    }
  })
  for (const trace of before.values()) {
    const missed = trace.missed + 1
    if (missed < recoverAfter) traces.push({ ...trace, seen: 0, missed })
  }
  return verdict === null ? traces : explained(traces, verdict)
}

/** A verdict without a reason helps nobody: where several ways of failing took turns, none of them confirmed, all that were seen are named. */
function explained(traces: readonly Trace[], verdict: Verdict): readonly Trace[] {
  const reasons = traces.filter((trace) => severity(trace.finding.verdict) >= severity(verdict))
  if (verdict === 'up' || reasons.some((trace) => trace.confirmed)) return traces
  return traces.map((trace) => (reasons.includes(trace) ? { ...trace, confirmed: true } : trace))
}

/** What is confirmed, without the polls that might have led to something else: to its end, too. */
export function confirmedOnly(streaks: ConfirmationState): ConfirmationState {
  const confirmed = streaks.traces.filter((trace) => trace.confirmed)
  return { ...streaks, recent: [], traces: confirmed.map((trace) => ({ ...trace, missed: 0 })) }
}

/** The confirmed conditions, the worst first, then the oldest. */
export function conditionsOf(streaks: ConfirmationState): readonly Condition[] {
  if (streaks.traces.length === 0) return NONE
  return streaks.traces
    .filter((trace) => trace.confirmed)
    .map((trace) => ({ ...trace.finding, since: trace.since }))
    .sort((a, b) => severity(b.verdict) - severity(a.verdict) || a.since - b.since)
}

const NONE: readonly Condition[] = Object.freeze([])
