import type { Incident, IncidentSample } from '../core/incident/incident.ts'
import type { NetworkEvent } from '../core/incident/network-event.ts'
import { type MaintenanceSpan, spanAt } from '../core/maintenance.ts'
import { type Shard, shardName } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import { named } from '../core/verdict/condition.ts'
import type { NetworkFork } from '../core/verdict/network-chains.ts'
import type { NetworkView } from '../core/verdict/network-view.ts'
import type { BoardEntry } from '../state/board.ts'

/** A halt of the whole chain, or of some of its shards, as an incident says it. */
export function haltEvent(
  halts: Halts,
  heard: readonly BoardEntry[],
  now: UnixMs,
  open: readonly Incident[],
): NetworkEvent {
  const shards = numbered(halts.map(({ shard }) => shard))
  const where = shards === undefined ? '' : ` on ${shards.map(shardName).join(', ')},`
  const isHalted = ({ shard }: { readonly shard: Shard }) => halts.some((halt) => halt.shard === shard)
  const halted = heard.filter(({ health }) => health.heads.some(isHalted))
  const spans = halted.map((entry) => spanAt(entry.maintenance, now))
  return {
    ...ofWholeNetwork('halted', open),
    since: Math.min(...halts.map((halt) => halt.since)),
    message: `no new block${where} on any of ${halted.length} endpoints`,
    shards,
    affected: halted.map(({ health }) => health.endpoint.name).sort(),
    maintained: spans.includes(null) ? null : commonSpan(spans),
  }
}

/** Maintenance does not cover a fork while two or more branches have an endpoint outside maintenance. */
export function forkEvent(
  { shard, shards = [shard], height, since, branches }: NetworkFork,
  heard: readonly BoardEntry[],
  now: UnixMs,
  open: readonly Incident[],
): NetworkEvent {
  const where = shard === null ? '' : `${shardName(shard)}: `
  const sides = branches
    .slice(0, MOST_NAMED)
    .map(({ hash, endpoints }) => `${shortHash(hash)} (${named(endpoints, MOST_NAMED)})`)
  const spans = new Map(heard.map((entry) => [entry.health.endpoint.name, spanAt(entry.maintenance, now)]))
  const judged = branches.filter(({ endpoints }) => endpoints.some((name) => (spans.get(name) ?? null) === null))
  return {
    ...ofWholeNetwork('forked', open),
    since,
    message: `${where}${branches.length} different blocks at height ${height}, none of them a majority's: ${sides.join(', ')}`,
    shards: numbered(shards),
    affected: branches.flatMap(({ endpoints }) => endpoints).sort(),
    maintained: judged.length > 1 ? null : commonSpan([...spans.values()]),
  }
}

/** Absent if the chain is not sharded. */
function numbered(shards: readonly Shard[]): readonly number[] | undefined {
  const numbers = shards.filter((shard) => shard !== null)
  return numbers.length === 0 ? undefined : numbers
}

function ofWholeNetwork<C extends 'halted' | 'forked'>(cause: C, open: readonly Incident[]) {
  const continues = open.find((incident) => incident.cause === cause)?.id ?? null
  const none = { provider: null, plannedUntil: null, intervalMs: null }
  return { cause, continues, key: cause, state: 'degraded', code: cause, ...none } as const
}

/** While all endpoints that are maintained now are maintained. */
function commonSpan(spans: readonly (MaintenanceSpan | null)[]): MaintenanceSpan | null {
  const known = spans.filter((span) => span !== null)
  return known.length === 0
    ? null
    : { from: Math.max(...known.map(({ from }) => from)), until: Math.min(...known.map(({ until }) => until)) }
}

function shortHash(hash: string): string {
  return hash.length <= 12 ? hash : `${hash.slice(0, 10)}…`
}

/**
 * Whether, on every shard, an endpoint that stood still at the newest block has a new one: a higher one, or a later one
 * after the chain was set back. One that was behind may only catch up. One that was silent when the halt was found shows
 * the same with blocks above those. The network also counts as resumed if none of the endpoints is left.
 */
export function hasResumed(
  { changes, openedAt }: Incident,
  all: readonly BoardEntry[],
  heard: readonly BoardEntry[],
  halts: Halts,
): boolean {
  const stood = (changes[0]?.samples ?? []).filter(({ endpoint }) =>
    all.some(({ health }) => health.endpoint.name === endpoint),
  )
  const shards = [...new Set(stood.map(({ shard }) => shard))]
  return shards.every((shard) => {
    const onShard = stood.filter((sample) => sample.shard === shard)
    const leastLag = Math.min(...onShard.map(lagOf))
    const highest = Math.max(...onShard.map(({ height }) => height ?? -1))
    const isAbove = heard.some(({ health }) => {
      const head = health.heads.find((one) => one.shard === shard)
      return head !== undefined && head.height > highest && head.advancedAt > openedAt
    })
    if (isAbove && !halts.some((halt) => halt.shard === shard)) return true
    return onShard.some((sample) => {
      const now = heard.find(({ health }) => health.endpoint.name === sample.endpoint)?.health
      const head = now?.heads.find((one) => one.shard === shard)
      if (lagOf(sample) > leastLag || sample.height === null || head === undefined) return false
      return head.height > sample.height || (head.height < sample.height && head.advancedAt > openedAt)
    })
  })
}

function lagOf({ lagBlocks }: IncidentSample): number {
  return lagBlocks ?? 0
}

export type Halts = ReturnType<NetworkView['halts']>

/** Endpoints named in a message or a line of the log. */
export const MOST_NAMED = 8
