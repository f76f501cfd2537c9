import type { FastifyReply } from 'fastify'
import * as z from 'zod'
import { describeFailure } from '../core/failure.ts'
import { checkOutcome, type NodeCheck, type NodeReport } from '../core/poll-result.ts'
import { time, type UnixMs } from '../core/time.ts'
import { stateAt } from '../core/verdict/health.ts'
import type { Inspected, Inspection, PollStep } from '../core/verdict/single-poll.ts'
import { CONTENT_TYPES, type Format } from '../metrics/exposition-format.ts'
import { renderProbe } from '../metrics/probe-series.ts'
import type { BoardEntry } from '../state/board.ts'
import { isSameOrigin } from './access.ts'
import { metricsFormat } from './negotiation.ts'
import { oneOf, parameter } from './parameters.ts'
import { sendProblem, sendUnknown } from './problem.ts'
import { type App, operation, problem, type RouteDeps, text } from './route.ts'

/** Prometheus's default scrape timeout. */
const DEFAULT_TIMEOUT_S = 10
/** The poll ends this much before the scraper's timeout, because a later response would be lost. */
const MARGIN_MS = 500
const SHORTEST_MS = 100
/** Longer than any sensible scrape; it bounds the request. */
const LONGEST_MS = 60_000

const Target = parameter('NETWORK/ENDPOINT, by their names in the configuration', (given) => {
  const [, network, endpoint] = /^([a-z0-9-]{1,64})\/([a-z0-9-]{1,64})$/.exec(given) ?? []
  return network === undefined || endpoint === undefined ? null : { network, endpoint }
})

/** `GET /probe?target=NETWORK/ENDPOINT`: polls an endpoint now, and returns only its metrics. */
export function registerProbe(
  app: App,
  { board, incidents, clock, inspect }: Pick<RouteDeps, 'board' | 'incidents' | 'clock' | 'inspect'>,
): void {
  const route = operation({
    visibility: 'private',
    summary:
      'Polls one endpoint now, outside of the schedule, within `X-Prometheus-Scrape-Timeout-Seconds` (default 10) less half a second',
    query: z.strictObject({
      target: Target.describe('NETWORK/ENDPOINT, by their names in the configuration'),
      debug: oneOf('true', 'false').optional().describe('Show every step and the redacted answers, for people'),
    }),
    answers: {
      200: text('The metrics of that endpoint as this poll found it', 'text/plain', 'application/openmetrics-text'),
      403: problem('The request comes from a page of another site'),
      404: problem('Not in the configuration'),
      503: problem('Not polled: too many polls are running, or the node is rate-limiting us'),
    },
  })
  app.get('/probe', route, async (request, reply) => {
    // A page of another site must not make a visitor's browser poll nodes, which may cost money.
    if (request.headers['sec-fetch-site'] !== 'none' && !isSameOrigin(request)) {
      return sendProblem(reply, { status: 403, detail: 'Probes cannot be started by pages of other sites.' })
    }
    const { target, debug } = request.query
    const entry = board.entry(target.network, target.endpoint)
    if (entry === undefined) return sendUnknown(reply, 'endpoint')

    const withinMs = timeoutOf(request.headers['x-prometheus-scrape-timeout-seconds'])
    const inspected = await inspect(entry.health.endpoint, withinMs)
    // A cached response would hide the node's current state.
    reply.header('cache-control', 'no-store')
    if (inspected.kind !== 'polled') return sendNotPolled(reply, inspected)
    const { inspection } = inspected
    const current = board.entry(target.network, target.endpoint) ?? entry
    const now = clock.now()
    const render = (format: Format) => renderProbe(current, inspection, incidents, format, now)
    if (debug === 'true') {
      return reply
        .type('text/plain; charset=utf-8')
        .send(probeReport(current, inspection, { withinMs, now, metrics: render('text') }))
    }
    const format = metricsFormat(request)
    return reply.type(CONTENT_TYPES[format]).header('vary', 'Accept').send(render(format))
  })
}

function sendNotPolled(reply: FastifyReply, inspected: Exclude<Inspected, { kind: 'polled' }>): FastifyReply {
  switch (inspected.kind) {
    case 'asked-to-wait':
      return sendProblem(reply.header('retry-after', Math.ceil(inspected.forMs / 1000)), {
        status: 503,
        detail: 'The node is rate-limiting us: it was not polled.',
      })
    case 'no-place':
      return sendProblem(reply, {
        status: 503,
        detail: 'The maximum number of polls is running, and none ended in time: the node was not polled.',
      })
    case 'unknown-endpoint':
      return sendUnknown(reply, 'endpoint')
  }
}

