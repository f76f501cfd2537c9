import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { reasonForAge } from './block-age.ts'
import { type BlockPace, createBlockPace, maxBlocksIn } from './block-pace.ts'
import { type Block, createLineage, createParentTrust, parentOf } from './block-reports.ts'
import { type Fork, isElsewhere, isReplaced } from './branch-votes.ts'
import { type BranchStanding, createBranches } from './branches.ts'
import {
  createKnownHeads,
  type HeadMove,
  type KnownHeads,
  moveOf,
  reachedByHalf,
  type SeenHead,
} from './known-heads.ts'
import { createProgress } from './progress.ts'
import { type ChainReference, createReferenceHead } from './reference-head.ts'

/** The recent heads of one chain (one shard) by endpoint, and the chain's state that follows from them. */
export interface ChainView {
  /** Those with a known head. */
  endpoints(): Iterable<string>
  /** Adds a head that an endpoint reported. `compared`: the further blocks that were requested from it. */
  add(endpoint: string, head: Head, at: UnixMs, compared?: readonly Block[]): HeadMove
  /** Call it for a poll in which an endpoint that is not up told no head. */
  noteSilence(endpoint: string, at: UnixMs): void
  /**
   * Whether this head can be of this chain: no jump that no chain makes, no replaced block that no other endpoint has,
   * and no block at a height where others have another one, unless the endpoint's fork is known. `compared`: the
   * further blocks that were requested from it.
   */
  fits(endpoint: string, head: Head, at: UnixMs, compared?: readonly Block[]): boolean
  /** Height of a further block that an endpoint with this head must report to be compared; `null` if none. */
  heightToCompare(endpoint: string, head: Head): number | null
  /** Call it when an endpoint was removed or serves another chain. */
  forget(endpoint: string): void
  /** `null` if no endpoint answers. */
  reference(now: UnixMs): ChainReference | null
  standing(endpoint: string, now: UnixMs): ChainStanding | null
  /** The height that half of the endpoints have, at most the reference height. As of the last call with a time. */
  confirmedHeight(): number | null
  /** Since when no endpoint advances although endpoints answer; else `null`. It takes two endpoints to detect. */
  haltedSince(now: UnixMs): UnixMs | null
  /** Endpoints to poll before it is known whether the chain has halted; none while it advances. */
  unasked(now: UnixMs): readonly string[]
  /** Whether endpoints disagree on a block without a majority. */
  isForked(): boolean
  fork(): Fork | null
  /** Number of different blocks at the newest height that most endpoints have reached; 0 if there is none. */
  branches(): number
  /** Measured from block timestamps; `null` until enough blocks were seen. */
  blockTimeMs(): number | null
  /** The endpoint's last head and its fork, to be saved for a restart. */
  saved(endpoint: string): SavedHead | null
  /** Restores a saved head. It is not recent until the endpoint answers again. */
  restore(endpoint: string, saved: SavedHead): void
  /** Call it after `restore` if the chain had halted. */
  restoreHalt(now: UnixMs): void
  /** Applies other options from now on. */
  configure(options: ChainViewOptions): void
  /** Moves all remembered times by this step of the wall clock, so that no time seems to have passed. */
  shift(ms: number): void
}

/** Plain data: stored with these member names. */
export interface SavedHead {
  readonly seen: SeenHead
  /** Its confirmed disagreement with the majority. */
  readonly forked?: BranchStanding | undefined
}

export interface ChainViewOptions {
  readonly blockTimeMs: number
  readonly lagBlocks: number
  readonly lagBlocksDown: number
  readonly stallMs: number
  /** An endpoint that has not answered for this long does not count for the present position of the chain. */
  readonly recentMs: number
  /** Whether only one endpoint is configured, so that it can never be compared. */
  readonly isAlone: boolean
  /** Number of endpoints that were not polled since the start; by default none. */
  readonly unpolled?: () => number
}

