import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'

/**
 * The blocks that the endpoints of one chain reported in their latest two polls, grouped by height and hash. A poll
 * that repeats the previous one, as most do, allocates nothing. `S` is additional state per endpoint.
 */
export interface BlockReports<S> {
  readonly reporters: number
  /** Drops reports older than the previous poll. If two of `blocks` have the same height, the last one counts. */
  add(endpoint: string, blocks: readonly Block[], at: UnixMs, newState: () => S): Reporter<S>
  /** Returns whether the endpoint was known. */
  forget(endpoint: string): boolean
  stateOf(endpoint: string): S | undefined
  states(): Iterable<S>
  at(height: number): HeightReports<S> | undefined
  all(): Iterable<HeightReports<S>>
  hasReported(endpoint: string, reports: HeightReports<S>): boolean
  shift(ms: number): void
}

export interface Block {
  readonly height: number
  readonly hash: string
}

export interface Reporter<S> {
  readonly endpoint: string
  readonly state: S
  polls: number
  /** At most one block per height, newest first. Replaced, because an array that grows has room for 16 more. */
  reports: readonly Report<S>[]
}

export interface Report<S> {
  readonly by: Reporter<S>
  readonly siblings: HeightReports<S>
  branch: Branch<S>
  /** Its position in `branch.reports`, to remove it without a search. */
  index: number
  /** When the reporter first and last reported this hash. */
  firstAt: UnixMs
  at: UnixMs
  /** The number of the reporter's poll that last reported it. */
  poll: number
}

export interface Branch<S> {
  readonly hash: string
  readonly reports: Report<S>[]
  /** When it was first reported. */
  firstAt: UnixMs
}

export interface HeightReports<S> {
  readonly height: number
  /** In the order of their first reports. */
  readonly branches: Branch<S>[]
  count: number
}

export function createBlockReports<S>(): BlockReports<S> {
  const reporters = new Map<string, Reporter<S>>()
  const heights = new Map<number, HeightReports<S>>()

  function report(by: Reporter<S>, { height, hash }: Block, at: UnixMs): void {
    const before = by.reports.find(({ siblings }) => siblings.height === height)
    if (before === undefined) {
      addReport(by, height, hash, at)
      return
    }
    if (before.branch.hash !== hash) {
      leaveBranch(before)
      joinBranch(before, branchOf(before.siblings, hash, at))
      before.firstAt = at
    }
    before.at = at
    before.poll = by.polls
  }

  function addReport(by: Reporter<S>, height: number, hash: string, at: UnixMs): void {
    let siblings = heights.get(height)
    if (siblings === undefined) {
      siblings = { height, branches: [], count: 0 }
      heights.set(height, siblings)
    }
    const branch = branchOf(siblings, hash, at)
    const added: Report<S> = { by, siblings, branch, index: 0, firstAt: at, at, poll: by.polls }
    joinBranch(added, branch)
    const older = by.reports.findIndex((one) => one.siblings.height < height)
    by.reports = by.reports.toSpliced(older < 0 ? by.reports.length : older, 0, added)
  }

  /** Removes the endpoint's reports from before this poll. */
  function expire(of: Reporter<S>, poll: number): void {
    for (let at = of.reports.length - 1; at >= 0; at--) {
      const old = of.reports[at] as Report<S>
      if (old.poll >= poll) continue
      of.reports = of.reports.toSpliced(at, 1)
      leaveBranch(old)
      if (old.siblings.count === 0) heights.delete(old.siblings.height)
    }
  }

  return {
    get reporters() {
      return reporters.size
    },

    add(endpoint, blocks, at, newState) {
      let reporter = reporters.get(endpoint)
      if (reporter === undefined) {
        reporter = { endpoint, state: newState(), polls: 0, reports: [] }
        reporters.set(endpoint, reporter)
      }
      reporter.polls++
      for (const block of blocks) report(reporter, block, at)
      expire(reporter, reporter.polls - 1)
      return reporter
    },

    forget(endpoint) {
      const reporter = reporters.get(endpoint)
      if (reporter === undefined) return false
      reporters.delete(endpoint)
      expire(reporter, Number.POSITIVE_INFINITY)
      return true
    },

    stateOf: (endpoint) => reporters.get(endpoint)?.state,
    *states() {
      for (const { state } of reporters.values()) yield state
    },
    at: (height) => heights.get(height),
    all: () => heights.values(),
    hasReported: (endpoint, all) => reporters.get(endpoint)?.reports.some(({ siblings }) => siblings === all) === true,

    shift(ms) {
      for (const { branches } of heights.values()) {
        for (const branch of branches) {
          branch.firstAt += ms
          for (const one of branch.reports) {
            one.firstAt += ms
            one.at += ms
          }
        }
      }
    },
  }
}

