import type { UnixMs } from './time.ts'

/** A block as one endpoint told it. */
export interface Block {
  readonly height: number
  readonly hash: string
}

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
export interface Split {
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
  readonly slack: () => number
  /** One that is further behind than this is not gone back for. */
  readonly reachBack: number
  /** An endpoint that has not told its block at the common height for this long is not waited for. */
  readonly patienceMs: number
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
  /** `null` unless endpoints disagree, and no branch has a majority. */
  split(): Split | null
  /** How many different blocks are told at the newest height that most have reached; 0 when none is. */
  count(): number
  /** Whether an endpoint that is compared has told this block. */
  isTold(block: Block): boolean
  /** Which block an endpoint must be asked for to be compared; `null` when those that it has told just now will do. */
  ask(endpoint: string, told: readonly number[]): number | null
  shift(ms: number): void
}

interface Voter {
  latest: readonly Block[]
  previous: readonly Block[]
  agreedAt: number | null
  /** When it first had another block than the majority, in the present run of disagreeing. */
  againstSince: UnixMs | null
  standing: BranchStanding | null
}

/** What is told of one height. */
interface Votes {
  readonly byEndpoint: Map<string, { readonly hash: string; at: UnixMs }>
  readonly byHash: Map<string, { count: number; latestAt: UnixMs }>
}

