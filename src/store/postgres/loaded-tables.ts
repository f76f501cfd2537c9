import type { TimeRange } from '../../core/verdict/availability.ts'
import { BUCKET_COLUMNS, type Bucket, type BucketCells, bucketOf, cellsOf, isEmpty } from '../bucket.ts'
import {
  type BucketTable,
  type HeldPoll,
  type HistoryTables,
  type Holds,
  hold,
  holdsOf,
  NO_HOLDS,
} from '../history-tables.ts'
import { cursorsOf, type Marks } from '../marks.ts'
import { DAY, FIVE_MINUTES, HOUR, type Resolution, SLOT_MS, slotOf } from '../resolution.ts'
import { bigints } from './arrays.ts'
import { MERGED, selectPolls, selectStates, type VantagePoll } from './polls.ts'
import type { Query } from './sessions.ts'

export interface Wanted {
  readonly endpointIds: readonly number[]
  readonly marks: Marks
  /** If they were read before. */
  readonly holds?: ReadonlyMap<number, Holds>
  /** Times of polls; those whose results may still hold at the beginning are read too. */
  readonly polls?: readonly TimeRange[]
  /** Whether only the states of polls are needed, and nothing that was measured. */
  readonly onlyStates?: boolean
  readonly maintenance?: TimeRange
  /** Numbers of buckets. */
  readonly buckets?: Partial<Record<Resolution['table'], readonly [first: number, end: number]>>
}

/**
 * Parts of the history, read at once, with the interface of whole tables: so the arithmetic of both engines is the same.
 * Only the wanted rows may be read. What it changes is written by `flush`.
 */
export async function loadTables(query: Query, wanted: Wanted) {
  const holds = wanted.holds ?? (await selectHolds(query, wanted.endpointIds))
  const longestMs = Math.max(0, ...[...holds.values()].map((one) => one.longestMs))
  const ranges = (wanted.polls ?? []).map(({ from, until }) => ({ from: slotOf(from - longestMs) * SLOT_MS, until }))
  const polls = createLoadedPolls(holds, await selectRanges(query, wanted, ranges, holds))
  const maintenance = await selectMaintenance(query, wanted)
  const buckets = {
    five_minutes: await loadBuckets(query, FIVE_MINUTES, wanted),
    hours: await loadBuckets(query, HOUR, wanted),
    days: await loadBuckets(query, DAY, wanted),
  }
  return {
    cursors: () => cursorsOf(wanted.marks),
    holdSlots: () => Math.ceil(longestMs / SLOT_MS),
    polls,
    maintenance: {
      between: (endpointId, from, to) =>
        (maintenance.get(endpointId) ?? []).filter((range) => range.from < to && range.until > from),
    },
    buckets,
    async flush(write: Query): Promise<void> {
      for (const table of [buckets.five_minutes, buckets.hours, buckets.days]) await table.flush(write)
    },
  } satisfies HistoryTables & Record<string, unknown>
}

export async function selectHolds(query: Query, endpointIds: readonly number[]): Promise<ReadonlyMap<number, Holds>> {
  const rows = await query<{ id: number; from: number; hold: number }>(
    'SELECT endpoint_id AS id, from_ms AS "from", hold_ms AS hold FROM holds WHERE endpoint_id = ANY ($1::bigint[]) ORDER BY 1, 2',
    [bigints(endpointIds)],
  )
  const byEndpoint = groupBy(rows, ({ id }) => id)
  return new Map([...byEndpoint].map(([id, some]) => [id, holdsOf(some.map((row) => [row.from, row.hold] as const))]))
}

/** The items by key, in their order. `Map.groupBy` is not in Node 20. */
export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