/** One endpoint's position on the chain. */
export interface ChainStanding {
  readonly head: Head
  readonly advancedAt: UnixMs
  /** Behind the reference head, never negative. */
  readonly lagBlocks: number
  /** Behind the highest block that half of the endpoints have: endpoints that are ahead do not make the others late. */
  readonly lagConfirmed: number
  /** How long the network has advanced without it; `null` if shorter than `stallMs`. */
  readonly stalledForMs: number | null
  /** Age of its block if that counts, because the heights of the others cannot tell whether it is late; otherwise `null`. */
  readonly ageMs: number | null
  /** The age counts because half of the others have newer blocks: the chain goes on. */
  readonly isBehindHalf: boolean
  /** `null` if its branch is unknown or not confirmed. */
  readonly branch: BranchStanding | null
}

const NOTHING_COMPARED: readonly Block[] = Object.freeze([])

/** A reorganisation reaches all working nodes sooner. */
const LONGEST_SETTLING_MS = 12_000
/** Share of `recentMs`: hardly less than an interval, so that the next poll of each endpoint shows what has settled. */
const SETTLING_SHARE = 0.45
/** Share of `recentMs`: working endpoints answer within half of it, so comparisons wait no longer for the rest. */
const MAX_WAIT_SHARE = 0.6

export function createChainView(initial: ChainViewOptions): ChainView {
  /** Changed in place, so that every part reads the present ones. */
  const options = { ...initial }
  const heads = createKnownHeads(options)
  const pace = createBlockPace(options)
  const reference = createReferenceHead({ options, heads, pace })
  const branches = createBranches({
    reached: (height) => heads.recent.reached(height),
    answering: () => heads.recent.size,
    unpolled: () => options.unpolled?.() ?? 0,
    agreedHeight: () => reference.current?.height ?? null,
    slackBlocks: () => options.lagBlocks + Math.ceil(options.recentMs / 2 / pace.shortestMs()),
    maxBacktrackBlocks: () => options.lagBlocksDown,
    ...waitsOf(options, pace),
  })
  const progress = createProgress({ options, reference, pace, heads, forked: branches.forked })
  const parents = createParentTrust(branches.blocksAt)
  const lineage = createLineage(branches.blocksAt)
  /** Whether heads of an earlier run were restored since the last head was reported. */
  let isRestored = false

  function update(now: UnixMs): void {
    const expired = heads.expire(now)
    for (const endpoint of expired) branches.expire(endpoint)
    if (expired.length > 0) reference.markChanged(null)
    reference.update(now)
  }

  return {
    endpoints: heads.endpoints,

    add(endpoint, head, at, compared = NOTHING_COMPARED) {
      const before = heads.seen(endpoint)
      if (reference.current === null || isRestored) update(at)
      if (isRestored) progress.findLeader()
      isRestored = false
      const move = moveOf(before?.head, head)
      const wentBack = move.kind === 'regressed' && move.blocks > options.lagBlocks
      const advanced = heads.add(endpoint, head, at)
      progress.noteAnswer(endpoint, { advanced, wentBack }, head, at)
      reference.markChanged(head)
      update(at)
      if (advanced) progress.updateLeader(endpoint, before, head, at)
      const withParent = parents.add(endpoint, before?.head, head)
      const blocks = blocksIn(head, withParent)
      lineage.add(endpoint, head)
      if (compared.length > 0) blocks.push(...compared)
      else {
        const wanted = branches.heightToCompare(endpoint, blocks)
        const older = wanted === null ? null : lineage.ancestorOf(head, wanted)
        if (older !== null) blocks.push(older)
      }
      branches.add(endpoint, blocks, at, wentBack || move.kind === 'reorged')
      return move
    },

    fits(endpoint, head, at, compared = NOTHING_COMPARED) {
      const before = heads.seen(endpoint)?.head
      const isLinked = parents.isTrusted(endpoint)
      const own = blocksIn(head, isLinked)
      if (before !== undefined) {
        const move = moveOf(before, head)
        const hasReplaced = move.kind === 'reorged' && (isLinked || head.height === before.height)
        if (hasReplaced && !isElsewhere(own, move.height, branches.blocksAt, endpoint)) return false
        if (!isPossible(options, before, head, at - heads.readAt(endpoint), reference.current?.height ?? 0))
          return false
      }
      if (heads.recent.size < 2 && own.some((block) => isReplaced(branches.blocksAt(block.height), block.hash)))
        return false
      return !branches.isOutvoted(endpoint, [...own, ...compared])
    },

    heightToCompare(endpoint, head) {
      if (!branches.mayNeedComparison(head.height)) return null
      const withParent = parents.isTrustedIn(endpoint, heads.seen(endpoint)?.head, head)
      const wanted = branches.heightToCompare(endpoint, blocksIn(head, withParent))
      return wanted === null || lineage.ancestorOf(head, wanted) !== null ? null : wanted
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
      return heads.recent.size === 0 ? null : reference.current
    },

    standing(endpoint, now) {
      const seen = heads.seen(endpoint)
      update(now)
      const agreed = reference.current
      if (seen === undefined || agreed === null) return null
      const { head, advancedAt } = seen
      const lagConfirmed = Math.max(0, confirmedOf(agreed, heads) - head.height)
      const reason = options.isAlone ? 'unmatched' : reasonForAge(options, heads, endpoint, seen, lagConfirmed, now)
      const isByAge = reason !== null && (options.isAlone || progress.haltedSince(now) === null)
      return {
        head,
        advancedAt,
        lagBlocks: Math.max(0, agreed.height - head.height),
        lagConfirmed,
        stalledForMs: progress.isStalled(seen) ? now - advancedAt : null,
        ageMs: isByAge ? ageOf(seen, pace.shortestMs(), now) : null,
        isBehindHalf: reason === 'behind-half',
        branch: branches.standing(endpoint),
      }
    },

    confirmedHeight: () => (reference.current === null ? null : confirmedOf(reference.current, heads)),

    haltedSince(now) {
      update(now)
      return progress.haltedSince(now)
    },
    unasked: progress.unasked,
    noteSilence: progress.noteSilence,
    isForked: branches.isForked,
    fork: branches.fork,
    branches: branches.count,
    blockTimeMs: pace.measuredMs,

    saved(endpoint) {
      const seen = heads.seen(endpoint)
      const forked = branches.forked(endpoint)
      return seen === undefined ? null : forked === null ? { seen } : { seen, forked }
    },

    restore(endpoint, { seen, forked }) {
      if (heads.seen(endpoint) !== undefined) return
      heads.restore(endpoint, seen)
      if (forked !== undefined) branches.restore(endpoint, forked)
      isRestored = true
      reference.markChanged(null)
    },

    restoreHalt: progress.restoreHalt,
    configure(next) {
      Object.assign(options, next)
      reference.markChanged(null)
    },

    shift: (ms) => [heads, reference, progress, branches].forEach((part) => part.shift(ms)),
  }
}

