import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import type { Block } from './block-reports.ts'
import { createParentTrust, parentOf } from './block-reports.ts'
import { type BranchStanding, createBranches, type Fork } from './branches.ts'
import type { HeightTally } from './height-tally.ts'
import { createKnownHeads, type SeenHead } from './known-heads.ts'
import { createProgress } from './progress.ts'
import { type ChainReference, createReferenceHead } from './reference-head.ts'

export interface ChainViewOptions {
  readonly blockTimeMs: number
  readonly lagBlocks: number
  readonly lagBlocksDown: number
  readonly stallMs: number
  /** An endpoint that has not answered for this long has no say in where the chain is now. */
  readonly recentMs: number
  /** Only one endpoint is configured: there will never be another to compare it with. */
  readonly isAlone: boolean
}

/** What an endpoint's new head is, beside its previous one. */
export type HeadMove =
  | { readonly kind: 'first' | 'advanced' | 'same' }
  /** Another block where it had one already: at the same height, or as the parent of the next. */
  | { readonly kind: 'reorged'; readonly height: number; readonly previousHash: string; readonly hash: string }
  | { readonly kind: 'regressed'; readonly blocks: number }

/** One endpoint's place on the chain. */
export interface ChainStanding {
  readonly head: Head
  /** When its height was last seen to grow. */
  readonly advancedAt: UnixMs
  /** Blocks behind the reference head, never negative. */
  readonly lagBlocks: number
  /** The same behind a block that half of them have: what a few say alone makes nobody late. Of two, as `lagBlocks`. */
  readonly lagWitnessed: number
  /** For how long the network had gone on without it; `null` when that is shorter than `stall`. */
  readonly stalledForMs: number | null
  /** How old its block is, where there is nobody to compare it with; `null` where there is. */
  readonly ageMs: number | null
  /** On which branch it is; `null` where that cannot be told, or not for certain. */
  readonly branch: BranchStanding | null
}

/**
 * The recent heads of one chain (one shard) as its endpoints tell them, and where the chain really is.
 * Deterministic: time comes in with each head.
 */
export interface ChainView {
  /** `compared`: blocks that it was asked for besides. */
  take(endpoint: string, head: Head, at: UnixMs, compared?: readonly Block[]): HeadMove
  /** The height at which this endpoint, whose head was just read, must be asked for its block to be compared; `null`: none. */
  heightToCompare(endpoint: string, head: Head): number | null
  /** An endpoint that is gone, or serves another chain, has no say. */
  forget(endpoint: string): void
  /** `null` while nobody answers. */
  reference(now: UnixMs): ChainReference | null
  standing(endpoint: string, now: UnixMs): ChainStanding | null
  /** Since when nobody advances, though endpoints answer: the chain's doing, not theirs. A single endpoint cannot tell it. */
  haltedSince(now: UnixMs): UnixMs | null
  /** The endpoints disagree on which block is the right one, and no branch has a majority. */
  isForked(): boolean
  fork(): Fork | null
  /** How many different blocks are told at the newest height that most have reached. */
  branches(): number
  /** From block to block, by the timestamps of the last ones; `null` until enough have been seen. */
  blockTimeMs(): number | null
  /** What every endpoint was last seen at, to be kept over a restart. */
  seen(endpoint: string): SeenHead | null
  /** Puts back what was seen before. Without `answeredAt` it counts as old until the endpoint answers again. */
  restore(endpoint: string, seen: SeenHead, answeredAt?: UnixMs): void
  /** The wall clock was stepped by so much: what was remembered of it moves along, so that no time has passed. */
  shift(ms: number): void
}

const NOTHING_COMPARED: readonly Block[] = Object.freeze([])

/** Everybody is asked once in half of that time: who has not answered by then is not waited for to compare the others. */
const PATIENCE = 0.6

export function createChainView(options: ChainViewOptions): ChainView {
  const { lagBlocks, lagBlocksDown, stallMs, recentMs, isAlone } = options
  const heads = createKnownHeads(lagBlocks)
  const answering = () => heads.recent.size
  const reference = createReferenceHead({ ...options, heads })
  const progress = createProgress({ reference, answering, stallMs })
  const branches = createBranches({
    reached: (height) => heads.recent.reached(height),
    answering,
    agreedHeight: () => reference.current?.height ?? null,
    slackBlocks: () => lagBlocks + Math.ceil(recentMs / 2 / reference.paceMs()),
    maxBacktrackBlocks: lagBlocksDown,
    maxWaitMs: PATIENCE * recentMs,
  })
  const parents = createParentTrust({ isTold: branches.isReported })

  /** What follows from where everybody stands, and of whose changes. */
  let tallied = -1
  let witnessed = 0
  let counted = -1
  let count = 0

  function settle(now: UnixMs): void {
    const silenced = heads.expire(now - recentMs)
    for (const endpoint of silenced) branches.forget(endpoint)
    if (silenced.length > 0) reference.markChanged(null)
    reference.update(now, progress.lastAdvanceAt)
  }

  function haltedSince(now: UnixMs): UnixMs | null {
    settle(now)
    return progress.haltedSince(now)
  }

  /** Where so many are that one of them is no liar: now, or when last heard. Of two either may be. */
  function witnessedHeight(): number {
    if (tallied === heads.changes) return witnessed
    tallied = heads.changes
    const of = (tally: HeightTally) =>
      tally.size <= 2 ? Number.POSITIVE_INFINITY : (tally.reachedBy(Math.ceil(tally.size / 2)) ?? 0)
    witnessed = Math.max(of(heads.all), of(heads.recent))
    return witnessed
  }

  function countBranches(): number {
    // Neither of them ever shrinks.
    const changes = heads.changes + branches.changes
    if (counted === changes) return count
    counted = changes
    count = branches.count()
    return count
  }

  return {
    take(endpoint, head, at, compared = NOTHING_COMPARED) {
      const before = heads.seen(endpoint)
      const advanced = heads.take(endpoint, head, at)
      progress.noteAnswer(endpoint, advanced, at)
      reference.markChanged(head)
      settle(at)
      if (advanced) progress.updateLeader(endpoint, before, head, at)
      const blocks: Block[] = [head]
      if (parents.take(endpoint, before?.head, head)) blocks.push(parentOf(head))
      if (compared.length > 0) blocks.push(...compared)
      branches.take(endpoint, blocks, at)
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
      settle(now)
      return answering() === 0 ? null : reference.current
    },

    standing(endpoint, now) {
      const seen = heads.seen(endpoint)
      settle(now)
      const agreed = reference.current
      if (seen === undefined || agreed === null) return null
      const { head, advancedAt } = seen
      const leftMs = progress.advancedPastAt(head.height) - advancedAt
      // The last that answers has nobody left to go on without it.
      const leftAlone = answering() === 1 && heads.isRecent(endpoint) && haltedSince(now) === null
      const standsAlone = leftAlone && now - advancedAt >= stallMs
      return {
        head,
        advancedAt,
        lagBlocks: Math.max(0, agreed.height - head.height),
        lagWitnessed: Math.max(0, Math.min(agreed.height, witnessedHeight()) - head.height),
        stalledForMs: leftMs >= stallMs ? now - advancedAt : null,
        ageMs: isAlone || standsAlone ? Math.max(0, now - head.timestamp) : null,
        branch: branches.standing(endpoint),
      }
    },

    haltedSince,
    isForked: branches.isForked,
    fork: branches.fork,
    branches: countBranches,
    blockTimeMs: () => reference.blockTimeMs(),

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
