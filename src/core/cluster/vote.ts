import type { Shard } from '../network.ts'
import type { UnixMs } from '../time.ts'
import { type Condition, type State, severity, type Verdict } from '../verdict/condition.ts'
import type { HeadStanding, Health } from '../verdict/health.ts'
import type { NetworkFork, NetworkReference } from '../verdict/network-chains.ts'

/** What a daemon alone sees is one place. */
export const ALONE = 'default'

/** What a vantage says of one endpoint. `health.endpoint` is the reader's own configuration. */
export interface Vote {
  readonly vantage: string
  /** The member that polled. */
  readonly member: string
  readonly health: Health
  readonly turns: Turns
  /** Whether that member cannot judge nodes at present. */
  readonly isImpaired: boolean
}

/** When a verdict last changed sides. `health.since` alone does not tell how long an endpoint has been usable. */
export interface Turns {
  /** Since when it is down, or not down. */
  readonly down: UnixMs
  /** Since when it is up, or not up. */
  readonly up: UnixMs
  /** When the vantage first had a verdict; missing in votes of versions that did not note it. */
  readonly first?: UnixMs | undefined
  /** When the vantage voted again, after others had decided without it for a while; missing if they never did. */
  readonly back?: UnixMs | undefined
}

/** What a vantage says of a whole network. */
export interface NetworkVote {
  readonly vantage: string
  readonly member: string
  readonly heads: readonly NetworkReference[]
  readonly halts: readonly { readonly shard: Shard; readonly since: UnixMs }[]
  readonly fork: NetworkFork | null
  /** After this time it does not count. */
  readonly validUntil: UnixMs
  readonly isImpaired: boolean
}

/** One vantage's word on the page and in the API. */
export interface Place {
  readonly vantage: string
  /** `unknown` if it does not count. */
  readonly state: State
  readonly since: UnixMs
  readonly lastPolledAt: UnixMs | null
  readonly latencyMs: number | null
  readonly conditions: readonly Condition[]
  readonly heads: readonly HeadStanding[]
  readonly counted: boolean
  /** Its last word, also if it does not count. */
  readonly said: Verdict | null
  readonly back: Turns['back']
}

/** The turns after a verdict that followed another. `before`: `null` for the first verdict. */
export function turnsAfter(
  before: { readonly verdict: Health['verdict']; readonly turns: Turns } | null,
  { verdict, since }: Pick<Health, 'verdict' | 'since'>,
): Turns {
  if (before === null || before.verdict === null || verdict === null) return { down: since, up: since, first: since }
  if (before.verdict === verdict) return before.turns
  const { down, up, first, back } = before.turns
  const crossed = (limit: 'degraded' | 'down') =>
    severity(verdict) >= severity(limit) !== severity(before.verdict ?? 'up') >= severity(limit)
  return { down: crossed('down') ? since : down, up: crossed('degraded') ? since : up, first, back }
}

/** A vote takes a second to be written and a second to be read. */
export const TRAVELS_MS = 2000

/** How long after a poll its vote counts, if another one comes in time. */
export function voteHoldsMs(intervalMs: number): number {
  return 2 * intervalMs + TRAVELS_MS
}

/** Whether a poll ends a silence of its vantage in which others have decided without it. `before`: its vote until then. */
export function isBackAt(polledAt: UnixMs, before: Pick<Vote, 'health'>): boolean {
  return polledAt > validUntil(before) + voteHoldsMs(before.health.endpoint.intervalMs)
}

/** Whether there is a result to count: a poll that failed by the vantage's own fault ends the validity of the one before. */
export function hasResult({ health: { lastPolledAt, validUntil: until } }: Pick<Vote, 'health'>): boolean {
  return lastPolledAt !== null && until > lastPolledAt
}

/** After this time the vote does not count: two intervals after its poll, and the time that it needs to arrive. */
export function validUntil({ health }: Pick<Vote, 'health'>): UnixMs {
  return health.validUntil + TRAVELS_MS
}

export function placeOf({ vantage, health, turns: { back } }: Vote, counted: boolean, now: UnixMs): Place {
  const { verdict, since, lastPolledAt, latencyMs, conditions, heads } = health
  if (counted && verdict !== null)
    return { vantage, state: verdict, since, lastPolledAt, latencyMs, conditions, heads, counted, said: verdict, back }
  const expired = validUntil({ health })
  const unknownSince = verdict === null ? since : expired < now ? expired : (lastPolledAt ?? since)
  const nothing = { latencyMs: null, conditions: [], counted: false } as const
  return { vantage, state: 'unknown', since: unknownSince, lastPolledAt, heads, said: verdict, back, ...nothing }
}
