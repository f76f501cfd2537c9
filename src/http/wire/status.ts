import * as z from 'zod'
import { FAMILIES } from '../../core/network.ts'
import { CONDITION_CODES, STATES } from '../../core/verdict/condition.ts'
import { ClusterNoticeView } from './cluster.ts'
import { Count, Seconds, Shard, shape, Time } from './common.ts'

export const StateView = z.enum(STATES).meta({ id: 'State' })
export type StateView = z.infer<typeof StateView>

export const ConditionView = shape('Condition', {
  code: z.enum(CONDITION_CODES),
  message: z.string(),
  since: Time,
})
export type ConditionView = z.infer<typeof ConditionView>

/** The head that the endpoints of a network agree on. */
export const ReferenceHeadView = shape('ReferenceHead', {
  shard: Shard,
  height: Count,
  hash: z.string().nullable(),
  timestamp: Time.nullable(),
})
export type ReferenceHeadView = z.infer<typeof ReferenceHeadView>

/** The newest head seen on an endpoint. The lag is null when the head has not been read for two intervals. */
export const HeadView = shape('Head', {
  shard: Shard,
  height: Count,
  hash: z.string(),
  timestamp: Time,
  lag_blocks: Count.nullable(),
  lag_seconds: Seconds.nullable(),
})
export type HeadView = z.infer<typeof HeadView>

export const NodeCheckView = shape('NodeCheck', {
  name: z.string(),
  healthy: z.boolean(),
  contiguous_failures: Count,
  failing_since: Time.nullable(),
  checked_at: Time.nullable(),
  /** The node's message if the check fails, with our secrets redacted. */
  message: z.string().optional(),
  /** Present if the node or its provider does not offer what was asked; that is never held against it. */
  offered: z.literal(false).optional(),
})
export type NodeCheckView = z.infer<typeof NodeCheckView>

/** The consensus node behind an execution node. The state is null if it is not offered, not reached or not asked. */
const ConsensusView = shape('Consensus', {
  state: z.enum(['synced', 'syncing', 'optimistic', 'without-execution', 'down']).nullable(),
  slots_to_go: Count.nullable(),
  peers: Count.nullable(),
})

export const LivenessView = shape('Liveness', {
  healthy: z.boolean(),
  /** At the time of the poll. */
  heartbeat_lag_seconds: Seconds.nullable(),
  /** Maximum over its checks. */
  contiguous_failures: Count,
  checks: z.array(NodeCheckView),
  /** Answers to Heartline's questions, null where not told. Absent if the node runs checks of its own. */
  syncing: z.boolean().nullable().optional(),
  blocks_to_go: Count.nullable().optional(),
  peers: Count.nullable().optional(),
  consensus: ConsensusView.nullable().optional(),
})
export type LivenessView = z.infer<typeof LivenessView>

export const AvailabilityView = shape('Availability', {
  ratio: z.number().min(0).max(1).nullable(),
  coverage: z.number().min(0).max(1),
  fresh: z.number().min(0).max(1).nullable(),
})
export type AvailabilityView = z.infer<typeof AvailabilityView>

/** The software that a node says it runs. */
export const ClientView = shape('Client', { name: z.string(), version: z.string().nullable() })
export type ClientView = z.infer<typeof ClientView>

/** What one place sees. A place that does not count has not polled lately, or is impaired itself; its state is unknown. */
export const VantageView = shape('Vantage', {
  vantage: z.string(),
  state: StateView,
  since: Time,
  last_polled_at: Time.nullable(),
  latency_seconds: Seconds.nullable(),
  conditions: z.array(ConditionView),
  /** Absent for a daemon alone, whose heads are those of the endpoint. */
  heads: z.array(HeadView).optional(),
  counted: z.boolean(),
})
export type VantageView = z.infer<typeof VantageView>

export const EndpointView = shape('Endpoint', {
  name: z.string(),
  title: z.string(),
  state: StateView,
  since: Time,
  /** Id of the open incident. */
  incident: z.string().nullable(),
  flapping: z.boolean(),
  last_polled_at: Time.nullable(),
  conditions: z.array(ConditionView),
  heads: z.array(HeadView),
  liveness: LivenessView.nullable(),
  /** Present if the node tells. */
  client: ClientView.optional(),
  /** Who runs it, if configured. */
  provider: z.string().optional(),
  /** Present if configured. */
  labels: z.record(z.string(), z.string()).optional(),
  latency_seconds: Seconds.nullable(),
  /** Every place that polls it; one called `default` for a daemon alone. */
  vantages: z.array(VantageView),
  /** How many places stand behind its state. */
  confirmed_by: Count,
  availability: z.object({
    '24h': AvailabilityView,
    '7d': AvailabilityView,
    '30d': AvailabilityView,
    '90d': AvailabilityView,
  }),
})
export type EndpointView = z.infer<typeof EndpointView>

export const NetworkView = shape('Network', {
  name: z.string(),
  title: z.string(),
  family: z.enum(FAMILIES),
  /** Present if configured, for readers who see heights. */
  explorer_url: z.string().optional(),
  state: StateView,
  halted: z.boolean(),
  forked: z.boolean(),
  heads: z.array(ReferenceHeadView),
  endpoints: z.array(EndpointView),
})
export type NetworkView = z.infer<typeof NetworkView>

/** Whether Heartline itself is well. A history that cannot be written impairs it, but it goes on judging nodes. */
export const ObserverView = shape('Observer', {
  impaired: z.boolean(),
  judging: z.boolean(),
  reasons: z.array(z.string()),
})
export type ObserverView = z.infer<typeof ObserverView>

/** Planned maintenance, present or future. `endpoints` is null for the whole network. */
export const MaintenanceView = shape('Maintenance', {
  name: z.string(),
  network: z.string(),
  endpoints: z.array(z.string()).nullable(),
  from: Time,
  until: Time,
})
export type MaintenanceView = z.infer<typeof MaintenanceView>

/** A notice of the operator that is shown now or later, between `from` and `until`. */
const AnnouncementView = shape('Announcement', {
  text: z.string(),
  links: z.array(z.object({ text: z.string(), url: z.string() })),
  from: Time.nullable(),
  until: Time.nullable(),
})

export const StatusView = shape('Status', {
  generated_at: Time,
  state: StateView,
  observer: ObserverView,
  /** Absent for a daemon alone. */
  cluster: ClusterNoticeView.optional(),
  /** In chronological order. */
  maintenance: z.array(MaintenanceView),
  announcements: z.array(AnnouncementView),
  networks: z.array(NetworkView),
})
export type StatusView = z.infer<typeof StatusView>

/** The data of a `status` event: everything if `complete`, else only what changed. */
export const StatusEventView = StatusView.extend({
  complete: z.boolean(),
  maintenance: z.array(MaintenanceView).optional(),
  announcements: z.array(AnnouncementView).optional(),
}).meta({ id: 'StatusEvent' })
export type StatusEventView = z.infer<typeof StatusEventView>

/** `public`: a reader without the token, who sees names and states only, and nothing from a node or a URL. */
export type Audience = 'private' | 'public'
