import type { EndpointKey } from '../endpoint.ts'
import type { UnixMs } from '../time.ts'
import { type Beginning, type ClosedIncident, closedIncidentOf, MAX_CLOSED } from './endpoint-incident.ts'
import type { Incident } from './incident.ts'

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

/** Outages that may recur, by network, the newest last. */
export function createClosedOutages() {
  const byNetwork = new Map<string, readonly Incident[]>()
  return {
    of: (network: string) => byNetwork.get(network) ?? [],
    forget: (network: string) => void byNetwork.delete(network),
    note(incident: Incident): void {
      const { id, network, cause } = incident
      if (cause !== 'outage') return
      const earlier = (byNetwork.get(network) ?? []).filter((one) => one.id !== id)
      byNetwork.set(network, [...earlier, incident].slice(-MAX_CLOSED_OUTAGES))
    },
  }
}

/** For all hosts and providers of a network. */
const MAX_CLOSED_OUTAGES = 10 * MAX_CLOSED

/** Remembers the end of the latest planned maintenance by endpoint and network event: no incident opens before. */
export function createMaintenanceMemory() {
  const ends = new Map<string, UnixMs>()
  return {
    note: (key: string, until: UnixMs) => void ends.set(key, until),

    /** Whether no incident may open after this poll. `maintainedUntil`: end of the present maintenance, if any. */
    excuses(key: string, maintainedUntil: UnixMs | null, at: UnixMs, now: UnixMs): boolean {
      if (maintainedUntil !== null) ends.set(key, maintainedUntil)
      const until = ends.get(key)
      // The poll began during maintenance and ended after it.
      return maintainedUntil !== null || (until !== undefined && at < until && until <= now)
    },

    /** An incident that begins during planned maintenance is opened at its end, dated back to the first bad poll. */
    beginningOf(key: string, since: UnixMs, now: UnixMs, badSince = since): Beginning {
      const until = Math.min(ends.get(key) ?? Number.NEGATIVE_INFINITY, now)
      return until > badSince ? { openedAt: badSince, plannedUntil: until } : { openedAt: since, plannedUntil: null }
    },

    retain(isKept: (key: string) => boolean, at: UnixMs): void {
      for (const [key, until] of ends) {
        // The configuration may have shortened the maintenance. If not, the next poll notes its end again.
        if (isKept(key)) ends.set(key, Math.min(until, at))
        else ends.delete(key)
      }
    },
  }
}
