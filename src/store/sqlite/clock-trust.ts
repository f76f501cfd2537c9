import type Database from 'better-sqlite3'
import { type ClockVerdict, isTrusted, judgeClock } from '../clock-trust.ts'
import { DAY, slotOf } from '../resolution.ts'
import { createMarkReader, createMarkWriter } from './marks.ts'
import { createPollTable } from './poll-table.ts'

/** Decides whether the wall clock is right: see `isTrusted`. */
export function createTrustedClock(
  db: Database.Database,
  onVerdict: (verdict: ClockVerdict) => void = () => undefined,
) {
  const marks = createMarkReader(db)
  const setMarks = createMarkWriter(db)
  const polls = createPollTable(db)

  const judge = db.transaction((now: number): ClockVerdict => {
    const firstSlot = polls.nextSlot(slotOf(now - 2 * DAY.widthMs))
    const { verdict, changes } = judgeClock(marks(), now, firstSlot, polls.longestHoldMs())
    setMarks(changes)
    return verdict
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
