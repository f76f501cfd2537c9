import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import * as z from 'zod'
import { type Clock, within } from '../clock.ts'
import type { ClusterReport } from '../core/cluster/report.ts'
import type { Inspect } from '../core/verdict/single-poll.ts'
import type { GatewayReport } from '../gateway/service.ts'
import type { Log } from '../log.ts'
import type { MinuteStats } from '../metrics/daemon-history.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Notifier } from '../notify/notifier.ts'
import type { Silences } from '../notify/silences.ts'
import type { Board } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { Journal } from '../state/observer-journal.ts'
import type { Sightings } from '../state/sightings.ts'
import type { Store } from '../store/store.ts'
import type { Visibility } from './access.ts'
import { ProblemView } from './wire/common.ts'
import type { ObserverView } from './wire/status.ts'

/**
 * Declares a route: who may use it, its parameters and its responses. Fastify validates the parameters, and
 * `/openapi.json` describes everything. Responses are not validated, because that would cost more than writing them.
 */
export function operation<Params = undefined, Query = undefined, Headers = undefined, Body = undefined>({
  visibility,
  summary,
  params,
  query,
  headers,
  body,
  answers,
}: Operation<Params, Query, Headers, Body>) {
  const response: Record<number, unknown> = {
    ...(query === undefined ? {} : { 400: problem('A parameter is wrong; `errors` names each') }),
    ...(visibility === 'always' ? {} : { 401: problem(REFUSALS[visibility]) }),
    ...(params === undefined ? {} : { 404: problem('Not in the configuration') }),
    ...(body === undefined
      ? {}
      : {
          403: problem('Not from this page, or not from this machine while there is no token'),
          413: problem('The body is too large'),
          415: problem('The body is not declared as JSON'),
        }),
    ...answers,
  }
  const schema = {
    summary,
    response,
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
  } as {
    summary: string
    response: typeof response
    params: Params
    querystring: Query
    headers: Headers
    body: Body
  }
  return { config: { visibility }, schema }
}

const REFUSALS = {
  private: 'The token is missing or wrong',
  public: 'The token is wrong, or missing while `server.public` is false',
}

interface Operation<Params, Query, Headers, Body> {
  readonly visibility: Visibility
  readonly summary: string
  readonly params?: Params
  /** Without it, any query is accepted and ignored. */
  readonly query?: Query
  readonly headers?: Headers
  /** JSON. */
  readonly body?: Body
  /** By HTTP status; 400, 401, 403, 404, 413 and 415 are added where the other fields imply them. */
  readonly answers: Readonly<Record<number, unknown>>
}

export const NetworkPath = z.object({ network: z.string() })
export const EndpointPath = z.object({ network: z.string(), endpoint: z.string() })
export const NoQuery = z.strictObject({})

export function json(shape: z.ZodType, description: string) {
  return { description, content: { 'application/json': { schema: shape } } }
}

export function text(description: string, ...types: readonly string[]) {
  const content = (types.length === 0 ? ['text/plain'] : types).map((type) => [type, { schema: z.string() }] as const)
  return { description, content: Object.fromEntries(content) }
}

export function problem(description: string) {
  return { description, content: { 'application/problem+json': { schema: ProblemView } } }
}

export const NOT_MODIFIED = z.undefined().describe('The answer that `If-None-Match` names is still current')

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

export interface RouteDeps {
  readonly board: Board
  readonly incidents: IncidentLog
  /** Its `incidents` reject like `certain` ones. */
  readonly store: Pick<
    Store,
    'history' | 'polls' | 'incidents' | 'incident' | 'notifications' | 'notes' | 'saveNote' | 'flush'
  >
  readonly metrics: Pick<Metrics, 'exposition' | 'httpRequest' | 'gatewayCounts' | 'daemonStatus'>
  readonly clock: Clock
  readonly log: Log
  readonly version: string
  /** Whether the store is open and the first round of polls is done. */
  readonly ready: () => boolean
  readonly stopping: () => boolean
  readonly observer: () => ObserverView
  readonly journal: Pick<Journal, 'entries'>
  readonly recorder: Pick<MinuteStats, 'minutes' | 'residentBytes' | 'since'>
  readonly sightings: Sightings
  /** Polls one endpoint outside the schedule. */
  readonly inspect: Inspect
  /** `null` if the gateway is not enabled. */
  readonly gateway: () => GatewayReport | null
  readonly notifier: Pick<Notifier, 'status'>
  /** `null` for a daemon alone. */
  readonly cluster: () => ClusterReport | null
  readonly silences: Pick<Silences, 'active' | 'add' | 'end' | 'isStored' | 'during'>
}

export interface GrafanaLink {
  /** `null` without one. */
  readonly grafanaUrl: string | null
}

/** A disk that hangs must not keep a request open. */
const WITHIN_MS = 5000

/** Resolves when what was queued is on disk, or cannot be written at the moment. */
export function written(store: Pick<Store, 'flush'>, clock: Pick<Clock, 'sleep'>): Promise<void> {
  return within(clock, WITHIN_MS, store.flush())
}
