import type { UnixMs } from '../time.ts'
import type { Condition, State } from '../verdict/condition.ts'
import type { HeadStanding, Health } from '../verdict/health.ts'

/** What a member says of one endpoint for its vantage. `health.endpoint` is the reader's own configuration. */
export interface Vote {
  readonly vantage: string
  readonly member: string
  readonly health: Health
  readonly isImpaired: boolean
}

/** One vantage's word on the page and in the API. */
export interface Place {
  readonly vantage: string
  /** `unknown` if it is not counted. */
  readonly state: State
  readonly since: UnixMs
  readonly lastPolledAt: UnixMs | null
  readonly latencyMs: number | null
  readonly conditions: readonly Condition[]
  readonly heads: readonly HeadStanding[]
  readonly counted: boolean
}
