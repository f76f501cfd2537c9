import type { EndpointKey } from '../endpoint.ts'
import type { UnixMs } from '../time.ts'
import type { Health } from '../verdict/health.ts'
import type { Incident, IncidentCondition } from './incident.ts'

/** This many related incidents are flapping. */
export const FLAPPING_AFTER = 3
/** For incidents with any conditions. Ten minutes at the default interval. */
const FLAPPING_WINDOW_INTERVALS = 40
/** For incidents that share a condition. One hour at the default interval. */
const SAME_CONDITION_WINDOW_INTERVALS = 240
/** A flapping incident closes after this many good intervals, and reopens at another failure within a window. */
export const RECOVERED_AFTER_INTERVALS = 10
/** Closed incidents kept per endpoint. If more of them fitted into a window, they would be one flapping incident. */
const MAX_CLOSED = 16

/** The part of a closed incident that tells whether the next one is related. */
export interface ClosedIncident {
  readonly at: UnixMs
  readonly codes: ReadonlySet<IncidentCondition['code']>
}

export function closedIncidentOf(incident: Incident): ClosedIncident {
  return { at: incident.closedAt ?? incident.openedAt, codes: new Set(incident.conditions.map(({ code }) => code)) }
}

/** Whether an incident that begins at `openedAt` is related to a closed one. */
export function isRelatedTo({ endpoint, conditions }: Health, openedAt: UnixMs): (closed: ClosedIncident) => boolean {
  const present = conditions.map(({ code }) => code)
  return (closed) => isRecurrence(closed, present, openedAt, endpoint.intervalMs)
}

export function isRecurrence(
  { at, codes }: ClosedIncident,
  present: readonly IncidentCondition['code'][],
  openedAt: UnixMs,
  intervalMs: number,
): boolean {
  const intervals = (openedAt - at) / intervalMs
  if (intervals <= FLAPPING_WINDOW_INTERVALS) return true
  return intervals <= SAME_CONDITION_WINDOW_INTERVALS && present.some((code) => codes.has(code))
}

/** The closed incidents of each endpoint. */
export function createClosedIncidents() {
  /** Newest last. */
  const latest = new Map<EndpointKey, readonly ClosedIncident[]>()
  /** The last one, if it was flapping. */
  const flapping = new Map<EndpointKey, Incident>()

  return {
    of: (key: EndpointKey): readonly ClosedIncident[] => latest.get(key) ?? [],
    flappingOf: (key: EndpointKey): Incident | undefined => flapping.get(key),
    note(key: EndpointKey, incident: Incident): void {
      latest.set(key, [...(latest.get(key) ?? []), closedIncidentOf(incident)].slice(-MAX_CLOSED))
      if (incident.flapping) flapping.set(key, incident)
      else flapping.delete(key)
    },
    retain(endpoints: ReadonlySet<EndpointKey>): void {
      for (const byKey of [latest, flapping]) for (const key of byKey.keys()) if (!endpoints.has(key)) byKey.delete(key)
    },
  }
}

/** Closed incidents of several endpoints, by network, the newest last. */
export function createClosedEvents() {
  const byNetwork = new Map<string, readonly Incident[]>()
  return {
    of: (network: string) => byNetwork.get(network) ?? [],
    forget: (network: string) => void byNetwork.delete(network),
    note(incident: Incident): void {
      const { id, network } = incident
      const earlier = (byNetwork.get(network) ?? []).filter((one) => one.id !== id)
      byNetwork.set(network, [...earlier, incident].slice(-MAX_CLOSED_EVENTS))
    },
  }
}

/** For all hosts and providers of a network. */
const MAX_CLOSED_EVENTS = 10 * MAX_CLOSED
