import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createGzip, type Gzip } from 'node:zlib'
import * as z from 'zod'
import type { Exposition } from '../metrics/collect.ts'
import { CONTENT_TYPES } from '../metrics/exposition-format.ts'
import { accepts, metricsFormat } from './negotiation.ts'
import { type App, json, operation, type RouteDeps, text } from './route.ts'

/** Measured on this text: level 1 compresses to a fifteenth, level 6 to a twentieth in three times the time. */
const GZIP_LEVEL = 1

/** Each write waits for a turn of the event loop, and of a thread of zlib: thousands of small ones take seconds on a busy machine. */
const BLOCK_BYTES = 1024 * 1024
/** What a block compresses to, and more: each further piece is another round trip. */
const COMPRESSED_BYTES = 128 * 1024

/** Waits for each block, because the next one takes its memory. */
async function compress(exposition: Exposition, gzip: Gzip): Promise<void> {
  const write = promisify((block: Buffer, done: (error?: Error | null) => void) => gzip.write(block, done))
  for (const block of exposition.blocks(BLOCK_BYTES)) await write(block)
  gzip.end()
}

function* copied(blocks: Iterable<Buffer>): Generator<Buffer> {
  for (const block of blocks) yield Buffer.from(block)
}

/** For Prometheus, supervisors and load balancers: `/metrics`, `/sd`, `/-/healthy`, `/-/ready`. */
export function registerPrometheus(
  app: App,
  { metrics, board, ready, stopping }: Pick<RouteDeps, 'metrics' | 'board' | 'ready' | 'stopping'>,
): void {
  const metricsRoute = operation({
    visibility: 'private',
    summary: 'Metrics for Prometheus',
    answers: { 200: text('The metrics, listed in docs/metrics.md', 'text/plain', 'application/openmetrics-text') },
  })
  app.get('/metrics', metricsRoute, async (request, reply) => {
    const format = metricsFormat(request)
    const exposition = await metrics.exposition(format)
    reply.type(CONTENT_TYPES[format]).header('vary', 'Accept, Accept-Encoding')
    if (!accepts('gzip', request)) {
      const source = Readable.from(copied(exposition.blocks(BLOCK_BYTES)), { objectMode: false })
      return reply.header('content-length', exposition.bytes).send(source)
    }
    const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: COMPRESSED_BYTES })
    // Rejects when the scraper disconnects.
    compress(exposition, gzip).catch((error: Error) => gzip.destroy(error))
    return reply.header('content-encoding', 'gzip').send(gzip)
  })

  const discoveryRoute = operation({
    visibility: 'private',
    summary: 'Every endpoint as a target of `/probe`, for Prometheus HTTP service discovery',
    answers: {
      200: json(
        z.array(z.object({ targets: z.array(z.string()), labels: z.record(z.string(), z.string()) })),
        'One target group per endpoint',
      ),
    },
  })
  app.get('/sd', discoveryRoute, (_request, reply) => {
    const groups = board
      .networks()
      .flatMap(({ endpoints }) => endpoints)
      .map(({ key, health: { endpoint } }) => ({
        targets: [key],
        labels: { network: endpoint.network, endpoint: endpoint.name, family: endpoint.family },
      }))
    // Prometheus accepts this content type only without parameters.
    return reply.type('application/json').serializer(JSON.stringify).send(groups)
  })

  const healthyRoute = operation({
    visibility: 'always',
    summary: 'Whether the process runs',
    answers: { 200: text('It runs') },
  })
  app.get('/-/healthy', healthyRoute, (_request, reply) => reply.type('text/plain; charset=utf-8').send('healthy\n'))

  const readyRoute = operation({
    visibility: 'always',
    summary: 'Whether the store is open and the first round of polls is done',
    answers: { 200: text('Ready'), 503: text('Not yet, or stopping') },
  })
  app.get('/-/ready', readyRoute, (_request, reply) => {
    reply.type('text/plain; charset=utf-8')
    if (stopping()) return reply.code(503).send('not ready: stopping\n')
    if (!ready()) return reply.code(503).send('not ready: the first round of polls is not done yet\n')
    return reply.send('ready\n')
  })
}
