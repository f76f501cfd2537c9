import { ALONE } from '../core/cluster/vote.ts'
import { lastedMs } from '../core/incident/bad-time.ts'
import { type Incident, type IncidentChange, type IncidentCondition, scopeOf } from '../core/incident/incident.ts'
import { seconds } from '../core/time.ts'
import { time, timeOrNull } from './rfc3339.ts'
import { publicMessage } from './status-views.ts'
import type { IncidentChangeView, IncidentConditionView, IncidentSummaryView, IncidentView } from './wire-incidents.ts'
import type { Audience } from './wire-status.ts'

/** Without the token, an incident shows place, time and general reason, but no node messages or measurements. */
export function incidentSummary(incident: Incident, audience: Audience): IncidentSummaryView {
  const { openedAt, closedAt } = incident
  return {
    id: incident.id,
    network: incident.network,
    endpoint: incident.endpoint,
    cause: incident.cause,
    scope: scopeOf(incident),
    provider: incident.provider,
    state: incident.state,
    conditions: incident.conditions.map((condition) => conditionView(incident, condition, audience)),
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

export function incidentView(incident: Incident, audience: Audience): Omit<IncidentView, 'silences' | 'notes'> {
  return {
    ...incidentSummary(incident, audience),
    changes: incident.changes.map((change) => changeView(change, audience)),
  }
}

/** The message of a condition for one audience. */
export function sentenceOf(
  incident: Pick<Incident, 'cause'>,
  condition: IncidentCondition,
  audience: Audience,
): string {
  if (audience === 'private') return condition.message
  if (condition.code === 'halted') return 'no endpoint reports a new block'
  if (incident.cause === 'forked') return 'the endpoints disagree on the chain'
  return publicMessage({ ...condition, code: condition.code })
}

function conditionView(incident: Incident, condition: IncidentCondition, audience: Audience): IncidentConditionView {
  const { code, state, since, until } = condition
  return {
    code,
    state,
    message: sentenceOf(incident, condition, audience),
    since: time(since),
    until: timeOrNull(until),
  }
}

function changeView({ at, state, codes, samples }: IncidentChange, audience: Audience): IncidentChangeView {
  return {
    at: time(at),
    state,
    codes: [...codes],
    samples:
      audience === 'public'
        ? []
        : samples.map(({ endpoint, shard, height, lagBlocks, latencyMs }) => ({
            endpoint,
            shard,
            height,
            lag_blocks: lagBlocks,
            latency_seconds: seconds(latencyMs),
          })),
  }
}
