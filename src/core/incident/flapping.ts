import type { UnixMs } from '../time.ts'
import type { Health } from '../verdict/health.ts'
import type { Incident, IncidentCondition } from './incident.ts'

/** An endpoint that falls ill for the this-many-th time within a window is flapping. */
export const FLAPPING_AFTER = 3
/** Ten minutes at the default interval, whatever it has each time. */
const FLAPPING_WINDOW_INTERVALS = 40
/** An hour at the default interval, if it has the same each time. */
const SAME_AGAIN_WINDOW_INTERVALS = 240
/** A flapping endpoint that was well for so long has recovered; if it falls ill within a window, it still is the same incident. */
export const CALM_INTERVALS = 10
/** More of them fit into no window without being one incident. */
export const MOST_CLOSINGS = 16

/** What must be known of an incident that is over, to tell whether the next one is more of the same. */
export interface ClosedIncident {
  readonly at: UnixMs
  readonly codes: ReadonlySet<IncidentCondition['code']>
}

export function closedIncidentOf(incident: Incident): ClosedIncident {
  return { at: incident.closedAt ?? incident.openedAt, codes: new Set(incident.conditions.map(({ code }) => code)) }
}

/** Whether an incident that begins now is more of the same. */
export function isRelatedTo({ endpoint, conditions }: Health, openedAt: UnixMs): (closing: ClosedIncident) => boolean {
  return ({ at, codes }) => {
    const intervals = (openedAt - at) / endpoint.intervalMs
    if (intervals <= FLAPPING_WINDOW_INTERVALS) return true
    return intervals <= SAME_AGAIN_WINDOW_INTERVALS && conditions.some(({ code }) => codes.has(code))
  }
}
