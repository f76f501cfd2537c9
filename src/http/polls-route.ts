import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import { type Endpoint, endpointKey } from '../core/endpoint.ts'
import type { UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import type { Board } from '../state/board.ts'
import type { Store } from '../store/store.ts'
import { sendCompressed } from './compressed.ts'
import { sendProblem } from './problem.ts'
import { type QueryErrors, readQuery, readTime } from './query.ts'
import { time } from './rfc3339.ts'
import { sendBadQuery, sendUnknown } from './status-routes.ts'
import { pollView } from './status-views.ts'
import type { PollsView } from './wire-history.ts'

export interface PollsRouteDeps {
  readonly board: Board
  readonly store: Pick<Store, 'polls'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
}

const DEFAULT_WINDOW_MS = 3_600_000
/** What is read for one answer is bounded, however few polls there are. */
const LONGEST_MS = 86_400_000
/** More than a chart can show: half an hour of an endpoint that is polled every second. */
const MOST_POLLS = 2000

/** `GET …/polls`: what was, poll by poll. */
export function registerPolls(app: FastifyInstance, { board, store, clock, log }: PollsRouteDeps): void {
  app.get<{ Params: { network: string; endpoint: string } }>(
    '/api/v1/endpoints/:network/:endpoint/polls',
    { config: { visibility: 'private' } },
    async (request, reply) => {
      const entry = board.entry(request.params.network, request.params.endpoint)
      if (entry === undefined) return sendUnknown(reply, 'endpoint')
      const read = readQuery<{ from: number; to: number }>(request.query, { from: readTime, to: readTime })
      if (!read.ok) return sendBadQuery(reply, read.errors)
      const { to = clock.now() } = read.values
      const { from = to - DEFAULT_WINDOW_MS } = read.values
      const errors = rangeErrors(from, to)
      if (errors.length > 0) return sendBadQuery(reply, errors)
      try {
        const view = await pollsOf(store, entry.health.endpoint, from, to)
        return sendCompressed(request, reply.type('application/json; charset=utf-8'), JSON.stringify(view))
      } catch (error) {
        log.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'polls could not be read')
        return sendProblem(reply, { status: 503, detail: 'The polls cannot be read now.' })
      }
    },
  )
}

/** As many as one answer holds, and where the others begin. */
export async function pollsOf(
  store: Pick<Store, 'polls'>,
  endpoint: Pick<Endpoint, 'network' | 'name'>,
  from: UnixMs,
  to: UnixMs,
): Promise<PollsView> {
  const found = await store.polls({ endpoint: endpointKey(endpoint), from, to, limit: MOST_POLLS + 1 })
  const next = found[MOST_POLLS]
  return {
    network: endpoint.network,
    endpoint: endpoint.name,
    from: time(from),
    to: time(to),
    polls: found.slice(0, MOST_POLLS).map(pollView),
    next_from: next === undefined ? null : time(next.at),
  }
}

function rangeErrors(from: UnixMs, to: UnixMs): QueryErrors {
  if (from >= to) return [{ parameter: 'from', detail: 'must be earlier than `to`' }]
  if (to - from > LONGEST_MS) return [{ parameter: 'from', detail: 'must be at most a day earlier than `to`' }]
  return []
}
