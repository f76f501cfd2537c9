import type { UnixMs } from '../time.ts'
import { type Condition, hidesHead, isRelative, severity, shardsOf, type Verdict, worst } from '../verdict/condition.ts'
import type { Health } from '../verdict/health.ts'
import {
  type Incident,
  type IncidentChange,
  type IncidentCondition,
  type IncidentSample,
  MAX_CHANGES,
} from './incident.ts'

/**
 * An incident's conditions after another poll; the same array if none begins, ends, or changes its state, its shards or what
 * places say of it: a new duration or block count in a message is no change.
 */
export function mergeConditions(
  before: readonly IncidentCondition[],
  present: readonly Condition[],
  verdict: Verdict,
  { from, goneSince, changedSince }: ConditionTimes,
): readonly IncidentCondition[] {
  const held = before.filter((condition) => condition.until === null)
  const isSame =
    held.length === present.length &&
    present.every((one) => held.some((other) => isUnchanged(other, one, verdict) && isSeenAlike(other, one)))
  if (isSame) return before
  /** At the limit, a condition that recurs or changes its state extends its entry, so that a flapping node adds no more. */
  let room = MAX_CHANGES - before.length
  const merged = before.flatMap((condition): IncidentCondition[] => {
    const still = condition.until === null ? present.find(({ code }) => code === condition.code) : undefined
    if (still === undefined) return [{ ...condition, until: condition.until ?? Math.max(condition.since, goneSince) }]
    const now = { ...condition, message: still.message, isAlone: still.isAlone, shards: still.shards }
    if (isUnchanged(condition, still, verdict)) return [now]
    if (room <= 0) return [{ ...now, state: worst([condition.state, still.verdict]) }]
    if (changedSince <= condition.since) return [{ ...now, state: still.verdict }]
    room--
    return [
      { ...condition, until: changedSince },
      { ...now, state: still.verdict, since: changedSince },
    ]
  })
  for (const { code, verdict: state, message, isAlone, shards, since } of present) {
    if (held.some((condition) => condition.code === code)) continue
    const last = merged.findLastIndex((condition) => condition.code === code)
    const earlier = merged[last]
    if (earlier !== undefined && room <= 0)
      merged[last] = { ...earlier, state: worst([earlier.state, state]), message, isAlone, shards, until: null }
    else merged.push({ code, state, message, isAlone, shards, since: Math.max(since, from), until: null })
    room--
  }
  return merged
}

interface ConditionTimes {
  /** No condition begins earlier. */
  readonly from: UnixMs
  /** When those that are gone ended. */
  readonly goneSince: UnixMs
  /** When those that got worse or better did. */
  readonly changedSince: UnixMs
}

/** Whether a condition has the same state as before: it is not worse, and not better for as long as the endpoint is not. */
function isUnchanged({ code, state }: IncidentCondition, present: Condition, verdict: Verdict): boolean {
  return code === present.code && severity(state) >= severity(present.verdict) && severity(state) <= severity(verdict)
}

/** Whether it is found on the same shards and, if places disagree, each of them still says the same. */
function isSeenAlike({ code, shards, message }: IncidentCondition, present: Condition): boolean {
  const isOnSameShards = String(shards) === String(present.shards)
  return isOnSameShards && (code !== 'partial' || withoutReason(message) === withoutReason(present.message))
}

/** Of a message such as `down from fra1 only: 120 blocks (240 s) behind; up from nyc1`. */
function withoutReason(message: string): string {
  return message.replace(/ only: .*?(?=(?:; (?:degraded|up) from [^;]+)+$)/s, '')
}

/** The places that have seen an incident's fault, with those that see it now; the same array if none of them is new. */
export function withPlaces(known: readonly string[], now: readonly string[]): readonly string[] {
  return now.every((place) => known.includes(place)) ? known : [...new Set([...known, ...now])].sort()
}

export function changeOf(health: Health, state: Verdict, at: UnixMs): IncidentChange {
  const codes = state === 'up' ? [] : affectingState(health.conditions).map(({ code }) => code)
  return { at, state, codes, samples: withoutOldLags(samplesOf(health), health) }
}

/** One per head. */
export function samplesOf({ endpoint, heads, latencyMs }: Health): readonly IncidentSample[] {
  return heads.map(({ shard, height, lagBlocks }) => ({ endpoint: endpoint.name, shard, height, lagBlocks, latencyMs }))
}

/** Of a failed head only the last height is known, even if the node answers another check. */
function withoutOldLags(samples: readonly IncidentSample[], { heads, conditions, lastPolledAt }: Health) {
  if (!conditions.some(({ code }) => hidesHead(code))) return samples
  const read = heads.filter(({ readAt }) => readAt === lastPolledAt).map(({ shard }) => shard)
  return samples.map((one) => (read.includes(one.shard) ? one : { ...one, lagBlocks: null, latencyMs: null }))
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

/** The conditions of an incident, in its state: the latest poll may have found one worse than what is confirmed. */
export function presentConditions({ conditions }: Health, verdict: Verdict): readonly Condition[] {
  return affectingState(conditions).map((one) =>
    severity(one.verdict) > severity(verdict) ? { ...one, verdict } : one,
  )
}

/** Whether these conditions are only part of network-wide events. */
export function isPartOf(
  { conditions, since }: Pick<Health, 'conditions' | 'since'>,
  events: readonly Incident[],
): boolean {
  const begun = events.filter(({ openedAt }) => since >= openedAt)
  return begun.length > 0 && areOf(affectingState(conditions), begun)
}

/** Whether an endpoint was part of one of these closed events, which ended while it was unhealthy. */
export function wasPartOf(health: Health, events: readonly Incident[]): boolean {
  const { endpoint, since, confirmation } = health
  const failedAt = confirmation.badSince ?? since
  return events.some((event) => {
    if ((event.closedAt ?? 0) < failedAt) return false
    return event.cause === 'outage' ? event.affected.includes(endpoint.name) : isPartOf(health, [event])
  })
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

export const isOpen = ({ until }: IncidentCondition) => until === null
