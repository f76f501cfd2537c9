import { z } from 'zod'
import { STALE_REASONS } from '../core/routing/alias.ts'
import { Count, Seconds, SpreadView, Time } from './wire-common.ts'

/** A caller of the gateway. Its endpoint_id is nowhere. */
const CallerView = z
  .object({
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
  .meta({ id: 'Caller' })
export type CallerView = z.infer<typeof CallerView>

/** Requests since the start, each element of a batch by itself. */
export const RequestTallyView = z
  .object({
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
  .meta({ id: 'RequestTally' })
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
}).meta({ id: 'Traffic' })
export type TrafficView = z.infer<typeof TrafficView>

/** An endpoint as the gateway would use it now. */
const RoutedEndpointView = z
  .object({
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
  .meta({ id: 'RoutedEndpoint' })
export type RoutedEndpointView = z.infer<typeof RoutedEndpointView>

/** Whom the gateway would ask now. Without a gateway: whom one would ask, by what the monitor says alone. */
export const RoutingView = z
  .object({
    network: z.string(),
    enabled: z.boolean(),
    /** In the order in which they would be asked, then those left out, and why. */
    endpoints: z.array(RoutedEndpointView.pick({ name: true, tier: true, left_out: true, latency_seconds: true })),
  })
  .meta({ id: 'Routing' })
export type RoutingView = z.infer<typeof RoutingView>

/** A name below `/ext/` that admin.alias has made through the gateway. */
const AliasView = z
  .object({
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
  .meta({ id: 'Alias' })
export type AliasView = z.infer<typeof AliasView>

export const GatewayView = z
  .object({
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
  .meta({ id: 'Gateway' })
export type GatewayView = z.infer<typeof GatewayView>
