import type Database from 'better-sqlite3'
import { quantile } from '../core/latency-histogram.ts'
import {
  addTime,
  coveredMs,
  type Interval,
  intervalsOf,
  type TimeRange,
  withMaintenance,
} from '../core/verdict/availability.ts'
import {
  addPoll,
  BUCKET_COLUMNS,
  type Bucket,
  type BucketCells,
  bucketOf,
  mergeBucket,
  mergePortion,
  newBucket,
  type Portion,
} from './bucket.ts'
import { createReachReader, type Reach, readableRawFrom } from './cursors.ts'
import { createMaintainedTimes } from './maintained.ts'
import { createRawPolls, type HeldPoll } from './raw-polls.ts'
import { type HistoryBucket, type HistoryQuery, MAX_HISTORY_BUCKETS } from './store.ts'
import { DAY, FIVE_MINUTES, HOUR, SLOT_MS, slotOf, type Tier } from './tiers.ts'

/**
 * Answers from raw polls where they are still there, from five minutes before that, and from hours before those. Where the
 * steps fall on the borders of coarser buckets these are read instead: they hold the same sums.
 */
export type HistoryReader = (query: HistoryQuery, now: number) => HistoryBucket[]

const COARSE_FIRST = [DAY, HOUR, FIVE_MINUTES] as const

export function createHistoryReader(db: Database.Database): HistoryReader {
  const endpointIdOf = db.prepare('SELECT endpoint_id FROM endpoints WHERE name = ?').pluck()
  const reachOf = createReachReader(db)
  const raw = createRawPolls(db)
  const maintained = createMaintainedTimes(db)
  const columns = BUCKET_COLUMNS.join(', ')
  const between = Object.fromEntries(
    COARSE_FIRST.map(({ table }) => [
      table,
      db
        .prepare(
          `SELECT ${columns}, bucket FROM ${table} WHERE endpoint_id = ? AND bucket >= ? AND bucket < ? ORDER BY bucket`,
        )
        .raw(),
    ]),
  ) as Record<Tier['table'], Database.Statement>

  function readRaw({ endpointId, maintenance, steps }: Reading, from: number, to: number): void {
    const holds = raw.holds(endpointId)
    const first = slotOf(from)
    const carried = raw.carriedInto(first, endpointId, holds)
    function* polls(): Generator<HeldPoll> {
      if (carried !== null) yield carried
      const last = slotOf(to - 1)
      for (let slot = raw.nextSlot(first); slot !== null && slot <= last; slot = raw.nextSlot(slot + 1)) {
        for (const poll of raw.inSlot(slot, endpointId, holds)) {
          if (poll.at >= from && poll.at < to) addPoll(steps.at(poll.at), poll)
          yield poll
        }
      }
    }
    for (const interval of withMaintenance(intervalsOf(polls(), from, to), maintenance)) {
      if (interval.state !== 'unknown' && interval.state !== 'maintenance') addInterval(interval, steps)
    }
  }

  function readTier(tier: Tier, { endpointId, maintenance, steps }: Reading, from: number, to: number): void {
    const { table, widthMs } = tier
    const rows = between[table].all(endpointId, Math.floor(from / widthMs), Math.ceil(to / widthMs))
    for (const cells of rows as [...BucketCells, number][]) {
      const bucket = bucketOf(cells as unknown as BucketCells)
      const start = cells[11] * widthMs
      let part = Math.max(from, start)
      const end = Math.min(to, start + widthMs)
      while (part < end) {
        const partEnd = Math.min(end, steps.endOf(part))
        if (partEnd - part === widthMs) mergeBucket(steps.at(part), bucket)
        else mergePortion(steps.at(part), bucket, portionAt(part, partEnd, start, widthMs, maintenance))
        part = partEnd
      }
    }
  }

  return (query, now) => {
    const steps = createSteps(query)
    const endpointId = endpointIdOf.get(query.endpoint)
    const to = Math.min(query.to, now)
    if (typeof endpointId !== 'number') return steps.finished()
    const reach = reachOf()
    const maintenance = maintained.between(endpointId, hourOf(query.from), hourOf(to) + HOUR.widthMs)
    const reading = { endpointId, maintenance, steps }
    const rawFromMs = readableRawFrom(reach, raw.holds(endpointId).longestMs) * SLOT_MS
    let at = query.from
    while (at < to) {
      const { tier, end } = nextSource(at, to, query, reach, rawFromMs)
      if (tier === 'raw') readRaw(reading, at, end)
      else if (tier !== null) readTier(tier, reading, at, end)
      at = end
    }
    // Planned, it was maintenance also while nobody looked, and where nothing else is kept any more.
    for (const { from, until } of maintenance) {
      const interval = { from: Math.max(from, query.from), to: Math.min(until, to), state: 'maintenance', fresh: false }
      addInterval(interval as Interval, steps)
    }
    return steps.finished()
  }
}

