import type { UnixMs } from '../time.ts'
import { type Block, type Branch, createBlockReports, type HeightReports, type Reporter } from './block-reports.ts'

/** On which branch an endpoint is, by the newest height at which it can be compared. */
export interface BranchStanding {
  readonly height: number
  readonly hash: string
  /** `against` the majority; or in a `split` in which no branch has one. */
  readonly side: 'with' | 'against' | 'split'
  /** The highest height at which it last had the majority's block; `null` when that was never seen. */
  readonly agreedAt: number | null
}

/** Several branches, none of them a majority's. */
export interface Fork {
  readonly height: number
  readonly since: UnixMs
  readonly branches: readonly { readonly hash: string; readonly endpoints: readonly string[] }[]
}

export interface BranchesDeps {
  /** How many endpoints that answer now have reached this height. */
  readonly reached: (height: number) => number
  /** How many answer now. */
  readonly answering: () => number
  /** The height that they agree on; `null` when there is none. */
  readonly agreedHeight: () => number | null
  /** One that is no further behind than this is about to be there, or is there already and has not been asked since. */
  readonly slackBlocks: () => number
  /** One that is further behind than this is not gone back for. */
  readonly maxBacktrackBlocks: number
  /** An endpoint that has not told its block at the common height for this long is not waited for. */
  readonly maxWaitMs: number
}

/**
 * Who has which block. Only what an endpoint said in its latest two polls counts, so that nobody is held to a block that the
 * others have left since. A disagreement is one only when both sides have said it again after it was first seen: else a
 * reorganisation of everybody would look like a fork of whoever is asked first.
 *
 * Heads often never meet: with blocks every 2 s and polls every 10 s, a is read at 100, 105, 110, b at 103, 108, 113. So there is
 * a height at which all are to meet (105, when that is agreed): each is asked for its block there in its next poll, and when
 * all have told it the meeting moves on. It moves back for one that lags, as far as `reachBack`. At a height count all that
 * are there, or about to be (`slack`): of five, two that are first to reach 106 and disagree are no split, three are open.
 */
export interface Branches {
  take(endpoint: string, blocks: readonly Block[], at: UnixMs): void
  forget(endpoint: string): void
  /** `null` when it cannot be compared, or a disagreement is not certain yet. */
  standing(endpoint: string): BranchStanding | null
  /** Whether endpoints disagree, and no branch has a majority. */
  isForked(): boolean
  /** `null` unless it is. Large networks make it dear. */
  fork(): Fork | null
  /** How many different blocks are told at the newest height that most have reached; 0 when none is. */
  count(): number
  /** Grows whenever somebody tells a block that it did not tell before, or no longer tells one. */
  readonly changes: number
  /** Whether an endpoint that is compared has told this block. */
  isReported(height: number, hash: string): boolean
  /** Whether one whose head is at this height may have to be asked for an older block. */
  mayNeedComparison(height: number): boolean
  /** Which block an endpoint must be asked for to be compared; `null` when those that it has told just now will do. */
  heightToCompare(endpoint: string, told: readonly number[]): number | null
  shift(ms: number): void
}

interface Dispute {
  readonly height: number
  since: UnixMs
  readonly certain: boolean
}

