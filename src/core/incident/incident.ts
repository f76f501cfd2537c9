import type { Shard } from '../network.ts'
import type { UnixMs } from '../time.ts'
import { type Condition, type ConditionCode, named, type Verdict } from '../verdict/condition.ts'

/**
 * `endpoint`: a problem of one endpoint; `outage`: endpoints of one host or provider are unhealthy together. All others
 * are events of the whole network.
 */
export type IncidentCause = (typeof INCIDENT_CAUSES)[number]
export const INCIDENT_CAUSES = ['endpoint', 'halted', 'forked', 'outage'] as const

/** A condition and when it held. A network-wide incident has one with its cause as the code. */
export interface IncidentCondition {
  readonly code: ConditionCode | 'halted'
  readonly state: Verdict
  /** The latest sentence. */
  readonly message: string
  readonly isAlone?: Condition['isAlone']
  readonly shards?: Condition['shards']
  readonly since: UnixMs
  /** `null` while it holds. */
  readonly until: UnixMs | null
}

/** An endpoint's measurements at a change. */
export interface IncidentSample {
  readonly endpoint: string
  readonly shard: Shard
  readonly height: number | null
  readonly lagBlocks: number | null
  readonly latencyMs: number | null
}

export interface IncidentChange {
  readonly at: UnixMs
  /** The state from then on; `up` if the endpoint recovered for a while or the incident ended. */
  readonly state: Verdict
  readonly codes: readonly IncidentCondition['code'][]
  readonly samples: readonly IncidentSample[]
}

/** A period of confirmed `down` or `degraded` of one endpoint, or a network-wide event. Plain data: stored as JSON. */
export interface Incident {
  /** Safe in a URL, and the same after a restart. */
  readonly id: string
  readonly network: string
  /** `null` for an incident of several endpoints. */
  readonly endpoint: string | null
  readonly cause: IncidentCause
  /** The configured provider of an outage; otherwise, and for an outage of one host, `null`. */
  readonly provider: string | null
  /** The worst state reached: `degraded` or `down`; always `degraded` for a network-wide incident. */
  readonly state: Verdict
  /** Start of the first bad poll. */
  readonly openedAt: UnixMs
  /** End of the planned maintenance in which it began; absent or `null` if it began outside of one. */
  readonly plannedUntil?: UnixMs | null | undefined
  readonly confirmedAt: UnixMs
  /** Start of the first good poll; `null` while the incident is open. */
  readonly closedAt: UnixMs | null
  /** In order of appearance. */
  readonly conditions: readonly IncidentCondition[]
  /** In order of time, at most `MAX_CHANGES`: the first and the latest ones. */
  readonly changes: readonly IncidentChange[]
  /** How often the endpoint recovered and failed again, including earlier related incidents. */
  readonly flaps: number
  readonly flapping: boolean
  /** Id of the incident of several endpoints that includes this one, which is then not listed. */
  readonly absorbedBy: string | null
  /** Sorted names of the endpoints of an incident of several. */
  readonly affected: readonly string[]
  /** The places of a cluster that see it, sorted; absent for a daemon alone. */
  readonly vantages?: readonly string[] | undefined
}

export const INCIDENT_SCOPES = ['endpoint', 'host', 'provider', 'network'] as const

/** What an incident is about. A host has no name, because it is part of a secret URL. */
export function scopeOf({ cause, provider }: Pick<Incident, 'cause' | 'provider'>): (typeof INCIDENT_SCOPES)[number] {
  if (cause === 'endpoint') return 'endpoint'
  if (cause !== 'outage') return 'network'
  return provider === null ? 'host' : 'provider'
}

/** The endpoints that it is about: none of an event of the whole network. `web/views/model.ts` has the same rule. */
export function endpointsOf({ cause, endpoint, affected }: Pick<Incident, 'cause' | 'endpoint' | 'affected'>) {
  return cause === 'outage' ? affected : endpoint === null ? [] : [endpoint]
}

/** The endpoints that it concerns: of an event of the whole network those that show it. */
export function concernedOf({ endpoint, affected }: Pick<Incident, 'endpoint' | 'affected'>): readonly string[] {
  return endpoint === null ? affected : [endpoint]
}

/** What to call it: `ethereum/own-1`, `ethereum`, or `ethereum: 2 endpoints on one host (own-1, own-2)`. */
export function subjectOf(
  incident: Pick<Incident, 'network' | 'endpoint' | 'cause' | 'affected' | 'provider'>,
): string {
  const { network, endpoint, cause, affected, provider } = incident
  if (cause === 'outage')
    return `${network}: ${affected.length} endpoints ${sharedBy(provider)} (${named(affected, 3)})`
  return endpoint === null ? network : `${network}/${endpoint}`
}

export function sharedBy(provider: string | null): string {
  return provider === null ? 'on one host' : `of provider ${provider}`
}

/** The conditions that make it as bad as it is, in order of appearance. */
export function mainConditions({ conditions, state }: Pick<Incident, 'conditions' | 'state'>) {
  const main = conditions.filter((condition) => condition.state === state)
  return main.length > 0 ? main : conditions.slice(0, 1)
}

export const MAX_CHANGES = 100
