import type Database from 'better-sqlite3'
import { createReachReader, markOf, readableRawFrom, removeMark, setMark } from './cursors.ts'
import { createRawPolls } from './raw-polls.ts'
import { DAY, HOURS_PER_DAY, LATE_MS, SLOTS_PER_HOUR, slotOf } from './tiers.ts'

/** `set-back`: the store's marks were ahead of the clock, and are not any more. */
export type ClockVerdict = 'believed' | 'doubted' | 'set-back'

export interface ClockBelief {
  /** Before a job: whether the wall clock is to be believed. Where it is, marks that lie beyond it are pulled back. */
  judge(now: number): ClockVerdict
  /** The same, but nothing comes of it. */
  believes(now: number): boolean
}

/**
 * A clock that is days ahead for an hour must not delete what is kept by age, nor one that begins in 1970 turn back how far
 * everything is added up. So one that is more than a day off the last that was believed has to last for a day itself;
 * that a daemon stood still for weeks only puts deleting off. Meanwhile polls are kept, under whatever time they have.
 */
export function createClockBelief(
  db: Database.Database,
  tell: (verdict: ClockVerdict) => void = () => undefined,
): ClockBelief {
  const reachOf = createReachReader(db)
  const raw = createRawPolls(db)
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()

  function believes(now: number): boolean {
    const believed = markOf(db, 'clock_ms')
    if (believed === null || Math.abs(now - believed) <= DAY.widthMs) return true
    const doubtedFrom = markOf(db, 'doubted_from_ms')
    const doubted = markOf(db, 'doubted_ms')
    return doubtedFrom !== null && doubted !== null && isNear(now, doubted) && now - doubtedFrom >= DAY.widthMs
  }

  function note(now: number, believed: boolean): void {
    if (believed) {
      setMark(db, 'clock_ms', now)
      removeMark(db, 'doubted_from_ms')
      removeMark(db, 'doubted_ms')
      return
    }
    const doubted = markOf(db, 'doubted_ms')
    if (doubted === null || !isNear(now, doubted)) setMark(db, 'doubted_from_ms', now)
    setMark(db, 'doubted_ms', now)
  }

  /** To where polls can still tell all about it; what is rolled up from there once more comes out the same. */
  function pullBack(now: number): boolean {
    const reach = reachOf()
    const latest = slotOf(now)
    if (reach.rawFrom > latest) {
      // Polls that came since the clock is right are taken for deleted ones, and none of them is added up.
      const first = Math.min(latest, raw.nextSlot(slotOf(now - 2 * DAY.widthMs)) ?? latest)
      const hour = Math.floor(first / SLOTS_PER_HOUR)
      setMark(db, 'raw_from', first)
      setMark(db, 'rolled_to', Math.min(reach.rolledTo, first))
      setMark(db, 'five_minutes_from', Math.min(reach.fiveMinutesFrom, hour * SLOTS_PER_HOUR))
      setMark(db, 'hours_from', Math.min(reach.hoursFrom, Math.floor(hour / HOURS_PER_DAY) * HOURS_PER_DAY))
      return true
    }
    if (reach.rolledTo <= latest) return false
    const readableFrom = readableRawFrom(reach, (longestHold.get() as number | null) ?? 0)
    const rolledTo = Math.max(slotOf(now - LATE_MS), readableFrom)
    if (rolledTo >= reach.rolledTo) return false
    setMark(db, 'rolled_to', rolledTo)
    return true
  }

  const judge = db.transaction((now: number): ClockVerdict => {
    const believed = believes(now)
    note(now, believed)
    if (!believed) return 'doubted'
    return pullBack(now) ? 'set-back' : 'believed'
  })

  return {
    judge(now) {
      const verdict = judge.immediate(now)
      tell(verdict)
      return verdict
    },
    believes,
  }
}

/** The clock went on from there: jobs run every few minutes. */
function isNear(now: number, before: number): boolean {
  return now >= before && now - before <= DAY.widthMs
}
