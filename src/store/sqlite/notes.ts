import type Database from 'better-sqlite3'
import { MOST_NOTES, type Note } from '../../core/incident/note.ts'

/** Finds the notes of incidents, by their ids, oldest first. */
export interface NoteReader {
  notes(incidents: readonly string[]): Note[]
}

export function createNoteReader(db: Database.Database): NoteReader {
  const ofSome = db.prepare(
    `SELECT id, incident, at_ms AS at, public, text FROM notes
     WHERE incident IN (SELECT value FROM json_each(@incidents)) ORDER BY at_ms, rowid LIMIT @limit`,
  )
  return {
    notes(incidents) {
      const limit = incidents.length * MOST_NOTES
      const rows = ofSome.all({ incidents: JSON.stringify(incidents), limit }) as Row[]
      return rows.map(({ public: isPublic, ...note }) => ({ ...note, isPublic: isPublic === 1 }))
    },
  }
}

type Row = Omit<Note, 'isPublic'> & { readonly public: 0 | 1 }

export function createNoteWriter(db: Database.Database): (note: Note) => void {
  const save = db.prepare(
    'INSERT OR REPLACE INTO notes (id, incident, at_ms, public, text) VALUES (@id, @incident, @at, @public, @text)',
  )
  return ({ isPublic, ...note }) => void save.run({ ...note, public: isPublic ? 1 : 0 })
}
