import type { UnixMs } from '../time.ts'
import { endpointsOf, type Incident } from './incident.ts'

/** No messages are sent about a network or an endpoint in [from, until). Verdicts and history do not change. */
export interface Silence {
  readonly id: string
  readonly network: string
  /** `null` for the whole network. */
  readonly endpoint: string | null
  /** Written by a person. */
  readonly reason: string
  readonly from: UnixMs
  /** The time at which it was ended, if that was earlier than planned. */
  readonly until: UnixMs
}

/** A longer one is forgotten by those who made it. */
export const LONGEST_SILENCE_MS = 30 * 86_400_000

/** Whether the silence is about the incident or a part of it. */
export function isAbout({ network, endpoint }: Silence, incident: SilencedIncident): boolean {
  return network === incident.network && (endpoint === null || endpointsOf(incident).includes(endpoint))
}

/** Whether these silences cover all of the incident: its network, or all endpoints that it concerns. */
export function areCovering(silences: readonly Silence[], incident: SilencedIncident): boolean {
  const about = silences.filter((silence) => isAbout(silence, incident))
  if (about.some(({ endpoint }) => endpoint === null)) return true
  const names = endpointsOf(incident)
  return names.length > 0 && names.every((name) => about.some(({ endpoint }) => endpoint === name))
}

export type SilencedIncident = Pick<Incident, 'network' | 'endpoint' | 'cause' | 'affected'>
