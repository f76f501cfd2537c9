import type Database from 'better-sqlite3'
import { createClockBelief } from './clock-belief.ts'
import { createReachReader, type Reach, rolledDaysTo, setMark } from './cursors.ts'
import type { Retention } from './messages.ts'
import { DAY, FIVE_MINUTES, HOUR, HOURS_PER_DAY, SLOT_MS, SLOTS_PER_HOUR, slotOf } from './tiers.ts'

/** Where each tier is to begin. */
type Cuts = Pick<Reach, 'rawFrom' | 'fiveMinutesFrom' | 'hoursFrom'>

/**
 * What age alone takes away. A tier never gives up what the next coarser one has not added up yet; polls that may still
 * hold when the first slot left begins are kept for it; days go with the hours.
 */
export function cutsByAge(retention: Retention, now: number, reach: Reach, longestHoldMs: number): Cuts {
  const holdSlots = Math.ceil(longestHoldMs / SLOT_MS)
  const wanted: Cuts = {
    rawFrom: slotOf(now - retention.rawMs) - holdSlots,
    fiveMinutesFrom: Math.floor((now - retention.fiveMinutesMs) / FIVE_MINUTES.widthMs),
    hoursFrom: Math.floor((now - retention.hourMs) / HOUR.widthMs),
  }
  return allowed(wanted, reach, holdSlots)
}

function allowed(wanted: Cuts, reach: Reach, holdSlots: number): Cuts {
  const rawFrom = Math.max(reach.rawFrom, Math.min(wanted.rawFrom, reach.rolledTo - holdSlots))
  const rawHour = Math.floor(rawFrom / SLOTS_PER_HOUR) * SLOTS_PER_HOUR
  const fiveMinutesHour = Math.floor(wanted.fiveMinutesFrom / SLOTS_PER_HOUR) * SLOTS_PER_HOUR
  const fiveMinutesFrom = Math.max(reach.fiveMinutesFrom, Math.min(fiveMinutesHour, rawHour))
  const fullDays = Math.min(
    rolledDaysTo(reach),
    Math.floor((fiveMinutesFrom * FIVE_MINUTES.widthMs) / DAY.widthMs),
    Math.floor(wanted.hoursFrom / HOURS_PER_DAY),
  )
  return { rawFrom, fiveMinutesFrom, hoursFrom: Math.max(reach.hoursFrom, fullDays * HOURS_PER_DAY) }
}

/** Above this part of `max_size` the oldest goes early, and is taken down to the second figure. */
const FULL_SHARE = 0.95
const TRIMMED_SHARE = 0.9
/** A node that tells another hash at every poll must not push out everybody's polls: it fills this, and no more. */
const MOST_HASH_CHANGES = 100_000
const HASH_CHANGES_SHARE = 0.02
const HASH_CHANGE_BYTES = 200
/** Whoever may call the admin API may call it in a loop. */
const MOST_ADMIN_CALLS = 100_000
/** Rows to a transaction: some ten milliseconds. */
const DELETED_AT_ONCE = 5000
/** Of some hundred kilobytes each at worst. */
const INCIDENTS_AT_ONCE = 50
/** So many free pages, or this share of all, are left for what comes next: giving all back only to take it again would be for nothing. */
const FREE_SHARE = 0.02
const FREE_PAGES = 50
const PAGES_AT_ONCE = 200

export interface Retainer {
  /** One pass, as a series of short transactions. */
  pass(now: number): Generator<void>
  /** The disk, or the quota, is full: makes room for what comes next out of the oldest polls. Whether there is enough now. */
  makeRoom(now: number): boolean
}

