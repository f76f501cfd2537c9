import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import type { BlockPace } from './block-pace.ts'
import type { SeenHead } from './known-heads.ts'
import type { ReferenceHead } from './reference-head.ts'

/** Which endpoints advance, and whether any does. */
export interface Progress {
  /** When the height of any endpoint last grew. */
  readonly lastAdvanceAt: UnixMs
  /** An endpoint reported its head; `advanced`: its height grew. */
  noteAnswer(endpoint: string, advanced: boolean, at: UnixMs): void
  /** To be called once the reference head is up to date: whether this endpoint advances where all others may be stuck. */
  updateLeader(endpoint: string, before: SeenHead | undefined, head: Head, at: UnixMs): void
  /** When the chain was last seen to advance past this height, so that an endpoint at it could have done so too. */
  advancedPastAt(height: number): UnixMs
  /** Since when no endpoint advances, though endpoints answer; `null` while one does, or it cannot be known. */
  haltedSince(now: UnixMs): UnixMs | null
  forget(endpoint: string): void
  /** Takes the time of the last advance from an earlier run. */
  restore(advancedAt: UnixMs): void
  shift(ms: number): void
}

export interface ProgressOptions {
  readonly reference: ReferenceHead
  readonly pace: BlockPace
  /** How many endpoints answer at present. */
  readonly answering: () => number
  readonly stallMs: number
}

export function createProgress({ reference, pace, answering, stallMs }: ProgressOptions): Progress {
  let lastAdvanceAt = Number.NEGATIVE_INFINITY
  /** The endpoint that last went past the reference head at a plausible pace: all others may be stuck. */
  let leader: { readonly endpoint: string; readonly height: number; advancedAt: UnixMs } | null = null
  /** The endpoint that answered last, and when the last one besides it did. */
  let newestBy: string | null = null
  let newestAt = Number.NEGATIVE_INFINITY
  let otherAt = Number.NEGATIVE_INFINITY
  /** A halted chain stays so until an endpoint advances, also when some endpoints stop answering meanwhile. */
  let halted = false

  return {
    get lastAdvanceAt() {
      return lastAdvanceAt
    },

    noteAnswer(endpoint, advanced, at) {
      if (newestBy !== endpoint) otherAt = newestAt
      newestBy = endpoint
      newestAt = at
      if (advanced) lastAdvanceAt = Math.max(lastAdvanceAt, at)
    },

    updateLeader(endpoint, before, head, at) {
      const agreed = reference.current
      if (before === undefined || agreed === null || head.height <= agreed.height) return
      const isPlausible =
        pace.isPlausible(head.height - agreed.height, at - agreed.advancedAt) &&
        pace.isPlausible(head.height - before.head.height, at - before.advancedAt) &&
        Math.abs(at - head.timestamp) < stallMs
      if (isPlausible) leader = { endpoint, height: head.height, advancedAt: at }
    },

    advancedPastAt(height) {
      const agreed = reference.current
      const byLeader = leader !== null && leader.height > height ? leader.advancedAt : Number.NEGATIVE_INFINITY
      const byAll = agreed !== null && agreed.height > height ? agreed.advancedAt : Number.NEGATIVE_INFINITY
      return Math.max(byLeader, byAll)
    },

    haltedSince(now) {
      const latest = Math.max(reference.current?.advancedAt ?? now, lastAdvanceAt)
      // Silence is no halt: two endpoints must have answered since without a new block, one of them after `stallMs`.
      const isReported = newestAt - latest >= stallMs
      const byTwo = otherAt > latest && answering() >= 2
      halted = isReported && (byTwo || (halted && answering() >= 1))
      return halted ? latest : null
    },

    forget(endpoint) {
      if (leader?.endpoint === endpoint) leader = null
    },

    restore(advancedAt) {
      lastAdvanceAt = Math.max(lastAdvanceAt, advancedAt)
    },

    shift(ms) {
      lastAdvanceAt += ms
      newestAt += ms
      otherAt += ms
      if (leader !== null) leader.advancedAt += ms
    },
  }
}
