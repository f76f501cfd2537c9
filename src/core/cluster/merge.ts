import type { Endpoint } from '../endpoint.ts'
import type { UnixMs } from '../time.ts'
import {
  type Condition,
  type ConditionCode,
  named,
  severity,
  shardsOf,
  VERDICTS,
  type Verdict,
} from '../verdict/condition.ts'
import { type Health, unpolled } from '../verdict/health.ts'
import { hasResult, type Place, placeOf, type Vote, validUntil } from './vote.ts'

/**
 * What the votes of all vantages together say of an endpoint: the worst state that a quorum of the counted ones say or
 * exceed. Fewer vantages that see it down make it `degraded`, with the condition `partial`. A function of the votes
 * alone, so that every member shows the same.
 */
export function mergeVotes(endpoint: Endpoint, votes: readonly Vote[], quorum: Quorum, now: UnixMs): MergedVotes {
  const sorted = latestOfEach(votes)
  const counted = deciding(sorted.filter((vote) => isCounted(vote, now)))
  const places = sorted.map((vote) => placeOf(vote, counted.includes(vote), now))
  const [only] = counted
  if (only === undefined) return { health: unknownOf(endpoint, sorted, now), confirmedBy: 0, places }
  if (counted.length === 1) {
    const health = { ...only.health, endpoint, validUntil: validUntil(only) }
    return { health, confirmedBy: 1, places }
  }
  const needed = neededOf(quorum, counted.length)
  const state = stateOf(
    counted.map(({ health }) => health.verdict),
    needed,
  )
  const said = counted.filter(({ health }) => (state === 'up' ? health.verdict === 'up' : isAtLeast(health, state)))
  return { health: mergedHealth(endpoint, counted, quorum, state), confirmedBy: said.length, places }
}

/** How many of the counted vantages must agree: more than half of them, but at least two if there are two; or a number. */
export type Quorum = 'majority' | number

export interface MergedVotes {
  readonly health: Health
  /** How many vantages say the merged state, or a worse one. */
  readonly confirmedBy: number
  /** In the order of their names. */
  readonly places: readonly Place[]
}

/** The quorum of `counted` vantages. */
export function neededOf(quorum: Quorum, counted: number): number {
  if (quorum !== 'majority') return Math.max(1, Math.min(quorum, counted))
  return counted < 2 ? 1 : Math.max(2, Math.floor(counted / 2) + 1)
}

/** The n-th smallest; `null` if there are fewer. */
export function nth(values: readonly number[], n: number): number | null {
  return values.toSorted((a, b) => a - b)[n - 1] ?? null
}

function latestOfEach(votes: readonly Vote[]): readonly Vote[] {
  if (votes.length < 2) return votes
  const byVantage = new Map<string, Vote>()
  for (const vote of votes) {
    const other = byVantage.get(vote.vantage)
    if (other === undefined || isNewer(vote, other)) byVantage.set(vote.vantage, vote)
  }
  return [...byVantage.values()].sort((a, b) => (a.vantage < b.vantage ? -1 : 1))
}

function isNewer(a: Vote, b: Vote): boolean {
  const [atA, atB] = [a.health.lastPolledAt ?? 0, b.health.lastPolledAt ?? 0]
  return atA === atB ? a.member > b.member : atA > atB
}

function isCounted(vote: Vote, now: UnixMs): boolean {
  return !vote.isImpaired && vote.health.verdict !== null && hasResult(vote) && now <= validUntil(vote)
}

/** Without places that only repeat what they said before they were away, unless there are no others. */
function deciding(counted: readonly Vote[]): readonly Vote[] {
  const sure = counted.filter((vote) => !isOutdated(vote))
  return sure.length === 0 ? counted : sure
}

/**
 * Whether each poll since the place was back found the endpoint better, or each found it worse, but not often enough to say so.
 * One that was not away keeps its word: without it, the places that are left might be too few to be right.
 */
function isOutdated({ health: { verdict, confirmation }, turns: { back } }: Vote): boolean {
  const first = confirmation.recent.findIndex(({ at }) => at === back)
  if (first === -1) return false
  const said = severity(verdict ?? 'up')
  const found = confirmation.recent.slice(first).map((poll) => severity(poll.verdict))
  return found.every((one) => one < said) || found.every((one) => one > said)
}

function isAtLeast({ verdict }: { readonly verdict: Verdict | null }, limit: Verdict): boolean {
  return verdict !== null && severity(verdict) >= severity(limit)
}

function stateOf(verdicts: readonly (Verdict | null)[], needed: number): Verdict {
  const count = (limit: Verdict) => verdicts.filter((verdict) => isAtLeast({ verdict }, limit)).length
  if (count('down') >= needed) return 'down'
  return count('down') > 0 || count('degraded') >= needed ? 'degraded' : 'up'
}