export function createBranches(deps: BranchesDeps): Branches {
  const {
    reached,
    answering,
    agreedHeight,
    slackBlocks: slack,
    maxBacktrackBlocks: reachBack,
    maxWaitMs: patienceMs,
  } = deps
  const votes = createBlockReports<Opinion>()
  /** The height at which all are asked to be compared, and since when. */
  let meeting: { readonly height: number; since: UnixMs } | null = null
  /** When a disagreement without majority was first seen; certain once both sides have repeated it. */
  let dispute: Dispute | null = null

  /** What is said of a height: the block of the majority, `split` when none can have one, `null` when it is open. */
  function outcome({ height, branches, count }: HeightReports<Opinion>): Branch<Opinion> | 'split' | null {
    if (count < 2) return null
    // The first that reach a height do not speak for those that are about to.
    const eligible = Math.max(reached(height - slack()), count)
    if (eligible * 2 <= answering()) return null
    const most = mostVoted(branches)
    const agreeing = most?.reports.length ?? 0
    if (most !== null && agreeing * 2 > eligible) return most
    const undecided = eligible - count
    return (agreeing + undecided) * 2 <= eligible ? 'split' : null
  }

  /** By the newest of its blocks at which it can be compared: often the others tell theirs only after it has. */
  function standingOf({ reports: said, state: of }: Reporter<Opinion>): BranchStanding | null {
    for (const { height: all, branch, at } of said) {
      const found = outcome(all)
      if (found === null) continue
      const { height } = all
      const { hash } = branch
      if (found === 'split') {
        of.againstSince = null
        return standsAs(of, height, hash, 'split')
      }
      if (found === branch) {
        of.againstSince = null
        of.agreedAt = Math.max(of.agreedAt ?? 0, height)
        return standsAs(of, height, hash, 'with')
      }
      of.againstSince ??= at
      // A block that lost, told once by a pool, must not stand against it for as long as it cannot be compared again.
      if (at <= of.againstSince) return null
      const needed = Math.max(reached(height - slack()), 2)
      return isSaidSince(found, of.againstSince, needed) ? standsAs(of, height, hash, 'against') : null
    }
    // It could not be compared this time: what was certain stays so while there are others to disagree with.
    return of.standing?.side === 'against' && answering() > 1 ? of.standing : null
  }

  /** Whether more than half of `needed` have said it since. */
  function isSaidSince({ reports: said }: Branch<Opinion>, since: UnixMs, needed: number): boolean {
    let count = 0
    for (const { at } of said) if (at > since && ++count * 2 > needed) return true
    return false
  }

  /** At the newest height of which anything can be said. */
  function seekDispute(at: UnixMs): void {
    for (const of of [...votes.all()].sort((a, b) => b.height - a.height)) {
      const found = outcome(of)
      if (found === null) continue
      if (found !== 'split') dispute = null
      else {
        const { height } = of
        const since = dispute?.since ?? at
        const repeated = of.branches.filter(({ latestAt }) => latestAt > since)
        const certain = dispute?.certain === true || repeated.length > 1
        if (dispute?.height !== height || dispute.certain !== certain) dispute = { height, since, certain }
      }
      return
    }
  }

  function isComparable(endpoint: string, heights: readonly number[]): boolean {
    return heights.some((height) => {
      const of = votes.at(height)
      return of !== undefined && (of.count - Number(votes.hasReported(endpoint, of))) * 2 >= answering()
    })
  }

  /** On to where most are once everybody who can has been there; back for one that is behind, and cannot be compared otherwise. */
  function moveMeeting(endpoint: string, blocks: readonly Block[], at: UnixMs): void {
    const agreed = agreedHeight()
    if (agreed === null) return
    if (meeting !== null && at - meeting.since < patienceMs) {
      const met = votes.at(meeting.height)?.count ?? 0
      if (met < reached(meeting.height - reachBack)) return
    }
    let newest = -1
    for (const { height } of blocks) newest = Math.max(newest, height)
    const isNear = newest >= 0 && newest < agreed && agreed - newest <= reachBack
    const heights = isNear ? blocks.map((block) => block.height) : []
    const isBehind = isNear && !isComparable(endpoint, heights)
    const height = isBehind ? newest : agreed
    if (height !== meeting?.height) meeting = { height, since: at }
  }

  return {
    get changes() {
      return votes.changes
    },

    take(endpoint, blocks, at) {
      const voter = votes.take(endpoint, blocks, at, undecided)
      if (dispute !== null || isDisputed(voter)) seekDispute(at)
      voter.state.standing = standingOf(voter)
      moveMeeting(endpoint, blocks, at)
    },

    forget(endpoint) {
      if (votes.forget(endpoint) && votes.reporters < 2) dispute = null
    },

    standing: (endpoint) => votes.stateOf(endpoint)?.standing ?? null,

    isForked: () => dispute?.certain === true,

    fork() {
      if (dispute === null || !dispute.certain) return null
      const { height, since } = dispute
      return { height, since, branches: sidesOf(votes.at(height)) }
    },

    count() {
      let newest: HeightReports<Opinion> | null = null
      for (const of of votes.all())
        if (of.height > (newest?.height ?? -1) && reached(of.height) * 2 > answering()) newest = of
      return newest?.branches.length ?? 0
    },

    isReported: (height, hash) => votes.at(height)?.branches.some((branch) => branch.hash === hash) === true,

    mayNeedComparison: (height) => meeting !== null && height > meeting.height && answering() >= 2,

    heightToCompare(endpoint, heights) {
      if (meeting === null || answering() < 2 || heights.includes(meeting.height)) return null
      const canTell = heights.some((height) => height > (meeting?.height ?? 0))
      return canTell && !isComparable(endpoint, heights) ? meeting.height : null
    },

    shift(ms) {
      votes.shift(ms)
      for (const opinion of votes.states()) if (opinion.againstSince !== null) opinion.againstSince += ms
      if (dispute !== null) dispute.since += ms
      if (meeting !== null) meeting.since += ms
    },
  }
}

/** What is thought of one endpoint. */
interface Opinion {
  agreedAt: number | null
  /** When it first had another block than the majority, in the present run of disagreeing. */
  againstSince: UnixMs | null
  standing: BranchStanding | null
}

function undecided(): Opinion {
  return { agreedAt: null, againstSince: null, standing: null }
}

/** Somebody tells another block than it at one of the heights of its latest poll. */
function isDisputed({ reports: said, polls }: Reporter<Opinion>): boolean {
  return said.some(({ poll, height: votes }) => poll === polls && votes.branches.length > 1)
}

/** The same object while it says the same. */
function standsAs(
  { standing, agreedAt }: Opinion,
  height: number,
  hash: string,
  side: BranchStanding['side'],
): BranchStanding {
  const isSame =
    standing?.height === height && standing.hash === hash && standing.side === side && standing.agreedAt === agreedAt
  return isSame ? standing : { height, hash, side, agreedAt }
}

function mostVoted(branches: readonly Branch<Opinion>[]): Branch<Opinion> | null {
  let most: Branch<Opinion> | null = null
  for (const branch of branches) if (branch.reports.length > (most?.reports.length ?? 0)) most = branch
  return most
}

/** The largest first. */
function sidesOf(votes: HeightReports<Opinion> | undefined): Fork['branches'] {
  return (votes?.branches ?? [])
    .map(({ hash, reports: said }) => ({ hash, endpoints: said.map(({ by }) => by.endpoint).sort() }))
    .sort((a, b) => b.endpoints.length - a.endpoints.length || (String(a.endpoints) < String(b.endpoints) ? -1 : 1))
}
