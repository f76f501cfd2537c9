import {
  type Cursors,
  DAY,
  FIVE_MINUTES,
  HOUR,
  HOURS_PER_DAY,
  rolledDaysTo,
  SLOT_MS,
  SLOTS_PER_HOUR,
  slotOf,
} from './resolution.ts'

/** How long each resolution is kept; days are kept as long as hours. */
export interface Retention {
  readonly rawMs: number
  readonly fiveMinutesMs: number
  readonly hourMs: number
}

/** The new beginning of each resolution. */
export type Cuts = Pick<Cursors, 'rawFrom' | 'fiveMinutesFrom' | 'hoursFrom'>

/**
 * The history to delete by age alone. Nothing is deleted before the next coarser resolution contains it, and polls
 * whose results may still hold when the first remaining slot begins are kept.
 */
export function cutsByAge(retention: Retention, now: number, reach: Cursors, longestHoldMs: number): Cuts {
  const holdSlots = Math.ceil(longestHoldMs / SLOT_MS)
  const wanted: Cuts = {
    rawFrom: slotOf(now - retention.rawMs) - holdSlots,
    fiveMinutesFrom: Math.floor((now - retention.fiveMinutesMs) / FIVE_MINUTES.widthMs),
    hoursFrom: Math.floor((now - retention.hourMs) / HOUR.widthMs),
  }
  return allowed(wanted, reach, holdSlots)
}

export function allowed(wanted: Cuts, reach: Cursors, holdSlots: number): Cuts {
  const rawFrom = Math.max(reach.rawFrom, Math.min(wanted.rawFrom, reach.rolledTo - holdSlots))
  const rawHour = Math.floor(rawFrom / SLOTS_PER_HOUR) * SLOTS_PER_HOUR
  const fiveMinutesHour = Math.floor(wanted.fiveMinutesFrom / SLOTS_PER_HOUR) * SLOTS_PER_HOUR
  const fiveMinutesFrom = Math.max(reach.fiveMinutesFrom, Math.min(fiveMinutesHour, rawHour))
  const fullDays = Math.min(
    rolledDaysTo(reach),
    Math.floor((fiveMinutesFrom * FIVE_MINUTES.widthMs) / DAY.widthMs),
    Math.floor(wanted.hoursFrom / HOURS_PER_DAY),
  )
  return { rawFrom, fiveMinutesFrom, hoursFrom: Math.max(reach.hoursFrom, fullDays * HOURS_PER_DAY) }
}

/** Rows to delete: those whose column is below the value. */
export interface Deletion {
  readonly table: string
  readonly column: string
  readonly below: number
}

const deletion = (table: string, column: string, below: number): Deletion => ({ table, column, below })

/** What is deleted with the cuts, besides polls. */
export function deletionsByCuts({ fiveMinutesFrom, hoursFrom }: Cuts): readonly Deletion[] {
  return [
    deletion('five_minutes', 'bucket', fiveMinutesFrom),
    deletion('hours', 'bucket', hoursFrom),
    deletion('days', 'bucket', Math.floor(hoursFrom / HOURS_PER_DAY)),
    // Buckets do not contain maintenance, so it is deleted together with the last bucket that it overlaps.
    deletion('maintenance', 'until_ms', hoursFrom * HOUR.widthMs + 1),
    ...recordsBefore(hoursFrom * HOUR.widthMs),
  ]
}

/** What is deleted by age alone, besides the cuts. */
export function deletionsByAge({ fiveMinutesMs, hourMs }: Retention, now: number): readonly Deletion[] {
  return [
    deletion('hash_changes', 'at_ms', now - fiveMinutesMs),
    // An endpoint's health is saved again as long as it is polled.
    deletion('saved_health', 'at_ms', now - hourMs),
    ...recordsBefore(now - hourMs),
    deletion('admin_calls', 'at_ms', now - hourMs),
  ]
}

function recordsBefore(below: number): readonly Deletion[] {
  return [
    deletion('incidents', 'closed_ms', below),
    deletion('notifications', 'created_ms', below),
    deletion('notes', 'at_ms', below),
    deletion('silences', 'until_ms', below),
  ]
}

/**
 * By table, the condition that keeps what an open incident needs: its notes, and the last notification of each channel, which
 * says after a restart what was sent. `order`: the column by which rows were added.
 */
export function neededRows(notAbsorbed: string, order: string, isHeard: string): ReadonlyMap<string, string> {
  const open = `SELECT id FROM incidents WHERE closed_ms IS NULL AND ${notAbsorbed}`
  return new Map([
    ['notes', `AND incident NOT IN (${open})`],
    [
      'notifications',
      `AND NOT (incident IN (${open}) AND NOT EXISTS (
        SELECT 1 FROM notifications AS later WHERE later.incident = notifications.incident
          AND later.channel = notifications.channel AND later.${order} > notifications.${order} AND ${isHeard}))`,
    ],
  ])
}

/** Above the first share of `max_size`, the oldest history is deleted early, down to the second share. */
export const FULL_SHARE = 0.95
export const TRIMMED_SHARE = 0.9

/** Tables that could grow without end: how many of the newest rows are kept of each. */
export const CAPS: readonly Cap[] = [
  // A node that reports another hash at every poll must not displace the polls of all others.
  { table: 'hash_changes', column: 'at_ms', most: 100_000, rowBytes: 200 },
  // A caller of the admin API may call it in a loop.
  { table: 'admin_calls', column: 'at_ms', most: 100_000 },
  // Likewise. Far more than may hold at a time, and those end last: none that holds is deleted.
  { table: 'silences', column: 'until_ms', most: 10_000 },
  // An incident that stays open may be repeated every second. What waits is still to be sent.
  { table: 'notifications', column: 'created_ms', most: 100_000, rowBytes: 2000, condition: 'AND NOT waiting' },
]

export interface Cap extends Omit<Deletion, 'below'> {
  readonly most: number
  /** About. In SQLite, all rows of the table may take CAPPED_SHARE of `max_size`. */
  readonly rowBytes?: number
  readonly condition?: string
}

export const CAPPED_SHARE = 0.02
