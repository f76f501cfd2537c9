import type { Head } from '../poll-result.ts'
import type { UnixMs } from '../time.ts'
import type { SeenHead } from './known-heads.ts'
import type { ReferenceHead } from './reference-head.ts'

export interface ProgressOptions {
  readonly reference: ReferenceHead
  /** How many answer now. */
  readonly answering: () => number
  readonly stallMs: number
}

/** Who goes on, and whether anybody does. */
export interface Progress {
  /** When anybody's height was last seen to grow. */
  readonly lastAdvanceAt: UnixMs
  /** An endpoint told its head, and its height `advanced` or not. */
  noteAnswer(endpoint: string, advanced: boolean, at: UnixMs): void
  /** After the reference head was worked out with it: whether it goes on where all the others may be stuck. */
  updateLeader(endpoint: string, before: SeenHead | undefined, head: Head, at: UnixMs): void
  /** When somebody was last seen to go on from this height, so that whoever stands there could have done so too. */
  advancedPastAt(height: number): UnixMs
  /** Since when nobody advances, though endpoints answer; `null` while somebody does, or nobody can tell. */
  haltedSince(now: UnixMs): UnixMs | null
  forget(endpoint: string): void
  /** What an earlier run saw. */
  restore(advancedAt: UnixMs): void
  shift(ms: number): void
}

export function createProgress({ reference, answering, stallMs }: ProgressOptions): Progress {
  let lastAdvanceAt = Number.NEGATIVE_INFINITY
  /** Who has gone on last, as fast as its chain can, past where the others agree to be: they may all be stuck. */
  let leader: { readonly endpoint: string; readonly height: number; advancedAt: UnixMs } | null = null
  /** The latest that answered, and when the latest but it did. */
  let newestBy: string | null = null
  let newestAt = Number.NEGATIVE_INFINITY
  let otherAt = Number.NEGATIVE_INFINITY
  /** Once a chain stands still it does so until somebody advances, also when others fall silent meanwhile. */
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
        reference.isPlausible(head.height - agreed.height, at - agreed.advancedAt) &&
        reference.isPlausible(head.height - before.head.height, at - before.advancedAt) &&
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
      // That nobody was heard is no halt: two have said since that there is no new block, one of them after all that time.
      const isSaid = newestAt - latest >= stallMs
      const byTwo = otherAt > latest && answering() >= 2
      halted = isSaid && (byTwo || (halted && answering() >= 1))
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
