import type Database from 'better-sqlite3'
import { HOUR, HOURS_PER_DAY, SLOT_MS, SLOTS_PER_HOUR } from '../resolution.ts'
import {
  allowed,
  type Cuts,
  cutsByAge,
  FULL_SHARE,
  HASH_CHANGE_BYTES,
  HASH_CHANGES_SHARE,
  MOST_ADMIN_CALLS,
  MOST_HASH_CHANGES,
  MOST_NOTIFICATIONS,
  MOST_SILENCES,
  NOTIFICATION_BYTES,
  NOTIFICATIONS_SHARE,
  type Retention,
  TRIMMED_SHARE,
} from '../retention.ts'
import { createCursorReader, setCursor } from './cursors.ts'
import { IS_HEARD } from './notifications.ts'
import { createTrustedClock } from './trusted-clock.ts'

/** Rows per transaction, which take about 10 ms. */
const DELETED_AT_ONCE = 5000
/** An incident can be some hundred kilobytes large. */
const INCIDENTS_AT_ONCE = 50
/** This share of pages, but at least FREE_PAGES, stays free in the file, since the next polls would claim them. */
const FREE_SHARE = 0.02
const FREE_PAGES = 50
const PAGES_AT_ONCE = 200

export interface Retainer {
  /** One pass, as a series of short transactions. */
  pass(now: number): Generator<void>
  /** Deletes the oldest polls when the disk or the quota is full; returns whether there is enough room now. */
  makeRoom(now: number): boolean
}

export function createRetainer(
  db: Database.Database,
  retention: Retention,
  maxSizeBytes: number,
  trustedClock = createTrustedClock(db),
): Retainer {
  const reach = createCursorReader(db)
  const longestHold = db.prepare('SELECT max(hold_ms) FROM holds').pluck()
  const deletePolls = db.prepare('DELETE FROM polls WHERE slot < ? LIMIT ?')
  const deleteFiveMinutes = db.prepare('DELETE FROM five_minutes WHERE bucket < ? LIMIT ?')
  const deleteHours = db.prepare('DELETE FROM hours WHERE bucket < ? LIMIT ?')
  const deleteDays = db.prepare('DELETE FROM days WHERE bucket < ? LIMIT ?')
  const deleteHashChanges = db.prepare('DELETE FROM hash_changes WHERE at_ms < ? LIMIT ?')
  // Of each endpoint's rows before the first remaining poll, only the latest is needed.
  const deleteHolds = db.prepare(
    `DELETE FROM holds WHERE from_ms <
       (SELECT max(later.from_ms) FROM holds AS later WHERE later.endpoint_id = holds.endpoint_id AND later.from_ms <= ?)`,
  )
  // An endpoint's health is saved again as long as it is polled.
  const deleteSaved = db.prepare('DELETE FROM saved_health WHERE at_ms < ? LIMIT ?')
  const deleteAdminCalls = db.prepare('DELETE FROM admin_calls WHERE at_ms < ? LIMIT ?')
  const deleteIncidents = db.prepare('DELETE FROM incidents WHERE closed_ms < ? LIMIT ?')
  const deleteNotifications = db.prepare('DELETE FROM notifications WHERE created_ms < ? LIMIT ?')
  const deleteNotes = db.prepare('DELETE FROM notes WHERE at_ms < ? LIMIT ?')
  const deleteSilences = db.prepare('DELETE FROM silences WHERE until_ms < ? LIMIT ?')
  const caps = createCaps(db, maxSizeBytes)
  // Buckets do not contain maintenance, so it is deleted together with the last bucket that it overlaps.
  const deleteMaintenance = db.prepare('DELETE FROM maintenance WHERE until_ms <= ? LIMIT ?')

  function holdMs(): number {
    return (longestHold.get() as number | null) ?? 0
  }

  /** Moves the cursors first, so that no query reads rows that are being deleted. */
  function* cut(cuts: Cuts): Generator<void> {
    db.transaction(() => {
      setCursor(db, 'raw_from', cuts.rawFrom)
      setCursor(db, 'five_minutes_from', cuts.fiveMinutesFrom)
      setCursor(db, 'hours_from', cuts.hoursFrom)
    }).immediate()
    yield* deleteAll(deletePolls, cuts.rawFrom)
    yield* deleteAll(deleteFiveMinutes, cuts.fiveMinutesFrom)
    yield* deleteAll(deleteHours, cuts.hoursFrom)
    yield* deleteAll(deleteDays, Math.floor(cuts.hoursFrom / HOURS_PER_DAY))
    yield* deleteAll(deleteMaintenance, cuts.hoursFrom * HOUR.widthMs)
    yield* deleteAll(deleteIncidents, cuts.hoursFrom * HOUR.widthMs, INCIDENTS_AT_ONCE)
    yield* deleteAll(deleteNotifications, cuts.hoursFrom * HOUR.widthMs, INCIDENTS_AT_ONCE)
    yield* deleteAll(deleteNotes, cuts.hoursFrom * HOUR.widthMs)
    yield* deleteAll(deleteSilences, cuts.hoursFrom * HOUR.widthMs)
  }

  function pages(): { used: number; free: number; most: number } {
    const all = db.pragma('page_count', { simple: true }) as number
    const free = db.pragma('freelist_count', { simple: true }) as number
    const size = db.pragma('page_size', { simple: true }) as number
    return { used: all - free, free, most: Math.floor(maxSizeBytes / size) }
  }

  /** Cuts the oldest hour of polls; if no polls are left, a day of five-minute buckets, then thirty days of hours. */
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
    yield* deleteAll(deleteNotifications, now - retention.hourMs, INCIDENTS_AT_ONCE)
    yield* deleteAll(deleteNotes, now - retention.hourMs)
    yield* deleteAll(deleteSilences, now - retention.hourMs)
    yield* deleteAll(deleteAdminCalls, now - retention.hourMs)
    deleteHolds.run(reach().rawFrom * SLOT_MS)
    yield
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
      if (trustedClock.judge(now) !== 'doubted') yield* cutByAge(now)
      for (const capRows of caps) yield* capRows()
      const { used, most } = pages()
      if (used > most * FULL_SHARE) yield* trimTo(most * TRIMMED_SHARE)
      yield* vacuum()
    },

    makeRoom(now) {
      if (trustedClock.trusts(now)) finish(cutByAge(now))
      for (const capRows of caps) finish(capRows())
      const { used, free, most } = pages()
      const wanted = Math.min(Math.floor(used / 4), Math.max(64, Math.floor(used * (1 - TRIMMED_SHARE))))
      if (free < wanted) finish(trimTo(used - (wanted - free)))
      const over = used + free - most
      if (over > 0) db.pragma(`incremental_vacuum(${over})`)
      return pages().used <= used + free - Math.max(wanted, over)
    },
  }
}

