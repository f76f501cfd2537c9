import type { EndpointKey } from '../../core/endpoint.ts'
import { AVAILABILITY_WINDOWS, noTime, type TimeParts, type TimeRange } from '../../core/verdict/availability.ts'
import { type AvailabilityRow, createAvailabilityReader } from '../availability.ts'
import { createHistoryReader, sourcesOf, unknownHistory } from '../history.ts'
import type { BucketTable, HistoryTables } from '../history-tables.ts'
import { cursorsOf } from '../marks.ts'
import { HOUR, type Resolution, readableRawFrom, SLOT_MS, slotOf } from '../resolution.ts'
import type { HistoryBucket, HistoryQuery, PollsQuery, StoredPoll } from '../store.ts'
import { bigints } from './arrays.ts'
import { loadTables, selectHolds } from './loaded-tables.ts'
import { readMarks } from './marks.ts'
import { selectFirstPolls } from './polls.ts'
import type { Query } from './sessions.ts'

async function idOf(query: Query, endpoint: EndpointKey): Promise<number | undefined> {
  const [row] = await query<{ id: number }>('SELECT endpoint_id AS id FROM endpoints WHERE name = $1', [endpoint])
  return row?.id
}

/** Single polls, of all places. */
export async function selectStoredPolls(
  query: Query,
  { endpoint, from, to, limit }: PollsQuery,
): Promise<StoredPoll[]> {
  const endpointId = await idOf(query, endpoint)
  if (endpointId === undefined) return []
  // Earlier slots are being deleted: some of their polls may be gone already.
  const first = Math.max(from, cursorsOf(await readMarks(query)).rawFrom * SLOT_MS)
  const polls = await selectFirstPolls(query, endpointId, first, to, limit)
  return polls.map(({ latencyUs, ...poll }) => ({ ...poll, latencyMs: latencyUs === null ? null : latencyUs / 1000 }))
}

/** Reads what the shared arithmetic will ask for, in one snapshot, and has it computed. */
export async function selectHistory(query: Query, wanted: HistoryQuery, now: number): Promise<HistoryBucket[]> {
  const endpointId = await idOf(query, wanted.endpoint)
  const marks = await readMarks(query)
  if (endpointId === undefined) return unknownHistory(wanted)
  const longestMs = (await selectHolds(query, [endpointId])).get(endpointId)?.longestMs ?? 0
  const to = Math.min(wanted.to, now)
  const polls: TimeRange[] = []
  const buckets: { [table in Resolution['table']]?: [number, number] } = {}
  for (const { source, from, end } of sourcesOf(wanted, now, cursorsOf(marks), longestMs)) {
    if (source === null) continue
    if (source === 'polls') polls.push({ from, until: end })
    else {
      const [first, last] = [Math.floor(from / source.widthMs), Math.ceil(end / source.widthMs)]
      const known = buckets[source.table]
      buckets[source.table] = [Math.min(first, known?.[0] ?? first), Math.max(last, known?.[1] ?? last)]
    }
  }
  const maintenance = { from: wanted.from - HOUR.widthMs, until: to + 2 * HOUR.widthMs }
  const tables = await loadTables(query, { endpointIds: [endpointId], marks, polls, maintenance, buckets })
  return createHistoryReader(tables, () => endpointId)(wanted, now)
}

export async function selectAvailability(
  query: Query,
  endpoints: readonly EndpointKey[],
  now: number,
): Promise<readonly AvailabilityRow[]> {
  const known = await query<{ name: string; id: number }>(
    'SELECT name, endpoint_id AS id FROM endpoints WHERE name = ANY ($1::text[])',
    [endpoints],
  )
  const endpointIds = known.map(({ id }) => id)
  if (endpointIds.length === 0) return []
  const marks = await readMarks(query)
  const cursors = cursorsOf(marks)
  const holds = await selectHolds(query, endpointIds)
  const longestMs = Math.max(0, ...[...holds.values()].map((one) => one.longestMs))
  const rolledTo = Math.min(cursors.rolledTo, slotOf(now)) * SLOT_MS
  const readableFrom = readableRawFrom(cursors, longestMs) * SLOT_MS
  // The slots in which the windows begin, where their polls are kept.
  const leads = Object.values(AVAILABILITY_WINDOWS)
    .map((ms) => slotOf(now - ms) * SLOT_MS)
    .map((from): TimeRange => ({ from, until: from + SLOT_MS }))
    .filter(({ until }) => until > readableFrom)
  const longestWindowMs = Math.max(...Object.values(AVAILABILITY_WINDOWS))
  const loaded = await loadTables(query, {
    endpointIds,
    marks,
    holds,
    polls: [...leads, { from: rolledTo, until: now + 1 }],
    onlyStates: true,
    maintenance: { from: now - longestWindowMs - HOUR.widthMs, until: now + 1 },
  })
  const read = (wanted: readonly EndpointKey[], sum: Sum) =>
    createAvailabilityReader(withSums(loaded, sum), () => known.map(({ name, id }) => [name, id] as const))(wanted, now)
  // The first reading only finds out which sums are needed: a few ranges, the same for endpoints whose results hold as long.
  const sums: Sums[] = []
  const alike = new Map(known.map(({ name, id }) => [holds.get(id)?.longestMs, name]))
  read([...alike.values()], (table, first, end) => {
    if (findSums(sums, table, first, end) === undefined) sums.push({ table, first, end, byEndpoint: new Map() })
    return NO_TIME
  })
  for (const range of sums) range.byEndpoint = await selectSums(query, endpointIds, range)
  return read(endpoints, (table, first, end, id) => findSums(sums, table, first, end)?.byEndpoint.get(id) ?? NO_TIME)
}

/** The sums of a range of buckets. */
interface Sums {
  readonly table: Resolution['table']
  readonly first: number
  readonly end: number
  byEndpoint: ReadonlyMap<number, TimeParts>
}

type Sum = (table: Resolution['table'], first: number, end: number, endpointId: number) => TimeParts

const NO_TIME: TimeParts = noTime()

/** There are some twenty. */
function findSums(sums: readonly Sums[], table: Resolution['table'], first: number, end: number): Sums | undefined {
  return sums.find((one) => one.first === first && one.end === end && one.table === table)
}

function withSums(loaded: HistoryTables, sum: Sum): HistoryTables {
  const summed = (table: Resolution['table']): BucketTable => ({
    ...loaded.buckets[table],
    sum: (endpointId, first, end) => sum(table, first, end, endpointId),
  })
  const buckets = { five_minutes: summed('five_minutes'), hours: summed('hours'), days: summed('days') }
  return { ...loaded, buckets }
}

async function selectSums(query: Query, endpointIds: readonly number[], { table, first, end }: Sums) {
  const rows = await query<readonly number[]>(
    `SELECT endpoint_id, sum(up_ms)::bigint, sum(degraded_ms)::bigint, sum(down_ms)::bigint, sum(stale_ms)::bigint
     FROM ${table} WHERE endpoint_id = ANY ($1::bigint[]) AND bucket >= $2 AND bucket < $3 GROUP BY endpoint_id`,
    [bigints(endpointIds), first, end],
    { asArrays: true },
  )
  // Maintenance has its own table, and counts in none of the shares.
  return new Map(
    rows.map(([id = 0, upMs = 0, degradedMs = 0, downMs = 0, staleMs = 0]): [number, TimeParts] => [
      id,
      { upMs, degradedMs, downMs, maintenanceMs: 0, freshMs: upMs + degradedMs - staleMs },
    ]),
  )
}
