import { cursorsOf, type MarkChanges, type Marks, marksOfCuts } from './marks.ts'
import { type Cursors, completeRawFrom, DAY, HOURS_PER_DAY, LATE_MS, SLOTS_PER_HOUR, slotOf } from './resolution.ts'

/** `set-back`: the clock is trusted, and the store's cursors, which were ahead of it, were set back. */
export type ClockVerdict = 'trusted' | 'doubted' | 'set-back'

/**
 * Decides whether the wall clock is right: one that is days ahead for an hour must not delete history by age, and one
 * that starts in 1970 must not set the cursors back. A clock more than a day off the last trusted time is trusted after
 * it ran for a day; after weeks without a daemon this delays deletion, but polls are always stored.
 */
export function isTrusted(marks: Marks, now: number): boolean {
  const clockMs = marks.get('clock_ms')
  if (clockMs === undefined || Math.abs(now - clockMs) <= DAY.widthMs) return true
  const doubtedFromMs = marks.get('doubted_from_ms')
  return doubtedFromMs !== undefined && isDoubtedStill(marks, now) && now - doubtedFromMs >= DAY.widthMs
}

/**
 * The verdict, and what changes with it. `firstSlot`: the first one with polls since two days ago, needed only if the
 * store is ahead of the clock.
 */
export function judgeClock(marks: Marks, now: number, firstSlot: number | null, longestHoldMs: number): Judgement {
  if (!isTrusted(marks, now)) {
    const from: MarkChanges = isDoubtedStill(marks, now) ? [] : [['doubted_from_ms', now]]
    return { verdict: 'doubted', changes: [...from, ['doubted_ms', now]] }
  }
  const trusted: MarkChanges = [
    ['clock_ms', now],
    ['doubted_from_ms', null],
    ['doubted_ms', null],
  ]
  const setBack = cursorsSetBack(cursorsOf(marks), now, firstSlot, longestHoldMs)
  if (setBack === null) return { verdict: 'trusted', changes: trusted }
  const cursors: MarkChanges = [['rolled_to', setBack.rolledTo], ['rolling', null], ...marksOfCuts(setBack)]
  return { verdict: 'set-back', changes: [...trusted, ...cursors] }
}

export interface Judgement {
  readonly verdict: ClockVerdict
  readonly changes: MarkChanges
}

/** Whether the clock has continued from when it was last doubted: jobs run every few minutes. */
function isDoubtedStill(marks: Marks, now: number): boolean {
  const before = marks.get('doubted_ms')
  return before !== undefined && now >= before && now - before <= DAY.widthMs
}

/**
 * The cursors set back to where polls are complete: a roll-up repeated from there gives the same result. `null` if they
 * are not ahead of the clock.
 */
function cursorsSetBack(
  cursors: Cursors,
  now: number,
  firstSlot: number | null,
  longestHoldMs: number,
): Cursors | null {
  const latest = slotOf(now)
  if (cursors.rawFrom > latest) {
    // Polls stored since the clock is right lie before the cursor of deleted polls, and would not be aggregated.
    const first = Math.min(latest, firstSlot ?? latest)
    const hour = Math.floor(first / SLOTS_PER_HOUR)
    return {
      rawFrom: first,
      rolledTo: Math.min(cursors.rolledTo, first),
      fiveMinutesFrom: Math.min(cursors.fiveMinutesFrom, hour * SLOTS_PER_HOUR),
      hoursFrom: Math.min(cursors.hoursFrom, Math.floor(hour / HOURS_PER_DAY) * HOURS_PER_DAY),
    }
  }
  if (cursors.rolledTo <= latest) return null
  const rolledTo = Math.max(slotOf(now - LATE_MS), completeRawFrom(cursors, longestHoldMs))
  return rolledTo >= cursors.rolledTo ? null : { ...cursors, rolledTo }
}
