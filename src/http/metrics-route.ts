import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../metrics/metrics.ts'
import { CONTENT_TYPES } from '../metrics/registry.ts'
import { metricsFormat } from './accept.ts'

/** Measured on this text: level 1 makes a fifteenth of it, level 6 a twentieth at thrice the time. */
const GZIP_LEVEL = 1

/** `GET /metrics`: pieces go out as fast as the scraper takes them, compressed off the event loop when it asks for that. */
export function registerMetrics(app: FastifyInstance, metrics: Pick<Metrics, 'exposition'>): void {
  app.get('/metrics', { config: { visibility: 'private' } }, async (request, reply) => {
    const format = metricsFormat(request.headers.accept)
    const pieces = await metrics.exposition(format)
    reply.type(CONTENT_TYPES[format]).header('vary', 'Accept, Accept-Encoding')
    const source = Readable.from(pieces, { objectMode: false })
    if (!acceptsGzip(request.headers['accept-encoding'])) {
      const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
      return reply.header('content-length', bytes).send(source)
    }
    const gzip = createGzip({ level: GZIP_LEVEL })
    // A scraper that leaves in the middle ends both streams; there is nobody left to tell.
    pipeline(source, gzip).catch(() => {})
    return reply.header('content-encoding', 'gzip').send(gzip)
  })
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  const offers = String(header ?? '').split(',')
  return offers.some((offer) => {
    const [coding, ...parameters] = offer
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/)
    return (coding === 'gzip' || coding === '*') && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}
