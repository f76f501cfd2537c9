import type { UnixMs } from '../time.ts'
import { type Condition, severity, type Verdict, worst } from '../verdict/condition.ts'
import type { Health } from '../verdict/health.ts'
import { type Incident, type IncidentChange, type IncidentCondition, MAX_CHANGES } from './incident.ts'

/**
 * The same array while no condition came or went: sentences alone, with their seconds and blocks, are no news. None begins before
 * `from`, and those that are gone ended at `goneSince`.
 */
export function mergeConditions(
  before: readonly IncidentCondition[],
  now: readonly Condition[],
  goneSince: UnixMs,
  from: UnixMs,
): readonly IncidentCondition[] {
  const grave = affectingState(now)
  const held = before.filter((condition) => condition.until === null)
  const isSame =
    held.length === grave.length &&
    grave.every((one) => held.some(({ code, state }) => code === one.code && severity(state) >= severity(one.verdict)))
  if (isSame) return before
  const merged: IncidentCondition[] = before.map((condition) => {
    if (condition.until !== null) return condition
    const still = grave.find(({ code }) => code === condition.code)
    if (still === undefined) return { ...condition, until: Math.max(condition.since, goneSince) }
    return { ...condition, state: worst([condition.state, still.verdict]), message: still.message }
  })
  for (const { code, verdict, message, since } of grave) {
    if (held.some((condition) => condition.code === code)) continue
    const last = merged.findLastIndex((condition) => condition.code === code)
    const earlier = merged[last]
    // One that comes and goes is one reason with a pause, else a flapping node would fill pages.
    if (earlier !== undefined && merged.length >= MAX_CHANGES)
      merged[last] = { ...earlier, state: worst([earlier.state, verdict]), message, until: null }
    else merged.push({ code, state: verdict, message, since: Math.max(since, from), until: null })
  }
  return merged
}

export function changeOf(
  { conditions, heads, endpoint, latencyMs }: Health,
  state: Verdict,
  at: UnixMs,
): IncidentChange {
  return {
    at,
    state,
    codes: state === 'up' ? [] : affectingState(conditions).map(({ code }) => code),
    samples: heads.map(({ shard, height, lagBlocks }) => ({
      endpoint: endpoint.name,
      shard,
      height,
      lagBlocks,
      latencyMs,
    })),
  }
}

export function sameChange(a: IncidentChange | undefined, b: IncidentChange): boolean {
  return a?.state === b.state && a.codes.length === b.codes.length && b.codes.every((code) => a.codes.includes(code))
}

/** The first ones and the latest: how it began, and where it is. */
export function withChange(changes: readonly IncidentChange[], change: IncidentChange): readonly IncidentChange[] {
  if (changes.length < MAX_CHANGES) return [...changes, change]
  const first = changes.slice(0, MAX_CHANGES / 2)
  return [...first, ...changes.slice(first.length + 1), change]
}

/** When what a poll confirmed had begun: a state or a condition that is new, or the absence of one. */
export function changedSince({ conditions, changes }: Incident, health: Health, goneSince: UnixMs, at: UnixMs): UnixMs {
  const { since } = health
  if (since > (changes.at(-1)?.at ?? 0)) return since
  const held = new Set(conditions.filter(({ until }) => until === null).map(({ code }) => code))
  const fresh = affectingState(health.conditions).filter(({ code }) => !held.has(code))
  return fresh.length > 0 ? Math.min(at, ...fresh.map((condition) => condition.since)) : goneSince
}

/** What is shown without changing the state makes no incident. */
export function affectingState(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.filter((condition) => condition.verdict !== 'up')
}
