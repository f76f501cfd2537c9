import type Database from 'better-sqlite3'
import { type ClockMarks, type ClockVerdict, cursorsSetBack, isTrusted, marksAfter } from '../clock-trust.ts'
import { DAY, slotOf } from '../resolution.ts'
import { createCursorReader, readCursor, removeCursor, setCursor } from './cursors.ts'
import { createPollTable } from './poll-table.ts'

/** Decides whether the wall clock is right: see `isTrusted`. */
export function createTrustedClock(
  db: Database.Database,
  onVerdict: (verdict: ClockVerdict) => void = () => undefined,
) {
  const readCursors = createCursorReader(db)
  const polls = createPollTable(db)
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()

  function marks(): ClockMarks {
    return {
      clockMs: readCursor(db, 'clock_ms'),
      doubtedFromMs: readCursor(db, 'doubted_from_ms'),
      doubtedMs: readCursor(db, 'doubted_ms'),
    }
  }

  function note({ clockMs, doubtedFromMs, doubtedMs }: ClockMarks): void {
    const all = [
      ['clock_ms', clockMs],
      ['doubted_from_ms', doubtedFromMs],
      ['doubted_ms', doubtedMs],
    ] as const
    for (const [name, value] of all) {
      if (value === null) removeCursor(db, name)
      else setCursor(db, name, value)
    }
  }

  function setBack(now: number): boolean {
    const first = polls.nextSlot(slotOf(now - 2 * DAY.widthMs))
    const cursors = cursorsSetBack(readCursors(), now, first, (longestHold.get() as number | null) ?? 0)
    if (cursors === null) return false
    setCursor(db, 'raw_from', cursors.rawFrom)
    setCursor(db, 'rolled_to', cursors.rolledTo)
    setCursor(db, 'five_minutes_from', cursors.fiveMinutesFrom)
    setCursor(db, 'hours_from', cursors.hoursFrom)
    return true
  }

  const judge = db.transaction((now: number): ClockVerdict => {
    const before = marks()
    note(marksAfter(before, now))
    if (!isTrusted(before, now)) return 'doubted'
    return setBack(now) ? 'set-back' : 'trusted'
  })

  return {
    /** Call it before a job. If the clock is trusted, cursors that are ahead of it are set back. */
    judge(now: number): ClockVerdict {
      const verdict = judge.immediate(now)
      onVerdict(verdict)
      return verdict
    },
    /** Whether the clock is trusted; changes nothing. */
    trusts: (now: number) => isTrusted(marks(), now),
  }
}
