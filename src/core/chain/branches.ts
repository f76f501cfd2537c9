import type { UnixMs } from '../time.ts'
import { type Block, type Branch, createBlockReports, type HeightReports, type Reporter } from './block-reports.ts'

/**
 * Which endpoint is on which branch. Only the blocks that an endpoint reported in its latest two polls count, and a disagreement
 * counts only once both sides have repeated it: otherwise a reorganisation of all endpoints would look like a fork.
 *
 * Heads often never meet: with blocks every 2 s and polls every 10 s, a is read at 100, 105, 110, b at 103, 108, 113. So there is
 * a common height at which all are compared (105, when that is agreed): the next poll of each endpoint requests its block
 * there, and once all have reported it the common height moves on, later if they disagree. It moves back for an endpoint that lags, as far as
 * `maxBacktrackBlocks`. A majority is one of all endpoints that are at the height or about to reach it (`slackBlocks`): of five,
 * two that are first at 106 and disagree are no fork, because three are open.
 */
export interface Branches {
  add(endpoint: string, blocks: readonly Block[], at: UnixMs): void
  forget(endpoint: string): void
  /** `null` where it cannot be compared, or a disagreement is not certain yet. */
  standing(endpoint: string): BranchStanding | null
  /** Whether endpoints disagree, and no branch has a majority. */
  isForked(): boolean
  /** `null` unless forked. Expensive on large networks. */
  fork(): Fork | null
  /** How many different blocks are reported at the newest height that most endpoints have reached; 0 where there is none. */
  count(): number
  isReported(height: number, hash: string): boolean
  /** Whether an endpoint whose head is at this height may have to report an older block too. */
  mayNeedComparison(height: number): boolean
  /** The height of a further block that an endpoint must report; `null` where the blocks at these heights are enough to compare it. */
  heightToCompare(endpoint: string, heights: readonly number[]): number | null
  shift(ms: number): void
}

/** On which branch an endpoint is, by the newest height at which it can be compared. */
export interface BranchStanding {
  readonly height: number
  readonly hash: string
  /** `against` the majority; or in a `split`, where no branch has a majority. */
  readonly side: 'with' | 'against' | 'split'
  /** The highest height at which it last had the majority's block; `null` if that was never seen. */
  readonly agreedAt: number | null
}

/** Several branches without a majority. */
export interface Fork {
  readonly height: number
  readonly since: UnixMs
  readonly branches: readonly { readonly hash: string; readonly endpoints: readonly string[] }[]
}

export interface BranchesDeps {
  /** How many endpoints that answer at present have reached this height. */
  readonly reached: (height: number) => number
  /** How many endpoints answer at present. */
  readonly answering: () => number
  /** The height of the reference head; `null` where there is none. */
  readonly agreedHeight: () => number | null
  /** An endpoint this close behind may have reached the height since its last poll. */
  readonly slackBlocks: () => number
  /** The common height does not move back further than this for one endpoint. */
  readonly maxBacktrackBlocks: number
  /** The comparison does not wait longer than this for an endpoint's block at the common height. */
  readonly maxWaitMs: number
}

/** What is known about one endpoint. */
interface EndpointState {
  agreedAt: number | null
  /** When it first had another block than the majority, in the present run of disagreement. */
  againstSince: UnixMs | null
  standing: BranchStanding | null
}

type Reports = HeightReports<EndpointState>
type BlockBranch = Branch<EndpointState>

