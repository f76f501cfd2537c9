import { z } from 'zod'
import { CONDITION_CODES, STATES } from '../core/verdict/condition.ts'
import { Count, Seconds, Shard, Time } from './wire-common.ts'

export const StateView = z.enum(STATES).meta({ id: 'State' })
export type StateView = z.infer<typeof StateView>

export const ConditionView = z
  .object({ code: z.enum(CONDITION_CODES), message: z.string(), since: Time })
  .meta({ id: 'Condition' })
export type ConditionView = z.infer<typeof ConditionView>

/** The head that the endpoints of a network agree on. */
export const ReferenceHeadView = z
  .object({
    shard: Shard,
    height: Count,
    hash: z.string().nullable(),
    timestamp: Time.nullable(),
  })
  .meta({ id: 'ReferenceHead' })
export type ReferenceHeadView = z.infer<typeof ReferenceHeadView>

/** The newest head seen on an endpoint. The lag is null when the head has not been read for two intervals. */
export const HeadView = z
  .object({
    shard: Shard,
    height: Count,
    hash: z.string(),
    timestamp: Time,
    lag_blocks: Count.nullable(),
    lag_seconds: Seconds.nullable(),
  })
  .meta({ id: 'Head' })
export type HeadView = z.infer<typeof HeadView>

/** One check that a node runs on itself. */
export const NodeCheckView = z
  .object({
    name: z.string(),
    healthy: z.boolean(),
    contiguous_failures: Count,
    failing_since: Time.nullable(),
    checked_at: Time.nullable(),
    /** The node's message where the check fails, with our secrets redacted. */
    message: z.string().optional(),
  })
  .meta({ id: 'NodeCheck' })
export type NodeCheckView = z.infer<typeof NodeCheckView>

export const LivenessView = z
  .object({
    healthy: z.boolean(),
    /** At the time of the poll. */
    heartbeat_lag_seconds: Seconds.nullable(),
    /** Maximum over its checks. */
    contiguous_failures: Count,
    checks: z.array(NodeCheckView),
  })
  .meta({ id: 'Liveness' })
export type LivenessView = z.infer<typeof LivenessView>

export const AvailabilityView = z
  .object({
    ratio: z.number().min(0).max(1).nullable(),
    coverage: z.number().min(0).max(1),
    fresh: z.number().min(0).max(1).nullable(),
  })
  .meta({ id: 'Availability' })
export type AvailabilityView = z.infer<typeof AvailabilityView>

export const EndpointView = z
  .object({
    name: z.string(),
    title: z.string(),
    state: StateView,
    since: Time,
    /** Id of the open incident. */
    incident: z.string().nullable(),
    /** Whether that incident is flapping. */
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
  .meta({ id: 'Endpoint' })
export type EndpointView = z.infer<typeof EndpointView>

export const NetworkView = z
  .object({
    name: z.string(),
    title: z.string(),
    family: z.enum(['ethereum', 'avalanche', 'multiversx']),
    state: StateView,
    halted: z.boolean(),
    forked: z.boolean(),
    heads: z.array(ReferenceHeadView),
    endpoints: z.array(EndpointView),
  })
  .meta({ id: 'Network' })
export type NetworkView = z.infer<typeof NetworkView>

/** Whether Heartline itself can judge. */
export const ObserverView = z.object({ impaired: z.boolean(), reasons: z.array(z.string()) }).meta({ id: 'Observer' })
export type ObserverView = z.infer<typeof ObserverView>

/** Planned maintenance, present or future. `endpoints` is null for the whole network. */
export const MaintenanceView = z
  .object({
    name: z.string(),
    network: z.string(),
    endpoints: z.array(z.string()).nullable(),
    from: Time,
    until: Time,
  })
  .meta({ id: 'Maintenance' })
export type MaintenanceView = z.infer<typeof MaintenanceView>

export const StatusView = z
  .object({
    generated_at: Time,
    state: StateView,
    observer: ObserverView,
    /** By time. */
    maintenance: z.array(MaintenanceView),
    networks: z.array(NetworkView),
  })
  .meta({ id: 'Status' })
export type StatusView = z.infer<typeof StatusView>

/**
 * The data of a `status` event: everything when `complete`, else only the networks and endpoints that changed, and the
 * maintenance if the plan changed.
 */
export const StatusEventView = StatusView.extend({
  complete: z.boolean(),
  maintenance: z.array(MaintenanceView).optional(),
}).meta({ id: 'StatusEvent' })
export type StatusEventView = z.infer<typeof StatusEventView>

/** `public`: a reader without the token, who sees names and states only, and nothing from a node or a URL. */
export type Audience = 'private' | 'public'
