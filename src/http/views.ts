import { z } from 'zod'
import { STALE_REASONS } from '../core/alias.ts'
import { CONDITION_CODES, STATES, VERDICTS } from '../core/condition.ts'
import { FAILURE_KINDS } from '../core/failure.ts'
import { JOURNAL_KINDS } from '../state/journal.ts'

/**
 * The shapes on the wire: times RFC 3339 UTC, durations in seconds, ratios 0 to 1, snake_case. `null` where a thing is not
 * known. The page takes its types from here.
 */
const Time = z.iso.datetime()
const Count = z.int().min(0)
const Seconds = z.number().min(0)
const Shard = z.int().min(0).nullable()

export const StateView = z.enum(STATES)
export type StateView = z.infer<typeof StateView>

export const ConditionView = z.object({ code: z.enum(CONDITION_CODES), message: z.string(), since: Time })
export type ConditionView = z.infer<typeof ConditionView>

/** The head that the endpoints of a network agree on. */
export const ReferenceHeadView = z.object({
  shard: Shard,
  height: Count,
  hash: z.string().nullable(),
  timestamp: Time.nullable(),
})
export type ReferenceHeadView = z.infer<typeof ReferenceHeadView>

/** The newest head seen on an endpoint. The lag is null when the head has not been read for two intervals. */
export const HeadView = z.object({
  shard: Shard,
  height: Count,
  hash: z.string(),
  timestamp: Time,
  lag_blocks: Count.nullable(),
  lag_seconds: Seconds.nullable(),
})
export type HeadView = z.infer<typeof HeadView>

/** One check that a node runs on itself. */
export const NodeCheckView = z.object({
  name: z.string(),
  healthy: z.boolean(),
  contiguous_failures: Count,
  failing_since: Time.nullable(),
  checked_at: Time.nullable(),
  /** The node's own words, without what they repeat of our secrets, where the check fails. */
  message: z.string().optional(),
})
export type NodeCheckView = z.infer<typeof NodeCheckView>

export const LivenessView = z.object({
  healthy: z.boolean(),
  /** At the time of the poll. */
  heartbeat_lag_seconds: Seconds.nullable(),
  /** The most of any check. */
  contiguous_failures: Count,
  checks: z.array(NodeCheckView),
})
export type LivenessView = z.infer<typeof LivenessView>

export const AvailabilityView = z.object({
  ratio: z.number().min(0).max(1).nullable(),
  coverage: z.number().min(0).max(1),
  fresh: z.number().min(0).max(1).nullable(),
})
export type AvailabilityView = z.infer<typeof AvailabilityView>

export const EndpointView = z.object({
  name: z.string(),
  title: z.string(),
  state: StateView,
  since: Time,
  /** The id of its open incident. */
  incident: z.string().nullable(),
  /** Whether that incident is one of becoming well and ill again and again. */
  flapping: z.boolean(),
  last_polled_at: Time.nullable(),
  conditions: z.array(ConditionView),
  heads: z.array(HeadView),
  liveness: LivenessView.nullable(),
  latency_seconds: Seconds.nullable(),
  availability: z.object({
    '24h': AvailabilityView,
    '7d': AvailabilityView,
    '30d': AvailabilityView,
    '90d': AvailabilityView,
  }),
})
export type EndpointView = z.infer<typeof EndpointView>

export const NetworkView = z.object({
  name: z.string(),
  title: z.string(),
  family: z.enum(['ethereum', 'avalanche', 'multiversx']),
  state: StateView,
  halted: z.boolean(),
  forked: z.boolean(),
  heads: z.array(ReferenceHeadView),
  endpoints: z.array(EndpointView),
})
export type NetworkView = z.infer<typeof NetworkView>

/** Whether Heartline itself is fit to judge. */
export const ObserverView = z.object({ impaired: z.boolean(), reasons: z.array(z.string()) })
export type ObserverView = z.infer<typeof ObserverView>

/** Planned maintenance, under way or ahead. `endpoints` null is all of the network. */
export const MaintenanceView = z.object({
  name: z.string(),
  network: z.string(),
  endpoints: z.array(z.string()).nullable(),
  from: Time,
  until: Time,
})
export type MaintenanceView = z.infer<typeof MaintenanceView>

export const StatusView = z.object({
  generated_at: Time,
  state: StateView,
  observer: ObserverView,
  /** In the order of time. */
  maintenance: z.array(MaintenanceView),
  networks: z.array(NetworkView),
})
export type StatusView = z.infer<typeof StatusView>

/**
 * What an event `status` carries: everything when `complete`, else only the networks and endpoints that changed, and the
 * maintenance if the plan did.
 */
