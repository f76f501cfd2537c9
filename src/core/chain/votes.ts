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
export interface Votes<O> {
  /** How many endpoints told anything. */
  readonly voters: number
  /** Grows whenever somebody tells a block that it did not tell before, or no longer tells one. */
  readonly changes: number
  /** What was told one poll earlier counts on, older words do not. Of two blocks at one height the last one counts. */
  take(endpoint: string, blocks: readonly Block[], at: UnixMs, begin: () => O): Voter<O>
  /** Whether it was known. */
  forget(endpoint: string): boolean
  of(endpoint: string): O | undefined
  opinions(): Iterable<O>
  at(height: number): VotesAt<O> | undefined
  all(): Iterable<VotesAt<O>>
  hasSaid(endpoint: string, votes: VotesAt<O>): boolean
  shift(ms: number): void
}

export interface Voter<O> {
  readonly endpoint: string
  readonly of: O
  /** How often it was polled. */
  polls: number
  /** One block a height, the newest first. */
  readonly said: Said<O>[]
}

/** One endpoint's word on one height. */
export interface Said<O> {
  readonly by: Voter<O>
  readonly votes: VotesAt<O>
  branch: Branch<O>
  /** Where it stands in `branch.said`. */
  place: number
  at: UnixMs
  /** In which of the voter's polls it was said last. */
  poll: number
}

/** All who told the same block. */
export interface Branch<O> {
  readonly hash: string
  readonly said: Said<O>[]
  latestAt: UnixMs
}

/** What is told of one height. */
export interface VotesAt<O> {
  readonly height: number
  /** In the order in which they were first told. */
  readonly branches: Branch<O>[]
  count: number
}

export function createVotes<O>(): Votes<O> {
  const voters = new Map<string, Voter<O>>()
  const heights = new Map<number, VotesAt<O>>()
  let changes = 0

  function vote(voter: Voter<O>, { height, hash }: Block, at: UnixMs): void {
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
    join(before, branchOf(before.votes, hash, at))
    before.at = at
    before.poll = voter.polls
  }

  function speak(voter: Voter<O>, height: number, hash: string, at: UnixMs): void {
    let votes = heights.get(height)
    if (votes === undefined) {
      votes = { height, branches: [], count: 0 }
      heights.set(height, votes)
    }
    const branch = branchOf(votes, hash, at)
    const word: Said<O> = { by: voter, votes, branch, place: 0, at, poll: voter.polls }
    join(word, branch)
    const { said } = voter
    let place = said.length
    while (place > 0 && (said[place - 1] as Said<O>).votes.height < height) place--
    said.splice(place, 0, word)
  }

  /** What it said before that poll. */
  function withdraw({ said }: Voter<O>, poll: number): void {
    for (let at = said.length - 1; at >= 0; at--) {
      const word = said[at] as Said<O>
      if (word.poll >= poll) continue
      changes++
      said.splice(at, 1)
      leave(word)
      if (word.votes.count === 0) heights.delete(word.votes.height)
    }
  }

  return {
    get voters() {
      return voters.size
    },
    get changes() {
      return changes
    },

    take(endpoint, blocks, at, begin) {
      let voter = voters.get(endpoint)
      if (voter === undefined) {
        voter = { endpoint, of: begin(), polls: 0, said: [] }
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

    of: (endpoint) => voters.get(endpoint)?.of,
    *opinions() {
      for (const { of } of voters.values()) yield of
    },
    at: (height) => heights.get(height),
    all: () => heights.values(),
    hasSaid: (endpoint, votes) => voters.get(endpoint)?.said.some((word) => word.votes === votes) === true,

    shift(ms) {
      for (const { branches } of heights.values()) {
        for (const branch of branches) {
          branch.latestAt += ms
          for (const word of branch.said) word.at += ms
        }
      }
    },
  }
}

function wordOn<O>({ said }: Voter<O>, height: number): Said<O> | null {
  for (const word of said) if (word.votes.height === height) return word
  return null
}

/** The branch of this block, which is told now. */
function branchOf<O>({ branches }: VotesAt<O>, hash: string, at: UnixMs): Branch<O> {
  for (const branch of branches) {
    if (branch.hash !== hash) continue
    branch.latestAt = Math.max(branch.latestAt, at)
    return branch
  }
  const branch: Branch<O> = { hash, said: [], latestAt: at }
  branches.push(branch)
  return branch
}

function join<O>(word: Said<O>, branch: Branch<O>): void {
  word.branch = branch
  word.place = branch.said.length
  branch.said.push(word)
  word.votes.count++
}

/** The last one takes its place: the order within a branch says nothing. */
function leave<O>({ votes, branch, place }: Said<O>): void {
  const last = branch.said.pop()
  if (last !== undefined && place < branch.said.length) {
    branch.said[place] = last
    last.place = place
  }
  votes.count--
  if (branch.said.length === 0) votes.branches.splice(votes.branches.indexOf(branch), 1)
}
