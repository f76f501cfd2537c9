import type { Clock } from '../clock.ts'
import type { ClusterView } from '../store/cluster-tables.ts'

/** Whether this member, or another one, cannot judge nodes: its votes do not count, and others poll in its place. */
export function createImpairment({ clock, id, isFaulty, isPolling }: ImpairmentDeps) {
  /** Monotonic. */
  let faultyAt = Number.NEGATIVE_INFINITY

  /** A member that has given everything to others makes no poll that could show whether the fault is over. */
  function isImpaired(): boolean {
    const isUntested = !isPolling() && clock.monotonic() - faultyAt < TESTED_AGAIN_AFTER_MS
    if (!isFaulty()) return isUntested
    faultyAt = clock.monotonic()
    return true
  }

  return {
    isImpaired,

    /** The ids of all such members. Our own row may be some seconds old. */
    among({ members }: Pick<ClusterView, 'members'>): ReadonlySet<string> {
      const others = members.flatMap((one) => (one.impaired && one.id !== id ? [one.id] : []))
      return new Set(isImpaired() ? [...others, id] : others)
    },
  }
}

/** If it were tested at once, its networks would come and go each few seconds, and their next owner polls them each time. */
const TESTED_AGAIN_AFTER_MS = 60_000

interface ImpairmentDeps {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Of this member. */
  readonly id: string
  /** Whether its machine or network keeps it from judging nodes, as far as its polls show. */
  readonly isFaulty: () => boolean
  readonly isPolling: () => boolean
}
