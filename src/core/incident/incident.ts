import type { Shard } from '../network.ts'
import type { UnixMs } from '../time.ts'
import type { ConditionCode, Verdict } from '../verdict/condition.ts'

/** `endpoint`: a problem of one endpoint. All others are events of the whole network. */
export type IncidentCause = 'endpoint' | 'halted' | 'forked'

/** A condition and when it held. A network-wide incident has one with its cause as the code. */
export interface IncidentCondition {
  readonly code: ConditionCode | 'halted'
  readonly state: Verdict
  /** The latest sentence. */
  readonly message: string
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
  /** `null` for a network-wide incident. */
  readonly endpoint: string | null
  readonly cause: IncidentCause
  /** The worst state reached: `degraded` or `down`; always `degraded` for a network-wide incident. */
  readonly state: Verdict
  /** Start of the first bad poll. */
  readonly openedAt: UnixMs
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
  /** Id of the network-wide incident that includes this one, which is then not listed. */
  readonly absorbedBy: string | null
  /** Sorted names of the endpoints that showed a network-wide event. */
  readonly affected: readonly string[]
}

export const MAX_CHANGES = 100
