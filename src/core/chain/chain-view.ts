import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { createBlockPace } from './block-pace.ts'
import { type Block, createParentTrust, parentOf } from './block-reports.ts'
import { type BranchStanding, createBranches, type Fork } from './branches.ts'
import type { HeightTally } from './height-tally.ts'
import { createKnownHeads, type SeenHead } from './known-heads.ts'
import { createProgress } from './progress.ts'
import { type ChainReference, createReferenceHead } from './reference-head.ts'

/** The recent heads of one chain (one shard) as its endpoints report them, and where the chain really is. */
export interface ChainView {
  /** Takes a head that an endpoint reported. `compared`: further blocks that it was asked for. */
  add(endpoint: string, head: Head, at: UnixMs, compared?: readonly Block[]): HeadMove
  /** The height of a further block that an endpoint must report to be compared, after its head was read; `null`: none. */
  heightToCompare(endpoint: string, head: Head): number | null
  /** An endpoint that was removed, or serves another chain, no longer counts. */
  forget(endpoint: string): void
  /** `null` while no endpoint answers. */
  reference(now: UnixMs): ChainReference | null
  standing(endpoint: string, now: UnixMs): ChainStanding | null
  /** The height that half of the endpoints have, never above the reference head. As of the last call with a time. */
  confirmedHeight(): number | null
  /** Since when no endpoint advances, though endpoints answer. A single endpoint cannot show it. */
  haltedSince(now: UnixMs): UnixMs | null
  /** The endpoints disagree on a block, and no branch has a majority. */
  isForked(): boolean
  fork(): Fork | null
  /** How many different blocks are reported at the newest height that most endpoints have reached. */
  branches(): number
  /** As measured from the timestamps of the latest blocks; `null` until enough were seen. */
  blockTimeMs(): number | null
  /** The last head of an endpoint, to be saved for a restart. */
  seen(endpoint: string): SeenHead | null
  /** Puts back what was saved. Without `answeredAt` it counts as old until the endpoint answers again. */
  restore(endpoint: string, seen: SeenHead, answeredAt?: UnixMs): void
  /** The wall clock was stepped by so much: remembered times move along, so that no time has passed. */
  shift(ms: number): void
}

export interface ChainViewOptions {
  readonly blockTimeMs: number
  readonly lagBlocks: number
  readonly lagBlocksDown: number
  readonly stallMs: number
  /** An endpoint that has not answered for this long does not count for where the chain is at present. */
  readonly recentMs: number
  /** Only one endpoint is configured: there will never be another to compare it with. */
  readonly isAlone: boolean
}

/** How an endpoint's new head relates to its previous one. */
export type HeadMove =
  | { readonly kind: 'first' | 'advanced' | 'same' }
  /** Another block where it had one already: at the same height, or as the parent of the next. */
  | { readonly kind: 'reorged'; readonly height: number; readonly previousHash: string; readonly hash: string }
  | { readonly kind: 'regressed'; readonly blocks: number }

/** One endpoint's position on the chain. */
export interface ChainStanding {
  readonly head: Head
  /** When its height last grew. */
  readonly advancedAt: UnixMs
  /** Blocks behind the reference head, never negative. */
  readonly lagBlocks: number
  /** Blocks behind the highest block that half of the endpoints have: a few endpoints ahead make no other late. */
  readonly lagConfirmed: number
  /** For how long the network has advanced without it; `null` where that is shorter than `stall`. */
  readonly stalledForMs: number | null
  /** How old its block is, where there is no endpoint to compare it with; else `null`. */
  readonly ageMs: number | null
  /** `null` where its branch is unknown, or not certain. */
  readonly branch: BranchStanding | null
}

const NOTHING_COMPARED: readonly Block[] = Object.freeze([])

/** In half of `recentMs` every endpoint is polled once: an endpoint that has not answered by then delays no comparison. */
const MAX_WAIT_SHARE = 0.6