function waitsOf(options: Pick<ChainViewOptions, 'recentMs'>, pace: Pick<BlockPace, 'measuredMs'>) {
  return {
    /** A node leaves a losing block with the next one: fast polls must wait for that, once the pace is known. */
    settleMs: () => Math.min(LONGEST_SETTLING_MS, Math.max(SETTLING_SHARE * options.recentMs, pace.measuredMs() ?? 0)),
    maxWaitMs: () => MAX_WAIT_SHARE * options.recentMs,
  }
}

/** Of its newest block. A pool has the newer one that it told before. */
function ageOf({ head, highest }: SeenHead, blockTimeMs: number, now: UnixMs): number {
  return Math.max(0, now - head.timestamp - (highest - head.height) * blockTimeMs)
}

/** A head shows its parent, too, if the node's parents are trusted. */
function blocksIn(head: Head, withParent: boolean): Block[] {
  return withParent ? [head, parentOf(head)] : [head]
}

/** The height up to which half of the endpoints confirm the reference head. */
function confirmedOf(agreed: Pick<ChainReference, 'height'>, heads: KnownHeads): number {
  return Math.min(agreed.height, reachedByHalf(heads))
}

/**
 * Whether an endpoint can have moved like this to this head. One that is far behind may catch up at any pace; one that
 * went back further than a pool does may have changed its chain.
 */
function isPossible(
  { lagBlocks, lagBlocksDown, blockTimeMs }: ChainViewOptions,
  from: Head,
  to: Head,
  ms: number,
  agreedHeight: number,
): boolean {
  const blocks = to.height - from.height
  if (blocks < -lagBlocks) return false
  const isCatchingUp = to.height <= agreedHeight + lagBlocksDown
  return isCatchingUp || blocks <= lagBlocksDown + maxBlocksIn(ms, blockTimeMs)
}
