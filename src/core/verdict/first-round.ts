import type { Endpoint } from '../endpoint.ts'
import type { Shard } from '../network.ts'
import type { UnixMs } from '../time.ts'

/**
 * The first polls after a start or restart. The endpoints that answer first do not show which of them is right: until all
 * were polled, no endpoint is compared, and no branch has a majority that the others could change. Rarely polled ones are
 * not waited for.
 */
export function createFirstRound(endpoints: readonly Polled[]) {
  const intervals = endpoints.map(({ intervalMs }) => intervalMs)
  const unpolled = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))
  /** How many of these have a head on the shard. */
  const counts = new Map<Shard, number>()
  for (const endpoint of endpoints) count(endpoint, 1)
  let until: UnixMs | null = null

  function count({ checks, shards }: Polled, by: number): void {
    if (!checks.includes('head')) return
    for (const shard of shards) counts.set(shard, (counts.get(shard) ?? 0) + by)
  }

  return {
    polled(name: string, at: UnixMs): void {
      if (unpolled.size === 0) return
      const endpoint = unpolled.get(name)
      if (endpoint !== undefined && unpolled.delete(name)) count(endpoint, -1)
      until ??= at + Math.min(2 * Math.max(...intervals), MOST_INTERVALS * Math.min(...intervals))
      if (at <= until) return
      unpolled.clear()
      counts.clear()
    },
    /** As of the last poll. */
    get isOver() {
      return unpolled.size === 0
    },
    /** Number of endpoints of the shard that may still decide what those polled so far do not agree on. */
    unpolled: (shard: Shard) => counts.get(shard) ?? 0,
    shift(ms: number): void {
      if (until !== null) until += ms
    },
  }
}

type Polled = Pick<Endpoint, 'name' | 'intervalMs' | 'checks' | 'shards'>

const MOST_INTERVALS = 10
