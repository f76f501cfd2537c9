import * as z from 'zod'
import { FAILURE_KINDS } from '../../core/failure.ts'
import { INCIDENT_CAUSES } from '../../core/incident/incident.ts'
import { VERDICTS } from '../../core/verdict/condition.ts'
import { Count, Seconds, shape, Time } from './common.ts'

export const HistoryBucketView = shape('HistoryBucket', {
  start: Time,
  up_seconds: Seconds,
  degraded_seconds: Seconds,
  down_seconds: Seconds,
  maintenance_seconds: Seconds,
  unknown_seconds: Seconds,
  polls: Count,
  latency_p50_seconds: Seconds.nullable(),
  latency_p95_seconds: Seconds.nullable(),
  latency_max_seconds: Seconds.nullable(),
  height: Count.nullable(),
  lag_blocks_max: Count.nullable(),
  heartbeat_lag_seconds_max: Seconds.nullable(),
  contiguous_failures_max: Count.nullable(),
})
export type HistoryBucketView = z.infer<typeof HistoryBucketView>

export const HistoryView = shape('History', {
  network: z.string(),
  endpoint: z.string(),
  from: Time,
  to: Time,
  step_seconds: Seconds,
  buckets: z.array(HistoryBucketView),
})
export type HistoryView = z.infer<typeof HistoryView>

/** One stored poll. Its state includes later confirmations. */
export const PollView = shape('Poll', {
  at: Time,
  /** The place of a cluster that made it; null for a daemon alone. */
  vantage: z.string().nullable(),
  state: z.enum(['up', 'degraded', 'down', 'unknown']),
  latency_seconds: Seconds.nullable(),
  height: Count.nullable(),
  lag_blocks: Count.nullable(),
  heartbeat_lag_seconds: Seconds.nullable(),
  contiguous_failures: Count.nullable(),
  /** Null if the node answered. */
  failure: z.enum(FAILURE_KINDS).nullable(),
})
export type PollView = z.infer<typeof PollView>

export const PollsView = shape('Polls', {
  network: z.string(),
  endpoint: z.string(),
  from: Time,
  to: Time,
  polls: z.array(PollView),
  /** Start of the next page; null on the last one. */
  next_from: Time.nullable(),
})
export type PollsView = z.infer<typeof PollsView>

export const RulesView = shape('Rules', {
  network: z.string(),
  endpoint: z.string(),
  /** Where its dashboards are; present if configured. */
  grafana_url: z.string().optional(),
  tier: z.enum(['primary', 'fallback']),
  checks: z.array(z.enum(['liveness', 'head'])),
  interval_seconds: Seconds,
  liveness_interval_seconds: Seconds,
  block_time_seconds: Seconds,
  thresholds: z.object({
    lag_blocks: Count,
    lag_recover_blocks: Count,
    lag_blocks_down: Count,
    stall_seconds: Seconds,
    heartbeat_seconds: Seconds,
    contiguous_failures: Count,
    min_peers: Count,
    latency_seconds: Seconds,
    clock_skew_seconds: Seconds,
    fail_after: Count,
    recover_after: Count,
  }),
})
export type RulesView = z.infer<typeof RulesView>

/** One endpoint over time, in cells of equal width. */
export const StripView = shape('Strip', {
  network: z.string(),
  endpoint: z.string(),
  /** One letter per cell, for its worst state: `d` down, `g` degraded, `m` maintenance, `u` up, `-` unknown, `.` before its first poll. */
  states: z.string(),
  /**
   * Per cell with several states: its index, then the seconds degraded, down, in maintenance and unknown; in the cell of its
   * first poll, also those before it.
   */
  mixed: z.array(z.tuple([Count, Seconds, Seconds, Seconds, Seconds, Seconds.optional()])),
  /** Maximum per cell; null without polls. */
  lag_blocks_max: z.array(Count.nullable()),
  latency_p95_seconds: z.array(Seconds.nullable()),
  /** Over the last hour. */
  recent_latency_p95_seconds: Seconds.nullable(),
})
export type StripView = z.infer<typeof StripView>

export const StripsView = shape('Strips', {
  generated_at: Time,
  /** A day ago, or when the known history begins. */
  from: Time,
  /** End of the last cell, which is not over yet. */
  to: Time,
  step_seconds: Seconds,
  strips: z.array(StripView),
})
export type StripsView = z.infer<typeof StripsView>

/** Strips of days, and the latest incidents, which tell what happened on a day. */
export const DaysView = StripsView.extend({
  incidents: z.array(
    z.object({
      id: z.string(),
      network: z.string(),
      endpoint: z.string().nullable(),
      cause: z.enum(INCIDENT_CAUSES),
      affected: z.array(z.string()),
      state: z.enum(VERDICTS),
      state_seconds: z.number().describe('For how long it was in that state, without planned maintenance'),
      opened_at: Time,
      closed_at: Time.nullable(),
    }),
  ),
}).meta({ id: 'Days' })
export type DaysView = z.infer<typeof DaysView>
