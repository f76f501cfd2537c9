import type { Shard } from '../core/network.ts'

/**
 * The highest blocks that each caller was given, so that none of them sees a chain go backwards. `finalized` is a mark of its own.
 * The forwarder notes what it answers; whoever answers in its place (one answer for several callers) notes it likewise.
 */
export interface CallerHeights {
  /** `null` where the caller was given none yet. */
  get(caller: string, network: string, shard: Shard, mark: HeightTag): number | null
  /** The caller is given this height: its mark rises, or stays. */
  raise(caller: string, network: string, shard: Shard, mark: HeightTag, height: number): void
  /** Nobody has what the caller was given any more: the chain went back, and the mark with it. */
  lower(caller: string, network: string, shard: Shard, mark: HeightTag, height: number): void
}

export type HeightTag = 'latest' | 'finalized'

/** Callers, networks and shards are configured: only reloads with ever new names could fill this. */
const MOST = 10_000

export function createCallerHeights(most = MOST): CallerHeights {
  /** The least recently raised first. */
  const marks = new Map<string, number>()

  function put(key: string, height: number): void {
    marks.delete(key)
    marks.set(key, height)
    if (marks.size <= most) return
    for (const oldest of marks.keys()) {
      marks.delete(oldest)
      return
    }
  }

  return {
    get: (caller, network, shard, mark) => marks.get(keyOf(caller, network, shard, mark)) ?? null,
    raise(caller, network, shard, mark, height) {
      const key = keyOf(caller, network, shard, mark)
      const before = marks.get(key)
      if (before === undefined || height > before) put(key, height)
    },
    lower(caller, network, shard, mark, height) {
      put(keyOf(caller, network, shard, mark), height)
    },
  }
}

/** Names of networks hold no blanks, and a caller's comes last. */
function keyOf(caller: string, network: string, shard: Shard, mark: HeightTag): string {
  return `${mark === 'latest' ? '' : mark} ${network} ${shard ?? ''} ${caller}`
}
