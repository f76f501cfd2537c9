import type { Shard } from '../network.ts'
import type { UnixMs } from '../time.ts'
import type { ConditionCode, Verdict } from '../verdict/condition.ts'

/** Whether an incident is of one endpoint, or an event of the whole network. */
export type IncidentCause = 'endpoint' | 'halted' | 'forked'

/** A condition and when it held. A network-wide incident has its own: `halted` or `forked`. */
export interface IncidentCondition {
  readonly code: ConditionCode | 'halted'
  readonly state: Verdict
  /** The latest sentence. */
  readonly message: string
  readonly since: UnixMs
  /** `null` while it holds. */
  readonly until: UnixMs | null
}

/** What was measured at a change. */
export interface IncidentSample {
  readonly endpoint: string
  readonly shard: Shard
  readonly height: number | null
  readonly lagBlocks: number | null
  readonly latencyMs: number | null
}

/** One change within an incident, in the order of time. */
export interface IncidentChange {
  readonly at: UnixMs
  /** The state from then on; `up` where the endpoint recovered for a while, or the incident ended. */
  readonly state: Verdict
  readonly codes: readonly IncidentCondition['code'][]
  readonly samples: readonly IncidentSample[]
}

/** An interval of confirmed `down` or `degraded` of one endpoint, or a network-wide event. Plain data: it is stored as JSON. */
export interface Incident {
  /** Safe in a URL, and the same after a restart. */
  readonly id: string
  readonly network: string
  /** `null` for a network-wide one. */
  readonly endpoint: string | null
  readonly cause: IncidentCause
  /** The worst state that it reached: `degraded` or `down`. A network-wide one is `degraded`. */
  readonly state: Verdict
  /** The first bad poll. */
  readonly openedAt: UnixMs
  readonly confirmedAt: UnixMs
  /** The first good poll; `null` while it is open. */
  readonly closedAt: UnixMs | null
  /** Every condition that it had, in order of appearance. */
  readonly conditions: readonly IncidentCondition[]
  /** At most `MAX_CHANGES`: the first ones and the latest ones. */
  readonly changes: readonly IncidentChange[]
  /** How often the endpoint recovered and failed again: from `FLAPPING_AFTER` on it is one incident, not many. */
  readonly flaps: number
  readonly flapping: boolean
  /** The id of the network-wide incident that this one is a part of; it is not listed by itself. */
  readonly absorbedBy: string | null
  /** The sorted names of the endpoints that showed a network-wide event. */
  readonly affected: readonly string[]
}

export const MAX_CHANGES = 100