/** When this state began. Vantages that had their first verdict then, without changing it, only joined in. */
function sinceOf(counted: readonly Vote[], quorum: Quorum, state: Verdict): UnixMs {
  const since = reachedAt(counted, neededOf(quorum, counted.length), state)
  const earlier = counted.filter(({ turns }) => (turns.first ?? Number.NEGATIVE_INFINITY) < since)
  if (earlier.length === 0 || earlier.length === counted.length) return since
  const verdicts = earlier.map(({ health }) => health.verdict)
  const wasSame = stateOf(verdicts, neededOf(quorum, earlier.length)) === state
  return wasSame ? Math.min(since, sinceOf(earlier, quorum, state)) : since
}

/**
 * When the counted vantages came to this state. Each limit was crossed when the last vantage that the quorum needed
 * crossed it; `up` also needs the last `down` to be over.
 */
function reachedAt(counted: readonly Vote[], needed: number, state: Verdict): UnixMs {
  const notDowns = turnsOf(counted, 'down', false)
  const toPrevent = counted.length - needed + 1
  switch (state) {
    case 'down':
      return nth(turnsOf(counted, 'down', true), needed) ?? Number.NEGATIVE_INFINITY
    case 'degraded':
      return Math.max(nth(notDowns, toPrevent) ?? Number.NEGATIVE_INFINITY, badSinceOf(counted, needed))
    case 'up':
      return Math.max(...notDowns, nth(turnsOf(counted, 'up', false), toPrevent) ?? Number.NEGATIVE_INFINITY)
  }
}

/** Since when the counted vantages together have not been `up`: one that sees it down is enough. */
function badSinceOf(counted: readonly Vote[], needed: number): UnixMs {
  const degraded = nth(turnsOf(counted, 'up', true), needed) ?? Number.POSITIVE_INFINITY
  return Math.min(degraded, ...turnsOf(counted, 'down', true))
}

function turnsOf(counted: readonly Vote[], limit: 'down' | 'up', isBad: boolean): readonly UnixMs[] {
  return counted
    .filter(({ health }) => isAtLeast(health, limit === 'down' ? 'down' : 'degraded') === isBad)
    .map(({ turns }) => turns[limit])
}

/** `counted` are two or more. */
function mergedHealth(endpoint: Endpoint, counted: readonly Vote[], quorum: Quorum, state: Verdict): Health {
  const needed = neededOf(quorum, counted.length)
  const since = sinceOf(counted, quorum, state)
  const same = counted.filter(({ health }) => health.verdict === state)
  // In a partial outage, the values are of the places that still reach the endpoint.
  const alike = same.length > 0 ? same : counted.filter(({ health }) => health.verdict !== 'down')
  const latest = latestOf(alike)
  const latencies = alike.flatMap(({ health }) => health.latencyMs ?? [])
  const lastPolledAt = Math.max(...counted.map(({ health }) => health.lastPolledAt ?? 0))
  return {
    endpoint,
    verdict: state,
    since,
    conditions: conditionsOf(counted, needed, state, since),
    lastPolledAt,
    validUntil: Math.max(...counted.map(validUntil)),
    heads: latest.heads,
    liveness: latest.liveness,
    latencyMs: nth(latencies, Math.ceil(latencies.length / 2)),
    clockSkewMs: latest.clockSkewMs,
    tlsNotAfter: latest.tlsNotAfter,
    confirmation: state === 'up' ? { verdict: state, since, recent: NONE, traces: NONE } : badConfirmation(),
    laggingShards: latest.laggingShards,
    livenessLimited: false,
  }

  /** Places have no polls in common, but their latest ones tell whether the endpoint is coming back. */
  function badConfirmation(): Health['confirmation'] {
    const latestPolls = counted.map(({ health }) => health.confirmation.recent.at(-1)?.verdict ?? health.verdict)
    const recent = [{ at: lastPolledAt, verdict: stateOf(latestPolls, needed) }]
    return { verdict: state, since, badSince: badSinceOf(counted, needed), recent, traces: NONE }
  }
}

function latestOf(votes: readonly Vote[]): Health {
  const [first, ...others] = votes.map(({ health }) => health)
  if (first === undefined) throw new Error('no vote')
  return others.reduce((a, b) => ((b.lastPolledAt ?? 0) > (a.lastPolledAt ?? 0) ? b : a), first)
}

const NONE: readonly never[] = Object.freeze([])

/** A condition and the vantages that have it, in the order of their names. */
interface Said {
  readonly condition: Condition
  readonly vantage: string
}

