import {
  addLatency,
  decodeHistogram,
  encodeHistogram,
  type LatencyHistogram,
  mergeHistogram,
} from '../core/latency-histogram.ts'
import { mergeTime, noTime, portionOf, type TimeParts } from '../core/verdict/availability.ts'
import type { PollRow } from './poll-columns.ts'

/** A stretch of one endpoint's time, aggregated, without maintenance, which has its own table. */
export interface Bucket extends TimeParts {
  polls: number
  readonly latencies: LatencyHistogram
  latencyMaxUs: number | null
  /** The latest height seen. */
  height: number | null
  lagBlocksMax: number | null
  heartbeatLagMaxMs: number | null
  contiguousFailuresMax: number | null
}

export function newBucket(): Bucket {
  return {
    ...noTime(),
    polls: 0,
    latencies: new Map(),
    latencyMaxUs: null,
    height: null,
    lagBlocksMax: null,
    heartbeatLagMaxMs: null,
    contiguousFailuresMax: null,
  }
}

/** Adds a poll without its time, part of which may belong to other buckets. Polls must come in the order of time. */
export function addPoll(bucket: Bucket, row: PollRow): void {
  bucket.polls++
  if (row.latencyUs !== null) addLatency(bucket.latencies, row.latencyUs)
  addSeen(bucket, row.height, row.latencyUs, row.lagBlocks, row.heartbeatLagMs, row.contiguousFailures)
}

/** Adds a later bucket. */
export function mergeBucket(into: Bucket, from: Bucket): void {
  mergeTime(into, from)
  into.polls += from.polls
  mergeHistogram(into.latencies, from.latencies)
  mergeSeen(into, from)
}

/** A part [fromMs, toMs) of a bucket of `wholeMs`; `open` is the same part without the time in maintenance. */
export interface Portion {
  readonly fromMs: number
  readonly toMs: number
  readonly wholeMs: number
  readonly open: Omit<Portion, 'open'>
}

/**
 * Adds a part of a bucket. The order of events within a bucket is not stored, so every part reports the same height and
 * maxima, and polls are divided so that the parts add up to the whole.
 */
export function mergePortion(into: Bucket, from: Bucket, { fromMs, toMs, wholeMs, open }: Portion): void {
  mergeTime(into, portionOf(from, open.fromMs, open.toMs, open.wholeMs))
  into.polls += Math.round((from.polls * toMs) / wholeMs) - Math.round((from.polls * fromMs) / wholeMs)
  mergeHistogram(into.latencies, from.latencies)
  mergeSeen(into, from)
}

export function isEmpty(bucket: Bucket): boolean {
  return bucket.polls === 0 && bucket.upMs + bucket.degradedMs + bucket.downMs === 0
}

function mergeSeen(into: Bucket, from: Bucket): void {
  addSeen(into, from.height, from.latencyMaxUs, from.lagBlocksMax, from.heartbeatLagMaxMs, from.contiguousFailuresMax)
}

function addSeen(
  into: Bucket,
  height: number | null,
  latencyUs: number | null,
  lagBlocks: number | null,
  heartbeatLagMs: number | null,
  contiguousFailures: number | null,
): void {
  into.height = height ?? into.height
  into.latencyMaxUs = larger(into.latencyMaxUs, latencyUs)
  into.lagBlocksMax = larger(into.lagBlocksMax, lagBlocks)
  into.heartbeatLagMaxMs = larger(into.heartbeatLagMaxMs, heartbeatLagMs)
  into.contiguousFailuresMax = larger(into.contiguousFailuresMax, contiguousFailures)
}

function larger(a: number | null, b: number | null): number | null {
  if (a === null) return b
  return b === null || a >= b ? a : b
}

export const BUCKET_COLUMNS = [
  'up_ms',
  'degraded_ms',
  'down_ms',
  'stale_ms',
  'polls',
  'latencies',
  'latency_max_us',
  'height',
  'lag_blocks_max',
  'heartbeat_lag_max_ms',
  'contiguous_failures_max',
] as const

type Cell = number | null
/** The columns of BUCKET_COLUMNS, in their order. */
export type BucketCells = [number, number, number, number, number, Uint8Array | null, Cell, Cell, Cell, Cell, Cell]

export function cellsOf(bucket: Bucket): BucketCells {
  return [
    bucket.upMs,
    bucket.degradedMs,
    bucket.downMs,
    // The stale part is stored instead of the fresh one: it is mostly 0, which takes no space.
    bucket.upMs + bucket.degradedMs - bucket.freshMs,
    bucket.polls,
    encodeHistogram(bucket.latencies),
    bucket.latencyMaxUs,
    bucket.height,
    bucket.lagBlocksMax,
    bucket.heartbeatLagMaxMs,
    bucket.contiguousFailuresMax,
  ]
}

export function bucketOf(cells: BucketCells): Bucket {
  const [upMs, degradedMs, downMs, staleMs, polls, latencies, latencyMaxUs] = cells
  const bucket: Bucket = {
    upMs,
    degradedMs,
    downMs,
    maintenanceMs: 0,
    freshMs: upMs + degradedMs - staleMs,
    polls,
    latencies: new Map(),
    latencyMaxUs,
    height: cells[7],
    lagBlocksMax: cells[8],
    heartbeatLagMaxMs: cells[9],
    contiguousFailuresMax: cells[10],
  }
  decodeHistogram(bucket.latencies, latencies)
  return bucket
}
