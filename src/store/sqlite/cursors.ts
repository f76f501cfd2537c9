import type Database from 'better-sqlite3'
import type { Cursors } from '../resolution.ts'

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
