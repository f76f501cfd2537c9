import { z } from 'zod'
import { CONDITION_CODES, type Condition, type ConditionCode, STATES, type State } from '../core/condition.ts'
import { type HeadStanding, type Health, stateAt } from '../core/health.ts'
import { headHolds, stateSince } from '../core/known.ts'
import type { Liveness, NodeCheck } from '../core/liveness.ts'
import { networkState } from '../core/network-state.ts'
import type { UnixMs } from '../core/time.ts'
import type { Availability, BoardEntry, BoardNetwork, ReferenceHead } from '../state/board.ts'
import type { HistoryBucket } from '../store/store.ts'

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

export const StatusView = z.object({
  generated_at: Time,
  state: StateView,
  observer: ObserverView,
  networks: z.array(NetworkView),
})
export type StatusView = z.infer<typeof StatusView>

/** What an event `status` carries: everything when `complete`, else only the networks and endpoints that changed. */
export const StatusEventView = StatusView.extend({ complete: z.boolean() })
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

/** A node may name any number of checks; this many are shown, failing ones first. */
const MAX_CHECKS = 128

export function endpointView({ health, availability }: BoardEntry, now: UnixMs, audience: Audience): EndpointView {
  const { endpoint } = health
  const state = stateAt(health, now)
  const open = audience === 'private'
  return {
    name: endpoint.name,
    title: endpoint.title,
    state,
    since: time(stateSince(health, now)),
    last_polled_at: timeOrNull(health.lastPolledAt),
    conditions: state === 'unknown' ? [] : health.conditions.map((condition) => conditionView(condition, audience)),
    heads: open ? health.heads.map((head) => headView(head, headHolds(head, health, now))) : [],
    liveness: open && health.liveness !== null ? livenessView(health.liveness, health) : null,
    latency_seconds: open ? seconds(health.latencyMs) : null,
    availability: {
      '24h': availabilityView(availability?.['24h']),
      '7d': availabilityView(availability?.['7d']),
      '30d': availabilityView(availability?.['30d']),
      '90d': availabilityView(availability?.['90d']),
    },
  }
}

/** A network without its endpoints. */
export function networkSummary(
  { standing, endpoints }: BoardNetwork,
  now: UnixMs,
  audience: Audience,
): Omit<NetworkView, 'endpoints'> {
  const { network, halted, forked } = standing
  return {
    name: network.name,
    title: network.title,
    family: network.family,
    state: networkState(endpoints.map(({ health }) => stateAt(health, now))),
    halted,
    forked,
    heads: audience === 'private' ? standing.heads.map(referenceView) : [],
  }
}

export function networkView(of: BoardNetwork, now: UnixMs, audience: Audience): NetworkView {
  const endpoints = of.endpoints.map((entry) => endpointView(entry, now, audience))
  return { ...networkSummary(of, now, audience), endpoints }
}

export function overallState(networks: readonly BoardNetwork[], now: UnixMs): State {
  return networkState(
    networks.map(({ endpoints }) => networkState(endpoints.map(({ health }) => stateAt(health, now)))),
  )
}

export function historyBucketView(bucket: HistoryBucket): HistoryBucketView {
  return {
    start: time(bucket.start),
    up_seconds: bucket.upMs / 1000,
    degraded_seconds: bucket.degradedMs / 1000,
    down_seconds: bucket.downMs / 1000,
    maintenance_seconds: bucket.maintenanceMs / 1000,
    unknown_seconds: bucket.unknownMs / 1000,
    polls: bucket.polls,
    latency_p50_seconds: seconds(bucket.latencyP50Ms),
    latency_p95_seconds: seconds(bucket.latencyP95Ms),
    latency_max_seconds: seconds(bucket.latencyMaxMs),
    height: bucket.height,
    lag_blocks_max: bucket.lagBlocksMax,
    heartbeat_lag_seconds_max: seconds(bucket.heartbeatLagMaxMs),
    contiguous_failures_max: bucket.contiguousFailuresMax,
  }
}

