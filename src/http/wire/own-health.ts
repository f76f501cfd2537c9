import * as z from 'zod'
import { JOURNAL_KINDS } from '../../state/observer-journal.ts'
import { ClusterDetailsView } from './cluster.ts'
import { Count, Seconds, SpreadView, shape, Time } from './common.ts'

/** Something that happened to Heartline itself. `until` is null while it lasts. */
export const OwnEventView = shape('OwnEvent', {
  kind: z.enum(JOURNAL_KINDS),
  from: Time,
  until: Time.nullable(),
  text: z.string(),
})
export type OwnEventView = z.infer<typeof OwnEventView>

/** The health of Heartline itself. Counts are since the start. */
export const OwnHealthView = shape('OwnHealth', {
  generated_at: Time,
  /** Where its dashboards are; present if configured. */
  grafana_url: z.string().optional(),
  impaired: z.boolean(),
  judging: z.boolean(),
  reasons: z.array(z.string()),
  version: z.string(),
  node_version: z.string(),
  started_at: Time,
  uptime_seconds: Seconds,
  resident_bytes: Count,
  networks: Count,
  endpoints: Count,
  configuration: z.object({
    ok: z.boolean(),
    loaded_at: Time.nullable(),
  }),
  polls: z.object({
    last_round_at: Time.nullable(),
    /** Delay between due time and start. */
    lag: SpreadView,
    skips: z.object({ overlap: Count, concurrency: Count, late: Count, rate_limited: Count }),
  }),
  clock_jumps: z.object({ forward: Count, backward: Count }),
  store: z.object({
    trouble: z.string().nullable(),
    integrity_ok: z.boolean(),
    queue_rows: Count,
    rows_written: Count,
    rows_dropped: Count,
    write_failures: z.array(z.object({ reason: z.string(), count: Count })),
    commit: SpreadView,
    thread_restarts: Count,
    database_bytes: Count.nullable(),
    filesystem_free_bytes: Count.nullable(),
  }),
  /** At most the last three hours, maxima by minute; null for a minute in which Heartline was blocked. */
  course: z.object({
    from: Time,
    step_seconds: Seconds,
    loop_lag_seconds: z.array(Seconds.nullable()),
    poll_lag_seconds: z.array(Seconds.nullable()),
    skips: z.array(Count.nullable()),
    commit_seconds: z.array(Seconds.nullable()),
    queue_rows: z.array(Count.nullable()),
    resident_bytes: z.array(Count.nullable()),
  }),
  /** Null for a daemon alone. */
  cluster: ClusterDetailsView.nullable(),
  /** Newest first. */
  events: z.array(OwnEventView),
})
export type OwnHealthView = z.infer<typeof OwnHealthView>