interface Reading {
  readonly endpointId: number
  /** All that may lie in a bucket of which a part is asked for. */
  readonly maintenance: readonly TimeRange[]
  readonly steps: Steps
}

function addInterval({ from, to, state, fresh }: Interval, steps: Steps): void {
  let start = from
  while (start < to) {
    const end = Math.min(to, steps.endOf(start))
    addTime(steps.at(start), state, fresh, end - start)
    start = end
  }
}

function portionAt(
  from: number,
  to: number,
  start: number,
  wholeMs: number,
  maintenance: readonly TimeRange[],
): Portion {
  const open = (until: number) => until - start - coveredMs(maintenance, start, until)
  return {
    fromMs: from - start,
    toMs: to - start,
    wholeMs,
    open: { fromMs: open(from), toMs: open(to), wholeMs: open(start + wholeMs) },
  }
}

function hourOf(time: number): number {
  return Math.floor(time / HOUR.widthMs) * HOUR.widthMs
}

interface Source {
  /** `null` where nothing is kept. */
  readonly tier: Tier | 'raw' | null
  readonly end: number
}

/** From where to read the time from `at` on, and how far. */
function nextSource(at: number, to: number, query: HistoryQuery, reach: Reach, rawFromMs: number): Source {
  const keptFrom = {
    days: reach.hoursFrom * HOUR.widthMs,
    hours: reach.hoursFrom * HOUR.widthMs,
    five_minutes: reach.fiveMinutesFrom * SLOT_MS,
  }
  for (const tier of COARSE_FIRST) {
    const { widthMs } = tier
    const fits = query.from % widthMs === 0 && query.stepMs % widthMs === 0 && at % widthMs === 0
    const end = Math.floor(Math.min(to, reach.rolledTo * SLOT_MS) / widthMs) * widthMs
    if (fits && at < end && at >= keptFrom[tier.table]) return { tier, end }
  }
  if (at >= rawFromMs) return { tier: 'raw', end: to }
  if (at >= keptFrom.five_minutes) return { tier: FIVE_MINUTES, end: Math.min(to, rawFromMs) }
  if (at >= keptFrom.hours) return { tier: HOUR, end: Math.min(to, keptFrom.five_minutes) }
  return { tier: null, end: Math.min(to, keptFrom.hours) }
}

/** The answer where nothing can be read. */
export function unseen(query: HistoryQuery): HistoryBucket[] {
  return createSteps(query).finished()
}

/** How many buckets answer the query; a RangeError where they are too many, or too small. */
export function bucketsIn({ from, to, stepMs }: Omit<HistoryQuery, 'endpoint'>): number {
  const count = Math.max(0, Math.ceil((to - from) / stepMs))
  if (!(stepMs >= 1000) || !(count <= MAX_HISTORY_BUCKETS)) throw new RangeError('too many buckets, or too small')
  return count
}

interface Steps {
  /** The bucket that the time falls into. */
  at(time: number): Bucket
  endOf(time: number): number
  finished(): HistoryBucket[]
}

function createSteps({ from, to, stepMs }: HistoryQuery): Steps {
  const count = bucketsIn({ from, to, stepMs })
  const buckets: (Bucket | undefined)[] = new Array(count)
  return {
    at(time) {
      const index = Math.floor((time - from) / stepMs)
      const bucket = buckets[index] ?? newBucket()
      buckets[index] = bucket
      return bucket
    },
    endOf: (time) => from + (Math.floor((time - from) / stepMs) + 1) * stepMs,
    finished: () =>
      Array.from(buckets, (bucket, index) => {
        const start = from + index * stepMs
        return shown(bucket ?? newBucket(), start, Math.min(stepMs, to - start))
      }),
  }
}

function shown(bucket: Bucket, start: number, widthMs: number): HistoryBucket {
  const { upMs, degradedMs, downMs, maintenanceMs, latencyMaxUs } = bucket
  const quantileMs = (q: number) => {
    const us = quantile(bucket.latencies, q)
    return us === null || latencyMaxUs === null ? null : milliseconds(Math.min(us, latencyMaxUs))
  }
  return {
    start,
    upMs,
    degradedMs,
    downMs,
    maintenanceMs,
    unknownMs: widthMs - upMs - degradedMs - downMs - maintenanceMs,
    polls: bucket.polls,
    latencyP50Ms: quantileMs(0.5),
    latencyP95Ms: quantileMs(0.95),
    latencyMaxMs: latencyMaxUs === null ? null : milliseconds(latencyMaxUs),
    height: bucket.height,
    lagBlocksMax: bucket.lagBlocksMax,
    heartbeatLagMaxMs: bucket.heartbeatLagMaxMs,
    contiguousFailuresMax: bucket.contiguousFailuresMax,
  }
}

function milliseconds(us: number): number {
  return Math.round(us) / 1000
}