export function createRetainer(
  db: Database.Database,
  retention: Retention,
  maxSizeBytes: number,
  belief = createClockBelief(db),
): Retainer {
  const reach = createReachReader(db)
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()
  const deletePolls = db.prepare('DELETE FROM polls WHERE slot < ? LIMIT ?')
  const deleteFiveMinutes = db.prepare('DELETE FROM five_minutes WHERE bucket < ? LIMIT ?')
  const deleteHours = db.prepare('DELETE FROM hours WHERE bucket < ? LIMIT ?')
  const deleteDays = db.prepare('DELETE FROM days WHERE bucket < ? LIMIT ?')
  const deleteHashChanges = db.prepare('DELETE FROM hash_changes WHERE at_ms < ? LIMIT ?')
  const oldestHashChangeLeft = db.prepare('SELECT at_ms FROM hash_changes ORDER BY at_ms DESC LIMIT 1 OFFSET ?').pluck()
  // Times before the first poll that is left need no row but the last one.
  const deleteHolds = db.prepare(
    `DELETE FROM holds WHERE from_ms <
       (SELECT max(later.from_ms) FROM holds AS later WHERE later.endpoint_id = holds.endpoint_id AND later.from_ms <= ?)`,
  )
  // What is saved of an endpoint is saved again for as long as it is polled.
  const deleteSaved = db.prepare('DELETE FROM saved_health WHERE at_ms < ? LIMIT ?')
  const deleteAdminCalls = db.prepare('DELETE FROM admin_calls WHERE at_ms < ? LIMIT ?')
  const oldestAdminCallLeft = db.prepare('SELECT at_ms FROM admin_calls ORDER BY at_ms DESC LIMIT 1 OFFSET ?').pluck()
  const deleteIncidents = db.prepare('DELETE FROM incidents WHERE closed_ms < ? LIMIT ?')
  // Sums hold time in maintenance only here: it goes when the last sum that it lies in is gone.
  const deleteMaintenance = db.prepare('DELETE FROM maintenance WHERE until_ms <= ? LIMIT ?')

  function holdMs(): number {
    return (longestHold.get() as number | null) ?? 0
  }

  /** First nobody reads it any more, then it goes. */
  function* cut(cuts: Cuts): Generator<void> {
    db.transaction(() => {
      setMark(db, 'raw_from', cuts.rawFrom)
      setMark(db, 'five_minutes_from', cuts.fiveMinutesFrom)
      setMark(db, 'hours_from', cuts.hoursFrom)
    }).immediate()
    yield* deleteAll(deletePolls, cuts.rawFrom)
    yield* deleteAll(deleteFiveMinutes, cuts.fiveMinutesFrom)
    yield* deleteAll(deleteHours, cuts.hoursFrom)
    yield* deleteAll(deleteDays, Math.floor(cuts.hoursFrom / HOURS_PER_DAY))
    yield* deleteAll(deleteMaintenance, cuts.hoursFrom * HOUR.widthMs)
    yield* deleteAll(deleteIncidents, cuts.hoursFrom * HOUR.widthMs, INCIDENTS_AT_ONCE)
  }

  function* deleteAll(statement: Database.Statement, before: number, most = DELETED_AT_ONCE): Generator<void> {
    while (statement.run(before, most).changes === most) yield
    yield
  }

  function pages(): { used: number; free: number; most: number } {
    const all = db.pragma('page_count', { simple: true }) as number
    const free = db.pragma('freelist_count', { simple: true }) as number
    const size = db.pragma('page_size', { simple: true }) as number
    return { used: all - free, free, most: Math.floor(maxSizeBytes / size) }
  }

  /** An hour of polls at a time; when none are left a day of five minutes, then thirty days of hours. */
  function nextTrim(): Cuts | null {
    const now = reach()
    const holdSlots = Math.ceil(holdMs() / SLOT_MS)
    const oldest = {
      rawFrom: Math.max(now.rawFrom, oldestOf('polls', 'slot')) + SLOTS_PER_HOUR,
      fiveMinutesFrom: now.fiveMinutesFrom,
      hoursFrom: now.hoursFrom,
    }
    const raw = allowed(oldest, now, holdSlots)
    if (raw.rawFrom > now.rawFrom) return raw
    const fiveMinutesFrom = Math.max(now.fiveMinutesFrom, oldestOf('five_minutes', 'bucket')) + SLOTS_PER_HOUR * 24
    const five = allowed({ ...now, fiveMinutesFrom }, now, holdSlots)
    if (five.fiveMinutesFrom > now.fiveMinutesFrom) return five
    const hoursFrom = Math.max(now.hoursFrom, oldestOf('hours', 'bucket')) + HOURS_PER_DAY * 30
    const hours = allowed({ ...now, hoursFrom }, now, holdSlots)
    return hours.hoursFrom > now.hoursFrom ? hours : null
  }

  function oldestOf(table: 'polls' | 'five_minutes' | 'hours', column: 'slot' | 'bucket'): number {
    return (db.prepare(`SELECT min(${column}) FROM ${table}`).pluck().get() as number | null) ?? 0
  }

  function* trimTo(usedPages: number): Generator<void> {
    while (pages().used > usedPages) {
      const cuts = nextTrim()
      if (cuts === null) return
      yield* cut(cuts)
      yield* deleteAll(deleteHashChanges, cuts.rawFrom * SLOT_MS)
    }
  }

  function* cutByAge(now: number): Generator<void> {
    yield* cut(cutsByAge(retention, now, reach(), holdMs()))
    yield* deleteAll(deleteHashChanges, now - retention.fiveMinutesMs)
    yield* deleteAll(deleteSaved, now - retention.hourMs)
    yield* deleteAll(deleteIncidents, now - retention.hourMs, INCIDENTS_AT_ONCE)
    yield* deleteAll(deleteAdminCalls, now - retention.hourMs)
    deleteHolds.run(reach().rawFrom * SLOT_MS)
    yield
  }

  function* capHashChanges(): Generator<void> {
    const most = Math.min(MOST_HASH_CHANGES, Math.floor((maxSizeBytes * HASH_CHANGES_SHARE) / HASH_CHANGE_BYTES))
    const oldest = oldestHashChangeLeft.get(most)
    if (typeof oldest === 'number') yield* deleteAll(deleteHashChanges, oldest + 1)
  }

  function* capAdminCalls(): Generator<void> {
    const oldest = oldestAdminCallLeft.get(MOST_ADMIN_CALLS)
    if (typeof oldest === 'number') yield* deleteAll(deleteAdminCalls, oldest + 1)
  }

  function* vacuum(): Generator<void> {
    for (;;) {
      const { used, free } = pages()
      if (free <= Math.max(FREE_PAGES, used * FREE_SHARE)) return
      db.pragma(`incremental_vacuum(${PAGES_AT_ONCE})`)
      yield
    }
  }

  return {
    *pass(now) {
      if (belief.judge(now) !== 'doubted') yield* cutByAge(now)
      yield* capHashChanges()
      yield* capAdminCalls()
      const { used, most } = pages()
      if (used > most * FULL_SHARE) yield* trimTo(most * TRIMMED_SHARE)
      yield* vacuum()
    },

    makeRoom(now) {
      if (belief.believes(now)) finish(cutByAge(now))
      finish(capHashChanges())
      finish(capAdminCalls())
      const { used, free, most } = pages()
      const wanted = Math.min(Math.floor(used / 4), Math.max(64, Math.floor(used * (1 - TRIMMED_SHARE))))
      if (free < wanted) finish(trimTo(used - (wanted - free)))
      const over = used + free - most
      if (over > 0) db.pragma(`incremental_vacuum(${over})`)
      return pages().used <= used + free - Math.max(wanted, over)
    },
  }
}

function finish(steps: Generator<void>): void {
  for (const _ of steps) {
    // Each step is a transaction of its own; here nobody waits between them.
  }
}
