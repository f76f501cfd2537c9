import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Format } from '../metrics/exposition-format.ts'

/**
 * Content negotiation and conditional requests (RFC 9110). These headers arrive before the token is checked, so parsing
 * takes time linear in their length.
 */

/** Whether the client prefers plain text to JSON (12.5.1); JSON wins a tie. */
export function prefersText({ headers }: FastifyRequest): boolean {
  const offers = offersOf(headers.accept)
  return qualityOf('text/plain', offers) > qualityOf('application/json', offers)
}

/** Whether to send a page instead of a problem document: browsers name HTML in `Accept`, programs do not. */
export function prefersHtml({ headers, method }: FastifyRequest): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    offersOf(headers.accept).some(({ name, quality }) => name === 'text/html' && quality > 0)
  )
}

/** OpenMetrics if `Accept` rates it at least as high as the text format, as Prometheus does. */
export function metricsFormat({ headers }: FastifyRequest): Format {
  const offers = offersOf(headers.accept).filter(isWritten)
  const openMetrics = offers.find(({ name }) => name === OPEN_METRICS)?.quality ?? 0
  return openMetrics > 0 && openMetrics >= qualityOf('text/plain', offers) ? 'openmetrics' : 'text'
}

export function accepts(encoding: Encoding, { headers }: FastifyRequest): boolean {
  const offers = offersOf(headers['accept-encoding'])
  // `*` covers only what is not named (12.5.3).
  const covering = offers.find(({ name }) => name === encoding) ?? offers.find(({ name }) => name === '*')
  return covering !== undefined && covering.quality > 0 && (covering.name === encoding || encoding === 'gzip')
}

/** Browsers offer both by name; programs that send `*` know gzip rather than Brotli. */
export type Encoding = 'br' | 'gzip'

/**
 * Tags the reply, and sends 304 to a client that has this body; `null` if the body is still to be sent. The comparison is weak
 * (13.1.2): a cache may have weakened our ETag.
 */
export function sendKnown({ headers }: FastifyRequest, reply: FastifyReply, etag: string): FastifyReply | null {
  reply.header('etag', etag)
  const given = headers['if-none-match']
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  const own = opaque(etag)
  const isKnown = given?.split(',').some((one) => opaque(one) === own || one.trim() === '*')
  return isKnown ? reply.code(304).send() : null
}

export function tagOf(body: string): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
}

/** Sends the JSON with its tag, or 304 to a client that has it. The tag is weak: it is the same for every encoding. */
export function sendTagged(request: FastifyRequest, reply: FastifyReply, { body, etag }: TaggedJson) {
  addVary(reply, 'Accept-Encoding')
  return sendKnown(request, reply, `W/${etag}`) ?? sendJson(request, reply, body)
}

export interface TaggedJson {
  readonly body: CompressibleText
  readonly etag: string
}

export function sendJson(request: FastifyRequest, reply: FastifyReply, body: string | CompressibleText) {
  return sendCompressed(request, reply.type('application/json; charset=utf-8'), body)
}

export async function sendCompressed(
  request: FastifyRequest,
  reply: FastifyReply,
  body: string | CompressibleText,
): Promise<FastifyReply> {
  const whole = typeof body === 'string' ? compressible(body) : body
  addVary(reply, 'Accept-Encoding')
  const encoding = encodingFor(request, whole.text)
  const compressed = encoding === null ? null : whole.compressed(encoding)
  if (encoding === null || compressed === null) return reply.send(whole.text)
  return reply.header('content-encoding', encoding).send(await compressed)
}

/** Resolves when `body` is compressed as `sendCompressed` will send it. */
export async function compressFor(request: FastifyRequest, body: CompressibleText): Promise<void> {
  const encoding = encodingFor(request, body.text)
  if (encoding !== null) await body.compressed(encoding)
}

function encodingFor(request: FastifyRequest, text: string): Encoding | null {
  return text.length < SMALLEST_COMPRESSED ? null : (ENCODINGS.find((one) => accepts(one, request)) ?? null)
}

/** Wraps a text that is sent many times, so that it is compressed once for each encoding, off the event loop. */
export function compressible(text: string): CompressibleText {
  const kept: Partial<Record<Encoding, Promise<Buffer>>> = {}
  return {
    text,
    compressed(encoding) {
      if (kept[encoding] === undefined && underWay >= MOST_AT_ONCE) return null
      return (kept[encoding] ??= compress(encoding, text))
    },
  }
}

async function compress(encoding: Encoding, text: string): Promise<Buffer> {
  underWay++
  try {
    return await COMPRESS[encoding](text)
  } finally {
    underWay--
  }
}

export interface CompressibleText {
  readonly text: string
  /** `null` while too many other texts are compressed: then it is sent as it is. */
  compressed(encoding: Encoding): Promise<Buffer> | null
}

export function addVary(reply: FastifyReply, header: string): void {
  const before = reply.getHeader('vary')
  if (typeof before !== 'string') reply.header('vary', header)
  else if (!before.split(', ').includes(header)) reply.header('vary', `${before}, ${header}`)
}

/** The one that is preferred first. */
const ENCODINGS: readonly Encoding[] = ['br', 'gzip']
const [gzipped, brotlied] = [promisify(gzip), promisify(brotliCompress)]
/**
 * Measured on the page of 300 endpoints: Brotli at quality 5 takes as long as gzip at level 4 and makes it a third as large. Gzip
 * at level 4 takes a third of the time of level 9.
 */
const COMPRESS: Readonly<Record<Encoding, (text: string) => Promise<Buffer>>> = {
  br: (text) => brotlied(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (text) => gzipped(text, { level: 4 }),
}
/** Compressing takes the time of other threads, and on a machine with few cores that of polls too. */
const MOST_AT_ONCE = 2
let underWay = 0
/** A shorter text fits into one packet uncompressed. */
const SMALLEST_COMPRESSED = 1200

const OPEN_METRICS = 'application/openmetrics-text'
/** Longer headers are ignored; browsers send 150 bytes, Prometheus 400. */
const LONGEST_HEADER = 1024

interface Offer {
  readonly name: string
  readonly quality: number
  readonly version: string | null
}

function offersOf(header: string | string[] | undefined): Offer[] {
  const text = String(header ?? '').toLowerCase()
  return text.length > LONGEST_HEADER ? [] : text.split(',').map(offerOf)
}

function offerOf(text: string): Offer {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim())
  const valueOf = (wanted: string) => {
    const parts = parameters.map((one) => one.split('=').map((part) => part.trim()))
    return parts.find(([key]) => key === wanted)?.[1]
  }
  const quality = valueOf('q')
  return {
    name,
    quality: quality !== undefined && /^[01](\.\d{0,3})?$/.test(quality) ? Math.min(1, Number(quality)) : 1,
    version: valueOf('version')?.replaceAll('"', '') ?? null,
  }
}

/** Whether we can write this format: OpenMetrics only as 1.0.0, which an offer without a version also means. */
function isWritten({ name, version }: Offer): boolean {
  return name !== OPEN_METRICS || version === null || version === '1.0.0'
}

/** The quality of the most specific range that covers the type; 0 if none does. */
function qualityOf(type: string, offers: readonly Offer[]): number {
  for (const covering of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const offer = offers.find(({ name }) => name === covering)
    if (offer !== undefined) return offer.quality
  }
  return 0
}
