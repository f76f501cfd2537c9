/** A table of roll-ups and the width of its buckets. */
export interface Tier {
  readonly table: 'five_minutes' | 'hours' | 'days'
  readonly widthMs: number
}

export const FIVE_MINUTES: Tier = { table: 'five_minutes', widthMs: 300_000 }
export const HOUR: Tier = { table: 'hours', widthMs: 3_600_000 }
export const DAY: Tier = { table: 'days', widthMs: 86_400_000 }

/** Raw polls lie in slots as wide as the finest buckets. */
export const SLOT_MS = FIVE_MINUTES.widthMs
export const SLOTS_PER_HOUR = HOUR.widthMs / SLOT_MS
export const HOURS_PER_DAY = DAY.widthMs / HOUR.widthMs

/** A poll is stored when it has ended, under the time of its start: so long a slot is left open for it. */
export const LATE_MS = 30_000

export function slotOf(at: number): number {
  return Math.floor(at / SLOT_MS)
}