/** Deletes the oldest rows of each table that could grow without end, as a series of short transactions. */
function createCaps(db: Database.Database, maxSizeBytes: number): readonly (() => Generator<void>)[] {
  const shareOf = (share: number, rowBytes: number) => Math.floor((maxSizeBytes * share) / rowBytes)

  function cap(table: string, column: string, most: number, condition = ''): () => Generator<void> {
    const oldestLeft = db.prepare(`SELECT ${column} FROM ${table} ORDER BY ${column} DESC LIMIT 1 OFFSET ?`).pluck()
    const remove = db.prepare(`DELETE FROM ${table} WHERE ${column} < ? ${condition} LIMIT ?`)
    return function* () {
      const oldest = oldestLeft.get(most)
      if (typeof oldest === 'number') yield* deleteAll(remove, oldest + 1)
    }
  }

  // Not what waits, nor what tells after a restart what a channel has heard of an open incident.
  const isOver = `AND waiting = 0 AND NOT (
    incident IN (SELECT id FROM incidents WHERE closed_ms IS NULL AND absorbed = 0) AND NOT EXISTS (
      SELECT 1 FROM notifications AS later WHERE later.incident = notifications.incident
        AND later.channel = notifications.channel AND later.rowid > notifications.rowid
        AND ${IS_HEARD}))`
  return [
    cap('hash_changes', 'at_ms', Math.min(MOST_HASH_CHANGES, shareOf(HASH_CHANGES_SHARE, HASH_CHANGE_BYTES))),
    cap('admin_calls', 'at_ms', MOST_ADMIN_CALLS),
    cap('silences', 'until_ms', MOST_SILENCES),
    cap(
      'notifications',
      'created_ms',
      Math.min(MOST_NOTIFICATIONS, shareOf(NOTIFICATIONS_SHARE, NOTIFICATION_BYTES)),
      isOver,
    ),
  ]
}

function* deleteAll(statement: Database.Statement, before: number, most = DELETED_AT_ONCE): Generator<void> {
  while (statement.run(before, most).changes === most) yield
  yield
}

/** Runs all steps at once, each in its own transaction. */
function finish(steps: Generator<void>): void {
  for (const _ of steps) continue
}
