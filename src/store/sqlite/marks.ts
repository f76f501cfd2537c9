import type Database from 'better-sqlite3'
import type { MarkChanges, MarkName, Marks } from '../marks.ts'

export function createMarkReader(db: Database.Database): () => Marks {
  const all = db.prepare('SELECT name, value FROM marks').raw()
  return () => new Map(all.all() as [MarkName, number][])
}

export function createMarkWriter(db: Database.Database): (changes: MarkChanges) => void {
  const remove = db.prepare('DELETE FROM marks WHERE name = ?')
  const set = db.prepare('INSERT OR REPLACE INTO marks (name, value) VALUES (?, ?)')
  return (changes) => {
    for (const [name, value] of changes) {
      if (value === null) remove.run(name)
      else set.run(name, value)
    }
  }
}