async function selectRanges(
  query: Query,
  { endpointIds, onlyStates }: Wanted,
  ranges: readonly TimeRange[],
  holds: ReadonlyMap<number, Holds>,
) {
  const shortestMs = Math.min(...endpointIds.map((id) => (holds.get(id) ?? NO_HOLDS).shortestMs))
  const select = (from: number, until: number) =>
    onlyStates
      ? selectStates(query, endpointIds, from, until, shortestMs)
      : selectPolls(query, endpointIds, from, until)
  const rows: VantagePoll[] = []
  let reached = Number.NEGATIVE_INFINITY
  for (const { from, until } of [...ranges].sort((a, b) => a.from - b.from)) {
    const start = Math.max(from, reached)
    if (start < until) for (const row of await select(start, until)) rows.push(row)
    reached = Math.max(reached, until)
  }
  return rows
}

function createLoadedPolls(holdsBy: ReadonlyMap<number, Holds>, rows: readonly VantagePoll[]): HistoryTables['polls'] {
  const byEndpoint = (some: readonly VantagePoll[]) => groupBy(some, ({ endpointId }) => endpointId)
  // Time counts from what a daemon alone found, or from what the places of a cluster found together.
  const states = byEndpoint(rows.filter(({ vantageId }) => vantageId <= 0))
  const counted = byEndpoint(rows.filter(({ vantageId }) => vantageId !== MERGED))
  const within = (some: readonly VantagePoll[] | undefined, slot: number) => {
    const all = some ?? []
    const first = firstAt(all, slot * SLOT_MS)
    return all.slice(first, firstAt(all, (slot + 1) * SLOT_MS))
  }
  return {
    holds: (endpointId) => holdsBy.get(endpointId) ?? NO_HOLDS,
    carriedInto(slot, endpointId, holds) {
      const all = states.get(endpointId) ?? []
      const last = all[firstAt(all, slot * SLOT_MS) - 1]
      return last === undefined ? null : hold(last, holds)
    },
    inSlot: (slot, endpointId, holds): HeldPoll[] =>
      within(states.get(endpointId), slot).map((row) => hold(row, holds)),
    countedIn: (slot, endpointId) => within(counted.get(endpointId), slot),
    bySlot(slot, firstId, lastId) {
      const found = new Map<number, VantagePoll[]>()
      for (const [id, all] of states) {
        const some = id < firstId || id > lastId ? [] : within(all, slot)
        if (some.length > 0) found.set(id, some)
      }
      return found
    },
    nextSlot(slot) {
      const at = rows[firstAt(rows, slot * SLOT_MS)]?.at
      return at === undefined ? null : slotOf(at)
    },
  }
}

/** The index of the first row at or after this time. */
function firstAt(rows: readonly VantagePoll[], at: number): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((rows[middle]?.at ?? 0) < at) low = middle + 1
    else high = middle
  }
  return low
}

async function selectMaintenance(query: Query, { endpointIds, maintenance }: Wanted) {
  if (maintenance === undefined) return new Map<number, TimeRange[]>()
  const rows = await query<{ id: number; from: number; until: number }>(
    `SELECT endpoint_id AS id, from_ms AS "from", until_ms AS until FROM maintenance
     WHERE endpoint_id = ANY ($1::bigint[]) AND from_ms < $3 AND until_ms > $2 ORDER BY 1, 2`,
    [bigints(endpointIds), maintenance.from, maintenance.until],
  )
  const byEndpoint = groupBy(rows, ({ id }) => id)
  return new Map([...byEndpoint].map(([id, some]) => [id, some.map(({ from, until }): TimeRange => ({ from, until }))]))
}

const COLUMNS = BUCKET_COLUMNS.join(', ')

type BucketRow = Readonly<Record<(typeof BUCKET_COLUMNS)[number] | 'endpoint_id' | 'bucket', number>>

