import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Inspect, Inspection } from '../core/verdict/inspection.ts'
import { renderProbe } from '../metrics/probe-series.ts'
import { CONTENT_TYPES, type Format } from '../metrics/registry.ts'
import type { Board, BoardEntry } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { metricsFormat } from './accept.ts'
import { probeReport } from './probe-report.ts'
import { sendProblem } from './problem.ts'
import { type ReadParameter, readOneOf, readQuery } from './query.ts'
import { sendBadQuery, sendUnknown } from './status-routes.ts'

export interface ProbeRouteDeps {
  readonly board: Pick<Board, 'entry'>
  readonly incidents: Pick<IncidentLog, 'of'>
  readonly clock: Pick<Clock, 'now'>
  readonly inspect: Inspect
}

/** Prometheus waits ten seconds unless it is told otherwise. */
const USUAL_TIMEOUT_S = 10
/** For the answer's way back: an answer that comes too late says less than one that says that the node is late. */
const WAY_BACK_MS = 500
const SHORTEST_MS = 100
/** Longer than any scrape that makes sense; the request itself may not take for ever. */
const LONGEST_MS = 60_000

interface ProbeQuery {
  readonly target: { readonly network: string; readonly endpoint: string }
  readonly debug: 'true' | 'false'
}

const readTarget: ReadParameter<ProbeQuery['target']> = (text) => {
  const [, network, endpoint] = /^([a-z0-9-]{1,64})\/([a-z0-9-]{1,64})$/.exec(text) ?? []
  return network === undefined || endpoint === undefined
    ? { wrong: 'must be NETWORK/ENDPOINT, by their names in the configuration' }
    : { value: { network, endpoint } }
}

/** `GET /probe?target=NETWORK/ENDPOINT`: polls it now, beside the schedule, and answers with its metrics alone. */
export function registerProbe(app: FastifyInstance, { board, incidents, clock, inspect }: ProbeRouteDeps): void {
  app.get('/probe', { config: { visibility: 'private' } }, async (request, reply) => {
    const read = readQuery<ProbeQuery>(request.query, { target: readTarget, debug: readOneOf('true', 'false') })
    if (!read.ok) return sendBadQuery(reply, read.errors)
    const { target, debug } = read.values
    if (target === undefined) return sendBadQuery(reply, [{ parameter: 'target', detail: 'is missing' }])
    const entry = board.entry(target.network, target.endpoint)
    if (entry === undefined) return sendUnknown(reply, 'endpoint')

    const withinMs = timeoutOf(request.headers['x-prometheus-scrape-timeout-seconds'])
    const inspected = await inspect(entry.health.endpoint, withinMs)
    // A browser or a proxy that kept it would answer for the node.
    reply.header('cache-control', 'no-store')
    switch (inspected.kind) {
      case 'polled': {
        const { inspection } = inspected
        const current = board.entry(target.network, target.endpoint) ?? entry
        const rendered = (format: Format) => renderProbe(current, inspection, incidents, format, clock.now())
        return debug === 'true'
          ? sendReport(reply, current, inspection, withinMs, rendered('text'))
          : sendMetrics(reply, metricsFormat(request.headers.accept), rendered)
      }
      case 'asked-to-wait':
        return sendProblem(reply.header('retry-after', Math.ceil(inspected.forMs / 1000)), {
          status: 503,
          detail: 'The node limits our rate and wants to be left alone: it was not asked.',
        })
      case 'no-place':
        return sendProblem(reply, {
          status: 503,
          detail: 'As many polls are under way as may be, and none ended in time: the node was not asked.',
        })
      case 'unknown-endpoint':
        return sendUnknown(reply, 'endpoint')
    }
  })
}

function sendMetrics(reply: FastifyReply, format: Format, rendered: (format: Format) => string): FastifyReply {
  return reply.type(CONTENT_TYPES[format]).header('vary', 'Accept').send(rendered(format))
}

function sendReport(
  reply: FastifyReply,
  entry: BoardEntry,
  inspection: Inspection,
  withinMs: number,
  metrics: string,
): FastifyReply {
  return reply.type('text/plain; charset=utf-8').send(probeReport(entry, inspection, withinMs, metrics))
}

/** What the scraper says that it waits, less the way back. */
function timeoutOf(header: string | string[] | undefined): number {
  const given = Number(header ?? USUAL_TIMEOUT_S)
  const seconds = Number.isFinite(given) && given > 0 ? given : USUAL_TIMEOUT_S
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, seconds * 1000 - WAY_BACK_MS))
}