export function createBranches(deps: BranchesDeps): Branches {
  const { reached, answering, agreedHeight, slackBlocks, maxBacktrackBlocks, maxWaitMs } = deps
  const reports = createBlockReports<EndpointState>()
  /** The height at which all endpoints are compared, and since when. */
  let common: { readonly height: number; since: UnixMs } | null = null
  /** When a disagreement without majority was first seen; certain once both sides have repeated it. */
  let dispute: { readonly height: number; since: UnixMs; readonly certain: boolean } | null = null

  /** The branch of the majority; `split` where none can get one; `null` while it is open. */
  function decide({ height, branches, count }: Reports): BlockBranch | 'split' | null {
    if (count < 2) return null
    // Those that are first at a height do not decide for those that are about to reach it.
    const eligible = Math.max(reached(height - slackBlocks()), count)
    if (eligible * 2 <= answering()) return null
    const largest = largestOf(branches)
    const agreeing = largest?.reports.length ?? 0
    if (largest !== null && agreeing * 2 > eligible) return largest
    const open = eligible - count
    return (agreeing + open) * 2 <= eligible ? 'split' : null
  }

  /** By the newest of its blocks at which it can be compared: others often report theirs later. */
  function standingOf({ reports, state }: Reporter<EndpointState>): BranchStanding | null {
    for (const { siblings, branch, firstAt, at } of reports) {
      const decision = decide(siblings)
      if (decision === null) continue
      const { height } = siblings
      const { hash } = branch
      if (decision === 'split') {
        state.againstSince = null
        return sameOrNew(state, height, hash, 'split')
      }
      if (decision === branch) {
        state.againstSince = null
        state.agreedAt = Math.max(state.agreedAt ?? 0, height)
        return sameOrNew(state, height, hash, 'with')
      }
      // Often the majority is known only after this endpoint's report.
      state.againstSince ??= firstAt
      // A losing block that a pool reported once must not count until the endpoint can be compared again.
      if (at <= state.againstSince) return null
      const needed = Math.max(reached(height - slackBlocks()), 2)
      return isRepeated(decision, state.againstSince, needed) ? sameOrNew(state, height, hash, 'against') : null
    }
    // Not comparable this time: what was certain holds while there are other endpoints to disagree with.
    return state.standing?.side === 'against' && answering() > 1 ? state.standing : null
  }

  /** Looks for a split at the newest height that is decided. */
  function findDispute(at: UnixMs): void {
    for (const all of [...reports.all()].sort((a, b) => b.height - a.height)) {
      const decision = decide(all)
      if (decision === null) continue
      if (decision !== 'split') dispute = null
      else {
        const { height } = all
        const since = dispute?.since ?? at
        const repeated = all.branches.filter(({ latestAt }) => latestAt > since)
        const certain = dispute?.certain === true || repeated.length > 1
        if (dispute?.height !== height || dispute.certain !== certain) dispute = { height, since, certain }
      }
      return
    }
  }

  function isComparable(endpoint: string, heights: readonly number[]): boolean {
    return heights.some((height) => {
      const all = reports.at(height)
      return all !== undefined && (all.count - Number(reports.hasReported(endpoint, all))) * 2 >= answering()
    })
  }

  /** Forward once every endpoint that can has reported; back for one that is behind and cannot be compared otherwise. */
  function moveCommonHeight(endpoint: string, blocks: readonly Block[], at: UnixMs): void {
    const agreed = agreedHeight()
    if (agreed === null) return
    if (common !== null) {
      const waitedMs = at - common.since
      const { count = 0, branches = [] } = reports.at(common.height) ?? {}
      if (waitedMs < maxWaitMs && count < reached(common.height - maxBacktrackBlocks)) return
      // A disagreement is repeated soonest at the same height.
      if (waitedMs < 2 * maxWaitMs && branches.length > 1) return
    }
    const heights = blocks.map(({ height }) => height)
    const newest = Math.max(-1, ...heights)
    const isBehind = newest >= 0 && newest < agreed && agreed - newest <= maxBacktrackBlocks
    const height = isBehind && !isComparable(endpoint, heights) ? newest : agreed
    if (height !== common?.height) common = { height, since: at }
  }

  return {
    add(endpoint, blocks, at) {
      const reporter = reports.add(endpoint, blocks, at, newState)
      if (dispute !== null || isDisputed(reporter)) findDispute(at)
      reporter.state.standing = standingOf(reporter)
      moveCommonHeight(endpoint, blocks, at)
    },

    forget(endpoint) {
      if (reports.forget(endpoint) && reports.reporters < 2) dispute = null
    },

    standing: (endpoint) => reports.stateOf(endpoint)?.standing ?? null,

    isForked: () => dispute?.certain === true,

    fork() {
      if (dispute === null || !dispute.certain) return null
      const { height, since } = dispute
      return { height, since, branches: sidesOf(reports.at(height)) }
    },

    count() {
      let newest: Reports | null = null
      for (const all of reports.all())
        if (all.height > (newest?.height ?? -1) && reached(all.height) * 2 > answering()) newest = all
      return newest?.branches.length ?? 0
    },

    isReported: (height, hash) => reports.at(height)?.branches.some((branch) => branch.hash === hash) === true,

    mayNeedComparison: (height) => common !== null && height > common.height && answering() >= 2,

    heightToCompare(endpoint, heights) {
      if (common === null || answering() < 2 || heights.includes(common.height)) return null
      const isPast = Math.max(...heights) > common.height
      const isDisputed = (reports.at(common.height)?.branches.length ?? 0) > 1
      return isPast && (isDisputed || !isComparable(endpoint, heights)) ? common.height : null
    },

    shift(ms) {
      reports.shift(ms)
      for (const state of reports.states()) if (state.againstSince !== null) state.againstSince += ms
      if (dispute !== null) dispute.since += ms
      if (common !== null) common.since += ms
    },
  }
}

function newState(): EndpointState {
  return { agreedAt: null, againstSince: null, standing: null }
}

/** Whether another endpoint has a different block at one of the heights of its latest poll. */
function isDisputed({ reports, polls }: Reporter<EndpointState>): boolean {
  return reports.some(({ poll, siblings }) => poll === polls && siblings.branches.length > 1)
}

/** Whether more than half of `needed` endpoints have reported the branch since. */
function isRepeated({ reports }: BlockBranch, since: UnixMs, needed: number): boolean {
  let count = 0
  for (const { at } of reports) if (at > since && ++count * 2 > needed) return true
  return false
}

/** The same object while nothing changes. */
function sameOrNew(
  { standing, agreedAt }: EndpointState,
  height: number,
  hash: string,
  side: BranchStanding['side'],
): BranchStanding {
  const isSame =
    standing?.height === height && standing.hash === hash && standing.side === side && standing.agreedAt === agreedAt
  return isSame ? standing : { height, hash, side, agreedAt }
}

function largestOf(branches: readonly BlockBranch[]): BlockBranch | null {
  let largest: BlockBranch | null = null
  for (const branch of branches) if (branch.reports.length > (largest?.reports.length ?? 0)) largest = branch
  return largest
}

/** The largest first. */
function sidesOf(all: Reports | undefined): Fork['branches'] {
  return (all?.branches ?? [])
    .map(({ hash, reports }) => ({ hash, endpoints: reports.map(({ by }) => by.endpoint).sort() }))
    .sort((a, b) => b.endpoints.length - a.endpoints.length || (String(a.endpoints) < String(b.endpoints) ? -1 : 1))
}
