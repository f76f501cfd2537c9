import type { UnixMs } from '../time.ts'
import { type Block, type Branch, createBlockReports, type HeightReports, type Reporter } from './block-reports.ts'

/**
 * Determines which endpoint is on which branch, from the blocks of its latest two polls. A disagreement counts only
 * once both sides have repeated it: otherwise a reorganisation that reaches all endpoints would look like a fork.
 */
export interface Branches {
  add(endpoint: string, blocks: readonly Block[], at: UnixMs): void
  forget(endpoint: string): void
  /** `null` if the endpoint cannot be compared, or a disagreement is not confirmed yet. */
  standing(endpoint: string): BranchStanding | null
  /** Whether at least as many others have another block than the endpoint has at one of these heights. */
  isOutvoted(endpoint: string, blocks: readonly Block[]): boolean
  /** Whether endpoints disagree without a majority. */
  isForked(): boolean
  /** `null` unless forked. Slow on large networks. */
  fork(): Fork | null
  /** Number of different blocks at the newest height that most endpoints have reached; 0 if there is none. */
  count(): number
  /** The different blocks that endpoints have reported at this height. */
  blocksAt(height: number): readonly Pick<Block, 'hash'>[]
  /** Whether an endpoint with a head at this height may have to report an older block too. */
  mayNeedComparison(height: number): boolean
  /** Height of a further block that an endpoint must report; `null` if these heights are enough to compare it. */
  heightToCompare(endpoint: string, heights: readonly number[]): number | null
  shift(ms: number): void
}

/** The branch of an endpoint at the newest height at which it can be compared. */
export interface BranchStanding {
  readonly height: number
  readonly hash: string
  /** `with` or `against` the majority; `split` if no branch has a majority. */
  readonly side: 'with' | 'against' | 'split'
  /** The highest height at which it had the majority's block; `null` if it never had. */
  readonly agreedAt: number | null
}

/** Several branches without a majority. */
export interface Fork {
  readonly height: number
  readonly since: UnixMs
  readonly branches: readonly { readonly hash: string; readonly endpoints: readonly string[] }[]
}

export interface BranchesDeps {
  /** Number of recently answering endpoints that have reached this height. */
  readonly reached: (height: number) => number
  /** Number of endpoints that answered recently. */
  readonly answering: () => number
  /** Height of the reference head; `null` if there is none. */
  readonly agreedHeight: () => number | null
  /** An endpoint this many blocks behind a height may have reached it since its last poll. */
  readonly slackBlocks: () => number
  /** How far the common height may move back for an endpoint that lags. */
  readonly maxBacktrackBlocks: number
  /** How long the common height waits for the blocks of all endpoints. */
  readonly maxWaitMs: number
}

interface EndpointState {
  agreedAt: number | null
  /** The present run of disagreement with the majority: since when, and its lowest height. Blocks below are older. */
  against: { since: UnixMs; height: number } | null
  standing: BranchStanding | null
}

type Reports = HeightReports<EndpointState>
type BlockBranch = Branch<EndpointState>

