import type { MaintenanceSpan } from '../maintenance.ts'
import type { UnixMs } from '../time.ts'
import { type Verdict, worst } from '../verdict/condition.ts'
import { type Beginning, closeIncident } from './endpoint-incident.ts'
import { closedIncidentOf, FLAPPING_AFTER, isRecurrence } from './flapping.ts'
import {
  type Incident,
  type IncidentCause,
  type IncidentChange,
  type IncidentCondition,
  type IncidentSample,
  MAX_CHANGES,
} from './incident.ts'
import { withChange } from './incident-changes.ts'

/** A `halted` or `forked` network, or an outage of several of its endpoints, while it lasts. */
export interface NetworkEvent {
  readonly cause: Exclude<IncidentCause, 'endpoint'>
  /** Id of the open incident that goes on; `null` for a new event. */
  readonly continues: string | null
  /** Identifies the event within its network, and what shares the fault. Never shown. */
  readonly key: string
  readonly provider: string | null
  readonly state: Verdict
  readonly code: IncidentCondition['code']
  readonly since: UnixMs
  /** End of the planned maintenance in which all endpoints of an outage failed; otherwise `null`. */
  readonly plannedUntil: UnixMs | null
  /** The longest interval of its endpoints, by which an outage that recurs is flapping; otherwise `null`. */
  readonly intervalMs: number | null
  /** A sentence for people. */
  readonly message: string
  /** Absent if it is not about shards. */
  readonly shards?: IncidentCondition['shards']
  /** Names of the endpoints that show it. */
  readonly affected: readonly string[]
  /** The planned maintenance of the endpoints: no incident opens before its end. Otherwise `null`. */
  readonly maintained: MaintenanceSpan | null
}

/** `closed`: closed events of the network, the newest last. A flapping one is opened again under its id. */
export function beginEvent(
  network: string,
  event: NetworkEvent,
  samples: readonly IncidentSample[],
  { openedAt, plannedUntil }: Beginning,
  now: UnixMs,
  closed: readonly Incident[],
): Incident {
  const { cause, provider, state, code, message, shards, affected } = event
  const related = closed.filter((earlier) => isEarlierOutage(earlier, event, openedAt))
  const last = related.at(-1)
  if (last?.flapping === true) return reopened(last, event, samples, plannedUntil ?? openedAt)
  return {
    id: `${openedAt.toString(36)}-${network}_${cause}${cause === 'outage' ? `.${affected[0]}` : ''}`,
    network,
    endpoint: null,
    cause,
    provider,
    state,
    openedAt,
    plannedUntil,
    confirmedAt: Math.max(now, openedAt),
    closedAt: null,
    conditions: [{ code, state, message, shards, since: openedAt, until: null }],
    changes: [{ at: openedAt, state, codes: [code], samples }],
    flaps: related.length,
    flapping: related.length + 1 >= FLAPPING_AFTER,
    absorbedBy: null,
    affected,
  }
}

function isEarlierOutage(earlier: Incident, event: NetworkEvent, openedAt: UnixMs): boolean {
  const { intervalMs, provider, affected, code } = event
  if (intervalMs === null || earlier.cause !== 'outage' || earlier.provider !== provider) return false
  const known = new Set(earlier.affected)
  return (
    affected.some((name) => known.has(name)) && isRecurrence(closedIncidentOf(earlier), [code], openedAt, intervalMs)
  )
}

function reopened(
  incident: Incident,
  { state, code, message, shards, affected }: NetworkEvent,
  samples: readonly IncidentSample[],
  from: UnixMs,
): Incident {
  const conditions = incident.conditions.slice(1 - MAX_CHANGES)
  return {
    ...incident,
    state: worst([incident.state, state]),
    closedAt: null,
    conditions: [...conditions, { code, state, message, shards, since: from, until: null }],
    changes: withChange(incident.changes, { at: from, state, codes: [code], samples }),
    flaps: incident.flaps + 1,
    affected: [...new Set([...incident.affected, ...affected])].sort(),
  }
}

/**
 * Returns the same object unless another endpoint joined, the shards changed, or the state got worse: a longer duration is
 * no change. If another condition makes it worse, the one that held ends there.
 */
export function continueEvent(
  incident: Incident,
  { state, code, message, shards, affected }: NetworkEvent,
  samples: readonly IncidentSample[],
  at: UnixMs,
): Incident {
  const before = new Set(incident.affected)
  const joined = affected.filter((name) => !before.has(name))
  const isWorse = (held: IncidentCondition) => worst([held.state, state]) !== held.state
  const isSame = (held: IncidentCondition) =>
    held.until !== null || (!isWorse(held) && (held.code !== code || String(held.shards) === String(shards)))
  if (joined.length === 0 && incident.conditions.every(isSame)) return incident
  const all = [...incident.affected, ...joined].sort()
  const conditions = incident.conditions.flatMap((held): IncidentCondition[] => {
    if (held.until !== null) return [held]
    if (held.code === code) return [{ ...held, state: worst([held.state, state]), message, shards }]
    if (!isWorse(held)) return [held]
    return [
      { ...held, until: at },
      { code, state, message, shards, since: at, until: null },
    ]
  })
  const codes = conditions.flatMap(({ code, until }) => (until === null ? [code] : []))
  const change: IncidentChange = { at, state, codes, samples }
  const worstState = worst([incident.state, state])
  return { ...incident, state: worstState, affected: all, conditions, changes: withChange(incident.changes, change) }
}

export function endEvent(incident: Incident, end: UnixMs, samples: readonly IncidentSample[]): Incident {
  const ended = closeIncident(incident, Math.max(end, incident.changes.at(-1)?.at ?? end))
  const change: IncidentChange = { at: ended.closedAt ?? end, state: 'up', codes: [], samples }
  return { ...ended, changes: withChange(incident.changes, change) }
}