/** Finds or creates the branch of a hash. */
function branchOf<S>({ branches }: HeightReports<S>, hash: string, at: UnixMs): Branch<S> {
  const known = branches.find((branch) => branch.hash === hash)
  if (known !== undefined) return known
  const branch: Branch<S> = { hash, reports: [], firstAt: at }
  branches.push(branch)
  return branch
}

function joinBranch<S>(report: Report<S>, branch: Branch<S>): void {
  report.branch = branch
  report.index = branch.reports.length
  branch.reports.push(report)
  report.siblings.count++
}

/** Moves the last report into the gap: the order within a branch has no meaning. */
function leaveBranch<S>({ siblings, branch, index }: Report<S>): void {
  const last = branch.reports.pop()
  if (last !== undefined && index < branch.reports.length) {
    branch.reports[index] = last
    last.index = index
  }
  siblings.count--
  if (branch.reports.length === 0) siblings.branches.splice(siblings.branches.indexOf(branch), 1)
}

/**
 * Decides which endpoints' parent hashes count as blocks that they have: caching proxies and test nodes may name
 * parents that never existed, which would look like a fork. Trust begins with a parent that some endpoint reported as a
 * block, and ends with a parent that is not the endpoint's own previous block.
 */
export function createParentTrust(blocksAt: BlocksAt) {
  const trusted = new Set<string>()

  /** Whether this head shows that the endpoint's blocks follow each other; `null` if it shows nothing. */
  function proofIn(before: Head | undefined, { height, parentHash }: Head): boolean | null {
    if (before !== undefined && height === before.height + 1) return parentHash === before.hash
    return blocksAt(height - 1).some(({ hash }) => hash === parentHash) ? true : null
  }

  function isTrustedIn(endpoint: string, { height, parentHash }: Head, proof: boolean | null): boolean {
    return height !== 0 && parentHash !== '' && (proof ?? trusted.has(endpoint))
  }

  return {
    /** Whether the parents in the endpoint's heads so far are trusted. */
    isTrusted: (endpoint: string): boolean => trusted.has(endpoint),
    /** Takes a head that was just read; `before` is the endpoint's previous head. */
    isTrustedIn: (endpoint: string, before: Head | undefined, head: Head): boolean =>
      isTrustedIn(endpoint, head, proofIn(before, head)),

    /** Same as `isTrustedIn`, but also updates the trust. */
    add(endpoint: string, before: Head | undefined, head: Head): boolean {
      const proof = proofIn(before, head)
      const result = isTrustedIn(endpoint, head, proof)
      if (proof === true) trusted.add(endpoint)
      else if (proof === false) trusted.delete(endpoint)
      return result
    },

    forget: (endpoint: string): void => void trusted.delete(endpoint),
  }
}

/** The different blocks that endpoints have reported at a height. */
type BlocksAt = (height: number) => readonly Pick<Block, 'hash'>[]

export function parentOf({ height, parentHash }: Head): Block {
  return { height: height - 1, hash: parentHash }
}

/**
 * Which block precedes which, as heads have told. A head thereby also shows an older block of its endpoint, which needs no
 * request of its own. Two endpoints must have told each link, and the same one: a single node could tell a false one.
 */
export function createLineage(blocksAt: BlocksAt) {
  /** By hash, the oldest first. */
  const links = new Map<string, Link>()

  return {
    add(endpoint: string, head: Head): void {
      const { hash, height, parentHash } = head
      const known = links.get(hash)
      if (known === undefined) {
        links.set(hash, { head, by: endpoint, is: 'told-once' })
        for (const oldest of links.keys()) {
          if (links.size <= MOST_LINKS) break
          links.delete(oldest)
        }
      } else if (known.head.height !== height || known.head.parentHash !== parentHash) known.is = 'disputed'
      else if (known.is === 'told-once' && known.by !== endpoint) known.is = 'agreed'
    },

    /** The block at this height from which the head descends; `null` if that is unknown, or disputed. */
    ancestorOf(head: Head, height: number): Block | null {
      let { parentHash } = head
      if (head.height <= height) return null
      for (let at = head.height - 1; at > height; at--) {
        const link = links.get(parentHash)
        if (link?.is !== 'agreed' || link.head.height !== at) return null
        parentHash = link.head.parentHash
      }
      const [block, ...others] = blocksAt(height)
      return block?.hash === parentHash && others.length === 0 ? { height, hash: parentHash } : null
    },
  }
}

interface Link {
  readonly head: Head
  readonly by: string
  is: 'told-once' | 'agreed' | 'disputed'
}

/** Blocks of a quarter of a second for two minutes. */
const MOST_LINKS = 512
