import type { Endpoint } from '../endpoint.ts'
import type { Shard } from '../network.ts'
import type { UnixMs } from '../time.ts'

/**
 * The first polls after a start or restart. The endpoints that answer first do not show which of them is right: until all
 * were polled, no endpoint is compared, and no branch has a majority that the others could change. Rarely polled ones are
 * not waited for.
 */
export function createFirstRound(endpoints: readonly Polled[]) {
  const compared = endpoints.filter(({ checks }) => checks.includes('head'))
  const intervals = compared.map(({ intervalMs }) => intervalMs)
  const unpolled = new Map(compared.map((endpoint) => [endpoint.name, endpoint]))
  /** How many of these have the shard. */
  const counts = new Map<Shard, number>()
  for (const endpoint of compared) count(endpoint, 1)
  let until: UnixMs | null = null

  function count({ shards }: Polled, by: number): void {
    for (const shard of shards) counts.set(shard, (counts.get(shard) ?? 0) + by)
  }

  function known(name: string): void {
    const endpoint = unpolled.get(name)
    if (endpoint !== undefined && unpolled.delete(name)) count(endpoint, -1)
  }

  return {
    /** The endpoint was polled before. */
    known,
    polled(name: string, at: UnixMs): void {
      known(name)
      if (unpolled.size === 0) return
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