export const StatusEventView = StatusView.extend({
  complete: z.boolean(),
  maintenance: z.array(MaintenanceView).optional(),
})
export type StatusEventView = z.infer<typeof StatusEventView>

export const HistoryBucketView = z.object({
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

export const HistoryView = z.object({
  network: z.string(),
  endpoint: z.string(),
  from: Time,
  to: Time,
  step_seconds: Seconds,
  buckets: z.array(HistoryBucketView),
})
export type HistoryView = z.infer<typeof HistoryView>

/** One poll, as kept: what was confirmed later has been put into its state. */
export const PollView = z.object({
  at: Time,
  state: z.enum(['up', 'degraded', 'down', 'unknown']),
  latency_seconds: Seconds.nullable(),
  height: Count.nullable(),
  lag_blocks: Count.nullable(),
  heartbeat_lag_seconds: Seconds.nullable(),
  contiguous_failures: Count.nullable(),
  /** Why there is no answer; null where there is one. */
  failure: z.enum(FAILURE_KINDS).nullable(),
})
export type PollView = z.infer<typeof PollView>

export const PollsView = z.object({
  network: z.string(),
  endpoint: z.string(),
  from: Time,
  to: Time,
  polls: z.array(PollView),
  /** From where to ask on; null where these are all. */
  next_from: Time.nullable(),
})
export type PollsView = z.infer<typeof PollsView>

/** How an endpoint is polled, and by what it is judged. */
export const RulesView = z.object({
  network: z.string(),
  endpoint: z.string(),
  tier: z.enum(['primary', 'fallback']),
  checks: z.array(z.enum(['liveness', 'head'])),
  interval_seconds: Seconds,
  block_time_seconds: Seconds,
  thresholds: z.object({
    lag_blocks: Count,
    lag_recover_blocks: Count,
    lag_blocks_down: Count,
    stall_seconds: Seconds,
    heartbeat_seconds: Seconds,
    contiguous_failures: Count,
    latency_seconds: Seconds,
    clock_skew_seconds: Seconds,
    fail_after: Count,
    recover_after: Count,
  }),
})
export type RulesView = z.infer<typeof RulesView>

/** One endpoint over time, in cells of one width. */
export const StripView = z.object({
  network: z.string(),
  endpoint: z.string(),
  /** A letter a cell, of the worst that was: `d` down, `g` degraded, `m` maintenance, `u` up, `-` not known at all. */
  states: z.string(),
  /** Of each cell that was not one state throughout: its place, then the seconds degraded, down, in maintenance and unknown. */
  mixed: z.array(z.tuple([Count, Seconds, Seconds, Seconds, Seconds])),
  /** The most in each cell; null where nothing was seen. */
  lag_blocks_max: z.array(Count.nullable()),
  latency_p95_seconds: z.array(Seconds.nullable()),
  /** Of the last hour. */
  recent_latency_p95_seconds: Seconds.nullable(),
})
export type StripView = z.infer<typeof StripView>

export const StripsView = z.object({
  generated_at: Time,
  from: Time,
  /** The end of the last cell, which is not over yet. */
  to: Time,
  step_seconds: Seconds,
  strips: z.array(StripView),
})
export type StripsView = z.infer<typeof StripsView>

/** A reason of an incident, and when it held. */
export const IncidentConditionView = z.object({
  code: z.enum([...CONDITION_CODES, 'halted']),
  /** What it made of the endpoint. */
  state: z.enum(VERDICTS),
  message: z.string(),
  since: Time,
  /** Null while it holds. */
  until: Time.nullable(),
})
export type IncidentConditionView = z.infer<typeof IncidentConditionView>

/** What was measured when something changed. */
export const IncidentSampleView = z.object({
  endpoint: z.string(),
  shard: Shard,
  height: Count.nullable(),
  lag_blocks: Count.nullable(),
  latency_seconds: Seconds.nullable(),
})
export type IncidentSampleView = z.infer<typeof IncidentSampleView>

export const IncidentChangeView = z.object({
  at: Time,
  state: z.enum(VERDICTS),
  codes: z.array(z.enum([...CONDITION_CODES, 'halted'])),
  samples: z.array(IncidentSampleView),
})
export type IncidentChangeView = z.infer<typeof IncidentChangeView>

/** An incident without its course: what lists and events tell of it. */
export const IncidentSummaryView = z.object({
  id: z.string(),
  network: z.string(),
  /** Null for one of the whole network. */
  endpoint: z.string().nullable(),
  cause: z.enum(['endpoint', 'halted', 'forked']),
  /** The worst that it reached. */
  state: z.enum(VERDICTS),
  conditions: z.array(IncidentConditionView),
  /** The first bad poll. */
  opened_at: Time,
  confirmed_at: Time,
  /** The first good poll; null while it is open, as is the duration. */
  closed_at: Time.nullable(),
  duration_seconds: Seconds.nullable(),
  flapping: z.boolean(),
  flaps: Count,
  /** Of one of the whole network: the endpoints that showed it. */
  affected: z.array(z.string()),
  /** The incident of the whole network of which this one is a part. */
  absorbed_by: z.string().nullable(),
})
export type IncidentSummaryView = z.infer<typeof IncidentSummaryView>

/** The changes are the first ones and the latest where there were very many. */
export const IncidentView = IncidentSummaryView.extend({ changes: z.array(IncidentChangeView) })
export type IncidentView = z.infer<typeof IncidentView>

export const IncidentListView = z.object({
  incidents: z.array(IncidentSummaryView),
  /** Where the next page begins; null on the last one. */
  next_cursor: z.string().nullable(),
})
export type IncidentListView = z.infer<typeof IncidentListView>

/** A caller of the gateway. Its endpoint_id is nowhere. */
export const CallerView = z.object({
  name: z.string(),
  networks: z.array(z.string()),
  admin: z.boolean(),
  /** Methods beyond the default list. */
  methods: z.array(z.string()),
  rate_limit: z.object({ requests: Count, per_seconds: Seconds }).nullable(),
  /** Since the start, each element of a batch by itself. */
  requests: Count,
  /** Those of them to which the gateway itself said no. */
  refused: Count,
})
export type CallerView = z.infer<typeof CallerView>

/** How long things took; from buckets, so that it is as exact as they are. Null where nothing was counted. */
export const SpreadView = z.object({ count: Count, p50_seconds: Seconds.nullable(), p99_seconds: Seconds.nullable() })
export type SpreadView = z.infer<typeof SpreadView>

/** Requests since the start, each element of a batch by itself. */
export const RequestTallyView = z.object({
  requests: Count,
  /** With an answer of a node, its own errors too. */
  answered: Count,
  /** Of those, errors of a node. */
  node_errors: Count,
  /** Nobody could answer: no endpoint, every attempt failed, too late, or overloaded. */
  failed: Count,
  /** Not as they should be, or not allowed. */
  refused: Count,
  /** Their callers did not wait. */
  cancelled: Count,
})
export type RequestTallyView = z.infer<typeof RequestTallyView>

/** What the gateway has done for one network since the start. */
export const TrafficView = RequestTallyView.extend({
  duration: SpreadView,
  /** How much of that was not waiting for nodes. */
  overhead: SpreadView,
  operations: z.array(RequestTallyView.extend({ name: z.string(), duration: SpreadView, overhead: SpreadView })),
  /** Times that another endpoint was asked: the first one failed, had not got it, or was behind. */
  retries: z.object({ failed: Count, absent: Count, behind: Count }),
  cache: z.object({ hits: Count, misses: Count }),
  /** Answered by the request of another that was under way. */
  coalesced: Count,
  /** Answered by an endpoint that is not well, since none is. */
  least_bad: Count,
  rejections: z.array(z.object({ reason: z.string(), count: Count })),
})
export type TrafficView = z.infer<typeof TrafficView>

/** An endpoint as the gateway would use it now. */
export const RoutedEndpointView = z.object({
  name: z.string(),
  tier: z.enum(['primary', 'fallback']),
  /** Why it is not asked: a condition, a state, `unverified`, `breaker-open` or `resting`; null where it is. */
  left_out: z.string().nullable(),
  breaker: z.enum(['closed', 'open', 'half-open']),
  /** Of polls and answers, a moving average. */
  latency_seconds: Seconds.nullable(),
  in_flight: Count,
  /** What was asked of it since the start, and how often it answered. */
  attempts: Count,
  answered: Count,
})
export type RoutedEndpointView = z.infer<typeof RoutedEndpointView>

/** One of the last blocks of a chain, and when the first of its endpoints was seen to be there. */
export const BlockView = z.object({
  height: Count,
  /** As the block itself says. */
  timestamp: Time.nullable(),
  /** When the first answer that told this height, or a higher one, had come; null where nobody was seen to come by. */
  first_seen_at: Time.nullable(),
  /** What its endpoints call the block of this height, the most told first; more than one is a disagreement. */
  hashes: z.array(z.string()),
})
export type BlockView = z.infer<typeof BlockView>

/** One endpoint beside the last blocks: each list has a place for each block. */
export const BlockWitnessView = z.object({
  name: z.string(),
  interval_seconds: Seconds,
  height: Count,
  /** When its height was last seen to grow, and when it last told it. */
  advanced_at: Time,
  answered_at: Time,
  /** Which of the block's hashes it told; null where it told none. */
  told: z.array(Count.nullable()),
  /** How much later than the first one it was seen there; null where it was not seen to come by. */
  later_seconds: z.array(Seconds.nullable()),
  /** It was there at most so much sooner: the time since its last poll that told less. */
  within_seconds: z.array(Seconds.nullable()),
})
export type BlockWitnessView = z.infer<typeof BlockWitnessView>

/** The last blocks of one chain, the oldest first. */
export const ShardBlocksView = z.object({
  shard: Shard,
  block_time: z.object({
    expected_seconds: Seconds,
    /** By the timestamps of the last blocks; null until enough were seen. */
    measured_seconds: Seconds.nullable(),
  }),
  blocks: z.array(BlockView),
  endpoints: z.array(BlockWitnessView),
  /** So many more have no place here: where there are very many, those that are behind are told. */
  endpoints_left_out: Count,
})
export type ShardBlocksView = z.infer<typeof ShardBlocksView>

/** Who saw which of the last blocks when: as sharp as its endpoints are polled often. */
export const BlocksView = z.object({
  network: z.string(),
  generated_at: Time,
  thresholds: z.object({ lag_blocks: Count, stall_seconds: Seconds }),
  shards: z.array(ShardBlocksView),
})
export type BlocksView = z.infer<typeof BlocksView>

/** Whom the gateway would ask now. Without a gateway: whom one would ask, by what the monitor says alone. */
export const RoutingView = z.object({
  network: z.string(),
  enabled: z.boolean(),
  /** In the order in which they would be asked, then those left out, and why. */
  endpoints: z.array(RoutedEndpointView.pick({ name: true, tier: true, left_out: true, latency_seconds: true })),
})
export type RoutingView = z.infer<typeof RoutingView>

/** A name below `/ext/` that admin.alias has made through the gateway. */
export const AliasView = z.object({
  network: z.string(),
  alias: z.string(),
  target: z.string(),
  /** The one whose node knows it. */
  endpoint: z.string(),
  node_id: z.string().nullable(),
  caller: z.string(),
  created_at: Time,
  /** Null while it holds. */
  stale: z.object({ since: Time, reason: z.enum(STALE_REASONS) }).nullable(),
})
export type AliasView = z.infer<typeof AliasView>

export const GatewayView = z.object({
  enabled: z.boolean(),
  requests_in_flight: Count,
  callers: z.array(CallerView),
  /** The endpoints of each in the order in which they would be asked now, then those left out. */
  networks: z.array(z.object({ name: z.string(), endpoints: z.array(RoutedEndpointView), traffic: TrafficView })),
  aliases: z.array(AliasView),
  /** Since when it is counted. */
  started_at: Time,
  /** Requests refused before it was known of which network they are. */
  unplaced: Count,
  /** The last three hours at most, minute by minute; null of a minute in which nothing ran. */
  course: z.object({
    from: Time,
    step_seconds: Seconds,
    requests: z.array(Count.nullable()),
    failed: z.array(Count.nullable()),
  }),
})
export type GatewayView = z.infer<typeof GatewayView>

/** Something that happened to Heartline itself. `until` null while it holds. */
export const OwnEventView = z.object({
  kind: z.enum(JOURNAL_KINDS),
  from: Time,
  until: Time.nullable(),
  text: z.string(),
})
export type OwnEventView = z.infer<typeof OwnEventView>

/** How Heartline itself is, so that a gap explains itself. Counts are since the start. */
export const OwnHealthView = z.object({
  generated_at: Time,
  impaired: z.boolean(),
  reasons: z.array(z.string()),
  version: z.string(),
  node_version: z.string(),
  started_at: Time,
  uptime_seconds: Seconds,
  resident_bytes: Count,
  networks: Count,
  endpoints: Count,
  configuration: z.object({
    /** Whether it was last loaded well. */
    ok: z.boolean(),
    loaded_at: Time.nullable(),
  }),
  polls: z.object({
    /** When somebody was last looked for whose turn it is. */
    last_round_at: Time.nullable(),
    /** How late they began. */
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
  /** The last three hours at most, minute by minute, the most of each; null of a minute in which nothing ran. */
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
  /** The newest first. */
  events: z.array(OwnEventView),
})
export type OwnHealthView = z.infer<typeof OwnHealthView>

/** RFC 9457. `errors` names every bad parameter. */
export const ProblemView = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ parameter: z.string(), detail: z.string() })).optional(),
})
export type ProblemView = z.infer<typeof ProblemView>

/** Who looks. `public`: without the token where there is one: names and states only, nothing that a node or a URL says. */
export type Audience = 'private' | 'public'
