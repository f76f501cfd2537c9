import { mergeTime, noTime, portionOf, type TimeParts } from '../core/availability.ts'
import {
  addLatency,
  decodeHistogram,
  encodeHistogram,
  type LatencyHistogram,
  mergeHistogram,
  newHistogram,
} from '../core/latency-histogram.ts'
import type { PollRow } from './poll-row.ts'

/** What is kept of a stretch of one endpoint's time. */
export interface Bucket extends TimeParts {
  polls: number
  readonly latencies: LatencyHistogram
  latencyMaxUs: number | null
  /** The last one seen. */
  height: number | null
  lagBlocksMax: number | null
  heartbeatLagMaxMs: number | null
  contiguousFailuresMax: number | null
}

export function newBucket(): Bucket {
  return {
    ...noTime(),
    polls: 0,
    latencies: newHistogram(),
    latencyMaxUs: null,
    height: null,
    lagBlocksMax: null,
    heartbeatLagMaxMs: null,
    contiguousFailuresMax: null,
  }
}

/** Counts a poll in; its time is added apart, for it may belong to other buckets. Polls come in the order of time. */
export function addPoll(bucket: Bucket, row: PollRow): void {
  bucket.polls++
  if (row.latencyUs !== null) addLatency(bucket.latencies, row.latencyUs)
  addSeen(bucket, row.height, row.latencyUs, row.lagBlocks, row.heartbeatLagMs, row.contiguousFailures)
}

/** Adds a later stretch. */
export function mergeBucket(into: Bucket, from: Bucket): void {
  mergeTime(into, from)
  into.polls += from.polls
  mergeHistogram(into.latencies, from.latencies)
  mergeSeen(into, from)
}

/**
 * Adds the part [fromMs, toMs) of a bucket of `wholeMs` whose inner order is forgotten. What was seen in it may have been
 * seen in any of its parts, and is told of each; polls are shared out so that the parts sum up to the whole.
 */
export function mergePortion(into: Bucket, from: Bucket, fromMs: number, toMs: number, wholeMs: number): void {
  mergeTime(into, portionOf(from, toMs - fromMs, wholeMs))
  into.polls += Math.round((from.polls * toMs) / wholeMs) - Math.round((from.polls * fromMs) / wholeMs)
  mergeHistogram(into.latencies, from.latencies)
  mergeSeen(into, from)
}

export function isEmpty(bucket: Bucket): boolean {
  return bucket.polls === 0 && bucket.upMs + bucket.degradedMs + bucket.downMs + bucket.maintenanceMs === 0
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
  'maintenance_ms',
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
export type BucketCells = [
  number,
  number,
  number,
  number,
  number,
  number,
  Uint8Array | null,
  Cell,
  Cell,
  Cell,
  Cell,
  Cell,
]

export function cellsOf(bucket: Bucket): BucketCells {
  return [
    bucket.upMs,
    bucket.degradedMs,
    bucket.downMs,
    bucket.maintenanceMs,
    // Of the time up or degraded, for this is mostly none, and zeros take no room.
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
  const [upMs, degradedMs, downMs, maintenanceMs, staleMs, polls, latencies, latencyMaxUs] = cells
  const bucket: Bucket = {
    upMs,
    degradedMs,
    downMs,
    maintenanceMs,
    freshMs: upMs + degradedMs - staleMs,
    polls,
    latencies: newHistogram(),
    latencyMaxUs,
    height: cells[8],
    lagBlocksMax: cells[9],
    heartbeatLagMaxMs: cells[10],
    contiguousFailuresMax: cells[11],
  }
  decodeHistogram(bucket.latencies, latencies)
  return bucket
}