/**
 * Conditions that a quorum of vantages have, with the verdict that a quorum give them. A state always has a reason: if
 * the vantages see it for different ones, all of them count.
 */
function conditionsOf(counted: readonly Vote[], needed: number, state: Verdict, since: UnixMs): readonly Condition[] {
  if (state === 'up' && counted.every(({ health }) => health.conditions.length === 0)) return NONE
  const byCode = new Map<ConditionCode, Said[]>()
  for (const { vantage, health } of counted) {
    for (const condition of health.conditions) {
      const said = byCode.get(condition.code) ?? []
      if (said.at(-1)?.vantage !== vantage) byCode.set(condition.code, [...said, { condition, vantage }])
    }
  }
  const isPartial = state === 'degraded' && counted.some(({ health }) => health.verdict === 'down')
  const known = new Map<ConditionCode, Condition>()
  for (const [code, said] of byCode) if (said.length >= needed) known.set(code, mergedCondition(said, needed, state))
  if (state !== 'up' && !isPartial && ![...known.values()].some(({ verdict }) => verdict === state)) {
    for (const [code, all] of byCode) {
      const said = all.filter(({ condition }) => isAtLeast(condition, state))
      if (said.length > 0) known.set(code, mergedCondition(said, 1, state))
    }
  }
  const merged = [...known.values()].sort(
    (a, b) => severity(b.verdict) - severity(a.verdict) || a.since - b.since || (a.code < b.code ? -1 : 1),
  )
  // What the places disagree on is said first.
  return isPartial ? [partialOf(counted, since), ...merged] : merged
}

function mergedCondition(said: readonly Said[], needed: number, state: Verdict): Condition {
  const isSaidBy = (limit: Verdict) => said.filter(({ condition }) => isAtLeast(condition, limit)).length >= needed
  const verdict = VERDICTS.findLast((limit) => isSaidBy(limit) && severity(limit) <= severity(state)) ?? 'up'
  const backers = said.filter(({ condition }) => isAtLeast(condition, verdict))
  const since =
    nth(
      backers.map(({ condition }) => condition.since),
      needed,
    ) ?? 0
  const [first] = backers
  if (first === undefined) throw new Error('a condition that no vantage has')
  const { code } = first.condition
  const isAlone = backers.every(({ condition }) => condition.isAlone === true)
  const shards = shardsOf(backers.map(({ condition }) => condition))
  return { code, verdict, message: messageOf(backers), since, ...(isAlone && { isAlone }), shards }
}

/** Places may see the same condition differently: each is named with what it sees. */
function messageOf(backers: readonly Said[]): string {
  const inOrder = backers.toSorted((a, b) => a.condition.since - b.condition.since)
  const messages = [...new Set(inOrder.map(({ condition }) => condition.message))]
  const from = (message: string) => listed(backers.filter(({ condition }) => condition.message === message))
  return named(
    messages.map((message) => `${message} (from ${from(message)})`),
    MOST_NAMED,
  )
}

function partialOf(counted: readonly Vote[], since: UnixMs): Condition {
  const saying = (verdict: Verdict) => counted.filter(({ health }) => health.verdict === verdict)
  const downs = saying('down')
  const reasons = downs.flatMap(({ vantage, health }) => {
    const condition = health.conditions.find(({ verdict }) => verdict === 'down')
    return condition === undefined ? [] : [{ condition, vantage }]
  })
  const messages = new Set(reasons.map(({ condition }) => condition.message))
  const reason = messages.size > 1 ? messageOf(reasons) : [...messages][0]
  const others = (['degraded', 'up'] as const).flatMap((verdict) => {
    const some = saying(verdict)
    return some.length === 0 ? [] : [`${verdict} from ${listed(some)}`]
  })
  const down = `down from ${listed(downs)} only${reason === undefined ? '' : `: ${reason}`}`
  const began = Math.max(since, Math.min(...downs.map(({ turns }) => turns.down)))
  return { code: 'partial', verdict: 'degraded', message: [down, ...others].join('; '), since: began }
}

const MOST_NAMED = 8

function listed(said: readonly { readonly vantage: string }[]): string {
  const vantages = said.map(({ vantage }) => vantage)
  return named(vantages, MOST_NAMED)
}

/** The latest vote, as one whose result holds no longer. */
function unknownOf(endpoint: Endpoint, votes: readonly Vote[], now: UnixMs): Health {
  if (votes.length === 0) return unpolled(endpoint, now)
  const health = latestOf(votes)
  const expired = validUntil({ health })
  const until = expired < now ? expired : Math.min(health.validUntil, (health.lastPolledAt ?? health.since) - 1)
  return { ...health, endpoint, validUntil: until, latencyMs: null }
}
