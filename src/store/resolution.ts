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

/** A poll is stored when it ends, under its start time: a slot stays open this much longer for it. */
export const LATE_MS = 30_000

export function slotOf(at: number): number {
  return Math.floor(at / SLOT_MS)
}