export function createBranches(deps: BranchesDeps): Branches {
  const { reached, answering, agreedHeight, slack, reachBack, patienceMs } = deps
  const voters = new Map<string, Voter>()
  const heights = new Map<number, Votes>()
  /** The height at which all are asked to be compared, and since when. */
  let meeting: { readonly height: number; since: UnixMs } | null = null
  /** When a disagreement without majority was first seen; certain once both sides have repeated it. */
  let dispute: { readonly height: number; since: UnixMs; certain: boolean } | null = null

  function vote(endpoint: string, { height, hash }: Block, at: UnixMs): void {
    const votes = heights.get(height) ?? { byEndpoint: new Map(), byHash: new Map() }
    heights.set(height, votes)
    const branch = votes.byHash.get(hash)
    const before = votes.byEndpoint.get(endpoint)
    // Most polls say again what the last one said.
    if (before?.hash === hash && branch !== undefined) {
      before.at = at
      branch.latestAt = Math.max(branch.latestAt, at)
      return
    }
    if (before !== undefined) unvote(votes, endpoint)
    votes.byEndpoint.set(endpoint, { hash, at })
    if (branch === undefined) votes.byHash.set(hash, { count: 1, latestAt: at })
    else {
      branch.count++
      branch.latestAt = Math.max(branch.latestAt, at)
    }
  }

  function unvote(votes: Votes, endpoint: string): void {
    const before = votes.byEndpoint.get(endpoint)
    const branch = before === undefined ? undefined : votes.byHash.get(before.hash)
    if (before === undefined || branch === undefined) return
    votes.byEndpoint.delete(endpoint)
    branch.count--
    if (branch.count === 0) votes.byHash.delete(before.hash)
  }

  function withdraw(endpoint: string, blocks: readonly Block[], ...kept: readonly (readonly Block[])[]): void {
    for (const { height } of blocks) {
      if (kept.some((keep) => keep.some((block) => block.height === height))) continue
      const votes = heights.get(height)
      if (votes === undefined) continue
      unvote(votes, endpoint)
      if (votes.byEndpoint.size === 0) heights.delete(height)
    }
  }

  /** What is said of this height: the block of the majority, `split` when none can have one, `null` when it is open. */
  function outcome(height: number): { readonly majority: string } | 'split' | null {
    const votes = heights.get(height)
    if (votes === undefined || votes.byEndpoint.size < 2) return null
    // The first that reach a height do not speak for those that are about to.
    const eligible = Math.max(reached(height - slack()), votes.byEndpoint.size)
    if (eligible * 2 <= answering()) return null
    const [most, count] = mostVoted(votes)
    if (count * 2 > eligible) return { majority: most }
    const undecided = eligible - votes.byEndpoint.size
    return (count + undecided) * 2 <= eligible ? 'split' : null
  }

  /** By the newest of its blocks at which it can be compared: often the others tell theirs only after it has. */
  function standingOf(endpoint: string, voter: Voter): BranchStanding | null {
    for (const { height } of newestFirst(voter.latest, voter.previous)) {
      const found = outcome(height)
      const said = heights.get(height)?.byEndpoint.get(endpoint)
      if (found === null || said === undefined) continue
      const { hash } = said
      const { agreedAt } = voter
      if (found === 'split') {
        voter.againstSince = null
        return { height, hash, side: 'split', agreedAt }
      }
      if (found.majority === hash) {
        voter.againstSince = null
        voter.agreedAt = Math.max(agreedAt ?? 0, height)
        return { height, hash, side: 'with', agreedAt: voter.agreedAt }
      }
      voter.againstSince ??= said.at
      // A block that lost, told once by a pool, must not stand against it for as long as it cannot be compared again.
      if (said.at <= voter.againstSince) return null
      const repeated = saidSince(height, found.majority, voter.againstSince)
      return repeated * 2 > Math.max(reached(height - slack()), 2) ? { height, hash, side: 'against', agreedAt } : null
    }
    // It could not be compared this time: what was certain stays so while there are others to disagree with.
    return voter.standing?.side === 'against' && answering() > 1 ? voter.standing : null
  }

  function saidSince(height: number, hash: string, since: UnixMs): number {
    let count = 0
    for (const said of heights.get(height)?.byEndpoint.values() ?? [])
      if (said.hash === hash && said.at > since) count++
    return count
  }

  /** At the newest height of which anything can be said. */
  function seekDispute(at: UnixMs): void {
    for (const height of [...heights.keys()].sort((a, b) => b - a)) {
      const found = outcome(height)
      if (found === null) continue
      if (found !== 'split') dispute = null
      else {
        const since = dispute?.since ?? at
        const repeated = [...(heights.get(height)?.byHash.values() ?? [])].filter(({ latestAt }) => latestAt > since)
        dispute = { height, since, certain: dispute?.certain === true || repeated.length > 1 }
      }
      return
    }
  }

  function isComparable(endpoint: string, told: readonly number[]): boolean {
    return told.some((height) => {
      const votes = heights.get(height)?.byEndpoint
      return votes !== undefined && (votes.size - Number(votes.has(endpoint))) * 2 >= answering()
    })
  }

  /** On to where most are once everybody who can has been there; back for one that is behind, and cannot be compared otherwise. */
  function moveMeeting(endpoint: string, blocks: readonly Block[], at: UnixMs): void {
    const agreed = agreedHeight()
    if (agreed === null) return
    const newest = blocks.reduce((most, { height }) => Math.max(most, height), -1)
    const met = meeting === null ? 0 : (heights.get(meeting.height)?.byEndpoint.size ?? 0)
    const expected = meeting === null ? 0 : reached(meeting.height - reachBack)
    if (meeting !== null && met < expected && at - meeting.since < patienceMs) return
    const told = blocks.map((block) => block.height)
    const isBehind = newest >= 0 && newest < agreed && agreed - newest <= reachBack && !isComparable(endpoint, told)
    const height = isBehind ? newest : agreed
    if (height !== meeting?.height) meeting = { height, since: at }
  }

  return {
    take(endpoint, blocks, at) {
      const voter = voters.get(endpoint) ?? newVoter()
      voters.set(endpoint, voter)
      withdraw(endpoint, voter.previous, voter.latest, blocks)
      voter.previous = voter.latest
      voter.latest = blocks
      for (const block of blocks) vote(endpoint, block, at)
      if (dispute !== null || blocks.some(({ height }) => (heights.get(height)?.byHash.size ?? 0) > 1)) seekDispute(at)
      voter.standing = standingOf(endpoint, voter)
      moveMeeting(endpoint, blocks, at)
    },

    forget(endpoint) {
      const voter = voters.get(endpoint)
      if (voter === undefined) return
      voters.delete(endpoint)
      withdraw(endpoint, voter.latest)
      withdraw(endpoint, voter.previous)
      if (voters.size < 2) dispute = null
    },

    standing: (endpoint) => voters.get(endpoint)?.standing ?? null,

    split() {
      if (dispute === null || !dispute.certain) return null
      const byHash = new Map<string, string[]>()
      for (const [endpoint, { hash }] of heights.get(dispute.height)?.byEndpoint ?? []) {
        const endpoints = byHash.get(hash)
        if (endpoints === undefined) byHash.set(hash, [endpoint])
        else endpoints.push(endpoint)
      }
      const branches = [...byHash]
        .map(([hash, endpoints]) => ({ hash, endpoints: endpoints.sort() }))
        .sort((a, b) => b.endpoints.length - a.endpoints.length || (String(a.endpoints) < String(b.endpoints) ? -1 : 1))
      return { height: dispute.height, since: dispute.since, branches }
    },

    count() {
      let newest = -1
      for (const height of heights.keys()) if (height > newest && reached(height) * 2 > answering()) newest = height
      return heights.get(newest)?.byHash.size ?? 0
    },

    isTold: ({ height, hash }) => heights.get(height)?.byHash.has(hash) === true,

    ask(endpoint, told) {
      if (meeting === null || answering() < 2 || told.includes(meeting.height)) return null
      const canTell = told.some((height) => height > (meeting?.height ?? 0))
      return canTell && !isComparable(endpoint, told) ? meeting.height : null
    },

    shift(ms) {
      for (const { byEndpoint, byHash } of heights.values()) {
        for (const [endpoint, said] of byEndpoint) byEndpoint.set(endpoint, { ...said, at: said.at + ms })
        for (const branch of byHash.values()) branch.latestAt += ms
      }
      for (const voter of voters.values()) if (voter.againstSince !== null) voter.againstSince += ms
      if (dispute !== null) dispute.since += ms
      if (meeting !== null) meeting.since += ms
    },
  }
}

function newVoter(): Voter {
  return { latest: [], previous: [], agreedAt: null, againstSince: null, standing: null }
}

function newestFirst(latest: readonly Block[], previous: readonly Block[]): readonly Block[] {
  return [...latest, ...previous].sort((a, b) => b.height - a.height)
}

function mostVoted({ byHash }: Votes): readonly [hash: string, count: number] {
  let most: readonly [string, number] = ['', 0]
  for (const [hash, { count }] of byHash) if (count > most[1]) most = [hash, count]
  return most
}
