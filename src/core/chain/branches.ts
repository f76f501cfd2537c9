import type { UnixMs } from '../time.ts'
import {
  type Block,
  type BlockReports,
  type Branch,
  createBlockReports,
  type HeightReports,
  type Reporter,
} from './block-reports.ts'
import { allForked, decisionOf, type Fork, isMinority, isRepeated, sidesOf } from './branch-votes.ts'
import { type CommonHeightDeps, createCommonHeight } from './common-height.ts'
import { createDispute } from './dispute.ts'

/**
 * Determines which endpoint is on which branch, from the blocks of its latest two polls. A disagreement counts only
 * once both sides have repeated it: otherwise a reorganisation that reaches all endpoints would look like a fork.
 */
export interface Branches {
  /** `hasMoved`: it replaced a block that it had, or went back further than a pool does. */
  add(endpoint: string, blocks: readonly Block[], at: UnixMs, hasMoved?: boolean): void
  /** The endpoint no longer answers: its reports no longer count, but a confirmed disagreement is kept. */
  expire(endpoint: string): void
  forget(endpoint: string): void
  /** `null` if the endpoint cannot be compared, or a disagreement is not confirmed yet. */
  standing(endpoint: string): BranchStanding | null
  /** Its confirmed disagreement with the majority, to be saved for a restart. */
  forked(endpoint: string): BranchStanding | null
  /** Restores a saved disagreement: it lasts until the endpoint can be compared. */
  restore(endpoint: string, forked: BranchStanding): void
  /** Whether at least as many others have another block than the endpoint has at one of these heights. */
  isOutvoted(endpoint: string, blocks: readonly Block[]): boolean
  /** Whether endpoints disagree without a majority. */
  isForked(): boolean
  /** `null` unless forked. Slow on large networks. */
  fork(): Fork | null
  /** Number of different blocks at the newest height that most endpoints have reached; 0 if there is none. */
  count(): number
  /** The different blocks that endpoints have reported at this height. */
  blocksAt(height: number): readonly Branch<unknown>[]
  /** Whether an endpoint with a head at this height may have to report an older block too. */
  mayNeedComparison(height: number): boolean
  /** Height of a further block that an endpoint must report; `null` if these blocks are enough to compare it. */
  heightToCompare(endpoint: string, blocks: readonly Block[]): number | null
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

export interface BranchesDeps extends Omit<CommonHeightDeps, 'reportsAt' | 'isForked'> {
  /** Number of endpoints that answered recently. */
  readonly answering: () => number
  /** Number of endpoints that were not polled yet: any of them may decide. */
  readonly unpolled: () => number
  /** An endpoint this many blocks behind a height may have reached it since its last poll. */
  readonly slackBlocks: () => number
  /** Within this time a reorganisation reaches all endpoints. */
  readonly settleMs: () => number
}

interface EndpointState {
  agreedAt: number | null
  /** The majority's block at that height. */
  agreedHash: string | null
  /**
   * The present run of disagreement with the majority: since when it has its block, since when there are both, its lowest
   * height, below which blocks are older, and the number of the poll that found it.
   */
  against: { since: UnixMs; bothAt: UnixMs; height: number; readonly poll: number } | null
  standing: BranchStanding | null
}

type Reports = HeightReports<EndpointState>
type BlockBranch = Branch<EndpointState>

export function createBranches(deps: BranchesDeps): Branches {
  const { reached, answering, unpolled, agreedHeight, slackBlocks, settleMs } = deps
  const reports = createBlockReports<EndpointState>()
  /** Confirmed disagreements with the majority: each lasts until its endpoint can be compared. */
  const forks = new Map<string, BranchStanding>()
  const isForked = (endpoint: string) => forks.has(endpoint)
  const common = createCommonHeight({
    ...deps,
    reportsAt(height) {
      const { count = 0, branches = [] } = reports.at(height) ?? {}
      return { count, differ: branches.length > 1 }
    },
    isForked,
  })
  const dispute = createDispute(reports, decide, settleMs)

  function decide(all: Reports): BlockBranch | 'split' | null {
    if (all.count < 2) return null
    // Counts endpoints that are about to reach the height, so that the first ones do not decide for them.
    const eligible = Math.max(reached(all.height - slackBlocks()), all.count) + unpolled()
    return eligible * 2 <= answering() + unpolled() ? null : decisionOf(all, eligible, isForked)
  }

  /** Uses the newest block at which it can be compared, because others often report their block at a height later. */
  function standingOf(reporter: Reporter<EndpointState>): BranchStanding | null {
    const { reports, polls, state } = reporter
    /** The newest split: an endpoint that is behind may give one side the majority below it. */
    let split: Block | null = null
    for (const { siblings, branch, firstAt, at, poll } of reports) {
      const decision = decide(siblings)
      if (decision === null) continue
      const [height, hash] = [siblings.height, branch.hash]
      if (decision === 'split') {
        if (!allForked(branch, isForked)) split ??= { height, hash }
        continue
      }
      if (split !== null && decision === branch) break
      if (decision === branch) {
        // A block from before a fork says nothing about it, unless the endpoint went back there.
        if (state.against !== null && height < state.against.height && headOf(reporter) >= state.against.height)
          continue
        return agreedWith(state, height, hash)
      }
      // Dated back to this endpoint's report, because the majority is often known only later.
      state.against ??= { since: firstAt, bothAt: Math.max(firstAt, decision.firstAt), height, poll: polls }
      state.against.height = Math.min(state.against.height, height)
      // A pool may report a losing block once, and a reorganisation reaches it sooner or later than others.
      if (at < state.against.bothAt + settleMs()) return null
      // A block reported only before the majority's may be one that a reorganisation replaced: the next poll decides.
      if (at <= decision.firstAt && poll < state.against.poll) return null
      const needed = Math.max(reached(height - slackBlocks()), 2)
      return isRepeated(decision, state.against.since, needed) ? sameOrNew(state, height, hash, 'against') : null
    }
    if (split !== null) {
      state.against = null
      return sameOrNew(state, split.height, split.hash, 'split')
    }
    return null
  }

  function isComparable(endpoint: string, heights: readonly number[]): boolean {
    return heights.some((height) => {
      const all = reports.at(height)
      return all !== undefined && (all.count - Number(reports.hasReported(endpoint, all))) * 2 >= answering()
    })
  }

  /** Whether its block at the common height is needed: for an endpoint that is behind, or because only that is comparable. */
  function isMissing(endpoint: string, heights: readonly number[]): boolean {
    if (!common.isOwn) return !isComparable(endpoint, heights)
    const all = common.height === null ? undefined : reports.at(common.height)
    return all === undefined || !reports.hasReported(endpoint, all)
  }

  /** Whether nothing tells yet if its newest block is the majority's: it stands where the others have no report. */
  function isUnknown({ reports, polls, state }: Reporter<EndpointState>): boolean {
    const newest = reports.find(({ poll }) => poll === polls)
    if (newest === undefined || decide(newest.siblings) !== null) return false
    return state.against !== null || newest.branch.hash !== state.agreedHash
  }

  function expire(endpoint: string): void {
    common.forget(endpoint)
    if (reports.forget(endpoint) && reports.reporters < 2) dispute.end()
  }

  return {
    add(endpoint, blocks, at, hasMoved = false) {
      const reporter = reports.add(endpoint, blocks, at, () => newState(forks.get(endpoint), at))
      if (dispute.exists || isDisputed(reporter)) dispute.update(at)
      const standing = standingOf(reporter)
      if (standing?.side === 'against') forks.set(endpoint, standing)
      else if (standing !== null) forks.delete(endpoint)
      // Not compared this time: a confirmed disagreement remains while other endpoints answer.
      reporter.state.standing = standing ?? (answering() > 1 ? (forks.get(endpoint) ?? null) : null)
      const [isAgainst, newest] = [reporter.state.against !== null, headOf(reporter)]
      common.update({ endpoint, newest, isUnknown: isUnknown(reporter), hasMoved, isAgainst }, at)
    },

    expire,

    forget(endpoint) {
      expire(endpoint)
      forks.delete(endpoint)
    },

    standing: (endpoint) => reports.stateOf(endpoint)?.standing ?? null,
    forked: (endpoint) => forks.get(endpoint) ?? null,
    restore: (endpoint, forked) => void forks.set(endpoint, forked),

    isOutvoted(endpoint, blocks) {
      // A known disagreement would be found again by every poll.
      if ((reports.stateOf(endpoint)?.standing?.side ?? 'with') !== 'with') return false
      return blocks.some(({ height, hash }) => isMinority(reports.at(height)?.branches ?? [], hash, endpoint))
    },

    isForked: () => dispute.fork() !== null,

    fork() {
      const fork = dispute.fork()
      return fork === null ? null : { ...fork, branches: sidesOf(reports.at(fork.height)) }
    },

    count: () => newestOf(reports.all(), (height) => reached(height) * 2 > answering())?.branches.length ?? 0,

    blocksAt: (height) => reports.at(height)?.branches ?? [],

    mayNeedComparison: (height) =>
      common.height !== null && answering() >= 2 && (height > common.height || height < (agreedHeight() ?? 0)),

    heightToCompare(endpoint, blocks) {
      const { height } = common
      const heights = blocks.map((block) => block.height)
      if (height === null || answering() < 2 || heights.includes(height)) return null
      const newest = Math.max(...heights)
      if (newest > height) return differ(reports, height, blocks) || isMissing(endpoint, heights) ? height : null
      const isBehind = newest < (agreedHeight() ?? 0) && !isComparable(endpoint, heights)
      if (!isBehind) return null
      const below = [...reports.all()].filter((all) => all.height < newest && isComparable(endpoint, [all.height]))
      return below.length === 0 ? null : Math.max(...below.map((all) => all.height))
    },

    shift(ms) {
      reports.shift(ms)
      for (const { against } of reports.states()) if (against !== null) shiftRun(against, ms)
      dispute.shift(ms)
      common.shift(ms)
    },
  }
}

/** A known disagreement goes on: older blocks than that say nothing about it. */
function newState(forked: BranchStanding | undefined, at: UnixMs): EndpointState {
  const against = forked === undefined ? null : { since: at, bothAt: at, height: forked.height, poll: 0 }
  return { agreedAt: forked?.agreedAt ?? null, agreedHash: null, against, standing: null }
}

function shiftRun(against: NonNullable<EndpointState['against']>, ms: number): void {
  against.since += ms
  against.bothAt += ms
}

function newestOf(all: Iterable<Reports>, isReached: (height: number) => boolean): Reports | null {
  let newest: Reports | null = null
  for (const one of all) if (one.height > (newest?.height ?? -1) && isReached(one.height)) newest = one
  return newest
}

/**
 * Whether blocks differ at the common height, or one of these from another at its height, where too few may have one to
 * decide which is the majority's.
 */
function differ({ at }: Pick<BlockReports<unknown>, 'at'>, common: number, blocks: readonly Block[]): boolean {
  if ((at(common)?.branches.length ?? 0) > 1) return true
  return blocks.some(({ height, hash }) => at(height)?.branches.some((branch) => branch.hash !== hash) === true)
}

/** The newest height of the latest poll. */
function headOf({ reports, polls }: Reporter<EndpointState>): number {
  return reports.find(({ poll }) => poll === polls)?.siblings.height ?? 0
}

function isDisputed({ reports, polls }: Reporter<EndpointState>): boolean {
  return reports.some(({ poll, siblings }) => poll === polls && siblings.branches.length > 1)
}

/** Notes that its block is the majority's. */
function agreedWith(state: EndpointState, height: number, hash: string): BranchStanding {
  state.against = null
  if (height >= (state.agreedAt ?? 0)) {
    state.agreedAt = height
    state.agreedHash = hash
  }
  return sameOrNew(state, height, hash, 'with')
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