export function createChainView(options: ChainViewOptions): ChainView {
  const { lagBlocks, lagBlocksDown, stallMs, recentMs, isAlone } = options
  const heads = createKnownHeads(lagBlocks)
  const answering = () => heads.recent.size
  const pace = createBlockPace(options)
  const reference = createReferenceHead({ ...options, heads, pace })
  const progress = createProgress({ reference, pace, answering, stallMs })
  const branches = createBranches({
    reached: (height) => heads.recent.reached(height),
    answering,
    agreedHeight: () => reference.current?.height ?? null,
    slackBlocks: () => lagBlocks + Math.ceil(recentMs / 2 / pace.shortestMs()),
    maxBacktrackBlocks: lagBlocksDown,
    maxWaitMs: MAX_WAIT_SHARE * recentMs,
  })
  const parents = createParentTrust(branches.isReported)

  function update(now: UnixMs): void {
    const expired = heads.expire(now - recentMs)
    for (const endpoint of expired) branches.forget(endpoint)
    if (expired.length > 0) reference.markChanged(null)
    reference.update(now, progress.lastAdvanceAt)
  }

  function haltedSince(now: UnixMs): UnixMs | null {
    update(now)
    return progress.haltedSince(now)
  }

  /** The height that half of the endpoints have reached: of all, or of the recent ones. Of two endpoints either may be right. */
  function halfReached(): number {
    const of = (tally: HeightTally) =>
      tally.size <= 2 ? Number.POSITIVE_INFINITY : (tally.reachedBy(Math.ceil(tally.size / 2)) ?? 0)
    return Math.max(of(heads.all), of(heads.recent))
  }

  return {
    add(endpoint, head, at, compared = NOTHING_COMPARED) {
      const before = heads.seen(endpoint)
      const advanced = heads.add(endpoint, head, at)
      progress.noteAnswer(endpoint, advanced, at)
      reference.markChanged(head)
      update(at)
      if (advanced) progress.updateLeader(endpoint, before, head, at)
      const blocks: Block[] = [head]
      if (parents.add(endpoint, before?.head, head)) blocks.push(parentOf(head))
      if (compared.length > 0) blocks.push(...compared)
      branches.add(endpoint, blocks, at)
      return moveOf(before, head)
    },

    heightToCompare(endpoint, head) {
      const { height } = head
      if (!branches.mayNeedComparison(height)) return null
      const withParent = parents.isTrusted(endpoint, heads.seen(endpoint)?.head, head)
      return branches.heightToCompare(endpoint, withParent ? [height, height - 1] : [height])
    },

    forget(endpoint) {
      if (!heads.forget(endpoint)) return
      branches.forget(endpoint)
      parents.forget(endpoint)
      progress.forget(endpoint)
      reference.markChanged(null)
    },

    reference(now) {
      update(now)
      return answering() === 0 ? null : reference.current
    },

    standing(endpoint, now) {
      const seen = heads.seen(endpoint)
      update(now)
      const agreed = reference.current
      if (seen === undefined || agreed === null) return null
      const { head, advancedAt } = seen
      const behindMs = progress.advancedPastAt(head.height) - advancedAt
      // The only endpoint that answers has no other to be compared with.
      const isOnly = answering() === 1 && heads.isRecent(endpoint) && haltedSince(now) === null
      const standsAlone = isOnly && now - advancedAt >= stallMs
      return {
        head,
        advancedAt,
        lagBlocks: Math.max(0, agreed.height - head.height),
        lagConfirmed: Math.max(0, Math.min(agreed.height, halfReached()) - head.height),
        stalledForMs: behindMs >= stallMs ? now - advancedAt : null,
        ageMs: isAlone || standsAlone ? Math.max(0, now - head.timestamp) : null,
        branch: branches.standing(endpoint),
      }
    },

    confirmedHeight: () => (reference.current === null ? null : Math.min(reference.current.height, halfReached())),

    haltedSince,
    isForked: branches.isForked,
    fork: branches.fork,
    branches: branches.count,
    blockTimeMs: pace.measuredMs,

    seen: (endpoint) => heads.seen(endpoint) ?? null,

    restore(endpoint, seen, answeredAt) {
      if (heads.seen(endpoint) !== undefined) return
      heads.restore(endpoint, seen, answeredAt)
      progress.restore(seen.advancedAt)
      reference.markChanged(null)
    },

    shift(ms) {
      for (const part of [heads, reference, progress, branches]) part.shift(ms)
    },
  }
}

function moveOf(before: SeenHead | undefined, head: Head): HeadMove {
  if (before === undefined) return { kind: 'first' }
  const last = before.head
  if (head.height < last.height) return { kind: 'regressed', blocks: last.height - head.height }
  if (head.height === last.height) {
    if (head.hash === last.hash) return { kind: 'same' }
    return { kind: 'reorged', height: head.height, previousHash: last.hash, hash: head.hash }
  }
  if (head.height === last.height + 1 && head.parentHash !== last.hash) {
    return { kind: 'reorged', height: last.height, previousHash: last.hash, hash: head.parentHash }
  }
  return { kind: 'advanced' }
}
