import type { Incident, IncidentChange, IncidentCondition } from '../core/incident/incident.ts'
import { seconds, time } from '../core/time.ts'
import { incidentShape } from '../notify/incident-shape.ts'
import { publicMessage } from './status-views.ts'
import type { IncidentChangeView, IncidentSummaryView, IncidentView } from './wire/incidents.ts'
import type { Audience } from './wire/status.ts'

/** Without the token, an incident shows place, time and general reason, but no node messages or measurements. */
export function incidentSummary(incident: Incident, audience: Audience): IncidentSummaryView {
  return incidentShape(incident, (condition) => sentenceOf(incident, condition, audience))
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
