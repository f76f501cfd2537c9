import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'

/** A block as one endpoint told it. */
export interface Block {
  readonly height: number
  readonly hash: string
}

/**
 * Which blocks the endpoints of one chain told in their latest two polls, and who else told them. A poll that says again what the
 * last one said, as nearly all do, makes nothing anew; `O` is what else is kept of each endpoint.
 */
export interface BlockReports<O> {
  /** How many endpoints told anything. */
  readonly reporters: number
  /** Grows whenever somebody tells a block that it did not tell before, or no longer tells one. */
  readonly changes: number
  /** What was told one poll earlier counts on, older words do not. Of two blocks at one height the last one counts. */
  take(endpoint: string, blocks: readonly Block[], at: UnixMs, begin: () => O): Reporter<O>
  /** Whether it was known. */
  forget(endpoint: string): boolean
  stateOf(endpoint: string): O | undefined
  states(): Iterable<O>
  at(height: number): HeightReports<O> | undefined
  all(): Iterable<HeightReports<O>>
  hasReported(endpoint: string, votes: HeightReports<O>): boolean
  shift(ms: number): void
}

export interface Reporter<O> {
  readonly endpoint: string
  readonly state: O
  /** How often it was polled. */
  polls: number
  /** One block a height, the newest first. */
  readonly reports: Report<O>[]
}

/** One endpoint's word on one height. */
export interface Report<O> {
  readonly by: Reporter<O>
  readonly height: HeightReports<O>
  branch: Branch<O>
  /** Where it stands in `branch.said`. */
  index: number
  at: UnixMs
  /** In which of the voter's polls it was said last. */
  poll: number
}

/** All who told the same block. */
export interface Branch<O> {
  readonly hash: string
  readonly reports: Report<O>[]
  latestAt: UnixMs
}

/** What is told of one height. */
export interface HeightReports<O> {
  readonly height: number
  /** In the order in which they were first told. */
  readonly branches: Branch<O>[]
  count: number
}

export function createBlockReports<O>(): BlockReports<O> {
  const voters = new Map<string, Reporter<O>>()
  const heights = new Map<number, HeightReports<O>>()
  let changes = 0

  function vote(voter: Reporter<O>, { height, hash }: Block, at: UnixMs): void {
    const before = wordOn(voter, height)
    if (before?.branch.hash === hash) {
      before.branch.latestAt = Math.max(before.branch.latestAt, at)
      before.at = at
      before.poll = voter.polls
      return
    }
    changes++
    if (before === null) {
      speak(voter, height, hash, at)
      return
    }
    leave(before)
    join(before, branchOf(before.height, hash, at))
    before.at = at
    before.poll = voter.polls
  }

  function speak(voter: Reporter<O>, height: number, hash: string, at: UnixMs): void {
    let votes = heights.get(height)
    if (votes === undefined) {
      votes = { height, branches: [], count: 0 }
      heights.set(height, votes)
    }
    const branch = branchOf(votes, hash, at)
    const word: Report<O> = { by: voter, height: votes, branch, index: 0, at, poll: voter.polls }
    join(word, branch)
    const { reports: said } = voter
    let place = said.length
    while (place > 0 && (said[place - 1] as Report<O>).height.height < height) place--
    said.splice(place, 0, word)
  }

  /** What it said before that poll. */
  function withdraw({ reports: said }: Reporter<O>, poll: number): void {
    for (let at = said.length - 1; at >= 0; at--) {
      const word = said[at] as Report<O>
      if (word.poll >= poll) continue
      changes++
      said.splice(at, 1)
      leave(word)
      if (word.height.count === 0) heights.delete(word.height.height)
    }
  }

  return {
    get reporters() {
      return voters.size
    },
    get changes() {
      return changes
    },

    take(endpoint, blocks, at, begin) {
      let voter = voters.get(endpoint)
      if (voter === undefined) {
        voter = { endpoint, state: begin(), polls: 0, reports: [] }
        voters.set(endpoint, voter)
      }
      voter.polls++
      for (const block of blocks) vote(voter, block, at)
      withdraw(voter, voter.polls - 1)
      return voter
    },

    forget(endpoint) {
      const voter = voters.get(endpoint)
      if (voter === undefined) return false
      voters.delete(endpoint)
      withdraw(voter, Number.POSITIVE_INFINITY)
      return true
    },

    stateOf: (endpoint) => voters.get(endpoint)?.state,
    *states() {
      for (const { state: of } of voters.values()) yield of
    },
    at: (height) => heights.get(height),
    all: () => heights.values(),
    hasReported: (endpoint, votes) => voters.get(endpoint)?.reports.some((word) => word.height === votes) === true,

    shift(ms) {
      for (const { branches } of heights.values()) {
        for (const branch of branches) {
          branch.latestAt += ms
          for (const word of branch.reports) word.at += ms
        }
      }
    },
  }
}

