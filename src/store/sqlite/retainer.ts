import type Database from 'better-sqlite3'
import { marksOfCuts } from '../marks.ts'
import { HOURS_PER_DAY, SLOT_MS, SLOTS_PER_HOUR } from '../resolution.ts'
import {
  allowed,
  CAPPED_SHARE,
  CAPS,
  type Cuts,
  cutsByAge,
  type Deletion,
  deletionsByAge,
  deletionsByCuts,
  FULL_SHARE,
  neededRows,
  type Retention,
  TRIMMED_SHARE,
} from '../retention.ts'
import { createTrustedClock } from './clock-trust.ts'
import { createHistoryTables } from './history-tables.ts'
import { createMarkWriter } from './marks.ts'
import { IS_HEARD } from './record-queries.ts'

/** Rows per transaction, which take about 10 ms. */
const DELETED_AT_ONCE = 5000
/** An incident can be some hundred kilobytes large. */
const LARGE_AT_ONCE = 50
const LARGE_ROWS: readonly string[] = ['incidents', 'notifications']
/** This share of pages, but at least FREE_PAGES, stays free in the file, since the next polls would claim them. */
const FREE_SHARE = 0.02
const FREE_PAGES = 50
const PAGES_AT_ONCE = 200

export type Retainer = ReturnType<typeof createRetainer>

export function createRetainer(
  db: Database.Database,
  retention: Retention,
  maxSizeBytes: number,
  trustedClock = createTrustedClock(db),
) {
  const { cursors: reach, polls, holdSlots } = createHistoryTables(db)
  // Of each endpoint's rows before the first remaining poll, only the latest is needed.
  const deleteHolds = db.prepare(
    `DELETE FROM holds WHERE from_ms <
       (SELECT max(later.from_ms) FROM holds AS later WHERE later.endpoint_id = holds.endpoint_id AND later.from_ms <= ?)`,
  )
  const deleteBelow = createDeleter(db)
  const setMarks = createMarkWriter(db)

  /** Moves the cursors first, so that no query reads rows that are being deleted. */
  function* cut(cuts: Cuts): Generator<void> {
    db.transaction(() => setMarks(marksOfCuts(cuts))).immediate()
    yield* deleteBelow({ table: 'polls', column: 'slot', below: cuts.rawFrom })
    for (const each of deletionsByCuts(cuts)) yield* deleteBelow(each)
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
    const held = holdSlots()
    const oldest = {
      rawFrom: Math.max(now.rawFrom, oldestOf('polls', 'slot')) + SLOTS_PER_HOUR,
      fiveMinutesFrom: now.fiveMinutesFrom,
      hoursFrom: now.hoursFrom,
    }
    const raw = allowed(oldest, now, held)
    if (raw.rawFrom > now.rawFrom) return raw
    const fiveMinutesFrom = Math.max(now.fiveMinutesFrom, oldestOf('five_minutes', 'bucket')) + SLOTS_PER_HOUR * 24
    const five = allowed({ ...now, fiveMinutesFrom }, now, held)
    if (five.fiveMinutesFrom > now.fiveMinutesFrom) return five
    const hoursFrom = Math.max(now.hoursFrom, oldestOf('hours', 'bucket')) + HOURS_PER_DAY * 30
    const hours = allowed({ ...now, hoursFrom }, now, held)
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
      yield* deleteBelow({ table: 'hash_changes', column: 'at_ms', below: cuts.rawFrom * SLOT_MS })
    }
  }

  function* cutByAge(now: number): Generator<void> {
    yield* cut(cutsByAge(retention, now, reach(), polls.longestHoldMs()))
    for (const each of deletionsByAge(retention, now)) yield* deleteBelow(each)
    deleteHolds.run(reach().rawFrom * SLOT_MS)
    yield
  }

  function* capRows(): Generator<void> {
    for (const { table, column, most, rowBytes, condition } of CAPS) {
      const inShare = rowBytes === undefined ? most : Math.floor((maxSizeBytes * CAPPED_SHARE) / rowBytes)
      const oldestLeft = db.prepare(`SELECT ${column} FROM ${table} ORDER BY ${column} DESC LIMIT 1 OFFSET ?`).pluck()
      const oldest = oldestLeft.get(Math.min(most, inShare))
      if (typeof oldest === 'number') yield* deleteBelow({ table, column, below: oldest + 1 }, condition)
    }
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
    /** One pass, as a series of short transactions. */
    *pass(now: number): Generator<void> {
      if (trustedClock.judge(now) !== 'doubted') yield* cutByAge(now)
      yield* capRows()
      const { used, most } = pages()
      if (used > most * FULL_SHARE) yield* trimTo(most * TRIMMED_SHARE)
      yield* vacuum()
    },

    /** Deletes the oldest polls when the disk or the quota is full; returns whether there is enough room now. */
    makeRoom(now: number): boolean {
      if (trustedClock.trusts(now)) finish(cutByAge(now))
      finish(capRows())
      const { used, free, most } = pages()
      const wanted = Math.min(Math.floor(used / 4), Math.max(64, Math.floor(used * (1 - TRIMMED_SHARE))))
      if (free < wanted) finish(trimTo(used - (wanted - free)))
      const over = used + free - most
      if (over > 0) db.pragma(`incremental_vacuum(${over})`)
      return pages().used <= used + free - Math.max(wanted, over)
    },
  }
}

const NEEDED = neededRows('absorbed = 0', 'rowid', IS_HEARD)

/** Deletes the rows of a table that may go, as a series of short transactions. */
function createDeleter(db: Database.Database) {
  const statements = new Map<string, Database.Statement>()
  return function* ({ table, column, below }: Deletion, condition = ''): Generator<void> {
    const text = `DELETE FROM ${table} WHERE ${column} < ? ${NEEDED.get(table) ?? ''} ${condition} LIMIT ?`
    const statement = statements.get(text) ?? db.prepare(text)
    statements.set(text, statement)
    const most = LARGE_ROWS.includes(table) ? LARGE_AT_ONCE : DELETED_AT_ONCE
    while (statement.run(below, most).changes === most) yield
    yield
  }
}

/** Runs all steps at once, each in its own transaction. */
function finish(steps: Generator<void>): void {
  for (const _ of steps) continue
}
