import * as z from 'zod'
import { STALE_REASONS } from '../../core/routing/alias.ts'
import { Count, Seconds, SpreadView, shape, Time } from './common.ts'

/** A caller of the gateway, without its endpoint_id, which is secret. */
const CallerView = shape('Caller', {
  name: z.string(),
  networks: z.array(z.string()),
  admin: z.boolean(),
  /** Methods beyond the default list. */
  methods: z.array(z.string()),
  rate_limit: z.object({ requests: Count, per_seconds: Seconds }).nullable(),
  /** Since the start; each element of a batch counts. */
  requests: Count,
  /** The part of `requests` that the gateway itself rejected. */
  refused: Count,
})

/** Requests since the start; each element of a batch counts. */
export const RequestTallyView = shape('RequestTally', {
  requests: Count,
  /** Answered by a node, including with its own errors. */
  answered: Count,
  /** The part of `answered` that are errors of a node. */
  node_errors: Count,
  /** No usable endpoint, every attempt failed, deadline, or overloaded. */
  failed: Count,
  /** Invalid or not allowed. */
  refused: Count,
  /** The caller disconnected. */
  cancelled: Count,
})
export type RequestTallyView = z.infer<typeof RequestTallyView>

export const TrafficView = RequestTallyView.extend({
  duration: SpreadView,
  /** The part of `duration` not spent waiting for nodes. */
  overhead: SpreadView,
  operations: z.array(RequestTallyView.extend({ name: z.string(), duration: SpreadView, overhead: SpreadView })),
  /** Retries on another endpoint, because the first failed, did not have the data, or was behind. */
  retries: z.object({ failed: Count, absent: Count, behind: Count }),
  cache: z.object({ hits: Count, misses: Count }),
  /** Answered by an identical request already in flight. */
  coalesced: Count,
  /** Answered by an unhealthy endpoint, because none was healthy. */
  least_bad: Count,
  rejections: z.array(z.object({ reason: z.string(), count: Count })),
}).meta({ id: 'Traffic' })
export type TrafficView = z.infer<typeof TrafficView>

const RoutedEndpointView = shape('RoutedEndpoint', {
  name: z.string(),
  tier: z.enum(['primary', 'fallback']),
  /** Why it is excluded: a condition, a state, `unverified`, `breaker-open` or `resting`; null if it is not. */
  left_out: z.string().nullable(),
  breaker: z.enum(['closed', 'open', 'half-open']),
  /** Moving average over polls and answers. */
  latency_seconds: Seconds.nullable(),
  in_flight: Count,
  /** Since the start. */
  attempts: Count,
  answered: Count,
})

/** The current routing order; without a gateway, the order it would use. */
export const RoutingView = shape('Routing', {
  network: z.string(),
  enabled: z.boolean(),
  /** In routing order, then the excluded ones. */
  endpoints: z.array(RoutedEndpointView.pick({ name: true, tier: true, left_out: true, latency_seconds: true })),
})
export type RoutingView = z.infer<typeof RoutingView>

/** A path below `/ext/` created by admin.alias through the gateway. */
const AliasView = shape('Alias', {
  network: z.string(),
  alias: z.string(),
  target: z.string(),
  /** The endpoint whose node has the alias. */
  endpoint: z.string(),
  node_id: z.string().nullable(),
  caller: z.string(),
  created_at: Time,
  /** Null while it is valid. */
  stale: z.object({ since: Time, reason: z.enum(STALE_REASONS) }).nullable(),
})

export const GatewayView = shape('Gateway', {
  enabled: z.boolean(),
  /** Where its dashboards are; present if configured. */
  grafana_url: z.string().optional(),
  requests_in_flight: Count,
  callers: z.array(CallerView),
  /** Endpoints are in routing order, then the excluded ones. */
  networks: z.array(z.object({ name: z.string(), endpoints: z.array(RoutedEndpointView), traffic: TrafficView })),
  aliases: z.array(AliasView),
  /** Start of all counts. */
  started_at: Time,
  /** Requests rejected before their network was known. */
  unplaced: Count,
  /** At most the last three hours, by minute; null for a minute in which Heartline was blocked. */
  course: z.object({
    from: Time,
    step_seconds: Seconds,
    requests: z.array(Count.nullable()),
    failed: z.array(Count.nullable()),
  }),
})
export type GatewayView = z.infer<typeof GatewayView>