export function createBranches(deps: BranchesDeps): Branches {
  const { reached, answering, agreedHeight, slackBlocks, maxBacktrackBlocks, maxWaitMs } = deps
  const reports = createBlockReports<EndpointState>()
  /** The height at which all are compared: polls at different times seldom see the same head. */
  let common: { readonly height: number; since: UnixMs } | null = null
  /** A disagreement without a majority, and since when; `certain` once both sides have repeated it. */
  let dispute: { readonly height: number; since: UnixMs; readonly certain: boolean } | null = null

  /** The majority's branch; `split` if no branch can get a majority; `null` while reports are missing. */
  function decide({ height, branches, count }: Reports): BlockBranch | 'split' | null {
    if (count < 2) return null
    // Counts endpoints that are about to reach the height, so that the first ones do not decide for them.
    const eligible = Math.max(reached(height - slackBlocks()), count)
    if (eligible * 2 <= answering()) return null
    const largest = largestOf(branches)
    const agreeing = largest?.reports.length ?? 0
    if (largest !== null && agreeing * 2 > eligible) return largest
    const open = eligible - count
    return (agreeing + open) * 2 <= eligible ? 'split' : null
  }

  /** Uses the newest block at which it can be compared, because others often report their block at a height later. */
  function standingOf(reporter: Reporter<EndpointState>): BranchStanding | null {
    const { reports, state } = reporter
    for (const { siblings, branch, firstAt, at } of reports) {
      const decision = decide(siblings)
      if (decision === null) continue
      const { height } = siblings
      const { hash } = branch
      if (decision === 'split') {
        state.against = null
        return sameOrNew(state, height, hash, 'split')
      }
      if (decision === branch) {
        // A block from before a fork says nothing about it, unless the endpoint went back there.
        if (state.against !== null && height < state.against.height && headOf(reporter) >= state.against.height)
          continue
        state.against = null
        state.agreedAt = Math.max(state.agreedAt ?? 0, height)
        return sameOrNew(state, height, hash, 'with')
      }
      // Dated back to this endpoint's report, because the majority is often known only later.
      state.against ??= { since: firstAt, height }
      state.against.height = Math.min(state.against.height, height)
      // A pool may report a losing block once, so a single report is not enough.
      if (at <= state.against.since) return null
      const needed = Math.max(reached(height - slackBlocks()), 2)
      return isRepeated(decision, state.against.since, needed) ? sameOrNew(state, height, hash, 'against') : null
    }
    // Not comparable this time: a confirmed disagreement remains while other endpoints answer.
    return state.standing?.side === 'against' && answering() > 1 ? state.standing : null
  }

  /** Looks for a split at the newest height with a decision. */
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

  /** Moves forward once all endpoints in range have reported, and back for one that lags and is not comparable. */
  function moveCommonHeight(endpoint: string, blocks: readonly Block[], at: UnixMs): void {
    const agreed = agreedHeight()
    if (agreed === null) return
    if (common !== null) {
      const waitedMs = at - common.since
      const { count = 0, branches = [] } = reports.at(common.height) ?? {}
      if (waitedMs < maxWaitMs && count < reached(common.height - maxBacktrackBlocks)) return
      // Stays longer where blocks differ: both sides repeat their blocks soonest at the same height.
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

    isOutvoted(endpoint, blocks) {
      // A known disagreement would be found again by every poll.
      if ((reports.stateOf(endpoint)?.standing?.side ?? 'with') !== 'with') return false
      return blocks.some(({ height, hash }) => isMinority(reports.at(height)?.branches ?? [], hash, endpoint))
    },

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

    blocksAt: (height) => reports.at(height)?.branches ?? [],

    mayNeedComparison: (height) => common !== null && height > common.height && answering() >= 2,

    heightToCompare(endpoint, heights) {
      if (common === null || answering() < 2 || heights.includes(common.height)) return null
      const isPast = Math.max(...heights) > common.height
      const isDisputed = (reports.at(common.height)?.branches.length ?? 0) > 1
      return isPast && (isDisputed || !isComparable(endpoint, heights)) ? common.height : null
    },

    shift(ms) {
      reports.shift(ms)
      for (const state of reports.states()) if (state.against !== null) state.against.since += ms
      if (dispute !== null) dispute.since += ms
      if (common !== null) common.since += ms
    },
  }
}

function newState(): EndpointState {
  return { agreedAt: null, against: null, standing: null }
}

/** The newest height of the latest poll. */
function headOf({ reports, polls }: Reporter<EndpointState>): number {
  return reports.find(({ poll }) => poll === polls)?.siblings.height ?? 0
}

function isDisputed({ reports, polls }: Reporter<EndpointState>): boolean {
  return reports.some(({ poll, siblings }) => poll === polls && siblings.branches.length > 1)
}

/** Whether more than half of `needed` endpoints have reported the branch after `since`. */
function isRepeated({ reports }: BlockBranch, since: UnixMs, needed: number): boolean {
  let count = 0
  for (const { at } of reports) if (at > since && ++count * 2 > needed) return true
  return false
}

/** Returns the same object if nothing has changed. */
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

/** Whether at least as many other endpoints have another block than the endpoint and those with its block. */
function isMinority(branches: readonly BlockBranch[], hash: string, endpoint: string): boolean {
  if (branches.every((branch) => branch.hash === hash)) return false
  const others = ({ reports }: BlockBranch) =>
    reports.length - Number(reports.some(({ by }) => by.endpoint === endpoint))
  const own = branches.find((branch) => branch.hash === hash)
  const votes = 1 + (own === undefined ? 0 : others(own))
  return branches.some((branch) => branch !== own && others(branch) >= votes)
}

function largestOf(branches: readonly BlockBranch[]): BlockBranch | null {
  let largest: BlockBranch | null = null
  for (const branch of branches) if (branch.reports.length > (largest?.reports.length ?? 0)) largest = branch
  return largest
}

/** Largest branch first. */
function sidesOf(all: Reports | undefined): Fork['branches'] {
  return (all?.branches ?? [])
    .map(({ hash, reports }) => ({ hash, endpoints: reports.map(({ by }) => by.endpoint).sort() }))
    .sort((a, b) => b.endpoints.length - a.endpoints.length || (String(a.endpoints) < String(b.endpoints) ? -1 : 1))
}
