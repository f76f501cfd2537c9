import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'

/**
 * Which blocks the endpoints of one chain reported in their latest two polls, and which other endpoints reported the same. A poll
 * that repeats the previous one, as most do, allocates nothing. `S` is what else is kept for each endpoint.
 */
export interface BlockReports<S> {
  /** How many endpoints have reported a block. */
  readonly reporters: number
  /** Reports of the previous poll still count, older ones do not. Of two blocks at one height the last one counts. */
  add(endpoint: string, blocks: readonly Block[], at: UnixMs, newState: () => S): Reporter<S>
  /** Whether it was known. */
  forget(endpoint: string): boolean
  stateOf(endpoint: string): S | undefined
  states(): Iterable<S>
  at(height: number): HeightReports<S> | undefined
  all(): Iterable<HeightReports<S>>
  hasReported(endpoint: string, reports: HeightReports<S>): boolean
  shift(ms: number): void
}

/** A block that one endpoint reported. */
export interface Block {
  readonly height: number
  readonly hash: string
}

export interface Reporter<S> {
  readonly endpoint: string
  readonly state: S
  /** How often it was polled. */
  polls: number
  /** One block a height, the newest first. */
  readonly reports: Report<S>[]
}

/** The block that one endpoint has at one height. */
export interface Report<S> {
  readonly by: Reporter<S>
  /** All reports of this height. */
  readonly siblings: HeightReports<S>
  branch: Branch<S>
  /** Its position in `branch.reports`, so that it is removed without a search. */
  index: number
  /** When it was first and last reported. */
  firstAt: UnixMs
  at: UnixMs
  /** The number of the reporter's poll that last confirmed it. */
  poll: number
}

/** All reports of the same block. */
export interface Branch<S> {
  readonly hash: string
  readonly reports: Report<S>[]
  latestAt: UnixMs
}

export interface HeightReports<S> {
  readonly height: number
  /** In the order in which they were first reported. */
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
    if (before.branch.hash === hash) before.branch.latestAt = Math.max(before.branch.latestAt, at)
    else {
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
    by.reports.splice(older < 0 ? by.reports.length : older, 0, added)
  }

  /** Removes what it reported before that poll. */
  function expire({ reports }: Reporter<S>, poll: number): void {
    for (let at = reports.length - 1; at >= 0; at--) {
      const old = reports[at] as Report<S>
      if (old.poll >= poll) continue
      reports.splice(at, 1)
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
          branch.latestAt += ms
          for (const one of branch.reports) {
            one.firstAt += ms
            one.at += ms
          }
        }
      }
    },
  }
}

/** The branch of a block that is reported now. */
function branchOf<S>({ branches }: HeightReports<S>, hash: string, at: UnixMs): Branch<S> {
  for (const branch of branches) {
    if (branch.hash !== hash) continue
    branch.latestAt = Math.max(branch.latestAt, at)
    return branch
  }
  const branch: Branch<S> = { hash, reports: [], latestAt: at }
  branches.push(branch)
  return branch
}

function joinBranch<S>(report: Report<S>, branch: Branch<S>): void {
  report.branch = branch
  report.index = branch.reports.length
  branch.reports.push(report)
  report.siblings.count++
}

/** The last report takes its position: the order within a branch has no meaning. */
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
 * Which endpoints' parent hashes count as blocks that they have. A caching proxy or a test node may name parents that never
 * existed, which would look like a fork. So an endpoint is trusted once a parent that it named was a block that an endpoint
 * reported, until it names one that is not its own previous block.
 */
export interface ParentTrust {
  /** Whether the parent of a head that was just read is trusted; `before` is the endpoint's previous head. */
  isTrusted(endpoint: string, before: Head | undefined, head: Head): boolean
  /** As `isTrusted`, and remembers what this head has shown. */
  add(endpoint: string, before: Head | undefined, head: Head): boolean
  forget(endpoint: string): void
}

export function createParentTrust(isReported: (height: number, hash: string) => boolean): ParentTrust {
  const trusted = new Set<string>()

  /** Whether this head shows that the endpoint's blocks follow each other; `null` where it shows nothing. */
  function proofIn(before: Head | undefined, { height, parentHash }: Head): boolean | null {
    if (before !== undefined && height === before.height + 1) return parentHash === before.hash
    return isReported(height - 1, parentHash) ? true : null
  }

  function isTrusted(endpoint: string, { height, parentHash }: Head, proof: boolean | null): boolean {
    return height !== 0 && parentHash !== '' && (proof ?? trusted.has(endpoint))
  }

  return {
    isTrusted: (endpoint, before, head) => isTrusted(endpoint, head, proofIn(before, head)),

    add(endpoint, before, head) {
      const proof = proofIn(before, head)
      const result = isTrusted(endpoint, head, proof)
      if (proof === true) trusted.add(endpoint)
      else if (proof === false) trusted.delete(endpoint)
      return result
    },

    forget: (endpoint) => void trusted.delete(endpoint),
  }
}

/** The block that this head names as its parent. */
export function parentOf({ height, parentHash }: Head): Block {
  return { height: height - 1, hash: parentHash }
}
