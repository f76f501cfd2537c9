import type { Shard } from '../network.ts'
import type { UnixMs } from '../time.ts'
import type { ConditionCode, Verdict } from '../verdict/condition.ts'

/** What an incident is about: one endpoint, or an event of the whole network. */
export type IncidentCause = 'endpoint' | 'halted' | 'forked'

/** A reason, and when it held. A network-wide incident has one of its own: `halted` or `forked`. */
export interface IncidentCondition {
  readonly code: ConditionCode | 'halted'
  readonly state: Verdict
  /** The latest sentence. */
  readonly message: string
  readonly since: UnixMs
  /** `null` while it holds. */
  readonly until: UnixMs | null
}

/** What was measured when something changed. */
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
  /** The state from then on; `up` where the endpoint was well for a while, or the incident ended. */
  readonly state: Verdict
  readonly codes: readonly IncidentCondition['code'][]
  readonly samples: readonly IncidentSample[]
}

/** An interval of confirmed `down` or `degraded` of one endpoint, or a network-wide event. Plain data: it is kept as JSON. */
export interface Incident {
  /** Safe in a URL, and the same after a restart. */
  readonly id: string
  readonly network: string
  /** `null` for a network-wide one. */
  readonly endpoint: string | null
  readonly cause: IncidentCause
  /** The worst that it reached: `degraded` or `down`. A network-wide one is `degraded`. */
  readonly state: Verdict
  /** The first bad poll. */
  readonly openedAt: UnixMs
  readonly confirmedAt: UnixMs
  /** The first good poll; `null` while it is open. */
  readonly closedAt: UnixMs | null
  /** Every reason that it had, in the order in which they came up. */
  readonly conditions: readonly IncidentCondition[]
  /** At most `MAX_CHANGES`: the first ones and the latest. */
  readonly changes: readonly IncidentChange[]
  /** How often the endpoint became well and ill again in between: from `FLAPPING_AFTER` on it is one incident, not many. */
  readonly flaps: number
  readonly flapping: boolean
  /** The network-wide incident of which this one is a part; it is not listed by itself. */
  readonly absorbedBy: string | null
  /** Of a network-wide one: the endpoints that showed it, by name, sorted. */
  readonly affected: readonly string[]
}

export const MAX_CHANGES = 100
