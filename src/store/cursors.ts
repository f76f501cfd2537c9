import type Database from 'better-sqlite3'
import { DAY, FIVE_MINUTES, HOUR } from './tiers.ts'

export type Cursor =
  | 'rolled_to'
  | 'raw_from'
  | 'five_minutes_from'
  | 'hours_from'
  | 'clock_ms'
  | 'doubted_from_ms'
  | 'doubted_ms'
  | 'clean'

export function markOf(db: Database.Database, mark: Cursor): number | null {
  const value = db.prepare('SELECT value FROM marks WHERE name = ?').pluck().get(mark)
  return typeof value === 'number' ? value : null
}

export function setMark(db: Database.Database, mark: Cursor, value: number): void {
  db.prepare(
    'INSERT INTO marks (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  ).run(mark, value)
}

export function removeMark(db: Database.Database, mark: Cursor): void {
  db.prepare('DELETE FROM marks WHERE name = ?').run(mark)
}

/** How far each tier reaches, in its own buckets: from (inclusive) and to (exclusive). 0 where nothing was deleted, or rolled up, yet. */
export interface Reach {
  /** Slots before it are rolled up to five minutes, and to the hours and days that they complete. */
  readonly rolledTo: number
  /** Slots before it are deleted. */
  readonly rawFrom: number
  readonly fiveMinutesFrom: number
  readonly hoursFrom: number
}

export function createReachReader(db: Database.Database): () => Reach {
  const all = db.prepare('SELECT name, value FROM marks').raw()
  return () => {
    const marks = new Map(all.all() as [string, number][])
    return {
      rolledTo: marks.get('rolled_to') ?? 0,
      rawFrom: marks.get('raw_from') ?? 0,
      fiveMinutesFrom: marks.get('five_minutes_from') ?? 0,
      hoursFrom: marks.get('hours_from') ?? 0,
    }
  }
}

/** The first slot that raw polls tell all about: whatever held over from an earlier one is there as well. */
export function readableRawFrom(reach: Reach, longestHoldMs: number): number {
  if (reach.rawFrom === 0) return 0
  return Math.min(reach.rolledTo, reach.rawFrom + Math.ceil(longestHoldMs / FIVE_MINUTES.widthMs))
}

/** Hours and days that are complete end here. */
export function rolledHoursTo(reach: Reach): number {
  return Math.floor((reach.rolledTo * FIVE_MINUTES.widthMs) / HOUR.widthMs)
}

export function rolledDaysTo(reach: Reach): number {
  return Math.floor((reach.rolledTo * FIVE_MINUTES.widthMs) / DAY.widthMs)
}
