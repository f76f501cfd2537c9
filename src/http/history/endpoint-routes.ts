import * as z from 'zod'
import { type Endpoint, endpointKey } from '../../core/endpoint.ts'
import { DAY_MS, HOUR_MS, time, type UnixMs } from '../../core/time.ts'
import type { BoardEntry } from '../../state/board.ts'
import type { Store } from '../../store/store.ts'
import { sendJson } from '../negotiation.ts'
import { DurationParameter, TimeParameter } from '../parameters.ts'
import { type ParameterErrors, sendBadQuery, sendUnknown } from '../problem.ts'
import { type App, EndpointPath, type GrafanaLink, json, operation, problem, type RouteDeps } from '../route.ts'
import { HistoryView, PollsView, RulesView } from '../wire/history.ts'
import { historyBucketView, pollView, rulesView } from './history-views.ts'

const DEFAULT_STEP_MS = 300_000
/** More than a chart can show; it bounds the cost of a request. */
const MOST_BUCKETS = 2000
/** More than a chart can show: half an hour of an endpoint that is polled every second. */
const MOST_POLLS = 2000

/** Routes for one endpoint: its history in buckets, its single polls and its thresholds. */
export function registerEndpoint(
  app: App,
  { board, store, clock, grafanaUrl }: Pick<RouteDeps, 'board' | 'store' | 'clock'> & GrafanaLink,
): void {
  const historyRoute = operation({
    visibility: 'private',
    summary: 'The history in buckets',
    params: EndpointPath,
    query: z.strictObject({
      from: TimeParameter.optional().describe('RFC 3339 or Unix seconds; default 24 hours before `to`'),
      to: TimeParameter.optional().describe('RFC 3339 or Unix seconds; default now'),
      step: DurationParameter.optional().describe(
        'Width of a bucket, like `30s`, `5m`, `1h`, `1d`, or seconds; default 5m, at most 2,000 buckets',
      ),
    }),
    answers: { 200: json(HistoryView, 'The buckets of the range'), 503: problem('The history cannot be read now') },
  })
  app.get('/api/v1/endpoints/:network/:endpoint/history', historyRoute, async (request, reply) => {
    const entry = board.entry(request.params.network, request.params.endpoint)
    if (entry === undefined) return sendUnknown(reply, 'endpoint')
    const { step = DEFAULT_STEP_MS, to = clock.now() } = request.query
    // By default, buckets begin at multiples of the step, so that two requests get the same ones.
    const from = request.query.from ?? Math.max(0, Math.floor((to - DAY_MS) / step) * step)
    const errors = [...orderErrors(from, to), ...stepErrors(Math.ceil((to - from) / step))]
    if (errors.length > 0) return sendBadQuery(reply, errors)
    const { endpoint } = entry.health
    return sendJson(request, reply, JSON.stringify(await historyOf(store, endpoint, from, to, step)))
  })

  const pollsRoute = operation({
    visibility: 'private',
    summary: 'Single polls, where they are still kept',
    params: EndpointPath,
    query: z.strictObject({
      from: TimeParameter.optional().describe('RFC 3339 or Unix seconds; default an hour before `to`'),
      to: TimeParameter.optional().describe('RFC 3339 or Unix seconds; default now; at most a day after `from`'),
    }),
    answers: {
      200: json(PollsView, 'At most 2,000 polls, oldest first; `next_from` is where the next page begins'),
      503: problem('The polls cannot be read now'),
    },
  })
  app.get('/api/v1/endpoints/:network/:endpoint/polls', pollsRoute, async (request, reply) => {
    const entry = board.entry(request.params.network, request.params.endpoint)
    if (entry === undefined) return sendUnknown(reply, 'endpoint')
    const { to = clock.now() } = request.query
    const { from = Math.max(0, to - HOUR_MS) } = request.query
    const isTooLong = to - from > DAY_MS
    const errors = isTooLong
      ? [{ parameter: 'from', detail: 'must be at most a day earlier than `to`' }]
      : orderErrors(from, to)
    if (errors.length > 0) return sendBadQuery(reply, errors)
    return sendJson(request, reply, JSON.stringify(await pollsOf(store, entry.health.endpoint, from, to)))
  })

  const rulesRoute = operation({
    visibility: 'private',
    summary: 'How an endpoint is polled, and its thresholds',
    params: EndpointPath,
    answers: { 200: json(RulesView, 'As configured') },
  })
  app.get('/api/v1/endpoints/:network/:endpoint/rules', rulesRoute, (request, reply) => {
    const network = board.network(request.params.network)
    const entry: BoardEntry | undefined = board.entry(request.params.network, request.params.endpoint)
    if (network === undefined || entry === undefined) return sendUnknown(reply, 'endpoint')
    return rulesView(network.standing.network, entry.health.endpoint, grafanaUrl)
  })
}

export async function historyOf(
  store: Pick<Store, 'history'>,
  endpoint: Pick<Endpoint, 'network' | 'name'>,
  from: UnixMs,
  to: UnixMs,
  stepMs: number,
): Promise<HistoryView> {
  const buckets = await store.history({ endpoint: endpointKey(endpoint), from, to, stepMs })
  return {
    network: endpoint.network,
    endpoint: endpoint.name,
    from: time(from),
    to: time(to),
    step_seconds: stepMs / 1000,
    buckets: buckets.map(historyBucketView),
  }
}

/** One page of polls, and where the next page begins. */
export async function pollsOf(
  store: Pick<Store, 'polls'>,
  endpoint: Pick<Endpoint, 'network' | 'name'>,
  from: UnixMs,
  to: UnixMs,
): Promise<PollsView> {
  const found = await store.polls({ endpoint: endpointKey(endpoint), from, to, limit: MOST_POLLS + 1 })
  const next = found[MOST_POLLS]
  // Two places may poll at the same time: both are on the next page.
  const page = next === undefined ? found : found.filter(({ at }) => at < next.at)
  return {
    network: endpoint.network,
    endpoint: endpoint.name,
    from: time(from),
    to: time(to),
    polls: page.map(pollView),
    next_from: next === undefined ? null : time(next.at),
  }
}

function orderErrors(from: UnixMs, to: UnixMs): ParameterErrors {
  return from >= to ? [{ parameter: 'from', detail: 'must be earlier than `to`' }] : []
}

function stepErrors(buckets: number): ParameterErrors {
  if (buckets <= MOST_BUCKETS) return []
  return [{ parameter: 'step', detail: `makes ${buckets} buckets of this range; at most ${MOST_BUCKETS} are allowed` }]
}
