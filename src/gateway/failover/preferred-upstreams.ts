import type { Shard } from '../../core/network.ts'
import type { RankedUpstream, Upstream } from './upstream.ts'

/**
 * The preferred endpoint of each shard. It is replaced when it becomes unusable, is outranked or is clearly slower.
 * High load only diverts single requests.
 */
export class PreferredUpstreams {
  readonly #byShard = new Map<Shard, { ranked: RankedUpstream; since: number }>()

  of(shard: Shard): RankedUpstream | null {
    return this.#byShard.get(shard)?.ranked ?? null
  }

  includes(upstream: Upstream): boolean {
    return [...this.#byShard.values()].some(({ ranked }) => ranked.upstream === upstream)
  }

  consider(
    best: RankedUpstream,
    { shard, now, bestOrder, usualOrder }: { shard: Shard; now: number; bestOrder: number; usualOrder: number },
  ): void {
    const usual = this.#byShard.get(shard)
    const isGone = usual === undefined || usualOrder === Number.POSITIVE_INFINITY
    const isOutranked = usual !== undefined && usualOrder > bestOrder && best.group !== usual.ranked.group
    const usualLatencyMs = usual?.ranked.upstream.latencyMs ?? 0
    const isFaster = (best.upstream.latencyMs ?? 0) + 1 < PREFERRED_COST * (usualLatencyMs + 1)
    const isSettled = usual !== undefined && now - usual.since > STAY_MS
    if (isGone || isOutranked || (isFaster && isSettled)) this.#byShard.set(shard, { ranked: best, since: now })
  }

  /** Keeps preferences across a new ranking, because a verdict on another endpoint is no reason to switch. */
  retain(healthy: readonly RankedUpstream[]): void {
    for (const [shard, { ranked, since }] of this.#byShard) {
      const again = healthy.find(({ upstream }) => upstream === ranked.upstream)
      if (again === undefined) this.#byShard.delete(shard)
      else this.#byShard.set(shard, { ranked: again, since })
    }
  }
}

/** To replace the preferred endpoint, another one must cost less than this share of it. */
export const PREFERRED_COST = 0.7
/** A faster endpoint does not replace the preferred one before this time. */
const STAY_MS = 30_000
