import { type ClockVerdict, judgeClock } from '../clock-trust.ts'
import type { CommonOptions } from '../engine.ts'
import { cursorsOf, marksOfCuts } from '../marks.ts'
import { DAY, SLOT_MS, slotOf } from '../resolution.ts'
import {
  allowed,
  CAPS,
  type Cap,
  type Cuts,
  cutsByAge,
  type Deletion,
  deletionsByAge,
  deletionsByCuts,
  FULL_SHARE,
  neededRows,
  TRIMMED_SHARE,
} from '../retention.ts'
import type { Database } from './database.ts'
import { lockAlone, readMarks, setMarks } from './marks.ts'
import type { Partitions } from './partitions.ts'
import { firstPollAt } from './polls.ts'
import { holdSlots } from './roll-up.ts'
import type { Query } from './sessions.ts'

/** Rows per transaction. */
const DELETED_AT_ONCE = 5000
/** Claims are read for writes that waited; none waits so long. */
const CLAIMS_KEPT_MS = 7 * DAY.widthMs

export interface RetainerDeps extends Pick<CommonOptions, 'retention' | 'maxSizeBytes' | 'log'> {
  readonly database: Pick<Database, 'query' | 'transaction'>
  readonly partitions: Pick<Partitions, 'dropBefore'>
}

/** Deletes what is older than wanted: polls by dropping days, everything else by rows. */
export function createRetainer({ database, partitions, retention, maxSizeBytes, log }: RetainerDeps) {
  const { query, transaction } = database

  /** Moves the cursors first, so that no query reads rows that are being deleted. */
  async function cut(cuts: Cuts, signal: AbortSignal): Promise<void> {
    await transaction(async (run) => {
      await lockAlone(run)
      await setMarks(run, marksOfCuts(cuts))
    })
    await partitions.dropBefore(cuts.rawFrom * SLOT_MS)
    for (const each of deletionsByCuts(cuts)) await deleteBelow(each, signal)
  }

  async function cutByAge(now: number, signal: AbortSignal): Promise<void> {
    const cursors = cursorsOf(await readMarks(query))
    await cut(cutsByAge(retention, now, cursors, (await holdSlots(query)) * SLOT_MS), signal)
    for (const each of deletionsByAge(retention, now)) await deleteBelow(each, signal)
    await query(
      `DELETE FROM lease_claims AS claim USING leases
       WHERE claim.claimed_at < now() - $1 * interval '1 millisecond' AND leases.kind = claim.kind
         AND leases.vantage = claim.vantage AND leases.network = claim.network AND claim.token < leases.token`,
      [CLAIMS_KEPT_MS],
    )
    // By the database's clock, like all times of a cluster. Leases stay: their tokens must only grow.
    for (const [table, column] of [
      ['members', 'seen_at'],
      ['votes', 'polled_at'],
    ] as const)
      await query(`DELETE FROM ${table} WHERE ${column} < now() - interval '1 day'`)
    // Of each endpoint's rows before the first remaining poll, only the latest is needed.
    const { rawFrom } = cursorsOf(await readMarks(query))
    await query(
      `DELETE FROM holds WHERE from_ms <
         (SELECT max(later.from_ms) FROM holds AS later WHERE later.endpoint_id = holds.endpoint_id AND later.from_ms <= $1)`,
      [rawFrom * SLOT_MS],
    )
  }

  async function deleteBelow({ table, column, below }: Deletion, signal: AbortSignal, condition = ''): Promise<void> {
    const kept = NEEDED.get(table) ?? ''
    const text = `WITH gone AS (DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${column} < $1 ${kept} ${condition} LIMIT ${DELETED_AT_ONCE})) RETURNING 1)
      SELECT count(*) AS count FROM gone`
    while (!signal.aborted) {
      const [row] = await query<{ count: number }>(text, [below])
      if ((row?.count ?? 0) < DELETED_AT_ONCE) return
    }
  }

  async function capRows({ table, column, most, condition }: Cap, signal: AbortSignal): Promise<void> {
    const [oldest] = await query<{ value: number }>(
      `SELECT ${column} AS value FROM ${table} ORDER BY ${column} DESC OFFSET $1 LIMIT 1`,
      [most],
    )
    if (oldest !== undefined) await deleteBelow({ table, column, below: oldest.value + 1 }, signal, condition)
  }

  /** Above the quota, days of polls are dropped, the oldest first: deleted rows alone would free no disk. */
  async function trim(now: number, signal: AbortSignal): Promise<void> {
    if ((await sizeOf(query)) <= maxSizeBytes * FULL_SHARE) return
    let days = 0
    while (!signal.aborted && (await sizeOf(query)) > maxSizeBytes * TRIMMED_SHARE) {
      if (!(await dropOldestDay(now, signal))) break
      days++
    }
    if (days > 0) log.warn({ days }, 'the database is larger than store.max_size: the oldest days of polls are dropped')
    else if (!signal.aborted)
      log.warn(
        {},
        'the database is larger than store.max_size, but holds no polls of earlier days that could be dropped',
      )
  }

  /** Whether there was one that is over and rolled up: cutting a part of a day would hide its polls and free nothing. */
  async function dropOldestDay(now: number, signal: AbortSignal): Promise<boolean> {
    const cursors = cursorsOf(await readMarks(query))
    const oldest = await firstPollAt(query, cursors.rawFrom * SLOT_MS, now)
    if (oldest === null) return false
    const rawFrom = slotOf((Math.floor(oldest / DAY.widthMs) + 1) * DAY.widthMs)
    const cuts = allowed({ ...cursors, rawFrom }, cursors, await holdSlots(query))
    if (cuts.rawFrom < rawFrom) return false
    await cut(cuts, signal)
    return true
  }

  return {
    /** Whether the clock is trusted. If so, cursors that are ahead of it are set back. */
    async judge(now: number): Promise<ClockVerdict> {
      const longestHoldMs = (await holdSlots(query)) * SLOT_MS
      const verdict = await transaction(async (run): Promise<ClockVerdict> => {
        const marks = await lockAlone(run)
        const isAhead = cursorsOf(marks).rawFrom > slotOf(now)
        const first = isAhead ? await firstPollAt(run, now - 2 * DAY.widthMs, now) : null
        const judgement = judgeClock(marks, now, first === null ? null : slotOf(first), longestHoldMs)
        await setMarks(run, judgement.changes)
        return judgement.verdict
      })
      if (verdict === 'set-back')
        log.warn({}, 'the store was ahead of the clock: its aggregated history is computed again')
      return verdict
    },

    async pass(now: number, isClockTrusted: boolean, signal: AbortSignal): Promise<void> {
      if (isClockTrusted) await cutByAge(now, signal)
      for (const cap of CAPS) await capRows(cap, signal)
      await trim(now, signal)
    },
  }
}

const NEEDED = neededRows('NOT absorbed', 'nth', "later.value::json ->> 'state' IS DISTINCT FROM 'superseded'")

/** Of everything in the database: it belongs to Heartline alone. */
export async function sizeOf(query: Query): Promise<number> {
  const [row] = await query<{ bytes: number }>('SELECT pg_database_size(current_database()) AS bytes')
  return row?.bytes ?? 0
}
