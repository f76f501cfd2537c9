import type { TimeRange } from '../../core/verdict/availability.ts'
import { onlyIn, planFrom, rangesByEndpoint, replanned } from '../maintenance-plan.ts'
import { cursorsOf, type Marks } from '../marks.ts'
import { createRecount } from '../recount.ts'
import { DAY, HOUR, HOURS_PER_DAY, readableRawFrom, SLOT_MS, SLOTS_PER_HOUR } from '../resolution.ts'
import type { WriteEvent } from '../write-events.ts'
import { bigints } from './arrays.ts'
import type { EndpointIds } from './ids.ts'
import { groupBy, loadTables, selectHolds } from './loaded-tables.ts'
import { aggregatedTo, rollingOf } from './marks.ts'
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

/** Whether any of these plans differs from the stored one. */
export async function changesMaintenance(
  query: Query,
  marks: Marks,
  ids: EndpointIds,
  events: readonly MaintainEvent[],
): Promise<boolean> {
  for (const event of events) if ((await changedPlans(query, marks, ids, event)).length > 0) return true
  return false
}

/**
 * Stores a maintenance plan, and corrects the aggregated time that it changes. A plan stored before changes nothing. The
 * caller holds the lock alone.
 */
export async function replaceMaintenance(query: Query, marks: Marks, ids: EndpointIds, event: MaintainEvent) {
  const changed = await changedPlans(query, marks, ids, event)
  if (changed.length === 0) return
  await query(
    `DELETE FROM maintenance USING unnest($1::bigint[], $2::bigint[]) AS changed (id, since)
     WHERE endpoint_id = changed.id AND until_ms >= changed.since`,
    [bigints(changed.map(({ endpointId }) => endpointId)), bigints(changed.map(({ since }) => since))],
  )
  const rows = changed.flatMap(({ endpointId, after }) => after.map((range) => ({ endpointId, ...range })))
  await query(
    'INSERT INTO maintenance (endpoint_id, from_ms, until_ms) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])',
    [
      bigints(rows.map(({ endpointId }) => endpointId)),
      bigints(rows.map(({ from }) => from)),
      bigints(rows.map(({ until }) => until)),
    ],
  )
  const alike = groupBy(changed, ({ changes }) => JSON.stringify(changes))
  for (const some of alike.values()) await recountAlike(query, marks, some)
}

interface ChangedPlan {
  readonly endpointId: number
  /** Everything that ends from then on is replaced. */
  readonly since: number
  readonly before: readonly TimeRange[]
  readonly after: readonly TimeRange[]
  readonly changes: readonly TimeRange[]
}

/** The endpoints whose plan differs from the stored one. One statement reads all plans: there may be thousands. */
async function changedPlans(query: Query, marks: Marks, ids: EndpointIds, { at, periods }: MaintainEvent) {
  const cutAt = planFrom(at, marks)
  const planned = rangesByEndpoint(periods, [], ids.idOf)
  const sinceOf = (ranges: readonly TimeRange[]) => Math.min(cutAt, ...ranges.map(({ from }) => from))
  const rows = await query<{ id: number; from: number; until: number }>(
    `SELECT endpoint_id AS id, from_ms AS "from", until_ms AS until
     FROM maintenance LEFT JOIN unnest($2::bigint[], $3::bigint[]) AS planned (id, since) ON planned.id = endpoint_id
     WHERE until_ms >= least(planned.since, $1::bigint) ORDER BY 1, 2`,
    [cutAt, bigints([...planned.keys()]), bigints([...planned.values()].map(sinceOf))],
  )
  const stored = groupBy(rows, ({ id }) => id)
  return [...new Set([...planned.keys(), ...stored.keys()])].flatMap((endpointId): ChangedPlan[] => {
    const ranges = planned.get(endpointId) ?? []
    const before = (stored.get(endpointId) ?? []).map(({ from, until }): TimeRange => ({ from, until }))
    const after = replanned(before, ranges, cutAt)
    const changes = [...onlyIn(before, after), ...onlyIn(after, before)]
    return changes.length === 0 ? [] : [{ endpointId, since: sinceOf(ranges), before, after, changes }]
  })
}

/** Recounts endpoints whose plans changed in the same way. */
async function recountAlike(query: Query, marks: Marks, plans: readonly ChangedPlan[]): Promise<void> {
  const changes = plans[0]?.changes ?? []
  const from = Math.min(...changes.map((range) => range.from))
  const until = Math.min(Math.max(...changes.map((range) => range.until)), aggregatedTo(marks))
  if (from >= until) return
  // Whole hours are read, even if less has changed.
  const atOnce = Math.max(1, Math.floor(MOST_LOADED_MS / (until - from + HOUR.widthMs)))
  for (let at = 0; at < plans.length; at += atOnce) {
    const some = plans.slice(at, at + atOnce)
    const endpointIds = some.map(({ endpointId }) => endpointId)
    const tables = await loadAround(query, marks, endpointIds, changes)
    if (tables === null) return
    const { replan } = createRecount(tables, () => rollingOf(marks))
    for (const { endpointId, before, after } of some) replan(endpointId, before, after)
    await tables.flush(query)
  }
}

/** Time of all endpoints together whose polls are in memory at once. */
const MOST_LOADED_MS = 4 * DAY.widthMs

/** Everything that a recount of these times reads; `null` if none of it is aggregated yet. */
async function loadAround(query: Query, marks: Marks, endpointIds: readonly number[], ranges: readonly TimeRange[]) {
  const cursors = cursorsOf(marks)
  const holds = await selectHolds(query, endpointIds)
  const longestMs = Math.max(0, ...[...holds.values()].map((one) => one.longestMs))
  const from = Math.min(...ranges.map((range) => range.from))
  const until = Math.min(Math.max(...ranges.map((range) => range.until)) + longestMs + SLOT_MS, aggregatedTo(marks))
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
