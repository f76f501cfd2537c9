import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import { endpointKey } from '../core/endpoint.ts'
import type { Log } from '../log.ts'
import type { Board } from '../state/board.ts'
import type { Store } from '../store/store.ts'
import { sendProblem } from './problem.ts'
import { type QueryErrors, readDuration, readQuery, readTime } from './query.ts'
import { time } from './rfc3339.ts'
import { sendBadQuery, sendUnknown } from './status-routes.ts'
import { historyBucketView } from './status-views.ts'
import type { HistoryView } from './wire-history.ts'

export interface HistoryRouteDeps {
  readonly board: Board
  readonly store: Pick<Store, 'history'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
}

const DEFAULT_WINDOW_MS = 86_400_000
const DEFAULT_STEP_MS = 300_000
/** More than a chart can show; it bounds what one request may cost. */
const MOST_BUCKETS = 2000

interface HistoryQueryString {
  readonly from: number
  readonly to: number
  readonly step: number
}

/** `GET …/history`: what was, in buckets. */
export function registerHistory(app: FastifyInstance, { board, store, clock, log }: HistoryRouteDeps): void {
  app.get<{ Params: { network: string; endpoint: string } }>(
    '/api/v1/endpoints/:network/:endpoint/history',
    { config: { visibility: 'private' } },
    async (request, reply) => {
      const entry = board.entry(request.params.network, request.params.endpoint)
      if (entry === undefined) return sendUnknown(reply, 'endpoint')
      const read = readQuery<HistoryQueryString>(request.query, { from: readTime, to: readTime, step: readDuration })
      if (!read.ok) return sendBadQuery(reply, read.errors)
      const { step = DEFAULT_STEP_MS, to = clock.now() } = read.values
      // Buckets that nobody asked for exactly begin where the clock strikes, so that two requests have the same ones.
      const from = read.values.from ?? Math.floor((to - DEFAULT_WINDOW_MS) / step) * step
      const errors = rangeErrors({ from, to, step })
      if (errors.length > 0) return sendBadQuery(reply, errors)

      const { endpoint } = entry.health
      try {
        const buckets = await store.history({ endpoint: endpointKey(endpoint), from, to, stepMs: step })
        return {
          network: endpoint.network,
          endpoint: endpoint.name,
          from: time(from),
          to: time(to),
          step_seconds: step / 1000,
          buckets: buckets.map(historyBucketView),
        } satisfies HistoryView
      } catch (error) {
        log.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'history could not be read')
        return sendProblem(reply, { status: 503, detail: 'The history cannot be read now.' })
      }
    },
  )
}

function rangeErrors({ from, to, step }: HistoryQueryString): QueryErrors {
  if (from >= to) return [{ parameter: 'from', detail: 'must be earlier than `to`' }]
  const buckets = Math.ceil((to - from) / step)
  if (buckets <= MOST_BUCKETS) return []
  return [
    { parameter: 'step', detail: `would make ${buckets} buckets of this range; at most ${MOST_BUCKETS} are told` },
  ]
}
