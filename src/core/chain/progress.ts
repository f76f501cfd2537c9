import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import { type BlockPace, maxBlocksIn } from './block-pace.ts'
import type { Branches } from './branches.ts'
import type { KnownHeads, SeenHead } from './known-heads.ts'
import type { ReferenceHead } from './reference-head.ts'

export interface ProgressOptions {
  readonly reference: ReferenceHead
  readonly pace: BlockPace
  readonly heads: KnownHeads
  /** Its confirmed disagreement with the majority: its blocks are not the chain's. */
  readonly forked: Branches['forked']
  /** They may change. */
  readonly options: { readonly stallMs: number; readonly lagBlocks: number; readonly lagBlocksDown: number }
}

/** Tracks which endpoints advance, and detects a halted chain. */
export function createProgress({ reference, pace, heads, forked, options }: ProgressOptions) {
  let lastAdvanceAt = Number.NEGATIVE_INFINITY
  /** The endpoint that last passed the reference head at a plausible pace: all others may be stuck. */
  let leader: { readonly endpoint: string; readonly height: number; advancedAt: UnixMs } | null = null
  /** When an endpoint last showed whether the chain advances. */
  let newestAt = Number.NEGATIVE_INFINITY
  const polled = createPolled()
  /** When the chain was last seen to stand: a known halt lasts until a newer block, also while no endpoint answers. */
  let stoodAt = Number.NEGATIVE_INFINITY
  /** Heights of endpoints that were ahead by more blocks than fit between the timestamps, and have not gone back since. */
  const impossible = new Map<string, number>()
  /** When endpoints last went back, until they advance. */
  const wentBackAt = new Map<string, UnixMs>()

  /** Compares only the chain's own times, because its clocks and ours may differ. */
  function isImpossible(endpoint: string, { height, timestamp }: Head): boolean {
    const agreed = reference.current
    if (agreed === null) return false
    const lead = height - agreed.height
    const { lagBlocksDown } = options
    const possible = lagBlocksDown + maxBlocksIn(timestamp - (agreed.timestamp ?? 0), pace.shortestMs())
    const remains = lead > lagBlocksDown && height >= (impossible.get(endpoint) ?? Number.POSITIVE_INFINITY)
    if (remains || lead > possible) impossible.set(endpoint, height)
    else impossible.delete(endpoint)
    return impossible.has(endpoint)
  }

  function updateLeader(endpoint: string, before: SeenHead | undefined, head: Head, at: UnixMs): void {
    const agreed = reference.current
    if (before === undefined || agreed === null || head.height <= agreed.height || impossible.has(endpoint)) return
    if (forked(endpoint) !== null) return
    const isPlausible =
      pace.isPlausible(head.height - before.head.height, at - before.advancedAt) &&
      Math.abs(at - head.timestamp) < options.stallMs
    if (isPlausible) leader = { endpoint, height: head.height, advancedAt: at }
  }

  function latestAdvance(now: UnixMs): UnixMs {
    return Math.max(reference.current?.advancedAt ?? now, lastAdvanceAt)
  }

  function noteAsked(endpoint: string, at: UnixMs): void {
    polled.note(endpoint, latestAdvance(at))
  }

  /** Silence is not a halt: an endpoint must have answered without a new block, `stallMs` after the last one. */
  function isReported(now: UnixMs): boolean {
    return newestAt - latestAdvance(now) >= options.stallMs
  }

  function haltedSince(now: UnixMs): UnixMs | null {
    const latest = latestAdvance(now)
    const isKnown = stoodAt >= latest && heads.recent.size >= 1
    const byTwo = polled.standing.size >= 2 && heads.recent.size >= 2
    if (!isReported(now) || !(isKnown || (byTwo && polled.standing.size > unaskedOf(heads, polled.endpoints))))
      return null
    stoodAt = newestAt
    return latest
  }

  function forget(endpoint: string): void {
    polled.forget(endpoint)
    if (leader?.endpoint === endpoint) leader = null
    impossible.delete(endpoint)
    wentBackAt.delete(endpoint)
  }

  return {
    /**
     * Call it for every head that an endpoint reports, after it is in `heads` and before the reference head is updated;
     * `advanced`: its height grew; `wentBack`: further than a pool does. An endpoint that catches up below the reference
     * head shows neither that the chain advances nor that it does not, also while it pauses, nor does one that is further
     * ahead than the chain can be, or on another branch.
     */
    noteAnswer(
      endpoint: string,
      { advanced, wentBack }: { readonly advanced: boolean; readonly wentBack: boolean },
      head: Head,
      at: UnixMs,
    ): void {
      const isForked = forked(endpoint) !== null
      if (isForked) forget(endpoint)
      noteAsked(endpoint, at)
      if (isForked) return
      if (advanced) wentBackAt.delete(endpoint)
      else if (wentBack) wentBackAt.set(endpoint, at)
      if (isImpossible(endpoint, head)) return
      const behind = (reference.current?.highest ?? -1) - head.height
      if (advanced && behind >= 0) return
      const stoodSince = wentBackAt.get(endpoint) ?? heads.seen(endpoint)?.advancedAt ?? at
      if (behind >= options.lagBlocks && at - stoodSince < options.stallMs) return
      newestAt = at
      if (advanced) lastAdvanceAt = Math.max(lastAdvanceAt, at)
      else polled.standing.add(endpoint)
    },

    /** Call it for a poll in which an endpoint that is not up told no head. */
    noteSilence: noteAsked,

    /** Call it after the reference head was updated. Detects an endpoint that advances while all others may be stuck. */
    updateLeader,

    /** Whether the chain has advanced past this head for `stallMs`, not counting a halt: an endpoint there could have followed. */
    isStalled({ highest, advancedAt }: SeenHead): boolean {
      const agreed = reference.current
      const byLeader = leader !== null && leader.height > highest ? leader.advancedAt : Number.NEGATIVE_INFINITY
      const byAll = agreed !== null && agreed.height > highest ? agreed.advancedAt : Number.NEGATIVE_INFINITY
      return Math.max(byLeader, byAll) - Math.max(advancedAt, stoodAt) >= options.stallMs
    },

    /** Since when no endpoint advances although endpoints answer; `null` if one does, or if this is unknown. */
    haltedSince,

    /** Endpoints that may have newer blocks than those that stand at the reference head: they show whether it has halted. */
    unasked(now: UnixMs): readonly string[] {
      if (!isReported(now) || haltedSince(now) !== null) return NOTHING
      const highest = reference.current?.highest ?? 0
      const isAtHead = (endpoint: string) => highest - (heads.seen(endpoint)?.head.height ?? 0) < options.lagBlocks
      if (![...polled.standing].some(isAtHead)) return NOTHING
      return [...heads.endpoints()].filter((endpoint) => heads.isRecent(endpoint) && !polled.endpoints.has(endpoint))
    },

    forget,

    /** Call it after a restart, when the reference head was updated. The restored heads tell who was ahead of the others. */
    findLeader(): void {
      for (const endpoint of heads.endpoints()) {
        const seen = heads.seen(endpoint)
        if (seen === undefined || seen.head.height <= (reference.current?.height ?? 0)) continue
        lastAdvanceAt = Math.max(lastAdvanceAt, seen.advancedAt)
        updateLeader(endpoint, seen, seen.head, seen.advancedAt)
      }
    },

    /** The chain had halted before a restart: it has until now, and goes on to unless an endpoint advances. */
    restoreHalt(now: UnixMs): void {
      stoodAt = now
    },

    shift(ms: number): void {
      lastAdvanceAt += ms
      newestAt += ms
      polled.shift(ms)
      stoodAt += ms
      for (const [endpoint, at] of wentBackAt) wentBackAt.set(endpoint, at + ms)
      if (leader !== null) leader.advancedAt += ms
    },
  }
}

/** The endpoints that were polled since the chain last advanced, and those of them that show that it stands. */
function createPolled() {
  let since = Number.NEGATIVE_INFINITY
  const endpoints = new Set<string>()
  const standing = new Set<string>()
  return {
    endpoints,
    standing,
    note(endpoint: string, advancedAt: UnixMs): void {
      if (advancedAt > since) {
        since = advancedAt
        endpoints.clear()
        standing.clear()
      }
      endpoints.add(endpoint)
    },
    forget(endpoint: string): void {
      endpoints.delete(endpoint)
      standing.delete(endpoint)
    },
    shift(ms: number): void {
      since += ms
    },
  }
}

/** How many of the endpoints that answer may have newer blocks, of which we do not know yet. */
function unaskedOf({ recent, isRecent }: KnownHeads, asked: ReadonlySet<string>): number {
  let left = recent.size
  for (const endpoint of asked) if (isRecent(endpoint)) left--
  return left
}

const NOTHING: readonly never[] = Object.freeze([])
