import type { UnixMs } from '../time.ts'
import type { BlockReports, Branch, HeightReports } from './block-reports.ts'

/** Tracks a disagreement without a majority: the chain may be forked. */
export function createDispute<S>(
  reports: Pick<BlockReports<S>, 'all'>,
  decide: (all: HeightReports<S>) => Branch<S> | 'split' | null,
  settleMs: () => number,
) {
  /** `certain` once both sides have repeated it after `settleMs`: a block replaced everywhere stays at some nodes for a while. */
  let dispute: { readonly height: number; since: UnixMs; readonly certain: boolean } | null = null

  /** The newest height with a split, unless a majority there or at a lower height leaves fewer than two of its sides. */
  function findSplit(): HeightReports<S> | 'none' | null {
    let split: HeightReports<S> | null = null
    for (const all of [...reports.all()].sort((a, b) => b.height - a.height)) {
      const decision = decide(all)
      if (decision === null) continue
      if (decision === 'split') split ??= all
      else if (split === null || sidesLeft(split, all, decision) < 2) return 'none'
    }
    return split
  }

  return {
    get exists(): boolean {
      return dispute !== null
    },

    /** It lasts while nothing can be decided. */
    update(at: UnixMs): void {
      const split = findSplit()
      if (split === 'none') dispute = null
      if (split === 'none' || split === null) return
      const { height } = split
      const since = dispute?.since ?? at
      const certain = dispute?.certain === true || isSettled(split, since + settleMs())
      if (dispute?.height !== height || dispute.certain !== certain) dispute = { height, since, certain }
    },

    end: () => void (dispute = null),

    /** `null` until both sides have repeated it. */
    fork: (): { readonly height: number; readonly since: UnixMs } | null =>
      dispute?.certain === true ? { height: dispute.height, since: dispute.since } : null,

    shift(ms: number): void {
      if (dispute !== null) dispute.since += ms
    },
  }
}

/** Whether two sides were reported since then, and no side can get a majority from those that were not polled since. */
function isSettled({ branches, count }: HeightReports<unknown>, since: UnixMs): boolean {
  const repeated = branches.map(({ reports }) => reports.filter(({ at }) => at >= since).length).filter(Boolean)
  const stale = count - repeated.reduce((sum, reports) => sum + reports, 0)
  return repeated.length > 1 && 2 * (Math.max(...repeated) + stale) <= count
}

/** How many sides of a split have no endpoint that lost against the majority at a lower height. */
function sidesLeft<S>(split: HeightReports<S>, lower: HeightReports<S>, majority: Branch<S>): number {
  const hasLost = (side: Branch<S>) =>
    side.reports.some(({ by }) => by.reports.some((one) => one.siblings === lower && one.branch !== majority))
  return split.branches.filter((side) => !hasLost(side)).length
}
