/** What is decided now, or stays open until more is known. */
export type Decision<D> = D | 'undecided'

/** Cases that cannot be decided yet wait; those of one key are decided in the order in which they came. */
export interface PendingPolls<T> {
  /** How many wait. */
  readonly size: number
  /** Decides it at once where that can be done, else it waits. */
  add(key: string, item: T): void
  /** More is known: decides what can be decided by now. */
  review(): void
  /** Only these keys are of interest from now on. */
  retain(keys: ReadonlySet<string>): void
}

export interface PendingPollsDeps<T, D extends string> {
  readonly decide: (item: T) => Decision<D>
  readonly onDecided: (item: T, decision: D) => void
  /** It waits: somebody may be able to help. */
  readonly onWaiting: (key: string, item: T) => void
}

export function createPendingPolls<T, D extends string>({
  decide,
  onDecided,
  onWaiting,
}: PendingPollsDeps<T, D>): PendingPolls<T> {
  const waiting = new Map<string, T[]>()

  /** Whether all of them are decided. */
  function settle(items: T[]): boolean {
    while (items.length > 0) {
      const item = items[0] as T
      const decision = decide(item)
      if (decision === 'undecided') return false
      items.shift()
      onDecided(item, decision)
    }
    return true
  }

  return {
    get size() {
      return waiting.size
    },

    add(key, item) {
      const before = waiting.get(key)
      if (before === undefined) {
        const decision = decide(item)
        if (decision !== 'undecided') return onDecided(item, decision)
        waiting.set(key, [item])
      } else {
        before.push(item)
        if (settle(before)) {
          waiting.delete(key)
          return
        }
      }
      onWaiting(key, item)
    },

    review() {
      for (const [key, items] of waiting) if (settle(items)) waiting.delete(key)
    },

    retain(keys) {
      for (const key of waiting.keys()) if (!keys.has(key)) waiting.delete(key)
    },
  }
}
