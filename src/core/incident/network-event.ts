import type { UnixMs } from '../time.ts'
import type { Incident, IncidentCause, IncidentChange, IncidentSample } from './incident.ts'
import { withChange } from './incident-changes.ts'

/** A `halted` or `forked` network, while it lasts. */
export interface NetworkEvent {
  readonly cause: Exclude<IncidentCause, 'endpoint'>
  readonly since: UnixMs
  /** A sentence for people. */
  readonly message: string
  /** Names of the endpoints that show it. */
  readonly affected: readonly string[]
  /** No incident opens before this time, because the endpoints are in planned maintenance; otherwise `null`. */
  readonly maintainedUntil: UnixMs | null
}

export function beginEvent(
  network: string,
  { cause, message, affected }: NetworkEvent,
  samples: readonly IncidentSample[],
  openedAt: UnixMs,
  now: UnixMs,
): Incident {
  return {
    id: `${openedAt.toString(36)}-${network}_${cause}`,
    network,
    endpoint: null,
    cause,
    state: 'degraded',
    openedAt,
    confirmedAt: Math.max(now, openedAt),
    closedAt: null,
    conditions: [{ code: cause, state: 'degraded', message, since: openedAt, until: null }],
    changes: [{ at: openedAt, state: 'degraded', codes: [cause], samples }],
    flaps: 0,
    flapping: false,
    absorbedBy: null,
    affected,
  }
}

/** Returns the same object unless another endpoint joined: a longer duration alone is no change. */
export function continueEvent(
  incident: Incident,
  { cause, message, affected }: NetworkEvent,
  samples: readonly IncidentSample[],
  at: UnixMs,
): Incident {
  const before = new Set(incident.affected)
  const joined = affected.filter((name) => !before.has(name))
  if (joined.length === 0) return incident
  const all = [...incident.affected, ...joined].sort()
  const change: IncidentChange = { at, state: 'degraded', codes: [cause], samples }
  const conditions = incident.conditions.map((condition) => ({ ...condition, message }))
  return { ...incident, affected: all, conditions, changes: withChange(incident.changes, change) }
}
