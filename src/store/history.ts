import { quantile } from '../core/latency-histogram.ts'
import {
  addTime,
  coveredMs,
  type Interval,
  intervalsOf,
  type TimeRange,
  withMaintenance,
} from '../core/verdict/availability.ts'
import { addPoll, type Bucket, mergeBucket, mergePortion, newBucket, type Portion } from './bucket.ts'
import type { HeldPoll, HistoryTables } from './history-tables.ts'
import {
  type Cursors,
  DAY,
  FIVE_MINUTES,
  HOUR,
  type Resolution,
  readableRawFrom,
  SLOT_MS,
  slotOf,
} from './resolution.ts'
import { type HistoryBucket, type HistoryQuery, MAX_HISTORY_BUCKETS } from './store.ts'

/**
 * Reads polls while they are kept, five-minute buckets before that, and hours before those. For steps on the borders of
 * coarser buckets, it reads those instead, since they contain the same sums.
 */
export function createHistoryReader(tables: HistoryTables, endpointIdOf: (name: string) => number | undefined) {
  const { polls, maintenance: maintained, buckets: bucketTables } = tables

  function readPolls({ endpointId, maintenance, steps }: Range, from: number, to: number): void {
    const holds = polls.holds(endpointId)
    const first = slotOf(from)
    const carried = polls.carriedInto(first, endpointId, holds)
    function* all(): Generator<HeldPoll> {
      if (carried !== null) yield carried
      const last = slotOf(to - 1)
      for (let slot = polls.nextSlot(first); slot !== null && slot <= last; slot = polls.nextSlot(slot + 1)) {
        const rows = polls.inSlot(slot, endpointId, holds)
        for (const poll of polls.countedIn?.(slot, endpointId) ?? rows) {
          if (poll.at >= from && poll.at < to) addPoll(steps.at(poll.at), poll)
        }
        yield* rows
      }
    }
    for (const interval of withMaintenance(intervalsOf(all(), from, to), maintenance)) {
      if (interval.state !== 'unknown' && interval.state !== 'maintenance') addInterval(interval, steps)
    }
  }

  function readBuckets({ table, widthMs }: Resolution, range: Range, from: number, to: number): void {
    const { endpointId, maintenance, steps } = range
    const buckets = bucketTables[table].between(endpointId, Math.floor(from / widthMs), Math.ceil(to / widthMs))
    for (const [number, bucket] of buckets) {
      const start = number * widthMs
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

  return (query: HistoryQuery, now: number): HistoryBucket[] => {
    const steps = createSteps(query)
    const endpointId = endpointIdOf(query.endpoint)
    const to = Math.min(query.to, now)
    if (endpointId === undefined) return steps.finished()
    const cursors = tables.cursors()
    const maintenance = maintained.between(endpointId, hourOf(query.from), hourOf(to) + HOUR.widthMs)
    const range = { endpointId, maintenance, steps }
    for (const { source, from, end } of sourcesOf(query, now, cursors, polls.holds(endpointId).longestMs)) {
      if (source === 'polls') readPolls(range, from, end)
      else if (source !== null) readBuckets(source, range, from, end)
    }
    // Planned maintenance counts even without polls, and even if nothing else is kept for that time.
    for (const { from, until } of maintenance) {
      const interval = { from: Math.max(from, query.from), to: Math.min(until, to), state: 'maintenance', fresh: false }
      addInterval(interval as Interval, steps)
    }
    return steps.finished()
  }
}

interface Range {
  readonly endpointId: number
  /** All maintenance in any bucket of which only a part is read. */
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
  /** `null` if nothing is kept. */
  readonly source: Resolution | 'polls' | null
  readonly end: number
}

/** What is read for which part of the time, without gaps, in order. */
export function* sourcesOf(query: HistoryQuery, now: number, cursors: Cursors, longestHoldMs: number) {
  const to = Math.min(query.to, now)
  const rawFromMs = readableRawFrom(cursors, longestHoldMs) * SLOT_MS
  let from = query.from
  while (from < to) {
    const { source, end } = nextSource(from, to, query, cursors, rawFromMs)
    yield { source, from, end }
    from = end
  }
}

const COARSE_FIRST = [DAY, HOUR, FIVE_MINUTES] as const

function nextSource(at: number, to: number, query: HistoryQuery, cursors: Cursors, rawFromMs: number): Source {
  const keptFrom = {
    days: cursors.hoursFrom * HOUR.widthMs,
    hours: cursors.hoursFrom * HOUR.widthMs,
    five_minutes: cursors.fiveMinutesFrom * SLOT_MS,
  }
  for (const source of COARSE_FIRST) {
    const { widthMs } = source
    const fits = query.from % widthMs === 0 && query.stepMs % widthMs === 0 && at % widthMs === 0
    const end = Math.floor(Math.min(to, cursors.rolledTo * SLOT_MS) / widthMs) * widthMs
    if (fits && at < end && at >= keptFrom[source.table]) return { source, end }
  }
  if (at >= rawFromMs) return { source: 'polls', end: to }
  if (at >= keptFrom.five_minutes) return { source: FIVE_MINUTES, end: Math.min(to, rawFromMs) }
  if (at >= keptFrom.hours) return { source: HOUR, end: Math.min(to, keptFrom.five_minutes) }
  return { source: null, end: Math.min(to, keptFrom.hours) }
}

/** The answer if nothing can be read. */
export function unknownHistory(query: HistoryQuery): HistoryBucket[] {
  return createSteps(query).finished()
}

/** The number of buckets in the answer; throws a RangeError if they are too many or too small. */
export function bucketsIn({ from, to, stepMs }: Omit<HistoryQuery, 'endpoint'>): number {
  const count = Math.max(0, Math.ceil((to - from) / stepMs))
  if (!(stepMs >= 1000) || !(count <= MAX_HISTORY_BUCKETS)) throw new RangeError('too many buckets, or too small')
  return count
}

type Steps = ReturnType<typeof createSteps>

function createSteps({ from, to, stepMs }: HistoryQuery) {
  const count = bucketsIn({ from, to, stepMs })
  const buckets: (Bucket | undefined)[] = new Array(count)
  return {
    at(time: number): Bucket {
      const index = Math.floor((time - from) / stepMs)
      const bucket = buckets[index] ?? newBucket()
      buckets[index] = bucket
      return bucket
    },
    endOf: (time: number) => from + (Math.floor((time - from) / stepMs) + 1) * stepMs,
    finished: (): HistoryBucket[] =>
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
