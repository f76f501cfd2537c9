import type { Cursors } from '../resolution.ts'
import type { Query } from './sessions.ts'

/** Where the tiers stand, as of one statement. */
export type Marks = ReadonlyMap<MarkName, number>
export type MarkName =
  | 'rolled_to'
  | 'rolling'
  | 'raw_from'
  | 'five_minutes_from'
  | 'hours_from'
  | 'clock_ms'
  | 'doubted_from_ms'
  | 'doubted_ms'

/** Writers of polls share it, and a roll-up holds it alone, until the end of the transaction. */
const COUNTING = 7_241_992

export async function readMarks(query: Query): Promise<Marks> {
  const rows = await query<{ name: MarkName; value: number }>('SELECT name, value FROM marks')
  return new Map(rows.map(({ name, value }) => [name, value]))
}

/** No roll-up counts polls until this transaction ends. */
export async function lockShared(query: Query): Promise<Marks> {
  await query('SELECT pg_advisory_xact_lock_shared($1)', [COUNTING])
  return readMarks(query)
}

/** No other transaction writes polls or buckets until this one ends. */
export async function lockAlone(query: Query): Promise<Marks> {
  await query('SELECT pg_advisory_xact_lock($1)', [COUNTING])
  return readMarks(query)
}

export function cursorsOf(marks: Marks): Cursors {
  return {
    rolledTo: marks.get('rolled_to') ?? 0,
    rawFrom: marks.get('raw_from') ?? 0,
    fiveMinutesFrom: marks.get('five_minutes_from') ?? 0,
    hoursFrom: marks.get('hours_from') ?? 0,
  }
}

/** The last slot that a roll-up has begun and not ended. */
export function rollingOf(marks: Marks): number | null {
  const rolling = marks.get('rolling')
  return rolling === undefined || rolling < (marks.get('rolled_to') ?? 0) ? null : rolling
}

export async function setMark(query: Query, name: MarkName, value: number): Promise<void> {
  await query(
    'INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [name, value],
  )
}

export async function removeMark(query: Query, name: MarkName): Promise<void> {
  await query('DELETE FROM marks WHERE name = $1', [name])
}
