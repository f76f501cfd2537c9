import { type Cursors, DAY, HOURS_PER_DAY, LATE_MS, readableRawFrom, SLOTS_PER_HOUR, slotOf } from './resolution.ts'

/** `set-back`: the clock is trusted, and the store's cursors, which were ahead of it, were set back. */
export type ClockVerdict = 'trusted' | 'doubted' | 'set-back'

/** What is stored of the clock: the last trusted time, and while it is doubted since when, and the latest. */
export interface ClockMarks {
  readonly clockMs: number | null
  readonly doubtedFromMs: number | null
  readonly doubtedMs: number | null
}

/**
 * Decides whether the wall clock is right: one that is days ahead for an hour must not delete history by age, and one
 * that starts in 1970 must not set the cursors back. A clock more than a day off the last trusted time is trusted after
 * it ran for a day; after weeks without a daemon this delays deletion, but polls are always stored.
 */
export function isTrusted({ clockMs, doubtedFromMs, doubtedMs }: ClockMarks, now: number): boolean {
  if (clockMs === null || Math.abs(now - clockMs) <= DAY.widthMs) return true
  return doubtedFromMs !== null && doubtedMs !== null && isNear(now, doubtedMs) && now - doubtedFromMs >= DAY.widthMs
}

/** What is stored of the clock after it was judged. */
export function marksAfter(marks: ClockMarks, now: number): ClockMarks {
  if (isTrusted(marks, now)) return { clockMs: now, doubtedFromMs: null, doubtedMs: null }
  const goesOn = marks.doubtedMs !== null && isNear(now, marks.doubtedMs)
  return { clockMs: marks.clockMs, doubtedFromMs: goesOn ? marks.doubtedFromMs : now, doubtedMs: now }
}

/** Whether the clock has continued from `before`: jobs run every few minutes. */
function isNear(now: number, before: number): boolean {
  return now >= before && now - before <= DAY.widthMs
}

/**
 * The cursors set back to where polls are complete: a roll-up repeated from there gives the same result. `null` if they
 * are not ahead of the clock. `firstSlot`: the first one with polls since two days ago.
 */
export function cursorsSetBack(
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
  const rolledTo = Math.max(slotOf(now - LATE_MS), readableRawFrom(cursors, longestHoldMs))
  return rolledTo >= cursors.rolledTo ? null : { ...cursors, rolledTo }
}