function wordOn<O>({ reports: said }: Reporter<O>, height: number): Report<O> | null {
  for (const word of said) if (word.height.height === height) return word
  return null
}

/** The branch of this block, which is told now. */
function branchOf<O>({ branches }: HeightReports<O>, hash: string, at: UnixMs): Branch<O> {
  for (const branch of branches) {
    if (branch.hash !== hash) continue
    branch.latestAt = Math.max(branch.latestAt, at)
    return branch
  }
  const branch: Branch<O> = { hash, reports: [], latestAt: at }
  branches.push(branch)
  return branch
}

function join<O>(word: Report<O>, branch: Branch<O>): void {
  word.branch = branch
  word.index = branch.reports.length
  branch.reports.push(word)
  word.height.count++
}

/** The last one takes its place: the order within a branch says nothing. */
function leave<O>({ height: votes, branch, index: place }: Report<O>): void {
  const last = branch.reports.pop()
  if (last !== undefined && place < branch.reports.length) {
    branch.reports[place] = last
    last.index = place
  }
  votes.count--
  if (branch.reports.length === 0) votes.branches.splice(votes.branches.indexOf(branch), 1)
}

export interface ParentsDeps {
  /** Whether somebody told this block. */
  readonly isTold: (height: number, hash: string) => boolean
}

/**
 * Whose word on the parent of its block is taken for a block that it has. A node behind a cache, or one for tests, may name
 * parents that never were: compared with real blocks they would be a fork of somebody. So an endpoint is believed only once a
 * parent that it named was a block that was told, and until one is not the block that it stood at itself. Others are asked.
 */
export interface ParentTrust {
  /** Whether the parent of a head that was just read is believed; `before` is the endpoint's previous head. */
  isTrusted(endpoint: string, before: Head | undefined, head: Head): boolean
  /** As `believes`, and keeps in mind what this head has shown. */
  take(endpoint: string, before: Head | undefined, head: Head): boolean
  forget(endpoint: string): void
}

export function createParentTrust({ isTold }: ParentsDeps): ParentTrust {
  const proven = new Set<string>()

  /** Whether this head shows that the endpoint's blocks follow each other; `null` where it shows nothing. */
  function shown(before: Head | undefined, { height, parentHash }: Head): boolean | null {
    if (before !== undefined && height === before.height + 1) return parentHash === before.hash
    return isTold(height - 1, parentHash) ? true : null
  }

  function believes(endpoint: string, { height, parentHash }: Head, isProven: boolean | null): boolean {
    return height !== 0 && parentHash !== '' && (isProven ?? proven.has(endpoint))
  }

  return {
    isTrusted: (endpoint, before, head) => believes(endpoint, head, shown(before, head)),

    take(endpoint, before, head) {
      const isProven = shown(before, head)
      const isBelieved = believes(endpoint, head, isProven)
      if (isProven === true) proven.add(endpoint)
      else if (isProven === false) proven.delete(endpoint)
      return isBelieved
    },

    forget: (endpoint) => void proven.delete(endpoint),
  }
}

/** The block that this head names as its parent. */
export function parentOf({ height, parentHash }: Head): Block {
  return { height: height - 1, hash: parentHash }
}
