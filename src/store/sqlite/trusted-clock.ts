import type Database from 'better-sqlite3'
import { DAY, HOURS_PER_DAY, LATE_MS, readableRawFrom, SLOTS_PER_HOUR, slotOf } from '../resolution.ts'
import { createCursorReader, readCursor, removeCursor, setCursor } from './cursors.ts'
import { createPollTable } from './poll-table.ts'

/** `set-back`: the clock is trusted, and the store's cursors, which were ahead of it, were set back. */
export type ClockVerdict = 'trusted' | 'doubted' | 'set-back'

/**
 * Decides whether the wall clock is right: one that is days ahead for an hour must not delete history by age, and one
 * that starts in 1970 must not set the cursors back. A clock more than a day off the last trusted time is trusted after
 * it ran for a day; after weeks without a daemon this delays deletion, but polls are always stored.
 */
export function createTrustedClock(
  db: Database.Database,
  onVerdict: (verdict: ClockVerdict) => void = () => undefined,
) {
  const readCursors = createCursorReader(db)
  const polls = createPollTable(db)
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()

  /** Whether the clock is trusted; changes nothing. */
  function trusts(now: number): boolean {
    const trustedAt = readCursor(db, 'clock_ms')
    if (trustedAt === null || Math.abs(now - trustedAt) <= DAY.widthMs) return true
    const doubtedFrom = readCursor(db, 'doubted_from_ms')
    const doubted = readCursor(db, 'doubted_ms')
    return doubtedFrom !== null && doubted !== null && isNear(now, doubted) && now - doubtedFrom >= DAY.widthMs
  }

  function note(now: number, trusted: boolean): void {
    if (trusted) {
      setCursor(db, 'clock_ms', now)
      removeCursor(db, 'doubted_from_ms')
      removeCursor(db, 'doubted_ms')
      return
    }
    const doubted = readCursor(db, 'doubted_ms')
    if (doubted === null || !isNear(now, doubted)) setCursor(db, 'doubted_from_ms', now)
    setCursor(db, 'doubted_ms', now)
  }

  /** Sets the cursors back to where polls are complete: a roll-up repeated from there gives the same result. */
  function setBack(now: number): boolean {
    const cursors = readCursors()
    const latest = slotOf(now)
    if (cursors.rawFrom > latest) {
      // Polls stored since the clock is right lie before the cursor of deleted polls, and would not be aggregated.
      const first = Math.min(latest, polls.nextSlot(slotOf(now - 2 * DAY.widthMs)) ?? latest)
      const hour = Math.floor(first / SLOTS_PER_HOUR)
      setCursor(db, 'raw_from', first)
      setCursor(db, 'rolled_to', Math.min(cursors.rolledTo, first))
      setCursor(db, 'five_minutes_from', Math.min(cursors.fiveMinutesFrom, hour * SLOTS_PER_HOUR))
      setCursor(db, 'hours_from', Math.min(cursors.hoursFrom, Math.floor(hour / HOURS_PER_DAY) * HOURS_PER_DAY))
      return true
    }
    if (cursors.rolledTo <= latest) return false
    const readableFrom = readableRawFrom(cursors, (longestHold.get() as number | null) ?? 0)
    const rolledTo = Math.max(slotOf(now - LATE_MS), readableFrom)
    if (rolledTo >= cursors.rolledTo) return false
    setCursor(db, 'rolled_to', rolledTo)
    return true
  }

  const judge = db.transaction((now: number): ClockVerdict => {
    const trusted = trusts(now)
    note(now, trusted)
    if (!trusted) return 'doubted'
    return setBack(now) ? 'set-back' : 'trusted'
  })

  return {
    /** Call it before a job. If the clock is trusted, cursors that are ahead of it are set back. */
    judge(now: number): ClockVerdict {
      const verdict = judge.immediate(now)
      onVerdict(verdict)
      return verdict
    },
    trusts,
  }
}

/** Whether the clock has continued from `before`: jobs run every few minutes. */
function isNear(now: number, before: number): boolean {
  return now >= before && now - before <= DAY.widthMs
}
