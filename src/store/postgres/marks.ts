import { cursorsOf, type MarkChanges, type MarkName, type Marks } from '../marks.ts'
import { SLOT_MS } from '../resolution.ts'
import type { Query } from './sessions.ts'

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

/** The last slot that a roll-up has begun and not ended. */
export function rollingOf(marks: Marks): number | null {
  const rolling = marks.get('rolling')
  return rolling === undefined || rolling < (marks.get('rolled_to') ?? 0) ? null : rolling
}

/** The end of the time whose buckets a roll-up has written, or writes now. */
export function aggregatedTo(marks: Marks): number {
  return Math.max(cursorsOf(marks).rolledTo, (rollingOf(marks) ?? -1) + 1) * SLOT_MS
}

export async function setMarks(query: Query, changes: MarkChanges): Promise<void> {
  for (const [name, value] of changes) {
    if (value === null) await query('DELETE FROM marks WHERE name = $1', [name])
    else await query(SET, [name, value])
  }
}

const SET = 'INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value'