/** What a condition means, without the node's particulars: what the public is told. */
const GENERIC: Record<ConditionCode, string> = {
  unreachable: 'does not answer',
  'bad-answer': 'answers with something that cannot be used',
  'wrong-network': 'serves another network',
  unhealthy: 'says that it is unhealthy',
  lagging: 'is behind the other nodes',
  stalled: 'shows no new block while the network goes on',
  forked: 'is on another branch than the majority',
  'check-failing': 'has a failing check of its own',
  'heartbeat-stale': 'has not heard from its network for too long',
  slow: 'answers slowly',
  'rate-limited': 'limits our rate',
  'clock-skewed': 'has a wrong clock',
  'no-evidence': 'gives no evidence of its health',
}

function conditionView({ code, message, since }: Condition, audience: Audience): ConditionView {
  return { code, message: audience === 'private' ? message : GENERIC[code], since: time(since) }
}

function headView(head: HeadStanding, current: boolean): HeadView {
  return {
    shard: head.shard,
    height: head.height,
    hash: head.hash,
    timestamp: time(head.timestamp),
    lag_blocks: current ? head.lagBlocks : null,
    lag_seconds: current ? seconds(head.lagMs) : null,
  }
}

function referenceView({ shard, height, hash, timestamp }: ReferenceHead): ReferenceHeadView {
  return { shard, height, hash, timestamp: timeOrNull(timestamp) }
}

function livenessView({ healthy, heartbeatAt, checks }: Liveness, { lastPolledAt }: Health): LivenessView {
  const shown =
    checks.length > MAX_CHECKS
      ? checks.toSorted((a, b) => Number(a.healthy) - Number(b.healthy)).slice(0, MAX_CHECKS)
      : checks
  return {
    healthy,
    heartbeat_lag_seconds:
      heartbeatAt === null || lastPolledAt === null ? null : seconds(Math.max(0, lastPolledAt - heartbeatAt)),
    contiguous_failures: checks.reduce((most, check) => Math.max(most, check.contiguousFailures), 0),
    checks: shown.map(nodeCheckView),
  }
}

function nodeCheckView(check: NodeCheck): NodeCheckView {
  return {
    name: check.name,
    healthy: check.healthy,
    contiguous_failures: check.contiguousFailures,
    failing_since: timeOrNull(check.failingSince),
    checked_at: timeOrNull(check.checkedAt),
  }
}

function availabilityView(of: Availability | undefined): AvailabilityView {
  if (of === undefined) return { ratio: null, coverage: 0, fresh: null }
  return { ratio: floored(of.ratio), coverage: flooredRatio(of.coverage), fresh: floored(of.fresh) }
}

function floored(ratio: number | null): number | null {
  return ratio === null ? null : flooredRatio(ratio)
}

/** Rounded down, so that nothing short of everything is ever 1. */
function flooredRatio(ratio: number): number {
  return Math.floor(ratio * 1_000_000) / 1_000_000
}

/** To the microsecond: a duration is not known any better. */
function seconds(ms: number): number
function seconds(ms: number | null): number | null
function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1_000_000
}

const LATEST_TIME = Date.UTC(9999, 11, 31)
const DAY_MS = 86_400_000
let day = { at: Number.NaN, prefix: '' }

/**
 * Always a valid RFC 3339 time, whatever a node claims. A status holds ten times an endpoint, nearly all of today, and
 * `toISOString` takes four times as long.
 */
export function time(ms: UnixMs): string {
  const at = Math.min(Math.max(Math.trunc(ms), 0), LATEST_TIME)
  const within = at % DAY_MS
  if (at - within !== day.at) day = { at: at - within, prefix: new Date(at).toISOString().slice(0, 11) }
  const seconds = Math.floor(within / 1000)
  const minutes = Math.floor(seconds / 60)
  const clock = `${TWO[Math.floor(minutes / 60)]}:${TWO[minutes % 60]}:${TWO[seconds % 60]}`
  return `${day.prefix}${clock}.${String(within % 1000).padStart(3, '0')}Z`
}

const TWO = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'))

function timeOrNull(ms: UnixMs | null): string | null {
  return ms === null ? null : time(ms)
}
