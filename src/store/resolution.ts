import type Database from 'better-sqlite3'

/** A resolution of the aggregated history: its table and the width of its buckets. */
export interface Resolution {
  readonly table: 'five_minutes' | 'hours' | 'days'
  readonly widthMs: number
}

export const FIVE_MINUTES: Resolution = { table: 'five_minutes', widthMs: 300_000 }
export const HOUR: Resolution = { table: 'hours', widthMs: 3_600_000 }
export const DAY: Resolution = { table: 'days', widthMs: 86_400_000 }

/** Polls are stored in slots as wide as the finest buckets. Slots, hours and days are numbered from the Unix epoch. */
export const SLOT_MS = FIVE_MINUTES.widthMs
export const SLOTS_PER_HOUR = HOUR.widthMs / SLOT_MS
export const HOURS_PER_DAY = DAY.widthMs / HOUR.widthMs

/** A poll is stored when it ends, under its start time, so a slot stays open this much longer. */
export const LATE_MS = 30_000

export function slotOf(at: number): number {
  return Math.floor(at / SLOT_MS)
}

/**
 * The stored range of each resolution, in its own buckets: [`…From`, `…To`); 0 until something is deleted or
 * aggregated.
 */
export interface Cursors {
  /** Slots before it are aggregated to five minutes, and to the hours and days that they complete. */
  readonly rolledTo: number
  /** Slots before it are deleted. */
  readonly rawFrom: number
  readonly fiveMinutesFrom: number
  readonly hoursFrom: number
}

export type CursorName =
  | 'rolled_to'
  | 'raw_from'
  | 'five_minutes_from'
  | 'hours_from'
  | 'clock_ms'
  | 'doubted_from_ms'
  | 'doubted_ms'
  | 'clean'

export function createCursorReader(db: Database.Database): () => Cursors {
  const all = db.prepare('SELECT name, value FROM marks').raw()
  return () => {
    const cursors = new Map(all.all() as [CursorName, number][])
    return {
      rolledTo: cursors.get('rolled_to') ?? 0,
      rawFrom: cursors.get('raw_from') ?? 0,
      fiveMinutesFrom: cursors.get('five_minutes_from') ?? 0,
      hoursFrom: cursors.get('hours_from') ?? 0,
    }
  }
}

export function readCursor(db: Database.Database, name: CursorName): number | null {
  const value = db.prepare('SELECT value FROM marks WHERE name = ?').pluck().get(name)
  return typeof value === 'number' ? value : null
}

export function setCursor(db: Database.Database, name: CursorName, value: number): void {
  db.prepare(
    'INSERT INTO marks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  ).run(name, value)
}

export function removeCursor(db: Database.Database, name: CursorName): void {
  db.prepare('DELETE FROM marks WHERE name = ?').run(name)
}

/** The first slot that stored polls describe fully, including results that still hold from earlier slots. */
export function readableRawFrom({ rawFrom, rolledTo }: Cursors, longestHoldMs: number): number {
  return rawFrom === 0 ? 0 : Math.min(rolledTo, rawFrom + Math.ceil(longestHoldMs / SLOT_MS))
}

/** The first hour that is not aggregated yet. */
export function rolledHoursTo({ rolledTo }: Cursors): number {
  return Math.floor((rolledTo * SLOT_MS) / HOUR.widthMs)
}

export function rolledDaysTo({ rolledTo }: Cursors): number {
  return Math.floor((rolledTo * SLOT_MS) / DAY.widthMs)
}
