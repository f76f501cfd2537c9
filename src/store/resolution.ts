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

/** What the buckets of a coarser resolution are merged from. */
export const FINER = {
  hours: { table: 'five_minutes', parts: SLOTS_PER_HOUR },
  days: { table: 'hours', parts: HOURS_PER_DAY },
} as const

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

/** The first slot that stored polls describe fully, including results that still hold from earlier slots. */
export function completeRawFrom({ rawFrom, rolledTo }: Cursors, longestHoldMs: number): number {
  return rawFrom === 0 ? 0 : Math.min(rolledTo, rawFrom + Math.ceil(longestHoldMs / SLOT_MS))
}

/**
 * The first slot that is read and recounted from polls. The last one that is aggregated always is: if a full disk or quota
 * had it aggregated early, polls are still added to it.
 */
export function readableRawFrom(cursors: Cursors, longestHoldMs: number): number {
  const { rawFrom, rolledTo } = cursors
  return Math.min(completeRawFrom(cursors, longestHoldMs), Math.max(rawFrom, rolledTo - 1))
}

/** The first hour that is not aggregated yet. */
export function rolledHoursTo({ rolledTo }: Cursors): number {
  return Math.floor((rolledTo * SLOT_MS) / HOUR.widthMs)
}

export function rolledDaysTo({ rolledTo }: Cursors): number {
  return Math.floor((rolledTo * SLOT_MS) / DAY.widthMs)
}