function timeoutOf(header: string | string[] | undefined): number {
  const given = Number(header ?? DEFAULT_TIMEOUT_S)
  const seconds = Number.isFinite(given) && given > 0 ? given : DEFAULT_TIMEOUT_S
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, seconds * 1000 - MARGIN_MS))
}

/** The response to `debug=true`: every step of the poll, its findings and the metrics. */
function probeReport(
  { key, health: known }: BoardEntry,
  { result, health, steps, startedAt, tookMs, waitedMs }: Inspection,
  { withinMs, now, metrics }: { readonly withinMs: number; readonly now: UnixMs; readonly metrics: string },
): string {
  const checks = health.endpoint.checks.map((check) => {
    const outcome = checkOutcome(result, check)
    if (outcome === null) return `${check}: not checked`
    const found = outcome.ok ? 'ok' : `failed, ${outcome.failure.kind}: ${describeFailure(outcome.failure)}`
    return `${check}: ${found} (${milliseconds(outcome.durationMs)})`
  })
  const heads = health.heads.map(
    ({ shard, height, hash, timestamp, lagBlocks }) =>
      `${shard === null ? 'head' : `head of shard ${shard}`}: height ${height}, hash ${printable(hash)}, block time ${time(timestamp)}, ${lagBlocks ?? 0} behind`,
  )
  const told = health.liveness?.checks.map(checkLine) ?? []
  const conditions = health.conditions.map(({ code, message }) => `${code}: ${printable(message)}`)
  return [
    `Probe of ${key}, started ${time(startedAt)}, timeout ${milliseconds(withinMs)}`,
    '',
    'Steps',
    `  ${milliseconds(0)}  waited ${milliseconds(waitedMs)} for a free slot`,
    ...steps.flatMap(stepLines),
    `  ${milliseconds(tookMs - waitedMs)}  done`,
    '',
    'Found by this poll alone',
    ...[...checks, ...told, ...reportLines(health.liveness?.report), ...heads, ...conditions].map(
      (line) => `  ${line}`,
    ),
    `  state: ${health.verdict ?? 'unknown'} (by scheduled polls: ${stateAt(known, now)})`,
    '',
    'Metrics of this probe',
    metrics,
  ].join('\n')
}

function checkLine({ name, healthy, offered, error }: NodeCheck): string {
  const found = offered === false ? 'not offered' : error === null ? (healthy ? 'ok' : 'failing') : printable(error)
  return `${printable(name)}: ${found}`
}

function reportLines(report: NodeReport | undefined): string[] {
  if (report === undefined) return []
  const { sync, peers, client, consensus } = report
  return [
    ...(sync === null
      ? []
      : [`syncing: ${sync.isSyncing ? `yes, ${sync.remainingBlocks ?? 'unknown'} blocks to go` : 'no'}`]),
    ...(peers === null ? [] : [`peers: ${peers}`]),
    ...(client === null ? [] : [`client: ${printable(client.name)} ${printable(client.version ?? '')}`]),
    ...(consensus === null
      ? []
      : [`consensus node: ${consensus.state ?? 'unknown'}, peers: ${consensus.peers ?? 'unknown'}`]),
  ]
}

function stepLines({ afterMs, tookMs, waitedMs, method, path, body, answer }: PollStep): string[] {
  const waited = waitedMs > 0 ? `, ${milliseconds(waitedMs)} of it waiting for a connection` : ''
  return [
    `  ${milliseconds(afterMs)}  ${method} <url>${printable(path)}${body === null ? '' : ` ${printable(body)}`}`,
    answer.ok
      ? `  ${milliseconds(afterMs + tookMs)}  HTTP ${answer.status}, ${answer.bytes} bytes in ${milliseconds(tookMs)}${waited}: ${printable(answer.text)}`
      : `  ${milliseconds(afterMs + tookMs)}  ${answer.failure.kind}: ${describeFailure(answer.failure)}${waited}`,
  ]
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(1)} ms`
}

/** Puts a node's text on one line, without control characters. */
function printable(given: string): string {
  return given.replaceAll(/\s+/g, ' ').replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '�')
}
