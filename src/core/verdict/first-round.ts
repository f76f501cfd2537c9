import type { Endpoint } from '../endpoint.ts'
import type { Shard } from '../network.ts'
import type { UnixMs } from '../time.ts'

/**
 * The first polls after a start. The endpoints that answer first do not show which of them is right: while others were not
 * polled yet, no branch has a majority that they could change. After a restart, no endpoint is compared until every one
 * of the earlier run was polled once. Rarely polled ones are not waited for.
 */
export function createFirstRound(endpoints: readonly Polled[]) {
  const intervals = endpoints.map(({ intervalMs }) => intervalMs)
  const unpolled = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))
  /** How many of these have a head on the shard. */
  const counts = new Map<Shard, number>()
  for (const endpoint of endpoints) count(endpoint, 1)
  /** Those of the earlier run that were not polled yet. */
  const awaited = new Set<string>()
  let until: UnixMs | null = null

  function begin(at: UnixMs): UnixMs {
    until ??= at + Math.min(2 * Math.max(...intervals), MOST_INTERVALS * Math.min(...intervals))
    return until
  }

  function count({ checks, shards }: Polled, by: number): void {
    if (!checks.includes('head')) return
    for (const shard of shards) counts.set(shard, (counts.get(shard) ?? 0) + by)
  }

  return {
    wait(name: string, now: UnixMs): void {
      awaited.add(name)
      begin(now)
    },
    polled(name: string, at: UnixMs): void {
      awaited.delete(name)
      const endpoint = unpolled.get(name)
      if (endpoint !== undefined && unpolled.delete(name)) count(endpoint, -1)
      if (unpolled.size === 0 || at <= begin(at)) return
      unpolled.clear()
      counts.clear()
    },
    isOver: (now: UnixMs) => awaited.size === 0 || until === null || now > until,
    /** Number of endpoints of the shard that may still decide what those polled so far do not agree on. */
    unpolled: (shard: Shard) => counts.get(shard) ?? 0,
    shift(ms: number): void {
      if (until !== null) until += ms
    },
  }
}

type Polled = Pick<Endpoint, 'name' | 'intervalMs' | 'checks' | 'shards'>

const MOST_INTERVALS = 10
