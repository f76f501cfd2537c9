import type { UnixMs } from '../time.ts'
import { type Condition, isRelative, severity, shardsOf, type Verdict, worst } from '../verdict/condition.ts'
import type { Health } from '../verdict/health.ts'
import { type Incident, type IncidentChange, type IncidentCondition, MAX_CHANGES } from './incident.ts'

/**
 * An incident's conditions after another poll; the same array if none begins or ends: a new duration or block count in
 * a message is no change. No condition begins before `from`; those that are gone ended at `goneSince`.
 */
export function mergeConditions(
  before: readonly IncidentCondition[],
  now: readonly Condition[],
  goneSince: UnixMs,
  from: UnixMs,
): readonly IncidentCondition[] {
  const present = affectingState(now)
  const held = before.filter((condition) => condition.until === null)
  const isSame =
    held.length === present.length &&
    present.every((one) =>
      held.some(({ code, state }) => code === one.code && severity(state) >= severity(one.verdict)),
    )
  if (isSame) return before
  const merged: IncidentCondition[] = before.map((condition) => {
    if (condition.until !== null) return condition
    const still = present.find(({ code }) => code === condition.code)
    if (still === undefined) return { ...condition, until: Math.max(condition.since, goneSince) }
    return {
      ...condition,
      state: worst([condition.state, still.verdict]),
      message: still.message,
      isAlone: still.isAlone,
      shards: still.shards,
    }
  })
  for (const { code, verdict, message, isAlone, shards, since } of present) {
    if (held.some((condition) => condition.code === code)) continue
    const last = merged.findLastIndex((condition) => condition.code === code)
    const earlier = merged[last]
    // At the limit, a recurring condition extends its earlier entry, so that a flapping node adds no more.
    if (earlier !== undefined && merged.length >= MAX_CHANGES)
      merged[last] = { ...earlier, state: worst([earlier.state, verdict]), message, isAlone, shards, until: null }
    else merged.push({ code, state: verdict, message, isAlone, shards, since: Math.max(since, from), until: null })
  }
  return merged
}

/** The places that have seen an incident's fault, with those that see it now; the same array if none of them is new. */
export function withPlaces(known: readonly string[], now: readonly string[]): readonly string[] {
  return now.every((place) => known.includes(place)) ? known : [...new Set([...known, ...now])].sort()
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

/** Keeps the first and the latest changes: they show how the incident began and where it is. */
export function withChange(changes: readonly IncidentChange[], change: IncidentChange): readonly IncidentChange[] {
  if (changes.length < MAX_CHANGES) return [...changes, change]
  const first = changes.slice(0, MAX_CHANGES / 2)
  return [...first, ...changes.slice(first.length + 1), change]
}

/** When the change that a poll confirmed began: a new state, a new condition or the end of one. */
export function changedSince({ conditions, changes }: Incident, health: Health, goneSince: UnixMs, at: UnixMs): UnixMs {
  const { since } = health
  if (since > (changes.at(-1)?.at ?? 0)) return since
  const held = new Set(conditions.filter(({ until }) => until === null).map(({ code }) => code))
  const fresh = affectingState(health.conditions).filter(({ code }) => !held.has(code))
  return fresh.length > 0 ? Math.min(at, ...fresh.map((condition) => condition.since)) : goneSince
}

/** Conditions with verdict `up` are shown, but do not cause incidents. */
function affectingState(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.filter((condition) => condition.verdict !== 'up')
}

/** Whether these conditions are only part of network-wide events. */
export function isPartOf(
  { conditions, since }: Pick<Health, 'conditions' | 'since'>,
  events: readonly Incident[],
): boolean {
  const begun = events.filter(({ openedAt }) => since >= openedAt)
  return begun.length > 0 && areOf(affectingState(conditions), begun)
}

/** Whether the incident of an endpoint is only a part of an event of the whole network. */
export function isOnlyOf({ conditions }: Incident, event: Incident): boolean {
  return areOf(conditions.filter(isOpen), [event])
}

/** A chain that halted or forked explains nothing about the other shards. */
function areOf(present: readonly Pick<IncidentCondition, 'code' | 'shards'>[], events: readonly Incident[]): boolean {
  const explained = shardsOf(events.flatMap(({ conditions }) => conditions.filter(isOpen)))
  const isExplained = ({ code, shards }: Pick<IncidentCondition, 'code' | 'shards'>) =>
    isRelative(code) && (shards === undefined || shards.every((shard) => explained?.includes(shard) !== false))
  return present.length > 0 && present.every(isExplained)
}

const isOpen = ({ until }: IncidentCondition) => until === null
