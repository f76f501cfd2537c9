import type { UnixMs } from '../time.ts'
import { type Verdict, worst } from '../verdict/condition.ts'
import type { Health } from '../verdict/health.ts'
import { FLAPPING_AFTER, RECOVERED_AFTER_INTERVALS } from './flapping.ts'
import type { Incident } from './incident.ts'
import {
  changedSince,
  changeOf,
  mergeConditions,
  presentConditions,
  sameChange,
  withChange,
} from './incident-changes.ts'

/** Opens an endpoint's incident, dated back to the first bad poll. `earlier`: number of related recent incidents. */
export function openIncident(
  health: Health,
  verdict: Verdict,
  { openedAt, plannedUntil }: Beginning,
  confirmedAt: UnixMs,
  earlier: number,
): Incident {
  const { network, name } = health.endpoint
  return {
    id: `${openedAt.toString(36)}-${network}.${name}`,
    network,
    endpoint: name,
    cause: 'endpoint',
    provider: null,
    state: verdict,
    openedAt,
    plannedUntil,
    confirmedAt: Math.max(confirmedAt, openedAt),
    closedAt: null,
    conditions: mergeConditions([], presentConditions(health, verdict), verdict, timesFrom(openedAt)),
    changes: [changeOf(health, verdict, openedAt)],
    flaps: earlier,
    flapping: earlier + 1 >= FLAPPING_AFTER,
    absorbedBy: null,
    affected: [],
  }
}

/** When an incident began, and the end of the planned maintenance in which it did, if any. */
export interface Beginning {
  readonly openedAt: UnixMs
  readonly plannedUntil: UnixMs | null
}

/** When it began, without planned maintenance. */
export function countedFrom({ openedAt, plannedUntil }: Pick<Incident, 'openedAt' | 'plannedUntil'>): UnixMs {
  return plannedUntil ?? openedAt
}

export function reopenIncident(incident: Incident, health: Health, verdict: Verdict, from: UnixMs): Incident {
  return {
    ...incident,
    state: worst([incident.state, verdict]),
    closedAt: null,
    conditions: mergeConditions(incident.conditions, presentConditions(health, verdict), verdict, timesFrom(from)),
    changes: withChange(incident.changes, changeOf(health, verdict, from)),
    flaps: incident.flaps + 1,
  }
}

/** Updates the incident after another bad poll; returns the same object if nothing has changed. */
export function continueIncident(
  incident: Incident,
  health: Health,
  verdict: Verdict,
  at: UnixMs,
  goneSince: UnixMs,
): Incident {
  const last = incident.changes.at(-1)
  const changedAt = Math.max(last?.at ?? 0, changedSince(incident, health, goneSince, at))
  const conditions = mergeConditions(incident.conditions, presentConditions(health, verdict), verdict, {
    from: incident.openedAt,
    goneSince,
    changedSince: changedAt,
  })
  const change = changeOf(health, verdict, changedAt)
  const isNew = !sameChange(last, change)
  if (!isNew && conditions === incident.conditions) return incident
  const failedAgain = isNew && last?.state === 'up'
  return {
    ...incident,
    state: worst([incident.state, verdict]),
    conditions,
    changes: isNew ? withChange(incident.changes, change) : incident.changes,
    flaps: incident.flaps + Number(failedAgain),
  }
}

/** Updates the incident after a good poll. A flapping one closes later, but is dated back to its first good poll. */
export function recoverIncident(
  incident: Incident,
  health: Health,
  at: UnixMs,
  goneSince: UnixMs,
  recoverAfter: number,
): Incident {
  const { since, endpoint } = health
  if (!hasRecovered(health, recoverAfter)) return incident
  const goodSince = Math.max(since >= incident.openedAt ? since : goneSince, incident.changes.at(-1)?.at ?? 0)
  const isNew = incident.changes.at(-1)?.state !== 'up'
  const recovered = isNew
    ? {
        ...incident,
        changes: withChange(incident.changes, changeOf(health, 'up', goodSince)),
        conditions: mergeConditions(incident.conditions, [], 'up', timesFrom(goodSince)),
      }
    : incident
  // The clock may have been set back since.
  const goodForMs = at - (goodSince > at ? since : goodSince)
  const isOver = !incident.flapping || goodForMs >= RECOVERED_AFTER_INTERVALS * endpoint.intervalMs
  return isOver ? closeIncident(recovered, goodSince) : recovered
}

/**
 * After a crash, the saved health may be older than the incident: then `up` is no news until good polls confirm it.
 */
export function hasRecovered({ confirmation: { recent } }: Health, recoverAfter: number): boolean {
  // What places say together has no polls of its own.
  if (recent.length === 0) return true
  return recent.length >= recoverAfter && recent.slice(-recoverAfter).every((poll) => poll.verdict === 'up')
}

/** Whether its latest poll was good, though that may not be confirmed yet. */
export function isBack({ confirmation }: Pick<Health, 'confirmation'>): boolean {
  return confirmation.recent.at(-1)?.verdict === 'up'
}

function timesFrom(from: UnixMs) {
  return { from, goneSince: from, changedSince: from }
}

export function closeIncident(incident: Incident, end: UnixMs): Incident {
  const closedAt = Math.max(end, incident.confirmedAt)
  const conditions = incident.conditions.map((condition) => ({ ...condition, until: condition.until ?? closedAt }))
  return { ...incident, closedAt, conditions }
}
