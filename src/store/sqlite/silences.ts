import type Database from 'better-sqlite3'
import type { Silence } from '../../core/incident/silence.ts'
import type { SilenceQuery } from '../store.ts'

/** Finds silences, oldest first; of more than MOST, the newest. */
export interface SilenceReader {
  silences(query: SilenceQuery): Silence[]
}

const MOST = 2000

export function createSilenceReader(db: Database.Database): SilenceReader {
  const between = db.prepare(
    `SELECT id, network, endpoint, reason, "from", until
     FROM (SELECT id, network, endpoint, reason, from_ms AS "from", until_ms AS until, rowid AS nth FROM silences
       WHERE until_ms > @from AND from_ms < @to AND (@network IS NULL OR network = @network)
       ORDER BY from_ms DESC, rowid DESC LIMIT ${MOST})
     ORDER BY "from", nth`,
  )
  return {
    silences: ({ from, to, network = null }) => between.all({ from, to, network }) as Silence[],
  }
}

/** Writes a silence in its current state, which replaces the stored one. */
export function createSilenceWriter(db: Database.Database): (silence: Silence) => void {
  const save = db.prepare(
    `INSERT INTO silences (id, network, endpoint, reason, from_ms, until_ms)
     VALUES (@id, @network, @endpoint, @reason, @from, @until)
     ON CONFLICT (id) DO UPDATE SET until_ms = excluded.until_ms`,
  )
  return (silence) => void save.run(silence)
}