async function loadBuckets(query: Query, { table }: Resolution, { endpointIds, buckets }: Wanted) {
  const range = buckets?.[table]
  const loaded = new Map<number, Map<number, Bucket>>()
  const dirty = new Map<string, readonly [endpointId: number, at: number]>()
  if (range !== undefined && range[0] < range[1]) {
    const rows = await query<BucketRow>(
      `SELECT endpoint_id, bucket, ${COLUMNS} FROM ${table}
       WHERE endpoint_id = ANY ($1::bigint[]) AND bucket >= $2 AND bucket < $3 ORDER BY bucket`,
      [bigints(endpointIds), ...range],
    )
    for (const row of rows) {
      const cells = BUCKET_COLUMNS.map((column) => row[column]) as unknown as BucketCells
      ofEndpoint(row.endpoint_id).set(row.bucket, bucketOf(cells))
    }
  }

  function ofEndpoint(endpointId: number): Map<number, Bucket> {
    const known = loaded.get(endpointId) ?? new Map<number, Bucket>()
    loaded.set(endpointId, known)
    return known
  }

  function between(endpointId: number, first: number, end: number): Map<number, Bucket> {
    const all = [...(loaded.get(endpointId) ?? [])].filter(([at]) => at >= first && at < end)
    return new Map(all.sort(([a], [b]) => a - b))
  }

  return {
    put(endpointId, at, bucket) {
      dirty.set(`${endpointId} ${at}`, [endpointId, at])
      if (isEmpty(bucket)) ofEndpoint(endpointId).delete(at)
      else ofEndpoint(endpointId).set(at, bucket)
    },
    blank(endpointId, first, end) {
      for (const [at, bucket] of between(endpointId, first, end)) {
        dirty.set(`${endpointId} ${at}`, [endpointId, at])
        Object.assign(bucket, { upMs: 0, degradedMs: 0, downMs: 0, freshMs: 0 })
      }
    },
    between,
    sum() {
      throw new Error('the sums of buckets are not loaded')
    },
    async flush(write: Query) {
      const put: { id: number; at: number; cells: BucketCells }[] = []
      const removed: (readonly [number, number])[] = []
      for (const [id, at] of dirty.values()) {
        const bucket = loaded.get(id)?.get(at)
        if (bucket === undefined) removed.push([id, at])
        else put.push({ id, at, cells: cellsOf(bucket) })
      }
      dirty.clear()
      if (removed.length > 0) await deleteBuckets(write, table, removed)
      for (let from = 0; from < put.length; from += 1000) await putBuckets(write, table, put.slice(from, from + 1000))
    },
  } satisfies BucketTable & { flush(write: Query): Promise<void> }
}

async function deleteBuckets(query: Query, table: string, keys: readonly (readonly [number, number])[]) {
  await query(
    `DELETE FROM ${table} USING unnest($1::bigint[], $2::bigint[]) AS gone (id, at)
     WHERE endpoint_id = gone.id AND bucket = gone.at`,
    [bigints(keys.map(([id]) => id)), bigints(keys.map(([, at]) => at))],
  )
}

const PUT_VALUES = BUCKET_COLUMNS.map(
  (column, at) => `$${at + 3}::${column === 'latencies' ? 'bytea' : 'bigint'}[]`,
).join(', ')
const PUT_UPDATES = BUCKET_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')

async function putBuckets(
  query: Query,
  table: string,
  buckets: readonly { readonly id: number; readonly at: number; readonly cells: BucketCells }[],
): Promise<void> {
  await query(
    `INSERT INTO ${table} (endpoint_id, bucket, ${COLUMNS})
     SELECT * FROM unnest($1::bigint[], $2::bigint[], ${PUT_VALUES})
     ON CONFLICT (endpoint_id, bucket) DO UPDATE SET ${PUT_UPDATES}`,
    [
      bigints(buckets.map(({ id }) => id)),
      bigints(buckets.map(({ at }) => at)),
      ...BUCKET_COLUMNS.map((column, at) =>
        column === 'latencies'
          ? buckets.map(({ cells }) => (cells[at] === null ? null : Buffer.from(cells[at] as Uint8Array)))
          : bigints(buckets.map(({ cells }) => cells[at] as number | null)),
      ),
    ],
  )
}
