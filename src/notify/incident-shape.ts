import { ALONE } from '../core/cluster/vote.ts'
import { lastedMs } from '../core/incident/bad-time.ts'
import { type Incident, type IncidentCondition, scopeOf } from '../core/incident/incident.ts'
import { seconds, time, timeOrNull } from '../core/time.ts'

/** An incident as the API and webhooks show it; `messageOf` has the words of a condition for its readers. */
export function incidentShape(
  incident: Omit<Incident, 'changes'>,
  messageOf: (condition: IncidentCondition) => string,
) {
  const { openedAt, closedAt } = incident
  return {
    id: incident.id,
    network: incident.network,
    endpoint: incident.endpoint,
    cause: incident.cause,
    scope: scopeOf(incident),
    provider: incident.provider,
    state: incident.state,
    conditions: incident.conditions.map((condition) => ({
      code: condition.code,
      state: condition.state,
      message: messageOf(condition),
      since: time(condition.since),
      until: timeOrNull(condition.until),
    })),
    opened_at: time(openedAt),
    planned_until: timeOrNull(incident.plannedUntil ?? null),
    confirmed_at: time(incident.confirmedAt),
    closed_at: timeOrNull(closedAt),
    duration_seconds: closedAt === null ? null : seconds(lastedMs(incident, closedAt)),
    flapping: incident.flapping,
    flaps: incident.flaps,
    affected: [...incident.affected],
    vantages: [...(incident.vantages ?? [ALONE])],
    absorbed_by: incident.absorbedBy,
  }
}
