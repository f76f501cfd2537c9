import type { TimeRange } from '../../core/verdict/availability.ts'
import { onlyIn, planFrom, rangesByEndpoint, replanned } from '../maintenance-plan.ts'
import { cursorsOf, type Marks } from '../marks.ts'
import { createRecount } from '../recount.ts'
import { DAY, HOUR, HOURS_PER_DAY, readableRawFrom, SLOT_MS, SLOTS_PER_HOUR } from '../resolution.ts'
import type { WriteEvent } from '../write-events.ts'
import { bigints } from './arrays.ts'
import type { EndpointIds } from './ids.ts'
import { loadTables, selectHolds } from './loaded-tables.ts'
import { rollingOf } from './marks.ts'
import type { Query } from './sessions.ts'

/** Recounts the buckets of polls that were changed or came late. The caller holds the lock alone. */
export async function recount(query: Query, marks: Marks, changed: ReadonlyMap<number, TimeRange>): Promise<void> {
  const tables = await loadAround(query, marks, [...changed.keys()], [...changed.values()])
  if (tables === null) return
  const { redo } = createRecount(tables, () => rollingOf(marks))
  for (const [endpointId, { from, until }] of changed) redo(endpointId, from, until)
  await tables.flush(query)
}

type MaintainEvent = Extract<WriteEvent, { kind: 'maintain' }>

/** Stores a maintenance plan, and corrects the aggregated time that it changes. A plan stored before changes nothing. */
export async function replaceMaintenance(query: Query, marks: Marks, ids: EndpointIds, { at, periods }: MaintainEvent) {
  const cutAt = planFrom(at, marks)
  const after = await query<{ id: number }>(
    'SELECT DISTINCT endpoint_id AS id FROM maintenance WHERE until_ms > $1 ORDER BY 1',
    [cutAt],
  )
  const planned = rangesByEndpoint(
    periods,
    after.map(({ id }) => id),
    ids.idOf,
  )
  for (const [endpointId, ranges] of planned) await replan(query, marks, endpointId, ranges, cutAt)
}

async function replan(query: Query, marks: Marks, endpointId: number, ranges: readonly TimeRange[], cutAt: number) {
  const from = ranges.reduce((earliest, range) => Math.min(earliest, range.from), cutAt)
  const rows = await query<{ from: number; until: number }>(
    `SELECT from_ms AS "from", until_ms AS until FROM maintenance
     WHERE endpoint_id = $1 AND until_ms >= $2 ORDER BY from_ms`,
    [endpointId, from],
  )
  const before = rows.map((row): TimeRange => ({ from: row.from, until: row.until }))
  const after = replanned(before, ranges, cutAt)
  const changes = [...onlyIn(before, after), ...onlyIn(after, before)]
  if (changes.length === 0) return
  await query('DELETE FROM maintenance WHERE endpoint_id = $1 AND until_ms >= $2', [endpointId, from])
  await query(
    'INSERT INTO maintenance (endpoint_id, from_ms, until_ms) SELECT $1::integer, * FROM unnest($2::bigint[], $3::bigint[])',
    [endpointId, bigints(after.map((range) => range.from)), bigints(after.map(({ until }) => until))],
  )
  const tables = await loadAround(query, marks, [endpointId], changes)
  if (tables === null) return
  createRecount(tables, () => rollingOf(marks)).replan(endpointId, before, after)
  await tables.flush(query)
}

/** Everything that a recount of these times reads; `null` if none of it is aggregated yet. */
async function loadAround(query: Query, marks: Marks, endpointIds: readonly number[], ranges: readonly TimeRange[]) {
  const cursors = cursorsOf(marks)
  const doneTo = Math.max(cursors.rolledTo, (rollingOf(marks) ?? -1) + 1) * SLOT_MS
  const holds = await selectHolds(query, endpointIds)
  const longestMs = Math.max(0, ...[...holds.values()].map((one) => one.longestMs))
  const from = Math.min(...ranges.map((range) => range.from))
  const until = Math.min(Math.max(...ranges.map((range) => range.until)) + longestMs + SLOT_MS, doneTo)
  if (from >= until) return null
  const rawFrom = readableRawFrom(cursors, longestMs) * SLOT_MS
  const [hour, hourEnd] = [Math.floor(from / HOUR.widthMs), Math.ceil(until / HOUR.widthMs)]
  const [day, dayEnd] = [Math.floor(from / DAY.widthMs), Math.ceil(until / DAY.widthMs)]
  return loadTables(query, {
    endpointIds,
    marks,
    polls: [{ from: Math.max(Math.floor(from / SLOT_MS) * SLOT_MS, rawFrom), until }],
    maintenance: { from: day * DAY.widthMs, until: dayEnd * DAY.widthMs },
    buckets: {
      five_minutes: [hour * SLOTS_PER_HOUR, hourEnd * SLOTS_PER_HOUR],
      hours: [day * HOURS_PER_DAY, dayEnd * HOURS_PER_DAY],
      days: [day, dayEnd],
    },
  })
}
