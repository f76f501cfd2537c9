import type { Cursors } from './resolution.ts'

/** The numbers that the store keeps about itself, as of one moment. */
export type Marks = ReadonlyMap<MarkName, number>
export type MarkName =
  | 'rolled_to'
  /** Only in PostgreSQL: the last slot that a roll-up has begun. */
  | 'rolling'
  | 'raw_from'
  | 'five_minutes_from'
  | 'hours_from'
  | 'clock_ms'
  | 'doubted_from_ms'
  | 'doubted_ms'
  /** Only in SQLite: 0 while a daemon has the file open. */
  | 'clean'

/** `null` removes a mark. */
export type MarkChanges = readonly (readonly [MarkName, number | null])[]

export function cursorsOf(marks: Marks): Cursors {
  return {
    rolledTo: marks.get('rolled_to') ?? 0,
    rawFrom: marks.get('raw_from') ?? 0,
    fiveMinutesFrom: marks.get('five_minutes_from') ?? 0,
    hoursFrom: marks.get('hours_from') ?? 0,
  }
}

export function marksOfCuts({ rawFrom, fiveMinutesFrom, hoursFrom }: Omit<Cursors, 'rolledTo'>): MarkChanges {
  return [
    ['raw_from', rawFrom],
    ['five_minutes_from', fiveMinutesFrom],
    ['hours_from', hoursFrom],
  ]
}
